//! The work in a journal as people count it: a run, or the session of an agent together with the sessions of its subagents.
//! The work that was used last comes first. Runs that haft itself begins to look things up are not work.

use std::collections::HashMap;

use haft_agent::caller_run_of;
use haft_agent::limits::SUBAGENT_DEPTH_MAX;
use haft_contract::RunId;
use haft_journal::{CallQuery, CallRow, Journal, JournalError, RunRow, SessionId, SessionRow};

use super::AGENT_FRONT_END;
use super::undo_references::undone_by;

/// The work to list.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkFilter<'a> {
    /// Only work in this workspace.
    pub root: Option<&'a str>,
    /// Also runs that haft itself began, and each session of a subagent apart.
    pub with_internal: bool,
    /// Also forks of sessions in which nothing was done since.
    pub with_unused_forks: bool,
}

/// One piece of work.
#[derive(Clone, Debug)]
pub struct Work {
    /// The name of its run.
    pub id: RunId,
    /// Its workspace.
    pub root: String,
    /// The run, and those of its subagents. Empty for a session that made no call.
    pub runs: Vec<RunRow>,
    /// The session of an agent that it is.
    pub session: Option<SessionRow>,
    /// When it began, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// When anything of it was recorded last, in milliseconds since 1970.
    pub used_at_ms: u64,
}

impl Work {
    /// Returns a sum over its runs.
    pub fn count(&self, of_run: impl Fn(&RunRow) -> u64) -> u64 {
        self.runs.iter().map(of_run).sum()
    }

    /// Returns its first call, which says what it is about.
    ///
    /// # Errors
    ///
    /// Fails if the journal does.
    pub async fn first_call(&self, journal: &dyn Journal) -> Result<Option<CallRow>, JournalError> {
        let query = CallQuery { limit: 1, ..CallQuery::of_run(self.id.clone()) };
        Ok(journal.calls(query).await?.pop())
    }

    /// Returns what it undid, if it is an undo: the only call of its run.
    ///
    /// # Errors
    ///
    /// Fails if the journal does.
    pub async fn undone(&self, journal: &dyn Journal) -> Result<Option<String>, JournalError> {
        if self.session.is_some() || self.count(|run| run.calls) != 1 {
            return Ok(None);
        }
        Ok(self.first_call(journal).await?.as_ref().and_then(undone_by))
    }
}

/// Returns the work that these sessions and runs are.
pub(super) fn group_work(
    sessions: &HashMap<SessionId, SessionRow>,
    runs: Vec<RunRow>,
    filter: WorkFilter<'_>,
) -> HashMap<RunId, Work> {
    let mut found: HashMap<RunId, Work> = HashMap::new();
    for session in sessions.values() {
        let Some(top) = work_of_session(session, sessions, filter) else { continue };
        let work = found.entry(top.id.run()).or_insert_with(|| Work {
            id: top.id.run(),
            root: top.root.clone(),
            runs: Vec::new(),
            started_at_ms: top.created_at_ms,
            used_at_ms: top.updated_at_ms,
            session: Some(top.clone()),
        });
        work.used_at_ms = work.used_at_ms.max(session.updated_at_ms);
    }
    for run in runs {
        add_run(run, sessions, filter.with_internal, &mut found);
    }
    // The run that a subagent works for may have been removed.
    found.retain(|_, work| {
        work.session.is_some() || work.runs.first().is_some_and(|run| run.id == work.id)
    });
    found
}

/// Returns the session whose work a session is; `None` if it is no work, or that of a run that is no session.
pub(super) fn work_of_session<'a>(
    session: &'a SessionRow,
    sessions: &'a HashMap<SessionId, SessionRow>,
    filter: WorkFilter<'_>,
) -> Option<&'a SessionRow> {
    if !is_finished_fork(session) {
        return None;
    }
    let top = if filter.with_internal { session } else { top_session(session, sessions) };
    // The work of a session for a call of another run belongs to that run.
    if caller_run_of(top).is_some() && !filter.with_internal {
        return None;
    }
    let is_used = has_work(session) || filter.with_unused_forks && has_messages(session);
    (is_used || session.id != top.id).then_some(top)
}

