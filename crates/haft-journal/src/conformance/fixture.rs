//! Runs, calls and outcomes to record, and rows as text to compare. Nothing here opens a journal.

use std::fmt::Write;

use super::CaseResult;
use crate::{
    CallRow, CallStatus, Journal, Lease, LeaseOwner, LeaseRequest, NewRun, Outcome, PlannedCall,
    RunRow,
};
use haft_contract::{
    AttemptAddress, CallAddress, CallKey, Effect, Envelope, EnvelopeMetadata, ErrorCode, RunId,
};
use serde_json::json;

fn run_id(id: &str) -> RunId {
    RunId::parse(id).expect("the fixtures name runs as runs can be named")
}

pub fn run(id: &str) -> NewRun {
    NewRun {
        id: run_id(id),
        front_end: "cli".to_owned(),
        root: "/project".to_owned(),
        started_at_ms: 1_000,
        version: "0.1.0".to_owned(),
        settings: "{}".to_owned(),
    }
}

/// Returns a request whose lease outlasts the test.
pub fn request(owner: &str) -> LeaseRequest {
    let owner = LeaseOwner { id: owner.to_owned(), location: format!("process {owner}") };
    LeaseRequest { owner, now_ms: 1_000, lasts_ms: 300_000 }
}

/// Returns a request whose lease is expired at once, by every clock.
pub fn brief_request(owner: &str) -> LeaseRequest {
    LeaseRequest { lasts_ms: 0, ..request(owner) }
}

/// Takes a new run, so that its fencing token is 1.
pub async fn open(journal: &dyn Journal, id: &str) -> CaseResult<Lease> {
    let lease = journal.open_run(run(id), request("one")).await?;
    assert_eq!(lease.fencing_token, 1);
    Ok(lease)
}

pub fn scope(run: &str) -> AttemptAddress {
    AttemptAddress::first_of_run(run_id(run))
}

/// Returns a call whose times and input follow from its number, made under the first fencing token of its run.
pub fn call(scope: &AttemptAddress, seq: u32, effect: Effect) -> PlannedCall {
    let tool = match effect {
        Effect::Read => "read",
        Effect::Idempotent => "todo",
        Effect::Once => "write",
    };
    let input = json!({ "path": format!("file-{seq}") }).to_string();
    call_of(scope, seq, (tool, effect), &input)
}

pub fn call_of(
    scope: &AttemptAddress,
    seq: u32,
    (tool, effect): (&str, Effect),
    input: &str,
) -> PlannedCall {
    let key = CallKey::of_first_call(scope, tool, input);
    PlannedCall {
        id: CallAddress { scope: scope.clone(), seq },
        fencing_token: 1,
        tool: tool.to_owned(),
        effect,
        first_key: key,
        call_key: key,
        input: input.to_owned(),
        accesses: "[]".to_owned(),
        driver_call_id: None,
        started_at_ms: 2_000 + u64::from(seq) * 10,
        announces_effects: false,
    }
}

pub fn outcome(status: CallStatus) -> Outcome {
    let error = |code: ErrorCode, text: &str| Envelope::Error {
        error_text: text.to_owned(),
        metadata: EnvelopeMetadata { code: Some(code), ..EnvelopeMetadata::default() },
    };
    let envelope = match status {
        CallStatus::Succeeded | CallStatus::Intended => output(json!("ok")),
        CallStatus::Failed => error(ErrorCode::PathInvalid, "there is no file \"a\""),
        CallStatus::Refused => error(ErrorCode::PermissionDenied, "rule 3 denies it"),
        CallStatus::Unknown => error(ErrorCode::InDoubt, "it may have happened"),
    };
    Outcome { status, envelope, finished_at_ms: 3_000 }
}

pub fn output(data: serde_json::Value) -> Envelope {
    Envelope::Output {
        data,
        metadata: EnvelopeMetadata { duration_ms: 3, ..EnvelopeMetadata::default() },
    }
}

/// Records a call from its intent to its end.
pub async fn record(journal: &dyn Journal, call: PlannedCall, status: CallStatus) -> CaseResult {
    let intent = journal.intend(call).await?;
    journal.settle(intent, outcome(status)).await?;
    Ok(())
}

/// Renders calls one a line: change number, place, tool and status.
pub fn lines(rows: &[CallRow]) -> String {
    rows.iter().fold(String::new(), |mut text, row| {
        let _ = writeln!(text, "{} {} {} {}", row.change, row.id(), row.tool, row.status);
        text
    })
}

/// Renders runs one a line, with everything that is counted.
pub fn run_lines(rows: &[RunRow]) -> String {
    rows.iter().fold(String::new(), |mut text, row| {
        let RunRow { id, last_call_at_ms, calls, failed, refused, intended, unknown, .. } = row;
        let _ = writeln!(
            text,
            "{id} last {last_call_at_ms:?} calls {calls} failed {failed} refused {refused} \
             intended {intended} unknown {unknown}"
        );
        text
    })
}
