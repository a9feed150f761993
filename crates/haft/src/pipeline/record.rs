//! The outcome is in the journal before the envelope leaves.

use haft_contract::{Envelope, Metadata};
use haft_journal::{Outcome, Status};

use super::refusal::Refusal;
use super::truncate::Truncated;
use crate::run::{RunError, RunState};

pub(super) async fn record(truncated: Truncated, run: &RunState) -> Result<Envelope, RunError> {
    let (intent, status, envelope, recorded) = truncated.into_parts();
    let parts = &run.session.shared.parts;
    let finished_at_ms = parts.clock.now_ms();
    let outcome = Outcome { status, envelope: as_recorded(&envelope, recorded), finished_at_ms };
    parts.journal.settle(intent, outcome).await?;
    Ok(envelope)
}

/// Records a call that was not allowed to execute.
pub(super) async fn refused(refusal: Refusal, run: &RunState) -> Result<Envelope, RunError> {
    let parts = &run.session.shared.parts;
    let metadata = Metadata {
        duration_ms: refusal.entry.elapsed_ms(),
        call_id: Some(refusal.entry.id().to_string()),
        code: Some(refusal.code),
        unsafe_no_sandbox: parts.sandbox.is_off(),
        ..Metadata::default()
    };
    let envelope = Envelope::Error { error_text: refusal.message, metadata };
    let finished_at_ms = parts.clock.now_ms();
    let recorded = as_recorded(&envelope, refusal.recorded);
    let outcome = Outcome { status: Status::Refused, envelope: recorded, finished_at_ms };
    parts.journal.refuse(refusal.entry.planned(refusal.accesses), outcome).await?;
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
