//! A panic of our own becomes an answer. Without this the SDK would lose the request and its client would wait for
//! ever. Panics of tools never come this far: the runtime makes envelopes of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use rmcp::ErrorData;

const MESSAGE: &str = "haft panicked while it answered this request, which is a bug of haft; if the \
                       request was a call, its row is in the journal";

/// Runs `work`; its panic is an internal error.
pub(crate) async fn catch_panic<T>(
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let mut work = pin!(work);
    std::future::poll_fn(move |cx| {
        // Work that panicked is not polled again, so no broken invariant of it can be seen.
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)))
            .unwrap_or_else(|_| Poll::Ready(Err(ErrorData::internal_error(MESSAGE, None))))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_internal_error() {
        let err = catch_panic::<()>(async { panic!("boom") }).await.unwrap_err();
        assert_eq!(err, ErrorData::internal_error(MESSAGE, None));
        assert_eq!(catch_panic(async { Ok(1) }).await, Ok(1));
    }
}
