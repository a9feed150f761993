//! The sessions of clients of the older era. The SDK keeps the transport of each. This keeps the handler of each, limits their
//! number, and ends idle ones. An id is random and long, and is the only key to a session for all clients that the listener
//! admits.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _, stream};
use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions, JsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionTransport,
};
use rmcp::transport::streamable_http_server::{SessionId, SessionManager};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::handler::McpServerHandler;
use crate::limits::{
    HTTP_SESSION_IDLE_MS_MAX, HTTP_SESSION_SPARE_MS, HTTP_SESSIONS_MAX, HTTP_STREAM_RETRY_MS,
    HTTP_SWEEP_MS, SETTLE_MS_MAX,
};
use crate::server_parts::McpServerFactory;

pub(crate) struct HttpSessions {
    transports: LocalSessionManager,
    server_factory: McpServerFactory,
    // Written when a session begins or ends, read by every request of one; the lock is held for a look-up.
    sessions: Mutex<HashMap<SessionId, Arc<HttpSession>>>,
    /// Set when all are about to end, while `sessions` is locked: no session begins afterwards.
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

/// A session, and the time of the last message of its client.
struct HttpSession {
    handler: Arc<McpServerHandler>,
    /// Whether the client knows of priming events: events without data that begin a stream, so that it can be resumed. They came
    /// with 2025-11-25. Some clients of older versions take the empty data for a broken message.
    is_primed: OnceLock<bool>,
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
    fn touch(&self) -> MutexGuard<'_, HttpSessionPresence> {
        let mut presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
        presence.last_seen = Instant::now();
        presence
    }

    /// Stops all calls, and waits until their answers are sent or their streams are gone, each for a bounded time.
    async fn end(&self) {
        self.handler.end().await;
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
}

impl HttpSessions {
    pub(crate) fn new(
        open: McpServerFactory,
        tending: TaskTracker,
        closed: CancellationToken,
    ) -> Self {
        let mut transports = LocalSessionManager::default();
        // The SDK takes a long call without news for silence, and would end the session during the call.
        transports.session_config.keep_alive = None;
        Self {
            transports,
            server_factory: open,
            sessions: Mutex::default(),
            is_closing: AtomicBool::new(false),
            background_tasks: tending,
            shutdown: closed,
        }
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        self.lock_sessions().contains_key(id)
    }

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

    /// Ends sessions whose clients are gone, for as long as it is polled.
    pub(crate) async fn end_idle(&self) -> Infallible {
        loop {
            sleep(Duration::from_millis(HTTP_SWEEP_MS)).await;
            for id in self.idle_sessions(Duration::from_millis(HTTP_SESSION_IDLE_MS_MAX)) {
                // A session whose transport is gone has ended as well.
                let _ = self.end_session(&id).await;
            }
        }
    }

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
        let mut idle = Vec::new();
        for (id, live) in live.iter() {
            let presence = live.presence.lock().unwrap_or_else(PoisonError::into_inner);
            let is_present = presence.streams > 0 || live.handler.call_limiter.is_busy();
            if !is_present && presence.last_seen.elapsed() >= period {
                idle.push((presence.last_seen, id.clone()));
            }
        }
        idle.sort();
        idle.into_iter().map(|(_, id)| id).collect()
    }

    /// Tells the calls of a session to stop, and then closes its transport.
    async fn end_session(&self, id: &SessionId) -> Result<(), HttpSessionError> {
        let live = self.lock_sessions().remove(id);
        if let Some(live) = live {
            live.end().await;
        }
        Ok(self.transports.close_session(id).await?)
    }