/// Returns the run whose work a run is; `None` if it is no work.
pub(super) fn work_of_run(
    run: &RunRow,
    sessions: &HashMap<SessionId, SessionRow>,
    with_internal: bool,
) -> Option<RunId> {
    let session = SessionId::parse(run.id.as_str()).ok().and_then(|id| sessions.get(&id));
    match session {
        None if run.front_end == AGENT_FRONT_END && !with_internal => None,
        None => Some(run.id.clone()),
        Some(session) if with_internal => Some(session.id.run()),
        Some(session) => {
            let top = top_session(session, sessions);
            Some(caller_run_of(top).unwrap_or_else(|| top.id.run()))
        }
    }
}

/// Returns when a run was used last, in milliseconds since 1970.
pub(super) fn used_at_ms(run: &RunRow) -> u64 {
    run.last_call_at_ms.unwrap_or_default().max(run.started_at_ms)
}

/// Adds a run to the work that it belongs to.
fn add_run(
    run: RunRow,
    sessions: &HashMap<SessionId, SessionRow>,
    with_internal: bool,
    found: &mut HashMap<RunId, Work>,
) {
    let session = SessionId::parse(run.id.as_str()).ok().and_then(|id| sessions.get(&id));
    let Some(id) = work_of_run(&run, sessions, with_internal) else { return };
    // A session that nothing was said in is no work, but its run may have calls.
    let used_at_ms = used_at_ms(&run);
    let is_own = id == run.id;
    if is_own && session.is_some_and(|session| !has_work(session)) && run.calls == 0 {
        return;
    }
    let work = found.entry(id.clone()).or_insert_with(|| Work {
        id,
        root: run.root.clone(),
        runs: Vec::new(),
        session: session.filter(|_| is_own).cloned(),
        started_at_ms: run.started_at_ms,
        used_at_ms,
    });
    work.used_at_ms = work.used_at_ms.max(used_at_ms);
    if is_own {
        work.started_at_ms = work.started_at_ms.min(run.started_at_ms);
        work.runs.insert(0, run);
    } else {
        work.runs.push(run);
    }
}

/// Returns the session at the top of those above a session.
fn top_session<'a>(
    session: &'a SessionRow,
    sessions: &'a HashMap<SessionId, SessionRow>,
) -> &'a SessionRow {
    let mut top = session;
    for _ in 0..SUBAGENT_DEPTH_MAX {
        let above = top.parent_id.as_ref().and_then(|parent| sessions.get(parent));
        let Some(above) = above else { break };
        top = above;
    }
    top
}

/// Returns whether a session has work: a message, and in a fork also a step that it made itself.
fn has_work(session: &SessionRow) -> bool {
    has_messages(session) && (session.forked_from_id.is_none() || session.steps > 0)
}

/// Returns whether a session has a message. A person who left a session empty does not look for it.
pub fn has_messages(session: &SessionRow) -> bool {
    session.title.is_some() || session.steps > 0
}

/// Returns whether a session is whole: a session without a parent that people are not to see is an unfinished fork.
fn is_finished_fork(session: &SessionRow) -> bool {
    session.inspectable || session.parent_id.is_some()
}

#[cfg(test)]
pub(super) mod tests {
    use std::cmp::Reverse;

    use haft_contract::{AttemptAddress, CallAddress, CallKey, Effect, Envelope, EnvelopeMetadata};
    use haft_journal::{
        CallStatus, Lease, LeaseOwner, LeaseRequest, MemoryJournal, NewRun, Outcome, PlannedCall,
        RunQuery, SessionQuery,
    };

    use super::*;

    const ROOT: &str = "/project";

    /// Returns the work in a journal, the one that was used last first. This reads all runs and sessions.
    pub(in crate::records) async fn list_work(
        journal: &dyn Journal,
        filter: WorkFilter<'_>,
    ) -> Result<Vec<Work>, JournalError> {
        let sessions = read_sessions(journal, filter).await?;
        let mut runs = Vec::new();
        let root = filter.root.map(str::to_owned);
        let mut query = RunQuery { root, ..RunQuery::default() };
        loop {
            let page = journal.runs(query.clone()).await?;
            let Some(oldest) = page.last() else { break };
            query.before = Some(oldest.id.clone());
            runs.extend(page);
        }
        let mut work: Vec<Work> = group_work(&sessions, runs, filter).into_values().collect();
        work.sort_by_key(|work| Reverse((work.used_at_ms, work.id.to_string())));
        Ok(work)
    }

