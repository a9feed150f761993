//! The work in a journal piece by piece, the one that was used last first. It reads only as far as the caller asks: the journal
//! has the runs in the order in which their leases end, and no run was used after that. So the cost of the first pieces does not
//! grow with the number of runs.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use haft_agent::limits::SUBAGENT_DEPTH_MAX;
use haft_contract::RunId;
use haft_journal::{
    Journal, JournalError, RunOrder, RunQuery, RunRow, SessionId, SessionQuery, SessionRow,
};

use super::work::{Work, WorkFilter, group_work, used_at_ms, work_of_run, work_of_session};

/// Runs that are read at once.
const PAGE_RUNS: u32 = 32;

/// Returns the work in a journal piece by piece.
pub struct LatestWork<'a> {
    journal: &'a dyn Journal,
    filter: WorkFilter<'a>,
    query: RunQuery,
    /// No run that was not read yet was used later, in milliseconds since 1970; `None` if all are read.
    unread_until_ms: Option<u64>,
    /// When each piece of work was used that is not returned yet, as far as its runs are read.
    waiting: HashMap<RunId, u64>,
    /// The runs that were read.
    read: HashMap<RunId, RunRow>,
    /// The work that was returned.
    returned: HashSet<RunId>,
    /// The sessions that were looked at, and those above them.
    sessions: HashMap<SessionId, SessionRow>,
}

impl<'a> LatestWork<'a> {
    /// Begins with the work that was used last.
    pub fn new(journal: &'a dyn Journal, filter: WorkFilter<'a>) -> Self {
        let query = RunQuery {
            root: filter.root.map(str::to_owned),
            order: RunOrder::Held,
            limit: PAGE_RUNS,
            ..RunQuery::default()
        };
        Self {
            journal,
            filter,
            query,
            unread_until_ms: Some(u64::MAX),
            waiting: HashMap::new(),
            read: HashMap::new(),
            returned: HashSet::new(),
            sessions: HashMap::new(),
        }
    }

    /// Returns the next piece of work, `None` if there is no more.
    ///
    /// # Errors
    ///
    /// Fails if the journal does.
    pub async fn next(&mut self) -> Result<Option<Work>, JournalError> {
        loop {
            let latest = self.waiting.iter().max_by_key(|(id, used)| (**used, id.as_str()));
            let latest = latest.map(|(id, used)| (id.clone(), *used));
            match (latest, self.unread_until_ms) {
                (None, None) => return Ok(None),
                // Whatever was not read was used before.
                (Some((id, used)), unread) if unread.is_none_or(|unread| unread < used) => {
                    self.waiting.remove(&id);
                    self.returned.insert(id.clone());
                    if let Some(work) = self.whole_work(&id).await? {
                        return Ok(Some(work));
                    }
                }
                (_, _) => self.read_page().await?,
            }
        }
    }

    /// Reads the next runs.
    async fn read_page(&mut self) -> Result<(), JournalError> {
        let page = self.journal.runs(self.query.clone()).await?;
        let Some(last) = page.last() else {
            self.unread_until_ms = None;
            return Ok(());
        };
        self.unread_until_ms = Some(last.held_until_ms);
        self.query.before = Some(last.id.clone());
        for run in page {
            // A run that is used meanwhile comes again.
            if !self.read.contains_key(&run.id) {
                self.note_run(&run).await?;
                self.read.insert(run.id.clone(), run);
            }
        }
        Ok(())
    }

    /// Notes when the work of a run was used.
    async fn note_run(&mut self, run: &RunRow) -> Result<(), JournalError> {
        let session = SessionId::parse(run.id.as_str()).ok();
        if let Some(id) = &session {
            self.read_session(id).await?;
        }
        let row = session.and_then(|id| self.sessions.get(&id));
        let of_session = row.and_then(|row| {
            let top = work_of_session(row, &self.sessions, self.filter)?;
            Some((top.id.run(), row.updated_at_ms))
        });
        let of_run = work_of_run(run, &self.sessions, self.filter.with_internal);
        let of_run = of_run.map(|id| (id, used_at_ms(run)));
        for (id, used) in of_session.into_iter().chain(of_run) {
            if !self.returned.contains(&id) {
                let known = self.waiting.entry(id).or_default();
                *known = used.max(*known);
            }
        }
        Ok(())
    }

    /// Reads a session and those above it.
    async fn read_session(&mut self, id: &SessionId) -> Result<(), JournalError> {
        let mut next = Some(id.clone());
        for _ in 0..=SUBAGENT_DEPTH_MAX {
            let Some(id) = next.take().filter(|id| !self.sessions.contains_key(id)) else { break };
            let Some(row) = self.journal.session(&id).await? else { break };
            next.clone_from(&row.parent_id);
            self.sessions.insert(id, row);
        }
        Ok(())
    }

