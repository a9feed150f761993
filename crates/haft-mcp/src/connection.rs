//! One connection from its first line to its end. The end is the delicate part: answers that are nearly there still
//! leave, everything else is told to stop, and no process that a call started outlives the connection. How long that
//! takes never depends on the client.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::{Transport, async_rw::AsyncRwTransport};
use rmcp::{RoleServer, ServiceExt};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::handler::McpServerHandler;
use crate::limits::{FLUSH_MS_MAX, GRACE_MS, MESSAGE_BYTES_MAX};
use crate::server_parts::McpServerParts;
use crate::stdio;

/// Says why a connection failed. Its end, however sudden, is no failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum McpServeError {
    /// Standard input or output is of no use.
    #[error("standard input and output cannot be used for MCP: {0}")]
    Stdio(#[from] io::Error),
    /// The client and haft did not come to an understanding.
    #[error("the MCP connection could not be begun: {0}")]
    Handshake(String),
    /// The connection broke off by a fault of haft.
    #[error("the MCP connection broke off: {0}")]
    Broken(String),
}

/// Serves a client on standard input and output.
///
/// Returns when the input ends or `shutdown` is cancelled, at the latest after [`GRACE_MS`], [`SETTLE_MS_MAX`](crate::limits::SETTLE_MS_MAX) and
/// [`FLUSH_MS_MAX`]. By then calls have ended and their processes are gone, unless one of them did not stop when told
/// to. A thread may still wait in a read of standard input, so the caller ends the process without waiting for it.
pub async fn serve_stdio(
    server: McpServerParts,
    shutdown: CancellationToken,
) -> Result<(), McpServeError> {
    let stdio::Stdio { input, output, flags } = stdio::open()?;
    let served = serve(server, input, output, shutdown).await;
    drop(flags);
    served
}

/// Serves a client on any pair of streams; ends as [`serve_stdio`] does.
pub async fn serve<R, W>(
    server: McpServerParts,
    input: R,
    output: W,
    shutdown: CancellationToken,
) -> Result<(), McpServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let handler = Arc::new(McpServerHandler::new(server));
    let ended = shutdown.child_token();
    let transport = McpStreamTransport {
        inner: AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES_MAX),
        is_open: false,
        ended: ended.clone(),
    };
    // The SDK gives each request a child token of `stop`. It ends when it has answered everything, which a client that does
    // not read can delay for ever.
    let serving = Arc::clone(&handler).serve_with_ct(transport, handler.stop.clone());
    let mut service = pin!(async {
        match serving.await {
            Ok(service) => match service.waiting().await {
                Ok(_) => Ok(()),
                Err(err) => Err(McpServeError::Broken(err.to_string())),
            },
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(err) => Err(McpServeError::Handshake(err.to_string())),
        }
    });
    let grace_over = async {
        ended.cancelled().await;
        tokio::time::sleep(Duration::from_millis(GRACE_MS)).await;
    };
    let served = tokio::select! {
        served = &mut service => Some(served),
        () = grace_over => None,
        never = handler.suspended_calls.expire_calls() => match never {},
    };
    handler.end().await;
    match served {
        Some(served) => served,
        // A client that does not read its last answers is not waited for.
        None => timeout(Duration::from_millis(FLUSH_MS_MAX), service).await.unwrap_or(Ok(())),
    }
}

/// The SDK's transport with two additions: it says at once when the input ends, where the SDK first waits for calls;
/// and it drops what comes before the first request, where the SDK gives up.
struct McpStreamTransport<R: AsyncRead, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, R, W>,
    is_open: bool,
    ended: CancellationToken,
}

impl<R, W> Transport<RoleServer> for McpStreamTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.ended.cancel();
                return None;
            };
            self.is_open |= matches!(message, JsonRpcMessage::Request(_));
            if self.is_open {
                return Some(message);
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}
