//! The sessions of clients of the older era. The SDK keeps the wires of each; here is what it is connected to, how many
//! there may be, and when one ends that nobody has ended. An id is random and long, and is all that leads to a session,
//! for those whom the listener lets in.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionTransport,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Open, tend};
use crate::conversation::Conversation;
use crate::limits::{
    HTTP_SESSION_IDLE_MS_MAX, HTTP_SESSION_SPARE_MS, HTTP_SESSIONS_MAX, HTTP_SWEEP_MS,
    SETTLE_MS_MAX,
};

/// The sessions that there are.
pub(crate) struct Sessions {
    wires: LocalSessionManager,
    open: Open,
    // Written when a session begins or ends, read by every request of one; the lock is held for a look-up.
    live: Mutex<HashMap<SessionId, Arc<Live>>>,
    /// Set when all are about to end, while `live` is locked: none begins afterwards.
    is_closing: AtomicBool,
    tending: TaskTracker,
    closed: CancellationToken,
}

/// Why there is no session, or not any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    #[error("there are {HTTP_SESSIONS_MAX} sessions, which is the limit")]
    TooMany,
    #[error("the server is about to end")]
    Closing,
    #[error("the session cannot be opened: {0}")]
    Open(String),
    #[error(transparent)]
    Wires(#[from] LocalSessionManagerError),
}

/// What a session is connected to, handed to its handler with its first request.
#[derive(Clone)]
pub(crate) struct Begun(pub(crate) Arc<Conversation>);

/// A session, and when its client was last heard of.
struct Live {
    conversation: Arc<Conversation>,
    /// Told when a stream ends.
    left: Notify,
    // Written by every request of the session and by the end of each of its streams, for a few instructions.
    presence: Mutex<Presence>,
}

struct Presence {
    streams: usize,
    /// Those of the streams that end with an answer.
    answers: usize,
    last: Instant,
}

impl Live {
    fn new(conversation: Arc<Conversation>) -> Self {
        let presence = Presence { streams: 0, answers: 0, last: Instant::now() };
        Self { conversation, left: Notify::new(), presence: Mutex::new(presence) }
    }

    fn touch(&self) -> MutexGuard<'_, Presence> {
        let mut presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
        presence.last = Instant::now();
        presence
    }

    /// Stops all calls, and waits until their answers have left or nobody takes them, each for a bounded time.
    async fn end(&self) {
        self.conversation.end().await;
        let answered = async {
            loop {
                let left = self.left.notified();
                if self.touch().answers == 0 {
                    return;
                }
                left.await;
            }
        };
        let _ = timeout(Duration::from_millis(SETTLE_MS_MAX), answered).await;
    }

    /// Returns since when nobody has been there; `None` while somebody is.
    fn idle_since(&self) -> Option<Instant> {
        let presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
        (presence.streams == 0 && !self.conversation.is_busy()).then_some(presence.last)
    }
}

impl Sessions {
    pub(crate) fn new(open: Open, tending: TaskTracker, closed: CancellationToken) -> Self {
        let mut wires = LocalSessionManager::default();
        // The SDK takes a long call without news for silence, and would end the session in the middle of it.
        wires.session_config.keep_alive = None;
        let (live, is_closing) = (Mutex::default(), AtomicBool::new(false));
        Self { wires, open, live, is_closing, tending, closed }
    }

