//! The connection to a remote server. The SDK carries the messages; too many unsolicited messages end the connection.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::http::{HttpSendError, McpHttpClient, RequestDelivery};
use crate::client::limits::{
    REMOTE_REQUESTS_MAX, REMOTE_RESUMES_MAX, SERVER_MESSAGE_BYTES_MAX, SERVER_START_MS_MAX,
};
use crate::client::server_link::McpServerLink;
use crate::client::unsolicited::UnsolicitedMessages;

/// The time before a broken stream is resumed, unless the server says another one, in milliseconds.
const RESUME_MS: u64 = 1_000;

pub(super) struct RemoteTransport {
    inner: StreamableHttpClientTransport<McpHttpClient>,
    unsolicited: UnsolicitedMessages,
    close: CancellationToken,
    last_fault: Arc<watch::Sender<Option<String>>>,
    // The link sees the end when the SDK drops this.
    _ended: DropGuard,
}

/// Returns both ends of a connection to a server.
pub(super) fn connect_remote(way: McpHttpClient) -> (RemoteTransport, McpServerLink) {
    let url = way.url.to_string();
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_concurrent_requests(REMOTE_REQUESTS_MAX);
    config.max_sse_event_size = SERVER_MESSAGE_BYTES_MAX;
    config.session_recovery_timeout = Duration::from_millis(SERVER_START_MS_MAX);
    config.retry_config = Arc::new(retry_policy());
    let (close, ended) = (CancellationToken::new(), CancellationToken::new());
    let (fault, last_fault) = watch::channel(None);
    let transport = RemoteTransport {
        inner: StreamableHttpClientTransport::with_client(way, config),
        unsolicited: UnsolicitedMessages::new(Instant::now()),
        close: close.clone(),
        last_fault: Arc::new(fault),
        _ended: ended.clone().drop_guard(),
    };
    (transport, McpServerLink { confinement_requests: None, close, ended, last_fault })
}

/// Returns how often a stream that broke off is resumed, and when.
fn retry_policy() -> ExponentialBackoff {
    let mut resuming = ExponentialBackoff::default();
    resuming.max_times = Some(REMOTE_RESUMES_MAX);
    resuming.base_duration = Duration::from_millis(RESUME_MS);
    resuming
}

impl Transport<RoleClient> for RemoteTransport {
    type Error = HttpSendError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), HttpSendError>> + Send + 'static {
        let sending = self.inner.send(message);
        let fault = Arc::clone(&self.last_fault);
        async move {
            sending.await.map_err(|err| {
                let failed = send_error(err);
                fault.send_replace(Some(failed.why.clone()));
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
            self.last_fault.send_replace(Some(why));
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
        // Other errors do not tell whether the server has acted.
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
