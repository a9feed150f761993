//! The editor as an agent host knows it: whom it tells what happens and whom it asks. Which session of the editor a chat
//! belongs to, and whether that session may be told anything now, is known here; what an update looks like is not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, RequestPermissionRequest, SessionNotification, SessionUpdate,
};
use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply, WorkspaceRoots};
use haft_agent::{AgentEvent, AgentEventKind, AgentEventObserver};
use haft_contract::BoxFuture;
use haft_journal::SessionId;

use crate::elicit;
use crate::limits::SHOWN_CHANGE_BYTES_MAX;
use crate::permission;
use crate::transport::OutgoingMessages;
use crate::updates::{CallDisplay, SessionUpdates, SubagentReference, call_name};

/// The editor at the other end. An agent host is made with its [`asker`](Self::asker) and [`watcher`](Self::watcher), and
/// then [`serve`](crate::serve)d to it; until then there is nobody to tell and to ask.
#[derive(Clone, Default)]
pub struct Editor {
    pub(crate) desk: Arc<EditorConnection>,
}

impl Editor {
    /// Returns an editor that is not connected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whoever is asked.
    pub fn asker(&self) -> Arc<dyn Asker> {
        Arc::clone(&self.desk) as Arc<dyn Asker>
    }

    /// Returns whoever is told.
    pub fn watcher(&self) -> Arc<dyn AgentEventObserver> {
        Arc::clone(&self.desk) as Arc<dyn AgentEventObserver>
    }
}

/// What is known of the editor and its sessions.
#[derive(Default)]
pub(crate) struct EditorConnection {
    client_connection: OnceLock<ConnectionTo<Client>>,
    /// Where files are read before they are written, once that is known.
    roots: OnceLock<WorkspaceRoots>,
    // What the editor said of itself; written once, when it begins.
    client_capabilities: Mutex<ClientCapabilities>,
    // Written when sessions are opened and closed and with each update, so that updates are sent in their order; read by
    // whoever asks.
    sessions: Mutex<EditorSessions>,
    pub(crate) outgoing: Arc<OutgoingMessages>,
}

#[derive(Default)]
struct EditorSessions {
    open: HashMap<SessionId, EditorSession>,
    /// Chats of subagents, and the sessions that they work for.
    subagents: HashMap<SessionId, (SessionId, SubagentReference)>,
}

struct EditorSession {
    updates: SessionUpdates,
    /// Whether nothing is said now: the session was not prompted, or its prompt was cancelled.
    is_muted: bool,
}

/// The call that a question is about, as the editor knows it.
struct AskTarget {
    session: String,
    call: String,
    display: CallDisplay,
}

impl EditorSessions {
    /// Returns the session that a chat works for, and which subagent it is of.
    fn session_of(&self, chat: &SessionId) -> Option<(SessionId, Option<SubagentReference>)> {
        if self.open.contains_key(chat) {
            return Some((chat.clone(), None));
        }
        let (session, child) = self.subagents.get(chat)?;
        Some((session.clone(), Some(child.clone())))
    }
}

impl EditorConnection {
    /// Connects the editor.
    pub(crate) fn connect(&self, connection: ConnectionTo<Client>) {
        // An editor that introduces itself again does it over the same connection.
        let _ = self.client_connection.set(connection);
    }

    /// Says where sessions work.
    pub(crate) fn set_roots(&self, roots: WorkspaceRoots) {
        let _ = self.roots.set(roots);
    }

    pub(crate) fn set_client_capabilities(&self, client: ClientCapabilities) {
        *self.client_capabilities.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    pub(crate) fn accepts_notices(&self) -> bool {
        let client = self.client_capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        client.session.as_ref().is_some_and(|session| session.notices.is_some())
    }

    fn accepts_forms(&self) -> bool {
        let client = self.client_capabilities.lock().unwrap_or_else(PoisonError::into_inner);
        client.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some())
    }

    /// Opens a session, which is quiet until it is prompted.
    pub(crate) fn open_session(&self, session: &SessionId, updates: SessionUpdates) {
        self.lock_sessions()
            .open
            .insert(session.clone(), EditorSession { updates, is_muted: true });
    }

    /// Closes a session: nothing is said in it any more.
    pub(crate) fn close_session(&self, session: &SessionId) {
        let mut sessions = self.lock_sessions();
        sessions.open.remove(session);
        sessions.subagents.retain(|_, (works_for, _)| works_for != session);
    }

    /// Lets what happens in a session be said, or not.
    pub(crate) fn unmute_session(&self, session: &SessionId) {
        self.set_muted(session, false);
    }

    /// Lets nothing more be said in a session.
    pub(crate) fn mute_session(&self, session: &SessionId) {
        self.set_muted(session, true);
    }

