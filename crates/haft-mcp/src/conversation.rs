//! What a client is connected to, without the connection: the handler of its requests, and how the calls that they made
//! come to an end. Over standard streams there is one, over HTTP one for each session and one for all requests that
//! belong to none.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::calls::Calls;
use crate::connection::Server;
use crate::handler::Handler;
use crate::limits::SETTLE_MS_MAX;
use crate::seal::Seal;
use crate::suspended::Suspended;

/// A handler and what goes on in it.
pub(crate) struct Conversation {
    pub(crate) handler: Arc<Handler>,
    /// Tells every call to stop.
    pub(crate) stop: CancellationToken,
    calls: Calls,
    suspended: Arc<Suspended>,
}

impl Conversation {
    pub(crate) fn new(server: Server) -> Self {
        let calls = Calls::new();
        let seal = Seal::new(server.state_key);
        let suspended = Arc::new(Suspended::new(seal, Arc::clone(&server.clock)));
        let handler = Arc::new(Handler::new(server, calls.clone(), Arc::clone(&suspended)));
        Self { handler, stop: CancellationToken::new(), calls, suspended }
    }

    /// Refuses calls whose question nobody answers in time, for as long as it is polled.
    pub(crate) async fn expire(&self) -> Infallible {
        self.suspended.expire().await
    }

    /// Returns whether requests are worked on.
    pub(crate) fn is_busy(&self) -> bool {
        self.calls.is_busy()
    }

    /// Tells all calls to stop and waits until they are recorded, at the latest after [`SETTLE_MS_MAX`].
    pub(crate) async fn end(&self) {
        self.stop.cancel();
        self.suspended.close();
        let all_ended = async {
            self.calls.all_ended().await;
            self.suspended.all_ended().await;
        };
        // A call that does not stop is left behind: its intent stays open in the journal, which is the truth.
        let _ = timeout(Duration::from_millis(SETTLE_MS_MAX), all_ended).await;
    }
}
