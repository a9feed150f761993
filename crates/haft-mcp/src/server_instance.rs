//! What a client is connected to, without the connection: the handler of its requests, and how the calls that they made
//! come to an end. Over standard streams there is one, over HTTP one for each session and one for all requests that
//! belong to none.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::call_limiter::CallLimiter;
use crate::handler::McpServerHandler;
use crate::limits::SETTLE_MS_MAX;
use crate::request_state::RequestStateSigner;
use crate::server_parts::McpServerParts;
use crate::suspended_calls::SuspendedCalls;

/// A handler and what goes on in it.
pub(crate) struct McpServerInstance {
    pub(crate) handler: Arc<McpServerHandler>,
    /// Tells every call to stop.
    pub(crate) stop: CancellationToken,
    call_limiter: CallLimiter,
    suspended_calls: Arc<SuspendedCalls>,
}

impl McpServerInstance {
    pub(crate) fn new(server: McpServerParts) -> Self {
        let calls = CallLimiter::new();
        let seal = RequestStateSigner::new(server.state_key);
        let suspended = Arc::new(SuspendedCalls::new(seal, Arc::clone(&server.clock)));
        let handler =
            Arc::new(McpServerHandler::new(server, calls.clone(), Arc::clone(&suspended)));
        Self {
            handler,
            stop: CancellationToken::new(),
            call_limiter: calls,
            suspended_calls: suspended,
        }
    }

    /// Refuses calls whose question nobody answers in time, for as long as it is polled.
    pub(crate) async fn expire_calls(&self) -> Infallible {
        self.suspended_calls.expire_calls().await
    }

    /// Returns whether requests are worked on.
    pub(crate) fn is_busy(&self) -> bool {
        self.call_limiter.is_busy()
    }

    /// Tells all calls to stop and waits until they are recorded, at the latest after [`SETTLE_MS_MAX`].
    pub(crate) async fn end(&self) {
        self.stop.cancel();
        self.suspended_calls.close();
        let all_ended = async {
            self.call_limiter.wait_until_idle().await;
            self.suspended_calls.wait_until_ended().await;
        };
        // A call that does not stop is left behind: its intent stays open in the journal, which is the truth.
        let _ = timeout(Duration::from_millis(SETTLE_MS_MAX), all_ended).await;
    }
}