    /// Returns a piece of work with the runs of all its subagents.
    async fn whole_work(&self, id: &RunId) -> Result<Option<Work>, JournalError> {
        let session = SessionId::parse(id.as_str()).ok();
        let mut parents = vec![SessionId::standing_for(id)];
        let mut family = HashMap::new();
        if let Some(session) = session {
            let row = self.journal.session(&session).await?;
            family.extend(row.map(|row| (session.clone(), row)));
            parents.push(session);
        }
        while let Some(parent) = parents.pop().filter(|_| !self.filter.with_internal) {
            for child in self.children(parent).await? {
                parents.push(child.id.clone());
                family.insert(child.id.clone(), child);
            }
        }
        let mut runs = Vec::new();
        for id in family.keys().map(SessionId::run).filter(|run| run != id).chain([id.clone()]) {
            match self.read.get(&id) {
                Some(run) => runs.push(run.clone()),
                None => {
                    let root = self.query.root.clone();
                    let query = RunQuery { root, ..RunQuery::of_run(id) };
                    runs.extend(self.journal.runs(query).await?);
                }
            }
        }
        // The newest comes first, as in a list of runs.
        runs.sort_by_key(|run| Reverse((run.started_at_ms, run.id.to_string())));
        Ok(group_work(&family, runs, self.filter).remove(id))
    }

    /// Returns the sessions that a session began.
    async fn children(&self, parent: SessionId) -> Result<Vec<SessionRow>, JournalError> {
        let mut query = SessionQuery {
            root: self.query.root.clone(),
            parent: Some(parent),
            with_opaque: true,
            ..SessionQuery::default()
        };
        let mut children = Vec::new();
        loop {
            let page = self.journal.sessions(query.clone()).await?;
            let Some(oldest) = page.last() else { return Ok(children) };
            query.before = Some(oldest.id.clone());
            children.extend(page);
        }
    }
}

#[cfg(test)]
mod tests {
    use haft_journal::MemoryJournal;

    use super::super::work::tests::{begin, list_work, record_call};
    use super::*;

    async fn all(journal: &MemoryJournal, filter: WorkFilter<'_>) -> Vec<(String, u64)> {
        let mut latest = LatestWork::new(journal, filter);
        let mut found = Vec::new();
        while let Some(work) = latest.next().await.unwrap() {
            found.push((work.id.to_string(), work.used_at_ms));
        }
        found
    }

    #[tokio::test]
    async fn the_pieces_come_in_the_order_of_the_whole_list() {
        let journal = MemoryJournal::new();
        for number in 0..100_u64 {
            let lease = begin(&journal, &format!("r{number}"), "cli", 1_000 + number).await;
            // Some runs are used long after they began.
            if number % 7 == 0 {
                let late = 2_000 + (number * 31) % 100;
                record_call(&journal, &lease, "main", ("bash", "{}"), late).await;
            }
            journal.close_run(lease).await.unwrap();
        }
        let filter = WorkFilter { root: Some("/project"), ..WorkFilter::default() };
        let whole = list_work(&journal, filter).await.unwrap();
        let whole: Vec<(String, u64)> =
            whole.into_iter().map(|work| (work.id.to_string(), work.used_at_ms)).collect();
        assert_eq!(whole.len(), 100);
        assert_eq!(all(&journal, filter).await, whole);
        let elsewhere = WorkFilter { root: Some("/other"), ..WorkFilter::default() };
        assert!(all(&journal, elsewhere).await.is_empty());
    }

    #[tokio::test]
    async fn the_first_piece_needs_few_runs() {
        let journal = MemoryJournal::new();
        for number in 0..1_000_u64 {
            let lease = begin_at(&journal, &format!("r{number}"), number * 100_000).await;
            journal.close_run(lease).await.unwrap();
        }
        let mut latest = LatestWork::new(&journal, WorkFilter::default());
        assert_eq!(latest.next().await.unwrap().unwrap().id.as_str(), "r999");
        assert!(latest.read.len() <= 64, "{}", latest.read.len());
    }

    async fn begin_at(journal: &MemoryJournal, id: &str, now_ms: u64) -> haft_journal::Lease {
        let run = haft_journal::NewRun {
            id: RunId::parse(id).unwrap(),
            front_end: "cli".to_owned(),
            root: "/project".to_owned(),
            started_at_ms: now_ms,
            version: "0.1.0".to_owned(),
            settings: "{}".to_owned(),
        };
        let owner = haft_journal::LeaseOwner { id: "one".to_owned(), location: "here".to_owned() };
        let request = haft_journal::LeaseRequest { owner, now_ms, lasts_ms: 30_000 };
        journal.open_run(run, request).await.unwrap()
    }
}
