//! The outcome is in the journal before the envelope leaves.

use haft_contract::{Effect, Envelope, Metadata};
use haft_journal::{JournalError, Outcome, Status};

use super::refusal::Refusal;
use super::truncate::Truncated;
use crate::run::{RunError, RunState};

pub(super) async fn record(truncated: Truncated, run: &RunState) -> Result<Envelope, RunError> {
    let (mut entry, intent, status, envelope, recorded) = truncated.into_parts();
    let parts = &run.session.shared.parts;
    let finished_at_ms = parts.clock.now_ms();
    let outcome = Outcome { status, envelope: as_recorded(&envelope, recorded), finished_at_ms };
    match parts.journal.settle(intent, outcome).await {
        Ok(()) => Ok(envelope),
        // A read has no intent that could be left open; one under an epoch that is over is its new owner's.
        Err(err) if entry.effect() == Effect::Read => Err(err.into()),
        Err(err @ JournalError::Fenced { .. }) => Err(err.into()),
        Err(err) => {
            if entry.effect() == Effect::Once {
                // Whoever makes the call again must not repeat it.
                entry.leave_unheard().await;
            }
            Err(RunError::Unrecorded { call: entry.id().clone(), source: Box::new(err) })
        }
    }
}

/// Records a call that was not allowed to execute.
pub(super) async fn refused(refusal: Refusal, run: &RunState) -> Result<Envelope, RunError> {
    let parts = &run.session.shared.parts;
    let metadata = Metadata {
        duration_ms: refusal.entry.elapsed_ms(),
        call_id: Some(refusal.entry.id().to_string()),
        code: Some(refusal.code),
        held_back: refusal.is_held_back,
        unsafe_no_sandbox: parts.sandbox.is_off(),
        ..Metadata::default()
    };
    let envelope = Envelope::Error { error_text: refusal.message, metadata };
    let finished_at_ms = parts.clock.now_ms();
    let recorded = as_recorded(&envelope, refusal.recorded);
    let outcome = Outcome { status: Status::Refused, envelope: recorded, finished_at_ms };
    parts.journal.refuse(refusal.entry.planned(refusal.accesses), outcome).await?;
    if refusal.is_held_back {
        refusal.entry.attempt().warned();
    }
    Ok(envelope)
}

/// Returns the envelope as the journal holds it: a message that quotes what must not be stored gives way to one that
/// does not.
fn as_recorded(envelope: &Envelope, recorded: Option<String>) -> Envelope {
    match (envelope, recorded) {
        (Envelope::Error { metadata, .. }, Some(error_text)) => {
            Envelope::Error { error_text, metadata: metadata.clone() }
        }
        (envelope, _) => envelope.clone(),
    }
}