    /// Returns the sessions by their ids.
    async fn read_sessions(
        journal: &dyn Journal,
        filter: WorkFilter<'_>,
    ) -> Result<HashMap<SessionId, SessionRow>, JournalError> {
        let root = filter.root.map(str::to_owned);
        let mut query = SessionQuery { root, with_opaque: true, ..SessionQuery::default() };
        let mut sessions = HashMap::new();
        loop {
            let page = journal.sessions(query.clone()).await?;
            let Some(oldest) = page.last() else { return Ok(sessions) };
            query.before = Some(oldest.id.clone());
            sessions.extend(page.into_iter().map(|session| (session.id.clone(), session)));
        }
    }

    pub(in crate::records) async fn begin(
        journal: &MemoryJournal,
        id: &str,
        front_end: &str,
        started_at_ms: u64,
    ) -> Lease {
        let run = NewRun {
            id: RunId::parse(id).unwrap(),
            front_end: front_end.to_owned(),
            root: ROOT.to_owned(),
            started_at_ms,
            version: "0.1.0".to_owned(),
            settings: "{}".to_owned(),
        };
        let owner = LeaseOwner { id: "one".to_owned(), location: "process one".to_owned() };
        let request = LeaseRequest { owner, now_ms: 1_000, lasts_ms: 300_000 };
        journal.open_run(run, request).await.unwrap()
    }

    pub(in crate::records) async fn record_call(
        journal: &MemoryJournal,
        lease: &Lease,
        node: &str,
        (tool, input): (&str, &str),
        started_at_ms: u64,
    ) {
        let scope = AttemptAddress {
            node: node.to_owned(),
            ..AttemptAddress::first_of_run(lease.run.clone())
        };
        let of_attempt = CallQuery::of_attempt(scope.clone());
        let calls = journal.calls(of_attempt).await.unwrap().len();
        let seq = u32::try_from(calls).unwrap() + 1;
        let key = CallKey::of_first_call(&scope, tool, input);
        let call = PlannedCall {
            id: CallAddress { scope, seq },
            fencing_token: lease.fencing_token,
            tool: tool.to_owned(),
            effect: Effect::Once,
            first_key: key,
            call_key: key,
            input: input.to_owned(),
            accesses: "[]".to_owned(),
            driver_call_id: None,
            started_at_ms,
            announces_effects: false,
        };
        let intent = journal.intend(call).await.unwrap();
        let metadata = EnvelopeMetadata::default();
        let envelope = Envelope::Output { data: "ok".into(), metadata };
        let outcome =
            Outcome { status: CallStatus::Succeeded, envelope, finished_at_ms: started_at_ms };
        journal.settle(intent, outcome).await.unwrap();
    }

    async fn listed(journal: &MemoryJournal, filter: WorkFilter<'_>) -> Vec<String> {
        let work = list_work(journal, filter).await.unwrap();
        work.iter().map(|work| format!("{} {}", work.id, work.count(|run| run.calls))).collect()
    }

    #[tokio::test]
    async fn the_work_used_last_is_first_and_look_ups_of_haft_are_none() {
        let journal = MemoryJournal::new();
        let lease = begin(&journal, "nightly", "mcp", 1_000).await;
        begin(&journal, "later", "cli", 2_000).await;
        begin(&journal, "surroundings", "agent", 3_000).await;
        record_call(&journal, &lease, "main", ("bash", "{}"), 4_000).await;
        let here = WorkFilter { root: Some(ROOT), ..WorkFilter::default() };
        assert_eq!(listed(&journal, here).await, ["nightly 1", "later 0"]);
        let all = WorkFilter { with_internal: true, ..WorkFilter::default() };
        assert_eq!(listed(&journal, all).await, ["nightly 1", "surroundings 0", "later 0"]);
        let elsewhere = WorkFilter { root: Some("/other"), ..WorkFilter::default() };
        assert_eq!(listed(&journal, elsewhere).await, [""; 0]);
    }

    #[tokio::test]
    async fn an_undo_is_known_by_its_only_call() {
        let journal = MemoryJournal::new();
        let lease = begin(&journal, "r1", "cli", 1_000).await;
        record_call(&journal, &lease, "main", ("undo", r#"{"of":"r0"}"#), 2_000).await;
        let lease = begin(&journal, "r2", "cli", 1_000).await;
        record_call(&journal, &lease, "main", ("bash", r#"{"of":"r0"}"#), 1_000).await;
        let work = list_work(&journal, WorkFilter::default()).await.unwrap();
        let mut undone = Vec::new();
        for one in &work {
            undone.push(one.undone(&journal).await.unwrap());
        }
        assert_eq!(undone, [Some("r0".to_owned()), None]);
    }
}
