//! Calls and holders in words, as all views of the journal show them.

use haft::{Clock as _, SystemClock};
use haft_contract::Effect;
use haft_journal::{CallRow, CallStatus, LeaseHolder, RunRow};

use haft_app::calendar::rfc3339;
use haft_app::process_identity;
use haft_app::records::{UndoReference, UndoneCalls, is_holder_dead};

/// Returns the status of a call, with the verdict and its author if the call was settled.
pub(super) fn status(call: &CallRow) -> String {
    match (call.verdict, call.settled_by) {
        (Some(verdict), Some(by)) => {
            let verdict = verdict.as_str().replace('_', " ");
            format!("{} ({verdict}, says {by})", call.status)
        }
        (Some(_) | None, _) => call.status.to_string(),
    }
}

/// Returns the status of a call of a run. An open call of a dead process is no longer running.
pub(super) fn status_in_run(call: &CallRow, run: &RunRow) -> String {
    match (call.status, call.effect) {
        (CallStatus::Intended, Effect::Once) if is_holder_dead(run) => {
            "begun, end not recorded; in doubt".to_owned()
        }
        (CallStatus::Intended, Effect::Read | Effect::Idempotent) if is_holder_dead(run) => {
            "begun, end not recorded".to_owned()
        }
        _ => status(call),
    }
}

/// Returns how long the call took, in milliseconds.
pub(super) fn duration(call: &CallRow) -> String {
    let finished = call.finished_at_ms;
    finished.map_or("-".to_owned(), |at| at.saturating_sub(call.started_at_ms).to_string())
}

/// Returns the error code.
pub(super) fn code(call: &CallRow) -> String {
    let envelope = call.parsed_envelope().ok().flatten();
    let code = envelope.and_then(|envelope| envelope.code());
    code.map_or("-".to_owned(), |code| code.to_string())
}

/// Returns the undone calls, the time and the undoing call in words.
pub(super) fn undone(reference: &UndoReference) -> String {
    let calls = match reference.undone_calls() {
        UndoneCalls::After(call) => format!("what came after {call}"),
        UndoneCalls::One(call) => call.to_owned(),
        UndoneCalls::All => "all of it".to_owned(),
    };
    let (at, by) = (rfc3339(reference.at_ms), &reference.by);
    haft_contract::escape_controls(&format!("{calls}, on {at} by call {by}"))
}

/// Returns the holder of a run, and whether it is dead or its lease has expired.
pub(super) fn holder_text(holder: &LeaseHolder) -> String {
    let place = haft_contract::escape_controls(&holder.owner.location);
    if process_identity::is_gone(&holder.owner) {
        format!("{place}, which is gone")
    } else if holder.is_expired(SystemClock.now_ms()) {
        format!("{place}, whose lease expired at {}", rfc3339(holder.expires_at_ms))
    } else {
        place
    }
}
