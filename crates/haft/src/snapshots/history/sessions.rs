//! Combines the session of an agent with the sessions of its subagents. Each session is a separate run, and together
//! they hold the work for one person. The journal orders the calls within a run; between runs, only clocks show the
//! order.

use std::collections::HashSet;

use haft_contract::RunId;
use haft_journal::{CallRow, Journal, JournalError, SessionId, SessionQuery, SnapshotNote};

/// Returns a run and those of all sessions that it began and that these began. A session begins those of its subagents. Another
/// run begins those that work for its calls.
pub(super) async fn runs_of(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Vec<RunId>, JournalError> {
    let mut runs = vec![run.clone()];
    let top = SessionId::parse(run.as_str()).unwrap_or_else(|_| SessionId::standing_for(run));
    let mut seen = HashSet::from([top.clone()]);
    let mut waiting = vec![top];
    while let Some(parent) = waiting.pop() {
        let of_parent =
            SessionQuery { parent: Some(parent), with_opaque: true, ..SessionQuery::default() };
        let mut before = None;
        loop {
            let page = journal.sessions(SessionQuery { before, ..of_parent.clone() }).await?;
            let Some(oldest) = page.last() else { break };
            before = Some(oldest.id.clone());
            // Rows that another hand wrote may go round in a circle.
            for session in page.into_iter().filter(|session| seen.insert(session.id.clone())) {
                runs.push(session.id.run());
                waiting.push(session.id);
            }
        }
    }
    Ok(runs)
}

/// Puts the notes of several runs into one order: those of one run stay as they are, and of two runs that goes first which
/// was made first.
pub(super) fn in_one_order(of_runs: Vec<Vec<SnapshotNote>>) -> Vec<SnapshotNote> {
    let mut of_runs: Vec<_> =
        of_runs.into_iter().map(|notes| notes.into_iter().peekable()).collect();
    let mut ordered = Vec::new();
    loop {
        let heads = of_runs.iter_mut().enumerate();
        let heads = heads.filter_map(|(place, notes)| Some((notes.peek()?.taken_at_ms, place)));
        let Some((_, first)) = heads.min() else { return ordered };
        ordered.extend(of_runs.get_mut(first).and_then(Iterator::next));
    }
}

/// Returns whether to keep the note of a subagent's call, because the call is later than `than`, a call of the parent
/// session. If the subagent's call began before and its end is unknown, the note is kept without its state before. A
/// comparison with that state would also show earlier changes.
pub(super) fn keep_later(note: &mut SnapshotNote, than: &CallRow) -> bool {
    if note.taken_at_ms > end_ms(than) {
        return true;
    }
    let is_open = note.before.is_some() && note.after.is_none();
    note.before = None;
    is_open
}

/// Returns when a call ended, or when it began if its end was not recorded.
fn end_ms(call: &CallRow) -> u64 {
    call.finished_at_ms.unwrap_or(call.started_at_ms)
}

/// Returns whether a subagent's call ended after `than`, a call of the parent session. A call without a recorded end
/// may have ended later.
pub(super) fn ended_later(call: &CallRow, than: &CallRow) -> bool {
    call.finished_at_ms.is_none_or(|finished_at_ms| finished_at_ms > end_ms(than))
}

#[cfg(test)]
mod tests {
    use haft_contract::{AttemptAddress, CallAddress, Effect};
    use haft_journal::CallStatus;

    use super::*;

    fn call_that_ended(finished_at_ms: u64) -> CallRow {
        CallRow {
            change: 1,
            scope: AttemptAddress::first_of_run(RunId::parse("a").unwrap()),
            seq: 1,
            tool: "task".to_owned(),
            effect: Effect::Once,
            status: CallStatus::Succeeded,
            started_at_ms: 0,
            finished_at_ms: Some(finished_at_ms),
            first_key: String::new(),
            call_key: String::new(),
            driver_call_id: None,
            input: String::new(),
            accesses: String::new(),
            fencing_token: 1,
            details: None,
            envelope: None,
            verdict: None,
            settled_by: None,
        }
    }

    #[test]
    fn notes_of_several_runs_are_put_into_one_order() {
        let notes = |run: &str, times: &[u64]| -> Vec<SnapshotNote> {
            let scope = haft_contract::AttemptAddress {
                run: RunId::parse(run).unwrap(),
                node: "main".into(),
                iteration: 0,
                attempt: 1,
            };
            let note = |(seq, taken_at_ms): (u32, &u64)| SnapshotNote {
                call: CallAddress { scope: scope.clone(), seq },
                root: "/work".to_owned(),
                before: None,
                after: None,
                note: None,
                taken_at_ms: *taken_at_ms,
                repositories: Vec::new(),
            };
            (1..).zip(times).map(note).collect()
        };
        let check = |of_runs: &[(&str, &[u64])], expect: &[&str]| {
            let of_runs = of_runs.iter().map(|(run, times)| notes(run, times)).collect();
            let ordered: Vec<String> = in_one_order(of_runs)
                .iter()
                .map(|note| format!("{}.{}", note.call.scope.run, note.call.seq))
                .collect();
            assert_eq!(ordered, expect);
        };
        check(&[], &[]);
        check(&[("a", &[10, 30]), ("b", &[20, 40]), ("c", &[])], &["a.1", "b.1", "a.2", "b.2"]);
        // The clock was set back: the calls of a run stay in their order.
        check(&[("a", &[10, 5]), ("b", &[7])], &["b.1", "a.1", "a.2"]);
    }

    #[test]
    fn of_what_began_before_only_what_nobody_saw_the_end_of_is_kept() {
        let than = call_that_ended(100);
        let check = |taken_at_ms, after: Option<&str>, expect: (bool, bool)| {
            let mut note = SnapshotNote {
                call: than.id(),
                root: "/work".to_owned(),
                before: Some("tree".to_owned()),
                after: after.map(str::to_owned),
                note: Some("a remark".to_owned()),
                taken_at_ms,
                repositories: Vec::new(),
            };
            assert_eq!((keep_later(&mut note, &than), note.before.is_some()), expect);
        };
        check(101, Some("tree"), (true, true));
        check(101, None, (true, true));
        check(100, Some("tree"), (false, false));
        check(100, None, (true, false));
    }
}
