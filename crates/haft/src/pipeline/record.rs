//! Writes the outcome to the journal before the envelope leaves. A driver inside haft may get the envelope earlier; the
//! journal then keeps later records behind the outcome.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use haft_contract::{BoxFuture, Effect, Envelope, EnvelopeMetadata};
use haft_journal::{CallStatus, JournalError, Outcome};

use super::call_state::CallState;
use super::refusal::RefusedCall;
use super::truncate::CallOutcome;
use crate::run_error::RunError;
use crate::runtime_event::RuntimeEvent;
use crate::shared::RuntimeParts;

/// The pending record of a call whose envelope left before its outcome was recorded. It resolves once the outcome is in
/// the journal, as durably as the effect needs. Dropping it changes nothing, but the dropper does not learn of errors.
pub struct PendingRecord(Option<BoxFuture<'static, Result<(), RunError>>>);

impl PendingRecord {
    /// Returns the value for a call that was recorded before its envelope left.
    pub(super) fn done() -> Self {
        Self(None)
    }

    /// Calls `inspect` with the error, if the record fails.
    pub(crate) fn inspect_err(self, inspect: impl FnOnce(&RunError) + Send + 'static) -> Self {
        Self(self.0.map(|recording| -> BoxFuture<'static, Result<(), RunError>> {
            Box::pin(async move { recording.await.inspect_err(inspect) })
        }))
    }

    /// Returns whether the record is complete.
    pub fn is_done(&self) -> bool {
        self.0.is_none()
    }
}

impl Future for PendingRecord {
    type Output = Result<(), RunError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(recording) = &mut self.0 else { return Poll::Ready(Ok(())) };
        let recorded = ready!(recording.as_mut().poll(cx));
        self.0 = None;
        Poll::Ready(recorded)
    }
}

/// Records the outcome, and returns the envelope. Fails if the journal does not accept the outcome.
pub(super) async fn record(
    state: CallState,
    outcome: CallOutcome,
    parts: &RuntimeParts,
) -> Result<Envelope, RunError> {
    let CallOutcome { intent, status, envelope, recorded_message } = outcome;
    let recorded = envelope_to_record(&state, &envelope, recorded_message);
    let recorded = recorded_outcome(status, recorded, parts);
    match parts.journal.settle(intent, recorded).await {
        Ok(()) => {
            // The person who cancelled a call knows that it is in doubt.
            let is_known = state.call().cancellation.is_cancelled();
            if status == CallStatus::Unknown && state.effect() == Effect::Once && !is_known {
                parts.report_event(RuntimeEvent::InDoubt(vec![state.id().clone()])).await;
            }
            Ok(envelope)
        }
        Err(err) => Err(unrecorded_error(state, err).await),
    }
}

/// Returns the envelope of a call that succeeded before its outcome is recorded. The journal makes later records of the
/// driver durable only after this outcome. The driver handles failures by reading the journal, so a failure is recorded
/// first.
pub(super) async fn record_ahead(
    state: CallState,
    outcome: CallOutcome,
    parts: &RuntimeParts,
) -> Result<(Envelope, PendingRecord), RunError> {
    if outcome.status != CallStatus::Succeeded {
        return Ok((record(state, outcome, parts).await?, PendingRecord::done()));
    }
    let CallOutcome { intent, status, envelope, recorded_message } = outcome;
    let recorded = envelope_to_record(&state, &envelope, recorded_message);
    let recorded = recorded_outcome(status, recorded, parts);
    let settled = match parts.journal.settle_ahead(intent, recorded).await {
        Ok(settled) => settled,
        Err(err) => return Err(unrecorded_error(state, err).await),
    };
    let recording = async move {
        match settled.await {
            Ok(()) => Ok(()),
            Err(err) => Err(unrecorded_error(state, err).await),
        }
    };
    Ok((envelope, PendingRecord(Some(Box::pin(recording)))))
}

/// Returns the outcome with the current time.
fn recorded_outcome(status: CallStatus, envelope: Envelope, parts: &RuntimeParts) -> Outcome {
    Outcome { status, envelope, finished_at_ms: parts.clock.now_ms() }
}

/// Returns the error that says that the outcome of a call could not be recorded.
async fn unrecorded_error(mut state: CallState, err: JournalError) -> RunError {
    match err {
        // A read leaves no open intent. An intent under a former fencing token belongs to the new owner of the lease.
        err if state.effect() == Effect::Read => err.into(),
        err @ JournalError::Fenced { .. } => err.into(),
        err => {
            if state.effect() == Effect::Once {
                // A later call with this input must not repeat the effect.
                state.mark_unacknowledged().await;
            }
            RunError::Unrecorded { call: state.id().clone(), source: Box::new(err) }
        }
    }
}

/// Records a call that was not allowed to execute.
pub(super) async fn record_refusal(
    refused: RefusedCall,
    parts: &RuntimeParts,
) -> Result<Envelope, RunError> {
    let RefusedCall { state, accesses, refusal, recorded_message, is_held_back } = refused;
    let metadata = EnvelopeMetadata {
        duration_ms: state.elapsed_ms(),
        call_id: Some(state.id().to_string()),
        code: Some(refusal.code),
        held_back: is_held_back,
        unsafe_no_sandbox: parts.sandbox.is_off(),
        refusal: Some(Box::new(refusal.clone())),
        ..EnvelopeMetadata::default()
    };
    let envelope = Envelope::Error { error_text: refusal.because, metadata };
    let finished_at_ms = parts.clock.now_ms();
    let recorded = envelope_to_record(&state, &envelope, recorded_message);
    let outcome = Outcome { status: CallStatus::Refused, envelope: recorded, finished_at_ms };
    parts.journal.refuse(state.planned_call(accesses), outcome).await?;
    if is_held_back {
        state.attempt().mark_warned();
    }
    Ok(envelope)
}

/// Returns the envelope as the journal holds it, with the waits of the call. A message that quotes what must not be stored
/// gives way to one that does not.
fn envelope_to_record(state: &CallState, envelope: &Envelope, message: Option<String>) -> Envelope {
    let mut recorded = envelope.clone();
    if let (Envelope::Error { error_text, metadata }, Some(message)) = (&mut recorded, message) {
        if let Some(refusal) = &mut metadata.refusal {
            refusal.because.clone_from(&message);
            refusal.remedies.clear();
        }
        *error_text = message;
    }
    let (Envelope::Output { metadata, .. } | Envelope::Error { metadata, .. }) = &mut recorded;
    metadata.waits = state.waits().waits();
    recorded
}
