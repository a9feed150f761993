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

use crate::limits::{
    HTTP_SESSION_IDLE_MS_MAX, HTTP_SESSION_SPARE_MS, HTTP_SESSIONS_MAX, HTTP_SWEEP_MS,
    SETTLE_MS_MAX,
};
use crate::server_instance::McpServerInstance;
use crate::server_parts::McpServerFactory;

/// The sessions that there are.
pub(crate) struct HttpSessions {
    transports: LocalSessionManager,
    server_factory: McpServerFactory,
    // Written when a session begins or ends, read by every request of one; the lock is held for a look-up.
    sessions: Mutex<HashMap<SessionId, Arc<HttpSession>>>,
    /// Set when all are about to end, while `live` is locked: none begins afterwards.
    is_closing: AtomicBool,
    background_tasks: TaskTracker,
    shutdown: CancellationToken,
}

/// Why there is no session, or not any more.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpSessionError {
    #[error("there are {HTTP_SESSIONS_MAX} sessions, which is the limit")]
    TooMany,
    #[error("the server is about to end")]
    Closing,
    #[error("the session cannot be opened: {0}")]
    Open(String),
    #[error(transparent)]
    Transport(#[from] LocalSessionManagerError),
}

/// What a session is connected to, handed to its handler with its first request.
#[derive(Clone)]
pub(crate) struct InitializedInstance(pub(crate) Arc<McpServerInstance>);

/// A session, and when its client was last heard of.
struct HttpSession {
    instance: Arc<McpServerInstance>,
    /// Told when a stream ends.
    stream_ended: Notify,
    // Written by every request of the session and by the end of each of its streams, for a few instructions.
    presence: Mutex<HttpSessionPresence>,
}

struct HttpSessionPresence {
    streams: usize,
    /// Those of the streams that end with an answer.
    answers: usize,
    last_seen: Instant,
}

impl HttpSession {
    fn new(conversation: Arc<McpServerInstance>) -> Self {
        let presence = HttpSessionPresence { streams: 0, answers: 0, last_seen: Instant::now() };
        Self { instance: conversation, stream_ended: Notify::new(), presence: Mutex::new(presence) }
    }

