//! Polls futures without a runtime. A journal in memory answers at once, or waits for a connection that the simulation gives back.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Polls a future once. Returns its answer, if it has one.
pub(super) fn poll_once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    match std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// Returns the answer of a future that waits for nothing.
pub(super) fn answer_at_once<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    poll_once(&mut future).expect("a journal in memory answers at once")
}