    /// Returns whether there is such a session.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.live().contains_key(id)
    }

    /// Returns whether all are about to end.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    /// Returns whether one more session fits. The one whose client has been silent for longest makes room for it.
    pub(crate) async fn has_room(&self) -> bool {
        if self.live().len() < HTTP_SESSIONS_MAX {
            return true;
        }
        let spare = self.idle(Duration::from_millis(HTTP_SESSION_SPARE_MS)).into_iter().next();
        let Some(id) = spare else { return false };
        self.end(&id).await.is_ok()
    }

    /// Ends sessions whose clients have gone without a word, for as long as it is polled.
    pub(crate) async fn end_idle(&self) -> Infallible {
        loop {
            sleep(Duration::from_millis(HTTP_SWEEP_MS)).await;
            for id in self.idle(Duration::from_millis(HTTP_SESSION_IDLE_MS_MAX)) {
                // A session whose wires are gone already has ended as well.
                let _ = self.end(&id).await;
            }
        }
    }

    /// Ends all sessions.
    pub(crate) async fn end_all(&self) {
        let all: Vec<_> = {
            let mut live = self.live();
            self.is_closing.store(true, Ordering::Release);
            live.drain().map(|(_, live)| live).collect()
        };
        let ends = all.iter().map(|live| live.end());
        futures_util::future::join_all(ends).await;
    }

    /// Returns the sessions that have been idle for so long, the longest first.
    fn idle(&self, period: Duration) -> Vec<SessionId> {
        let live = self.live();
        let since = live.iter().filter_map(|(id, live)| Some((live.idle_since()?, id.clone())));
        let mut idle: Vec<_> = since.filter(|(since, _)| since.elapsed() >= period).collect();
        idle.sort();
        idle.into_iter().map(|(_, id)| id).collect()
    }

    /// Tells the calls of a session to stop, and takes its wires down when they have.
    async fn end(&self, id: &SessionId) -> Result<(), SessionError> {
        let live = self.live().remove(id);
        if let Some(live) = live {
            live.end().await;
        }
        Ok(self.wires.close_session(id).await?)
    }

    /// Returns the session, which has been heard of.
    fn touched(&self, id: &SessionId) -> Option<Arc<Live>> {
        let live = self.live().get(id).cloned()?;
        drop(live.touch());
        Some(live)
    }

    fn live(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Live>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let conversation = (self.open)().map_err(SessionError::Open)?;
        let conversation = Arc::new(Conversation::new(conversation));
        let (id, transport) = self.wires.create_session().await?;
        if let Err(err) = self.admit(&id, &conversation) {
            self.wires.close_session(&id).await?;
            return Err(err);
        }
        tend(&self.tending, &conversation, &self.closed);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        if let (Some(live), JsonRpcMessage::Request(request)) = (self.touched(id), &mut message) {
            let begun = Begun(Arc::clone(&live.conversation));
            request.request.extensions_mut().insert(begun);
        }
        Ok(self.wires.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.touched(id).is_some() && self.wires.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.end(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.present(id, Stay::ForAnswer, self.wires.create_stream(id, message).await?))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        Ok(self.wires.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.present(id, Stay::ForGood, self.wires.create_standalone_stream(id).await?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.present(id, Stay::ForGood, self.wires.resume(id, last_event_id).await?))
    }
}

impl Sessions {
    /// Lets a session begin. What is checked holds for as long as the lock is held, so that it holds for all who come at once.
    fn admit(&self, id: &SessionId, conversation: &Arc<Conversation>) -> Result<(), SessionError> {
        let mut live = self.live();
        if self.is_closing() {
            return Err(SessionError::Closing);
        }
        if live.len() >= HTTP_SESSIONS_MAX {
            return Err(SessionError::TooMany);
        }
        live.insert(id.clone(), Arc::new(Live::new(Arc::clone(conversation))));
        Ok(())
    }

    fn present<S>(&self, id: &SessionId, stay: Stay, stream: S) -> Attended<S> {
        let live = self.live().get(id).cloned();
        if let Some(live) = &live {
            let mut presence = live.touch();
            presence.streams += 1;
            presence.answers += stay.answers();
        }
        Attended { stream: Box::pin(stream), stay, live }
    }
}

/// How long a stream is there.
#[derive(Clone, Copy, Debug)]
enum Stay {
    /// Until a request is answered.
    ForAnswer,
    /// For as long as its reader likes.
    ForGood,
}

impl Stay {
    fn answers(self) -> usize {
        match self {
            Self::ForAnswer => 1,
            Self::ForGood => 0,
        }
    }
}

/// A stream whose reader counts as present.
struct Attended<S> {
    stream: Pin<Box<S>>,
    stay: Stay,
    live: Option<Arc<Live>>,
}

impl<S: Stream> Stream for Attended<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl<S> Drop for Attended<S> {
    fn drop(&mut self) {
        if let Some(live) = &self.live {
            let mut presence = live.touch();
            presence.streams = presence.streams.saturating_sub(1);
            presence.answers = presence.answers.saturating_sub(self.stay.answers());
            drop(presence);
            live.left.notify_waiters();
        }
    }
}