    fn touch(&self) -> MutexGuard<'_, HttpSessionPresence> {
        let mut presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
        presence.last_seen = Instant::now();
        presence
    }

    /// Stops all calls, and waits until their answers have left or nobody takes them, each for a bounded time.
    async fn end(&self) {
        self.instance.end().await;
        let answered = async {
            loop {
                let left = self.stream_ended.notified();
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
        (presence.streams == 0 && !self.instance.is_busy()).then_some(presence.last_seen)
    }
}

impl HttpSessions {
    pub(crate) fn new(
        open: McpServerFactory,
        tending: TaskTracker,
        closed: CancellationToken,
    ) -> Self {
        let mut wires = LocalSessionManager::default();
        // The SDK takes a long call without news for silence, and would end the session in the middle of it.
        wires.session_config.keep_alive = None;
        let (live, is_closing) = (Mutex::default(), AtomicBool::new(false));
        Self {
            transports: wires,
            server_factory: open,
            sessions: live,
            is_closing,
            background_tasks: tending,
            shutdown: closed,
        }
    }

    /// Returns whether there is such a session.
    pub(crate) fn contains(&self, id: &str) -> bool {
        self.lock_sessions().contains_key(id)
    }

    /// Returns whether all are about to end.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    /// Returns whether one more session fits. The one whose client has been silent for longest makes room for it.
    pub(crate) async fn has_room(&self) -> bool {
        if self.lock_sessions().len() < HTTP_SESSIONS_MAX {
            return true;
        }
        let spare =
            self.idle_sessions(Duration::from_millis(HTTP_SESSION_SPARE_MS)).into_iter().next();
        let Some(id) = spare else { return false };
        self.end_session(&id).await.is_ok()
    }

    /// Ends sessions whose clients have gone without a word, for as long as it is polled.
    pub(crate) async fn end_idle(&self) -> Infallible {
        loop {
            sleep(Duration::from_millis(HTTP_SWEEP_MS)).await;
            for id in self.idle_sessions(Duration::from_millis(HTTP_SESSION_IDLE_MS_MAX)) {
                // A session whose wires are gone already has ended as well.
                let _ = self.end_session(&id).await;
            }
        }
    }

    /// Ends all sessions.
    pub(crate) async fn end_all(&self) {
        let all: Vec<_> = {
            let mut live = self.lock_sessions();
            self.is_closing.store(true, Ordering::Release);
            live.drain().map(|(_, live)| live).collect()
        };
        let ends = all.iter().map(|live| live.end());
        futures_util::future::join_all(ends).await;
    }

    /// Returns the sessions that have been idle for so long, the longest first.
    fn idle_sessions(&self, period: Duration) -> Vec<SessionId> {
        let live = self.lock_sessions();
        let since = live.iter().filter_map(|(id, live)| Some((live.idle_since()?, id.clone())));
        let mut idle: Vec<_> = since.filter(|(since, _)| since.elapsed() >= period).collect();
        idle.sort();
        idle.into_iter().map(|(_, id)| id).collect()
    }

    /// Tells the calls of a session to stop, and takes its wires down when they have.
    async fn end_session(&self, id: &SessionId) -> Result<(), HttpSessionError> {
        let live = self.lock_sessions().remove(id);
        if let Some(live) = live {
            live.end().await;
        }
        Ok(self.transports.close_session(id).await?)
    }

    /// Returns the session, which has been heard of.
    fn touch_session(&self, id: &SessionId) -> Option<Arc<HttpSession>> {
        let live = self.lock_sessions().get(id).cloned()?;
        drop(live.touch());
        Some(live)
    }

    fn lock_sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<HttpSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionManager for HttpSessions {
    type Error = HttpSessionError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let conversation = (self.server_factory)().map_err(HttpSessionError::Open)?;
        let conversation = Arc::new(McpServerInstance::new(conversation));
        let (id, transport) = self.transports.create_session().await?;
        if let Err(err) = self.insert_session(&id, &conversation) {
            self.transports.close_session(&id).await?;
            return Err(err);
        }
        expire_in_background(&self.background_tasks, &conversation, &self.shutdown);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        if let (Some(live), JsonRpcMessage::Request(request)) =
            (self.touch_session(id), &mut message)
        {
            let begun = InitializedInstance(Arc::clone(&live.instance));
            request.request.extensions_mut().insert(begun);
        }
        Ok(self.transports.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        Ok(self.touch_session(id).is_some() && self.transports.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.end_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.count_stream(
            id,
            HttpStreamPurpose::Answer,
            self.transports.create_stream(id, message).await?,
        ))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        Ok(self.transports.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.count_stream(
            id,
            HttpStreamPurpose::Standalone,
            self.transports.create_standalone_stream(id).await?,
        ))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.count_stream(
            id,
            HttpStreamPurpose::Standalone,
            self.transports.resume(id, last_event_id).await?,
        ))
    }
}

impl HttpSessions {
    /// Lets a session begin. What is checked holds for as long as the lock is held, so that it holds for all who come at once.
    fn insert_session(
        &self,
        id: &SessionId,
        conversation: &Arc<McpServerInstance>,
    ) -> Result<(), HttpSessionError> {
        let mut live = self.lock_sessions();
        if self.is_closing() {
            return Err(HttpSessionError::Closing);
        }
        if live.len() >= HTTP_SESSIONS_MAX {
            return Err(HttpSessionError::TooMany);
        }
        live.insert(id.clone(), Arc::new(HttpSession::new(Arc::clone(conversation))));
        Ok(())
    }

    fn count_stream<S>(
        &self,
        id: &SessionId,
        stay: HttpStreamPurpose,
        stream: S,
    ) -> CountedHttpStream<S> {
        let live = self.lock_sessions().get(id).cloned();
        if let Some(live) = &live {
            let mut presence = live.touch();
            presence.streams += 1;
            presence.answers += stay.pending_answers();
        }
        CountedHttpStream { stream: Box::pin(stream), purpose: stay, session: live }
    }
}

/// How long a stream is there.
#[derive(Clone, Copy, Debug)]
enum HttpStreamPurpose {
    /// Until a request is answered.
    Answer,
    /// For as long as its reader likes.
    Standalone,
}

impl HttpStreamPurpose {
    fn pending_answers(self) -> usize {
        match self {
            Self::Answer => 1,
            Self::Standalone => 0,
        }
    }
}

/// A stream whose reader counts as present.
struct CountedHttpStream<S> {
    stream: Pin<Box<S>>,
    purpose: HttpStreamPurpose,
    session: Option<Arc<HttpSession>>,
}

impl<S: Stream> Stream for CountedHttpStream<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl<S> Drop for CountedHttpStream<S> {
    fn drop(&mut self) {
        if let Some(live) = &self.session {
            let mut presence = live.touch();
            presence.streams = presence.streams.saturating_sub(1);
            presence.answers = presence.answers.saturating_sub(self.purpose.pending_answers());
            drop(presence);
            live.stream_ended.notify_waiters();
        }
    }
}

/// Looks after what waits in a conversation until either of them ends.
pub(super) fn expire_in_background(
    tending: &TaskTracker,
    conversation: &Arc<McpServerInstance>,
    closed: &CancellationToken,
) {
    let (conversation, closed) = (Arc::clone(conversation), closed.clone());
    tending.spawn(async move {
        tokio::select! {
            never = conversation.expire_calls() => match never {},
            () = conversation.stop.cancelled() => {}
            () = closed.cancelled() => {}
        }
    });
}
