//! Runs, calls and outcomes to record, and rows as text to compare. Nothing here opens a journal.

use std::fmt::Write;

use haft_contract::{CallId, CallKey, Effect, Envelope, ErrorCode, Metadata, RunId, Scope};
use haft_journal::{
    CallRow, Claim, Journal, Lease, NewRun, Outcome, Owner, PlannedCall, RunRow, Status,
};
use serde_json::json;

pub(crate) fn run(id: &str) -> NewRun {
    NewRun {
        id: RunId::parse(id).unwrap(),
        front_end: "cli".to_owned(),
        root: "/project".to_owned(),
        started_at_ms: 1_000,
        version: "0.1.0".to_owned(),
        settings: "{}".to_owned(),
    }
}

/// Returns the claim of an owner who will not be gone before the test is.
pub(crate) fn claim(owner: &str) -> Claim {
    let owner = Owner { id: owner.to_owned(), place: format!("process {owner}") };
    Claim { owner, now_ms: 1_000, lasts_ms: 300_000 }
}

/// Returns the claim of an owner whose time is over at once, by whatever clock.
pub(crate) fn brief_claim(owner: &str) -> Claim {
    Claim { lasts_ms: 0, ..claim(owner) }
}

/// Takes a run that nobody had before, so that its epoch is 1.
pub(crate) async fn open(journal: &dyn Journal, id: &str) -> Lease {
    let lease = journal.open_run(run(id), claim("one")).await.unwrap();
    assert_eq!(lease.epoch, 1);
    lease
}

pub(crate) fn scope(run: &str) -> Scope {
    Scope::of_run(RunId::parse(run).unwrap())
}

/// Returns a call whose times and input follow from its number, made under the first epoch of its run.
pub(crate) fn call(scope: &Scope, seq: u32, effect: Effect) -> PlannedCall {
    let tool = match effect {
        Effect::Read => "read",
        Effect::Idempotent => "todo",
        Effect::Once => "write",
    };
    let input = json!({ "path": format!("file-{seq}") }).to_string();
    call_of(scope, seq, (tool, effect), &input)
}

pub(crate) fn call_of(
    scope: &Scope,
    seq: u32,
    (tool, effect): (&str, Effect),
    input: &str,
) -> PlannedCall {
    let key = CallKey::first(scope, tool, input);
    PlannedCall {
        id: CallId { scope: scope.clone(), seq },
        epoch: 1,
        tool: tool.to_owned(),
        effect,
        first_key: key,
        call_key: key,
        input: input.to_owned(),
        accesses: "[]".to_owned(),
        driver_call_id: None,
        started_at_ms: 2_000 + u64::from(seq) * 10,
    }
}

pub(crate) fn outcome(status: Status) -> Outcome {
    let error = |code: ErrorCode, text: &str| Envelope::Error {
        error_text: text.to_owned(),
        metadata: Metadata { code: Some(code), ..Metadata::default() },
    };
    let envelope = match status {
        Status::Succeeded | Status::Intended => output(json!("ok")),
        Status::Failed => error(ErrorCode::PathInvalid, "there is no file \"a\""),
        Status::Refused => error(ErrorCode::PermissionDenied, "rule 3 denies it"),
        Status::Unknown => error(ErrorCode::InDoubt, "it may have happened"),
    };
    Outcome { status, envelope, finished_at_ms: 3_000 }
}

pub(crate) fn output(data: serde_json::Value) -> Envelope {
    Envelope::Output { data, metadata: Metadata { duration_ms: 3, ..Metadata::default() } }
}

/// Records a call from its intent to its end.
pub(crate) async fn record(journal: &dyn Journal, call: PlannedCall, status: Status) {
    let intent = journal.intend(call).await.unwrap();
    journal.settle(intent, outcome(status)).await.unwrap();
}

/// Renders calls one a line: change number, place, tool and status.
pub(crate) fn lines(rows: &[CallRow]) -> String {
    rows.iter().fold(String::new(), |mut text, row| {
        writeln!(text, "{} {} {} {}", row.change, row.id(), row.tool, row.status).unwrap();
        text
    })
}

/// Renders runs one a line, with everything that is counted.
pub(crate) fn run_lines(rows: &[RunRow]) -> String {
    rows.iter().fold(String::new(), |mut text, row| {
        let RunRow { id, last_call_at_ms, calls, failed, refused, intended, unknown, .. } = row;
        writeln!(
            text,
            "{id} last {last_call_at_ms:?} calls {calls} failed {failed} refused {refused} \
             intended {intended} unknown {unknown}"
        )
        .unwrap();
        text
    })
}