    fn set_muted(&self, session: &SessionId, is_quiet: bool) {
        if let Some(session) = self.lock_sessions().open.get_mut(session) {
            session.is_muted = is_quiet;
        }
    }

    /// Says something in a session, quiet or not.
    pub(crate) fn send_updates(&self, session: &SessionId, updates: Vec<SessionUpdate>) {
        self.queue_updates(session, updates);
    }

    /// Says something that is no part of the conversation.
    pub(crate) fn send_notice(&self, session: &SessionId, text: &str) {
        let sessions = self.lock_sessions();
        let update = sessions.open.get(session).map(|session| session.updates.notice_update(text));
        self.queue_updates(session, update.into_iter().collect());
    }

    /// Shows what was said in a session before, as `shown` makes it out of what the editor was shown.
    pub(crate) fn replay_updates(
        &self,
        session: &SessionId,
        shown: impl FnOnce(&mut SessionUpdates) -> Vec<SessionUpdate>,
    ) {
        let mut sessions = self.lock_sessions();
        let updates = sessions.open.get_mut(session).map(|session| shown(&mut session.updates));
        self.queue_updates(session, updates.unwrap_or_default());
    }

    fn lock_sessions(&self) -> MutexGuard<'_, EditorSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands updates over to the connection, which writes them when it can.
    fn queue_updates(&self, session: &SessionId, updates: Vec<SessionUpdate>) {
        let Some(line) = self.client_connection.get() else { return };
        for update in updates {
            self.outgoing.count_message();
            let notification = SessionNotification::new(session.to_string(), update);
            // An editor that is gone is told nothing.
            let _ = line.send_notification(notification);
        }
    }

    /// Returns the call that a question is about; nothing if no session is there that could be asked.
    fn ask_target(
        &self,
        call_id: &str,
        driver_call_id: Option<&str>,
    ) -> Option<(&ConnectionTo<Client>, AskTarget)> {
        let chat = SessionId::parse(call_id.split('/').next()?).ok()?;
        let sessions = self.lock_sessions();
        let (session, child) = sessions.session_of(&chat)?;
        let open = sessions.open.get(&session).filter(|open| !open.is_muted)?;
        let call = call_name(child.as_ref(), driver_call_id?);
        let shown = open.updates.call_display(&call);
        Some((
            self.client_connection.get()?,
            AskTarget { session: session.to_string(), call, display: shown },
        ))
    }
}

impl AgentEventObserver for EditorConnection {
    fn on_event(&self, event: AgentEvent) {
        let mut sessions = self.lock_sessions();
        let Some((session, child)) = sessions.session_of(&event.session) else { return };
        if let AgentEventKind::Subagent { agent, child, .. } = &event.kind {
            let known = SubagentReference { id: child.to_string(), agent: agent.clone() };
            sessions.subagents.insert(child.clone(), (session.clone(), known));
        }
        let Some(open) = sessions.open.get_mut(&session).filter(|open| !open.is_muted) else {
            return;
        };
        let before = |path: &str| self.roots.get()?.read_text(path, SHOWN_CHANGE_BYTES_MAX);
        let updates = match &child {
            None => open.updates.session_event_updates(event.kind, before),
            Some(child) => open.updates.subagent_event_updates(event.kind, child, before),
        };
        self.queue_updates(&session, updates);
    }
}

impl Asker for EditorConnection {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async move {
            let Some((line, about)) = self.ask_target(&ask.call_id, ask.driver_call_id.as_deref())
            else {
                return AskAnswer::Unanswered;
            };
            let call = permission::call_update(&about.call, &ask, about.display);
            let request =
                RequestPermissionRequest::new(about.session, call, permission::options(&ask));
            match line.send_request(request).block_task().await {
                Ok(response) => permission::parse_answer(&ask, &response.outcome),
                Err(err) => {
                    tracing::warn!(
                        "the editor answered a question with an error, which counts as a rejection: {err}"
                    );
                    AskAnswer::Reject
                }
            }
        })
    }

    fn elicit(&self, inquiry: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async move {
            let asked = self.ask_target(&inquiry.call_id, inquiry.driver_call_id.as_deref());
            let Some((line, about)) = asked.filter(|_| self.accepts_forms()) else {
                return ElicitationReply::Unanswered;
            };
            let form = elicit::form(&inquiry, &about.session, &about.call);
            match line.send_request(form).block_task().await {
                Ok(response) => elicit::parse_reply(&response, &inquiry),
                Err(err) => elicit::dismissed_by_editor(&format!("answered with an error: {err}")),
            }
        })
    }

    // One editor has many sessions, and what one of them asks must not wait for an answer in another.
    fn asks_one_at_a_time(&self) -> bool {
        false
    }
}
