//! The outcome is in the journal before the envelope leaves.

use haft_contract::{Envelope, Metadata};
use haft_journal::{Outcome, Status};

use super::refusal::Refusal;
use super::truncate::Truncated;
use crate::run::{RunError, RunState};

pub(super) async fn record(truncated: Truncated, run: &RunState) -> Result<Envelope, RunError> {
    let (intent, status, envelope) = truncated.into_parts();
    let parts = &run.session.shared.parts;
    let outcome =
        Outcome { status, envelope: envelope.clone(), finished_at_ms: parts.clock.now_ms() };
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
        ..Metadata::default()
    };
    let envelope = Envelope::Error { error_text: refusal.message, metadata };
    let finished_at_ms = parts.clock.now_ms();
    let outcome = Outcome { status: Status::Refused, envelope: envelope.clone(), finished_at_ms };
    parts.journal.refuse(refusal.entry.planned(refusal.accesses), outcome).await?;
    Ok(envelope)
}
