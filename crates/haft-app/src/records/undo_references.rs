//! The calls of a run that were undone. Each undo is a call in a separate run.

use haft_journal::{
    CallQuery, CallRow, CallStatus, Journal, JournalError, RunQuery, RunRow, SessionId,
};
use serde::Serialize;
use serde_json::Value;

use super::UNDO_TOOL;
use super::run_session::RunSession;

/// The prefix of an undo's target if it undid all calls after another call.
const AFTER: &str = "after ";

/// Something that was undone.
#[derive(Debug, Serialize)]
pub struct UndoReference {
    /// A call, a whole run, or what a run did after a call: `after` and the call.
    pub of: String,
    /// The call that undid it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// Returns what was undone of a run, the earliest first, as far as the latest runs of the journal tell. The work of a
/// subagent is undone with the session at its top.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn find_undo_references(
    journal: &dyn Journal,
    run: &RunRow,
    session: Option<&RunSession>,
) -> Result<Vec<UndoReference>, JournalError> {
    let above: Vec<&str> =
        session.iter().flat_map(|session| &session.ancestors).map(SessionId::as_str).collect();
    // An undo of a whole session, or of its end, undid the work of its subagents too.
    let is_meant = |of: &&str| {
        is_of_run(of, run.id.as_str())
            || !is_one_call(of) && above.iter().any(|above| is_of_run(of, above))
    };
    let mut undone = Vec::new();
    // An undo is the only call of its run, and comes later than the undone calls.
    let may_be_undo = |later: &RunRow| later.calls == 1 && later.started_at_ms >= run.started_at_ms;
    for later in journal.runs(RunQuery::default()).await?.iter().rev().filter(|it| may_be_undo(it))
    {
        let calls = CallQuery { limit: 1, ..CallQuery::of_run(later.id.clone()) };
        let Some(call) = journal.calls(calls).await?.pop() else { continue };
        if call.status != CallStatus::Succeeded {
            continue;
        }
        if let Some(of) = undone_by(&call).filter(|of| is_meant(&of.as_str())) {
            let (by, at_ms) = (call.id().to_string(), call.started_at_ms);
            undone.push(UndoReference { of, by, at_ms });
        }
    }
    Ok(undone)
}

/// Returns what a call undid, in the words of [`UndoReference::of`], if it is an undo.
pub fn undone_by(call: &CallRow) -> Option<String> {
    let input: Value = serde_json::from_str(&call.input).ok()?;
    let of = input.get("of").filter(|_| call.tool == UNDO_TOOL)?;
    of.as_str().map(str::to_owned)
}

fn is_of_run(of: &str, run: &str) -> bool {
    let of = of.strip_prefix(AFTER).unwrap_or(of);
    of.strip_prefix(run).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether an undo of `of` undid a single call.
fn is_one_call(of: &str) -> bool {
    of.contains('/') && !of.starts_with(AFTER)
}

impl UndoReference {
    /// Returns whether a call may be among the undone ones.
    pub fn covers_call(&self, call: &str) -> bool {
        match self.of.strip_prefix(AFTER) {
            Some(earlier) => earlier != call,
            None => self.of == call || !is_one_call(&self.of),
        }
    }

    /// Returns which calls of the run were undone.
    pub fn undone_calls(&self) -> UndoneCalls<'_> {
        match self.of.strip_prefix(AFTER) {
            Some(call) => UndoneCalls::After(call),
            None if is_one_call(&self.of) => UndoneCalls::One(&self.of),
            None => UndoneCalls::All,
        }
    }
}

/// The calls of a run that an undo undid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoneCalls<'a> {
    /// All of them.
    All,
    /// One call.
    One(&'a str),
    /// The calls after this one.
    After(&'a str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_concerns_its_call_or_all_of_its_run() {
        let check = |of: &str, is_of_run_r1: bool, concerns: bool| {
            let undone = UndoReference { of: of.to_owned(), by: String::new(), at_ms: 0 };
            assert_eq!(is_of_run(of, "r1"), is_of_run_r1, "{of}");
            assert_eq!(undone.covers_call("r1/main/0/1/2"), concerns, "{of}");
        };
        check("r1", true, true);
        check("r1/main/0/1/2", true, true);
        check("r1/main/0/1/1", true, false);
        check("after r1/main/0/1/1", true, true);
        check("after r1/main/0/1/2", true, false);
        check("r12/main/0/1/1", false, false);
    }

    #[test]
    fn what_subagents_did_is_undone_with_the_whole_session_and_not_with_a_call_of_it() {
        for (of, expect) in [
            ("ses_1", true),
            ("after ses_1/main/0/1/1", true),
            ("ses_1/main/0/1/1", false),
            ("ses_12", false),
        ] {
            assert_eq!(is_of_run(of, "ses_1") && !is_one_call(of), expect, "{of}");
        }
    }
}
