//! Reads the body of a request completely, limited in length and in time, so that services never
//! wait for a client.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;

use crate::limits::BODY_MS_MAX;
use crate::refusal::HttpRefusal;

/// Reads a whole body of at most so many bytes.
pub(crate) async fn read(body: Body, bytes_max: usize) -> Result<Bytes, HttpRefusal> {
    let whole = Limited::new(body, bytes_max).collect();
    let Ok(read) = timeout(Duration::from_millis(BODY_MS_MAX), whole).await else {
        return Err(HttpRefusal::BodySlow(BODY_MS_MAX));
    };
    match read {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(err) if err.downcast_ref::<LengthLimitError>().is_some() => {
            Err(HttpRefusal::BodyLong(bytes_max))
        }
        Err(_) => Err(HttpRefusal::BodyBroken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::BODY_BYTES_MAX;

    #[tokio::test]
    async fn a_body_is_read_up_to_its_bound() {
        let body = |bytes: usize| Body::from(vec![b'a'; bytes]);
        let read_bytes = read(body(BODY_BYTES_MAX), BODY_BYTES_MAX).await.map(|read| read.len());
        assert_eq!(read_bytes, Ok(BODY_BYTES_MAX));
        assert_eq!(
            read(body(BODY_BYTES_MAX + 1), BODY_BYTES_MAX).await,
            Err(HttpRefusal::BodyLong(BODY_BYTES_MAX))
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_come_is_not_waited_for() {
        struct Never;
        impl http_body::Body for Never {
            type Data = Bytes;
            type Error = std::convert::Infallible;
            fn poll_frame(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
                std::task::Poll::Pending
            }
        }
        assert_eq!(
            read(Body::new(Never), BODY_BYTES_MAX).await,
            Err(HttpRefusal::BodySlow(BODY_MS_MAX))
        );
    }
}
