//! The outcome is in the journal before the envelope leaves; or, for a driver that makes further calls of it and tells nobody,
//! on a way on which nothing can overtake it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use haft_contract::{BoxFuture, Effect, Envelope, Metadata};
use haft_journal::{JournalError, Outcome, Status};

use super::arrive::Entry;
use super::refusal::Refusal;
use super::truncate::Truncated;
use crate::run::{RunError, RunState};

/// What is still to come of a call whose envelope left ahead of its record: that its outcome is in the journal, as firmly as its
/// effect needs. Whoever drops it does not hear of that, and nothing else changes.
pub struct Recording(Option<BoxFuture<'static, Result<(), RunError>>>);

impl Recording {
    /// Returns that of a call which was recorded before its envelope left.
    pub(super) fn done() -> Self {
        Self(None)
    }

    /// Returns whether nothing is to come any more.
    pub fn is_done(&self) -> bool {
        self.0.is_none()
    }
}

impl Future for Recording {
    type Output = Result<(), RunError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(recording) = &mut self.0 else { return Poll::Ready(Ok(())) };
        let recorded = ready!(recording.as_mut().poll(cx));
        self.0 = None;
        Poll::Ready(recorded)
    }
}

pub(super) async fn record(truncated: Truncated, run: &RunState) -> Result<Envelope, RunError> {
    let (entry, intent, status, envelope, recorded) = truncated.into_parts();
    let outcome = outcome(status, as_recorded(&envelope, recorded), run);
    match run.session.shared.parts.journal.settle(intent, outcome).await {
        Ok(()) => Ok(envelope),
        Err(err) => Err(unrecorded(entry, err).await),
    }
}

/// Lets the envelope of a call that succeeded leave while its outcome is on the way. What the driver makes of it becomes
/// durable after the outcome, so that no intent can be there without that. Whatever else the driver does after a failure
/// looks at what is recorded, so a failure is recorded first.
pub(super) async fn record_ahead(
    truncated: Truncated,
    run: &Arc<RunState>,
) -> Result<(Envelope, Recording), RunError> {
    if truncated.status() != Status::Succeeded {
        return Ok((record(truncated, run).await?, Recording::done()));
    }
    let (entry, intent, status, envelope, recorded) = truncated.into_parts();
    let outcome = outcome(status, as_recorded(&envelope, recorded), run);
    let settled = match run.session.shared.parts.journal.settle_ahead(intent, outcome).await {
        Ok(settled) => settled,
        Err(err) => return Err(unrecorded(entry, err).await),
    };
    let run = Arc::clone(run);
    let recording = async move {
        let Err(err) = settled.await else { return Ok(()) };
        let err = unrecorded(entry, err).await;
        run.heed(&err);
        Err(err)
    };
    Ok((envelope, Recording(Some(Box::pin(recording)))))
}

fn outcome(status: Status, envelope: Envelope, run: &RunState) -> Outcome {
    Outcome { status, envelope, finished_at_ms: run.session.shared.parts.clock.now_ms() }
}

/// Says that it could not be recorded how a call ended.
async fn unrecorded(mut entry: Entry, err: JournalError) -> RunError {
    match err {
        // A read has no intent that could be left open; one under an epoch that is over is its new owner's.
        err if entry.effect() == Effect::Read => err.into(),
        err @ JournalError::Fenced { .. } => err.into(),
        err => {
            if entry.effect() == Effect::Once {
                // Whoever makes the call again must not repeat it.
                entry.leave_unheard().await;
            }
            RunError::Unrecorded { call: entry.id().clone(), source: Box::new(err) }
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
