//! The connection to a server that runs elsewhere, as whoever keeps it sees it: whether it is over, and why. The SDK carries the
//! messages; too many that nobody asked for end the connection.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use tokio::time::{Instant, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Failed, HttpWay, Reached};
use crate::client::limits::{
    REMOTE_REQUESTS_MAX, REMOTE_RESUMES_MAX, SERVER_END_MS_MAX, SERVER_MESSAGE_BYTES_MAX,
    SERVER_START_MS_MAX,
};
use crate::client::unasked::Unasked;

/// The time before a broken stream is resumed, unless the server says another one, in milliseconds.
const RESUME_MS: u64 = 1_000;

/// The SDK's end.
pub(in crate::client) struct RemoteTransport {
    inner: StreamableHttpClientTransport<HttpWay>,
    unasked: Unasked,
    close: CancellationToken,
    why: Arc<Why>,
    // Whoever waits for the end hears of it when the SDK lets go of this.
    _ended: DropGuard,
}

/// The end of whoever keeps the connection. Dropping it ends the connection.
pub(in crate::client) struct RemoteLink {
    close: CancellationToken,
    ended: CancellationToken,
    why: Arc<Why>,
}

/// What went wrong last. Written by the transport, and read by whoever wants to say why something failed.
type Why = Mutex<Option<String>>;

/// Returns both ends of a connection to a server.
pub(in crate::client) fn remote(way: HttpWay) -> (RemoteTransport, RemoteLink) {
    let url = way.parts.url.to_string();
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_concurrent_requests(REMOTE_REQUESTS_MAX);
    config.max_sse_event_size = SERVER_MESSAGE_BYTES_MAX;
    config.session_recovery_timeout = Duration::from_millis(SERVER_START_MS_MAX);
    config.retry_config = Arc::new(resuming());
    let (close, ended) = (CancellationToken::new(), CancellationToken::new());
    let why = Arc::<Why>::default();
    let transport = RemoteTransport {
        inner: StreamableHttpClientTransport::with_client(way, config),
        unasked: Unasked::new(Instant::now()),
        close: close.clone(),
        why: Arc::clone(&why),
        _ended: ended.clone().drop_guard(),
    };
    (transport, RemoteLink { close, ended, why })
}

/// Returns how often a stream that broke off is resumed, and when.
fn resuming() -> ExponentialBackoff {
    let mut resuming = ExponentialBackoff::default();
    resuming.max_times = Some(REMOTE_RESUMES_MAX);
    resuming.base_duration = Duration::from_millis(RESUME_MS);
    resuming
}

impl RemoteLink {
    pub(in crate::client) fn is_over(&self) -> bool {
        self.ended.is_cancelled()
    }

    pub(in crate::client) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Returns what went wrong last, if anything did.
    pub(in crate::client) fn fault(&self) -> Option<String> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how the connection ended, in words; waits a while for that.
    pub(in crate::client) async fn end(&self) -> String {
        // Whether it has ended by then or not, there is no more to say.
        let _ = timeout(Duration::from_millis(SERVER_END_MS_MAX), self.ended()).await;
        self.fault().unwrap_or_else(|| "the connection to it broke off".to_owned())
    }

    /// Ends the connection, and waits for that.
    pub(in crate::client) async fn close(&self) {
        self.close.cancel();
        self.end().await;
    }
}

impl Drop for RemoteLink {
    fn drop(&mut self) {
        self.close.cancel();
    }
}

impl Transport<RoleClient> for RemoteTransport {
    type Error = Failed;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Failed>> + Send + 'static {
        let sending = self.inner.send(message);
        let why = Arc::clone(&self.why);
        async move {
            sending.await.map_err(|err| {
                let failed = failed(err);
                *why.lock().unwrap_or_else(PoisonError::into_inner) = Some(failed.why.clone());
                failed
            })
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = tokio::select! {
            biased;
            () = self.close.cancelled() => return None,
            message = self.inner.receive() => message?,
        };
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        if !is_answer && let Err(why) = self.unasked.count(Instant::now()) {
            *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            return None;
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Failed> {
        self.inner.close().await.map_err(failed)
    }
}

fn failed(err: StreamableHttpError<Failed>) -> Failed {
    let why = |why: &str, reached| Failed { why: why.to_owned(), reached };
    match err {
        StreamableHttpError::Client(failed) => failed,
        StreamableHttpError::SessionExpired => {
            why("its session is over, and another one was not begun", Reached::No)
        }
        StreamableHttpError::ReinitializationFailed(_) => {
            why("its session is over, and it begins no other", Reached::No)
        }
        StreamableHttpError::TransportChannelClosed => {
            why("the connection to it is over", Reached::No)
        }
        StreamableHttpError::SessionRecoveryTimeout => {
            why("its session ended while it was asked, and it begins no other", Reached::Perhaps)
        }
        // What else there is says nothing about whether the server has acted.
        err => Failed { why: err.to_string(), reached: Reached::Perhaps },
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::common::client_side_sse::SseRetryPolicy as _;

    use super::*;

    #[test]
    fn a_stream_is_resumed_so_often() {
        let seconds = (0..=REMOTE_RESUMES_MAX)
            .map(|times| resuming().retry(times).map(|pause| pause.as_secs()));
        let expect = [Some(1), Some(2), Some(4), Some(8), Some(16), None];
        assert_eq!(seconds.collect::<Vec<_>>(), expect);
    }
}
