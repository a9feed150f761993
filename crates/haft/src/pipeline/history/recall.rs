//! Finds the recorded answer of a call that happened before. Such a call does not execute again.
//!
//! This comes before the pipeline looks at the tool and the input. A recorded answer does not depend on today's tools,
//! schemas and rules.

use std::sync::Arc;

use haft_contract::{Effect, Envelope, EnvelopeMetadata, ErrorCode};
use haft_journal::{CallRow, CallStatus, Journal, JournalError, SettlementVerdict};

use super::in_doubt::{DoubtResolution, check_files_of_call};
use super::lookup::{CallLease, HistoryReader, ResumeMode, RunHistory, stop_in_progress};
use crate::pipeline::call_state::{ArrivedCall, CallPlace, CallState};
use crate::pipeline::refusal::PipelineStop;
use crate::shared::RuntimeShared;
use crate::sidecar::Sidecars;

/// Finds the recorded call, or gives the call the next number of its attempt.
///
/// Stops with the recorded answer of a call that happened before, and with an answer that says so if the call may have
/// happened or is still executing.
pub(in crate::pipeline) async fn recall(
    arrived: ArrivedCall,
    lease: CallLease,
    history: &RunHistory,
    shared: &RuntimeShared,
) -> Result<CallState, PipelineStop> {
    let (place, row) = HistoryReader { history, shared }.locate_call(&arrived, lease).await?;
    let state = CallState::new(arrived, place);
    match row {
        None => Ok(state),
        Some(row) => answer_recorded(state, row, history, shared).await,
    }
}

/// Numbers a call as if it were the first of its attempt. The journal has no record of the number, so the call may only
/// be judged, not executed.
pub(in crate::pipeline) fn rehearse(
    arrived: ArrivedCall,
    history: &RunHistory,
    now_ms: u64,
) -> CallState {
    let place = CallPlace {
        seq: 1,
        repeat_index: 0,
        replay_index: None,
        fencing_token: 0,
        started_at_ms: now_ms,
        attempt: Arc::default(),
        cursors: Arc::clone(&history.cursors),
        unacknowledged: None,
        _driver_id: None,
    };
    CallState::new(arrived, place)
}

/// Answers a call that is already recorded, unless it is to be executed again.
async fn answer_recorded(
    mut state: CallState,
    row: Box<CallRow>,
    history: &RunHistory,
    shared: &RuntimeShared,
) -> Result<CallState, PipelineStop> {
    let resolution = match (row.status, row.verdict) {
        // The outcome of this call could not be recorded; otherwise the call would not be unacknowledged.
        (CallStatus::Intended, _) if state.is_unacknowledged() => DoubtResolution::InDoubt,
        (CallStatus::Intended, _) => {
            return Err(stop_in_progress(state.tool(), state.elapsed_ms()));
        }
        (CallStatus::Failed, Some(SettlementVerdict::NotHappened))
        | (CallStatus::Unknown, Some(SettlementVerdict::Retry)) => DoubtResolution::NotHappened,
        (CallStatus::Succeeded | CallStatus::Failed, _) => DoubtResolution::Happened(row.clone()),
        // The driver makes the call again because the refusal asked for that.
        (CallStatus::Refused, _) if row.was_held_back() => DoubtResolution::NotHappened,
        (CallStatus::Refused, _) => match history.resume_mode {
            ResumeMode::Rejudge => DoubtResolution::NotHappened,
            ResumeMode::Continue | ResumeMode::Replay => DoubtResolution::Happened(row.clone()),
        },
        (CallStatus::Unknown, _) => match row.effect {
            Effect::Read | Effect::Idempotent => DoubtResolution::NotHappened,
            Effect::Once => check_files_of_call(shared, &row).await?,
        },
    };
    match resolution {
        DoubtResolution::Happened(row) => {
            if state.is_unacknowledged() {
                acknowledge_row(&row, &*shared.parts.journal).await?;
                state.acknowledge(row.seq);
            }
            // A plan recalls its own first calls each time, and counts the answers of its nodes itself.
            if history.resume_mode != ResumeMode::Rejudge {
                let journal = &*shared.parts.journal;
                history.attempts.count_recall(journal, &row.scope.run).await;
            }
            Err(PipelineStop::Answered(Box::new(recorded_envelope(&row))))
        }
        DoubtResolution::NotHappened => {
            state.acknowledge(row.seq);
            state.renumber();
            if row.effect == Effect::Once && row.verdict == Some(SettlementVerdict::Retry) {
                state.set_repeated_call(row.id());
            }
            Ok(state)
        }
        DoubtResolution::InDoubt if state.has_probe() && row.status == CallStatus::Unknown => {
            state.renumber();
            state.set_in_doubt(row);
            Ok(state)
        }
        DoubtResolution::InDoubt => Err(stop_in_doubt(&state, &row)),
    }
}

/// Stops a call that may have happened.
pub(super) fn stop_in_doubt(state: &CallState, row: &CallRow) -> PipelineStop {
    PipelineStop::Answered(Box::new(in_doubt_answer(state, row)))
}

/// Answers a call that may have happened. If the call comes again, it is still the same one.
pub(in crate::pipeline) fn in_doubt_answer(state: &CallState, row: &CallRow) -> Envelope {
    state.roll_back_replay();
    in_doubt_envelope(row)
}

/// Records that the driver receives the outcome of a call. A later call like it is then a new one.
pub(super) async fn acknowledge_row(
    row: &CallRow,
    journal: &dyn Journal,
) -> Result<(), JournalError> {
    if row.settled_by.is_some() {
        journal.acknowledge(row.id()).await?;
    }
    Ok(())
}

/// Returns the recorded answer, marked as replayed.
pub(super) fn recorded_envelope(row: &CallRow) -> Envelope {
    let recorded = row.parsed_envelope().ok().flatten();
    let Some(mut envelope) = recorded else {
        let metadata = EnvelopeMetadata {
            call_id: Some(row.id().to_string()),
            replayed: true,
            code: Some(ErrorCode::Unavailable),
            ..EnvelopeMetadata::default()
        };
        let error_text = format!(
            "call {} is recorded as {}, but its answer cannot be read; its record may show more",
            row.id(),
            row.status
        );
        return Envelope::Error { error_text, metadata };
    };
    let (Envelope::Output { metadata, .. } | Envelope::Error { metadata, .. }) = &mut envelope;
    metadata.replayed = true;
    metadata.waits = None;
    // The process or person that settled the call may have given only the data.
    metadata.call_id.get_or_insert_with(|| row.id().to_string());
    Sidecars::mark_lost(metadata);
    envelope
}

/// Returns the envelope of a call in doubt. It says that the effect is unknown and how to settle the call.
pub(super) fn in_doubt_envelope(row: &CallRow) -> Envelope {
    let call = row.id();
    let end = match row.envelope {
        None => "its end was never recorded",
        Some(_) => "was stopped before its end",
    };
    let error_text = format!(
        "in doubt: {} was begun as call {call} and {end}, so it may or may not have happened. It is not \
         repeated.",
        row.tool
    );
    Envelope::in_doubt(call.to_string(), error_text)
}
