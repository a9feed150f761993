//! A call that is on its way through the pipeline, seen from outside: it ends, or it asks. Requests come and go around
//! it; the call itself is a task of the runtime, and dropping this cancels it.

use std::pin::pin;
use std::sync::{Arc, OnceLock};

use haft::{Call, Run, RunError};
use haft_contract::{BoxFuture, ClientRequestMethod, Envelope};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::ask_channel::AskChannel;
use crate::pending_ask::PendingClientAsk;
use crate::progress::{self, CallReports, McpProgressListener};

pub(crate) struct InFlightCall {
    call: BoxFuture<'static, Result<Envelope, RunError>>,
    pending_asks: mpsc::Receiver<PendingClientAsk>,
    reports: CallReports,
    cancellation: CancellationToken,
    missing_capability: Arc<OnceLock<ClientRequestMethod>>,
}

#[expect(clippy::large_enum_variant, reason = "a call has one such event, which is moved once")]
pub(crate) enum InFlightCallEvent {
    Ended(Box<Result<Envelope, RunError>>),
    Asked(PendingClientAsk),
}

impl InFlightCall {
    /// Returns the call about to begin, which asks its client over `lines`.
    pub(crate) fn new(run: Run, mut call: Call, lines: AskChannel) -> Self {
        let AskChannel { asker, client, pending_asks: asks, missing_capability: missing } = lines;
        (call.asker, call.client) = (asker, client);
        let cancellation = CancellationToken::new();
        let (sink, reports) = progress::channel();
        (call.cancellation, call.progress) = (cancellation.clone(), sink);
        let call = Box::pin(async move { run.call(call).await });
        Self { call, pending_asks: asks, reports, cancellation, missing_capability: missing }
    }

    /// Waits for what comes next, and tells `listener` of progress until then. `given_up` says that the request which
    /// waits was cancelled, and the call with it.
    pub(crate) async fn next_event(
        &mut self,
        given_up: &CancellationToken,
        listener: Option<&McpProgressListener>,
    ) -> InFlightCallEvent {
        let Self { call, pending_asks: asks, reports, cancellation, missing_capability: _ } = self;
        let next = async {
            loop {
                tokio::select! {
                    biased;
                    envelope = &mut *call => return InFlightCallEvent::Ended(Box::new(envelope)),
                    Some(asked) = asks.recv() => {
                        // A call that was given up withdraws its question in a moment.
                        if !cancellation.is_cancelled() {
                            return InFlightCallEvent::Asked(asked);
                        }
                    }
                }
            }
        };
        let next = cancel_if_given_up(cancellation, given_up, next);
        match listener {
            None => next.await,
            Some(listener) => reports.forward_until_done(next, listener).await,
        }
    }

    pub(crate) async fn wait_for<T>(
        &mut self,
        others: impl Future<Output = T>,
        given_up: &CancellationToken,
    ) -> T {
        cancel_if_given_up(&self.cancellation, given_up, others).await
    }

    /// Returns what the call asked its client for that the client does not take.
    pub(crate) fn missing_capability(&self) -> Option<ClientRequestMethod> {
        self.missing_capability.get().copied()
    }

    pub(crate) fn cancel(&self) {
        self.cancellation.cancel();
    }

    /// Waits until a call that has not ended yet is recorded.
    pub(crate) async fn wait_until_recorded(self) {
        // It is in the journal, or the journal has failed, which the next call reports.
        let _ = self.call.await;
    }
}

/// Waits for `work`, and cancels the call as soon as it is given up.
pub(crate) async fn cancel_if_given_up<T>(
    cancellation: &CancellationToken,
    given_up: &CancellationToken,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = given_up.cancelled() => cancellation.cancel(),
    }
    work.await
}
