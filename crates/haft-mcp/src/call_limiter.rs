//! Limits how many requests of one connection run at the same time, and waits for the last one. The SDK starts every
//! request at once; this makes the others wait.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use tokio_util::sync::CancellationToken;

use crate::limits::{CALLS_IN_FLIGHT_MAX, CALLS_WAITING_MAX};

/// Those that run and those that wait.
const ADMITTED_MAX: u32 = CALLS_IN_FLIGHT_MAX + CALLS_WAITING_MAX;

pub(crate) struct CallLimiter {
    admitted: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

/// The permit to work on a request; it ends when this is dropped. It holds a permit to run and one to be admitted.
pub(crate) type CallPermit = [OwnedSemaphorePermit; 2];

impl CallLimiter {
    pub(crate) fn new() -> Self {
        Self { admitted: semaphore(ADMITTED_MAX), running: semaphore(CALLS_IN_FLIGHT_MAX) }
    }

    pub(crate) async fn acquire_permit(
        &self,
        cancellation: &CancellationToken,
    ) -> Result<CallPermit, ErrorData> {
        let error = |message: String| ErrorData::new(ErrorCode::INTERNAL_ERROR, message, None);
        let busy = || {
            error(format!(
                "{CALLS_WAITING_MAX} calls are waiting for {CALLS_IN_FLIGHT_MAX} others to end: wait for \
                 answers before sending more"
            ))
        };
        let admitted = Arc::clone(&self.admitted).try_acquire_owned().map_err(|err| match err {
            TryAcquireError::NoPermits => busy(),
            TryAcquireError::Closed => {
                error("the connection is at its end: nothing was executed".to_owned())
            }
        })?;
        let running = tokio::select! {
            running = Arc::clone(&self.running).acquire_owned() => running.map_err(|_| busy())?,
            // A client that cancelled gets no answer; a client whose connection ends may get this.
            () = cancellation.cancelled() => {
                return Err(error("the call was cancelled before it began".to_owned()));
            }
        };
        Ok([running, admitted])
    }

    /// Returns whether a request is worked on or waits.
    pub(crate) fn is_busy(&self) -> bool {
        self.admitted.available_permits() < usize::try_from(ADMITTED_MAX).unwrap_or(usize::MAX)
    }

    /// Waits until no request is left. Those that come from then on are turned away.
    pub(crate) async fn wait_until_idle(&self) {
        if let Ok(all) = self.admitted.acquire_many(ADMITTED_MAX).await {
            all.forget();
            self.admitted.close();
        }
    }
}

fn semaphore(permits: u32) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(usize::try_from(permits).unwrap_or(Semaphore::MAX_PERMITS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn turns_are_bounded_and_so_is_waiting_for_one() {
        let (calls, never) = (CallLimiter::new(), CancellationToken::new());
        let mut running = Vec::new();
        for _ in 0..CALLS_IN_FLIGHT_MAX {
            running.push(calls.acquire_permit(&never).await.unwrap());
        }
        let gone = CancellationToken::new();
        gone.cancel();
        let refused = calls.acquire_permit(&gone).await.err().map(|err| err.message.into_owned());
        assert_eq!(refused.as_deref(), Some("the call was cancelled before it began"));

        let waiting: Vec<_> =
            (0..CALLS_WAITING_MAX).map(|_| calls.acquire_permit(&never)).collect();
        let mut waiting: Vec<_> = waiting.into_iter().map(Box::pin).collect();
        for turn in &mut waiting {
            assert!(is_pending(turn.as_mut()).await);
        }
        let refused = calls.acquire_permit(&never).await.err().map(|err| err.message.into_owned());
        assert_eq!(
            refused.as_deref(),
            Some(
                "1024 calls are waiting for 64 others to end: wait for answers before sending more"
            )
        );
        running.pop();
        assert!(!is_pending(waiting.remove(0).as_mut()).await);
    }

    #[tokio::test]
    async fn the_end_waits_for_those_that_run() {
        let calls = CallLimiter::new();
        let turn = calls.acquire_permit(&CancellationToken::new()).await.unwrap();
        let mut ended = Box::pin(calls.wait_until_idle());
        assert!(is_pending(ended.as_mut()).await);
        assert!(calls.is_busy());
        drop(turn);
        assert!(!is_pending(ended.as_mut()).await);
        assert!(!is_pending(Box::pin(calls.wait_until_idle()).as_mut()).await);
        let refused = calls.acquire_permit(&CancellationToken::new()).await.err();
        assert_eq!(
            refused.map(|err| err.message.into_owned()).as_deref(),
            Some("the connection is at its end: nothing was executed")
        );
    }

    async fn is_pending<F: Future>(mut future: std::pin::Pin<&mut F>) -> bool {
        std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_pending()))
            .await
    }
}