    /// Returns a session whose client has just sent a message.
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
        let server = (self.server_factory)().map_err(HttpSessionError::Open)?;
        let handler = Arc::new(McpServerHandler::new(server));
        let (id, transport) = self.transports.create_session().await?;
        let refusal = {
            // Checked while the lock is held, so that the limit holds for all clients that come at once.
            let mut live = self.lock_sessions();
            if self.is_closing() {
                Some(HttpSessionError::Closing)
            } else if live.len() >= HTTP_SESSIONS_MAX {
                Some(HttpSessionError::TooMany)
            } else {
                let presence =
                    HttpSessionPresence { streams: 0, answers: 0, last_seen: Instant::now() };
                let session = HttpSession {
                    handler: Arc::clone(&handler),
                    is_primed: OnceLock::new(),
                    stream_ended: Notify::new(),
                    presence: Mutex::new(presence),
                };
                live.insert(id.clone(), Arc::new(session));
                None
            }
        };
        if let Some(err) = refusal {
            self.transports.close_session(&id).await?;
            return Err(err);
        }
        expire_in_background(&self.background_tasks, &handler, &self.shutdown);
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let live = self.touch_session(id);
        if let (Some(live), JsonRpcMessage::Request(request)) = (&live, &mut message) {
            request.request.extensions_mut().insert(Arc::clone(&live.handler));
        }
        let answer = self.transports.initialize_session(id, message).await?;
        if let (Some(live), JsonRpcMessage::Response(response)) = (&live, &answer)
            && let ServerResult::InitializeResult(result) = &response.result
        {
            let _ = live.is_primed.set(result.protocol_version >= ProtocolVersion::V_2025_11_25);
        }
        Ok(answer)
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
        Ok(self.count_stream(id, 1, self.transports.create_stream(id, message).await?))
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
        let stream = self.transports.create_standalone_stream(id).await?;
        let priming = ServerSseMessage::priming("0", Duration::from_millis(HTTP_STREAM_RETRY_MS));
        // Left out again for clients that do not know of it.
        let stream = stream::once(std::future::ready(priming)).chain(stream);
        Ok(self.count_stream(id, 0, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        Ok(self.count_stream(id, 0, self.transports.resume(id, last_event_id).await?))
    }
}

impl HttpSessions {
    /// Counts the reader of a stream as present. `answers` is 1 for a stream that ends with an answer, otherwise 0.
    fn count_stream<S>(&self, id: &SessionId, answers: usize, stream: S) -> CountedHttpStream<S> {
        let live = self.lock_sessions().get(id).cloned();
        if let Some(live) = &live {
            let mut presence = live.touch();
            presence.streams += 1;
            presence.answers += answers;
        }
        let is_primed =
            live.as_ref().is_some_and(|live| live.is_primed.get().copied().unwrap_or(false));
        CountedHttpStream { stream: Box::pin(stream), answers, is_primed, session: live }
    }
}

struct CountedHttpStream<S> {
    stream: Pin<Box<S>>,
    answers: usize,
    /// Whether events without a message are passed on.
    is_primed: bool,
    session: Option<Arc<HttpSession>>,
}

impl<S: Stream<Item = ServerSseMessage>> Stream for CountedHttpStream<S> {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(self.stream.as_mut().poll_next(cx)) {
                Some(event) if event.message.is_none() && !self.is_primed => {}
                event => return Poll::Ready(event),
            }
        }
    }
}

impl<S> Drop for CountedHttpStream<S> {
    fn drop(&mut self) {
        if let Some(live) = &self.session {
            let mut presence = live.touch();
            presence.streams = presence.streams.saturating_sub(1);
            presence.answers = presence.answers.saturating_sub(self.answers);
            drop(presence);
            live.stream_ended.notify_waiters();
        }
    }
}

/// Refuses calls whose question is not answered in time, until the session or the server ends.
pub(super) fn expire_in_background(
    tending: &TaskTracker,
    handler: &Arc<McpServerHandler>,
    closed: &CancellationToken,
) {
    let (handler, closed) = (Arc::clone(handler), closed.clone());
    tending.spawn(async move {
        tokio::select! {
            never = handler.suspended_calls.expire_calls() => match never {},
            () = handler.stop.cancelled() => {}
            () = closed.cancelled() => {}
        }
    });
}
