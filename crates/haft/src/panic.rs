//! Turns panics of tools and hooks into values. haft does not use the state of panicked code again, so a broken invariant
//! cannot show.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs `code`; a panic is its message.
pub(crate) fn catch_panic<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "without a message".to_owned())
    })
}

/// A future whose panic is its message.
pub(crate) struct PanicCatchingFuture<'a, T>(
    pub(crate) Pin<Box<dyn Future<Output = T> + Send + 'a>>,
);

impl<T> Future for PanicCatchingFuture<'_, T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match catch_panic(|| self.0.as_mut().poll(cx)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}
