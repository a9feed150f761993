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

use super::http::{HttpSendError, McpHttpClient, RequestDelivery};
use crate::client::limits::{
    REMOTE_REQUESTS_MAX, REMOTE_RESUMES_MAX, SERVER_END_MS_MAX, SERVER_MESSAGE_BYTES_MAX,
    SERVER_START_MS_MAX,
};
use crate::client::unsolicited::UnsolicitedMessages;

/// The time before a broken stream is resumed, unless the server says another one, in milliseconds.
const RESUME_MS: u64 = 1_000;

/// The SDK's end.
pub(super) struct RemoteTransport {
    inner: StreamableHttpClientTransport<McpHttpClient>,
    unsolicited: UnsolicitedMessages,
    close: CancellationToken,
    last_fault: Arc<LastHttpFault>,
    // Whoever waits for the end hears of it when the SDK lets go of this.
    _ended: DropGuard,
}

/// The end of whoever keeps the connection. Dropping it ends the connection.
pub(super) struct RemoteLink {
    close: CancellationToken,
    ended: CancellationToken,
    last_fault: Arc<LastHttpFault>,
}

/// What went wrong last. Written by the transport, and read by whoever wants to say why something failed.
type LastHttpFault = Mutex<Option<String>>;

/// Returns both ends of a connection to a server.
pub(super) fn connect_remote(way: McpHttpClient) -> (RemoteTransport, RemoteLink) {
    let url = way.url().to_string();
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_concurrent_requests(REMOTE_REQUESTS_MAX);
    config.max_sse_event_size = SERVER_MESSAGE_BYTES_MAX;
    config.session_recovery_timeout = Duration::from_millis(SERVER_START_MS_MAX);
    config.retry_config = Arc::new(retry_policy());
    let (close, ended) = (CancellationToken::new(), CancellationToken::new());
    let why = Arc::<LastHttpFault>::default();
    let transport = RemoteTransport {
        inner: StreamableHttpClientTransport::with_client(way, config),
        unsolicited: UnsolicitedMessages::new(Instant::now()),
        close: close.clone(),
        last_fault: Arc::clone(&why),
        _ended: ended.clone().drop_guard(),
    };
    (transport, RemoteLink { close, ended, last_fault: why })
}

/// Returns how often a stream that broke off is resumed, and when.
fn retry_policy() -> ExponentialBackoff {
    let mut resuming = ExponentialBackoff::default();
    resuming.max_times = Some(REMOTE_RESUMES_MAX);
    resuming.base_duration = Duration::from_millis(RESUME_MS);
    resuming
}

impl RemoteLink {
    pub(super) fn is_over(&self) -> bool {
        self.ended.is_cancelled()
    }

    pub(super) async fn wait_until_ended(&self) {
        self.ended.cancelled().await;
    }

    /// Returns what went wrong last, if anything did.
    pub(super) fn last_fault(&self) -> Option<String> {
        self.last_fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how the connection ended, in words; waits a while for that.
    pub(super) async fn end_reason(&self) -> String {
        // Whether it has ended by then or not, there is no more to say.
        let _ = timeout(Duration::from_millis(SERVER_END_MS_MAX), self.wait_until_ended()).await;
        self.last_fault().unwrap_or_else(|| "the connection to it broke off".to_owned())
    }

    /// Ends the connection, and waits for that.
    pub(super) async fn close(&self) {
        self.close.cancel();
        self.end_reason().await;
    }
}

impl Drop for RemoteLink {
    fn drop(&mut self) {
        self.close.cancel();
    }
}

impl Transport<RoleClient> for RemoteTransport {
    type Error = HttpSendError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), HttpSendError>> + Send + 'static {
        let sending = self.inner.send(message);
        let why = Arc::clone(&self.last_fault);
        async move {
            sending.await.map_err(|err| {
                let failed = send_error(err);
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
        if !is_answer && let Err(why) = self.unsolicited.count_message(Instant::now()) {
            *self.last_fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            return None;
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), HttpSendError> {
        self.inner.close().await.map_err(send_error)
    }
}

fn send_error(err: StreamableHttpError<HttpSendError>) -> HttpSendError {
    let why = |why: &str, reached| HttpSendError { why: why.to_owned(), delivery: reached };
    match err {
        StreamableHttpError::Client(failed) => failed,
        StreamableHttpError::SessionExpired => {
            why("its session is over, and another one was not begun", RequestDelivery::NotDelivered)
        }
        StreamableHttpError::ReinitializationFailed(_) => {
            why("its session is over, and it begins no other", RequestDelivery::NotDelivered)
        }
        StreamableHttpError::TransportChannelClosed => {
            why("the connection to it is over", RequestDelivery::NotDelivered)
        }
        StreamableHttpError::SessionRecoveryTimeout => why(
            "its session ended while it was asked, and it begins no other",
            RequestDelivery::MaybeDelivered,
        ),
        // What else there is says nothing about whether the server has acted.
        err => HttpSendError { why: err.to_string(), delivery: RequestDelivery::MaybeDelivered },
    }
}

#[cfg(test)]
mod tests {
    use rmcp::transport::common::client_side_sse::SseRetryPolicy as _;

    use super::*;

    #[test]
    fn a_stream_is_resumed_so_often() {
        let seconds = (0..=REMOTE_RESUMES_MAX)
            .map(|times| retry_policy().retry(times).map(|pause| pause.as_secs()));
        let expect = [Some(1), Some(2), Some(4), Some(8), Some(16), None];
        assert_eq!(seconds.collect::<Vec<_>>(), expect);
    }
}
