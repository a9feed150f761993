//! The editor as an agent host uses it: the observer of events and the asker of questions. This module maps agent sessions to the
//! editor's sessions, and mutes sessions without a prompt. The module `updates` formats the updates.

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

/// The editor at the other end of a connection. Make an agent host with its [`asker`](Self::asker) and [`watcher`](Self::watcher),
/// then [`serve`](crate::serve) the editor. Until then, events are dropped and questions stay unanswered.
#[derive(Clone, Default)]
pub struct Editor {
    pub(crate) desk: Arc<EditorConnection>,
}

impl Editor {
    /// Returns an editor that is not connected yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the asker of questions.
    pub fn asker(&self) -> Arc<dyn Asker> {
        Arc::clone(&self.desk) as Arc<dyn Asker>
    }

    /// Returns the observer of events.
    pub fn watcher(&self) -> Arc<dyn AgentEventObserver> {
        Arc::clone(&self.desk) as Arc<dyn AgentEventObserver>
    }
}

/// The connection to the editor, its capabilities and its sessions.
#[derive(Default)]
pub(crate) struct EditorConnection {
    client_connection: OnceLock<ConnectionTo<Client>>,
    /// The roots in which files are read before they are written.
    roots: OnceLock<WorkspaceRoots>,
    // The capabilities of the editor, which its first request sets.
    client_capabilities: Mutex<ClientCapabilities>,
    // Opening, closing and each update write it, so that updates are sent in order. Questions read it.
    sessions: Mutex<EditorSessions>,
    // The sessions of open questions by the id of the ask. A question writes it at its beginning and its end.
    asks: Mutex<HashMap<String, SessionId>>,
    pub(crate) outgoing: Arc<OutgoingMessages>,
}

#[derive(Default)]
struct EditorSessions {
    open: HashMap<SessionId, EditorSession>,
    /// The sessions of subagents, and the editor's sessions that they belong to.
    subagents: HashMap<SessionId, (SessionId, SubagentReference)>,
}

struct EditorSession {
    updates: SessionUpdates,
    /// Whether updates are dropped, because the session has no prompt or its prompt was cancelled.
    is_muted: bool,
}

/// The call of a question, as the editor knows it.
struct AskTarget {
    session: String,
    call: String,
    display: CallDisplay,
}

/// A question that is open. Dropping it closes the question.
struct OpenAsk<'a> {
    editor: &'a EditorConnection,
    id: String,
}

impl Drop for OpenAsk<'_> {
    fn drop(&mut self) {
        self.editor.lock_asks().remove(&self.id);
    }
}

impl EditorSessions {
    /// Returns the editor's session of an agent session, and the subagent if the agent session belongs to one.
    fn session_of(&self, id: &SessionId) -> Option<(SessionId, Option<SubagentReference>)> {
        if self.open.contains_key(id) {
            return Some((id.clone(), None));
        }
        let (session, child) = self.subagents.get(id)?;
        Some((session.clone(), Some(child.clone())))
    }
}

impl EditorConnection {
    /// Connects the editor.
    pub(crate) fn connect(&self, connection: ConnectionTo<Client>) {
        // A second initialize request comes over the same connection.
        let _ = self.client_connection.set(connection);
    }

    /// Sets the roots of all sessions.
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

    /// Opens a session, which is muted until its first prompt.
    pub(crate) fn open_session(&self, session: &SessionId, updates: SessionUpdates) {
        self.lock_sessions()
            .open
            .insert(session.clone(), EditorSession { updates, is_muted: true });
    }

    /// Closes a session. Its further updates are dropped.
    pub(crate) fn close_session(&self, session: &SessionId) {
        let mut sessions = self.lock_sessions();
        sessions.open.remove(session);
        sessions.subagents.retain(|_, (works_for, _)| works_for != session);
    }

    /// Lets the events of a session through.
    pub(crate) fn unmute_session(&self, session: &SessionId) {
        self.set_muted(session, false);
    }

    /// Drops the further events of a session.
    pub(crate) fn mute_session(&self, session: &SessionId) {
        self.set_muted(session, true);
    }

    fn set_muted(&self, session: &SessionId, is_muted: bool) {
        if let Some(session) = self.lock_sessions().open.get_mut(session) {
            session.is_muted = is_muted;
        }
    }

    /// Sends a notice, which is not part of the conversation.
    pub(crate) fn send_notice(&self, session: &SessionId, text: &str) {
        let sessions = self.lock_sessions();
        let update = sessions.open.get(session).map(|session| session.updates.notice_update(text));
        self.send_updates(session, update.into_iter().collect());
    }

    /// Sends updates about earlier messages. `shown` makes them and notes them as shown.
    pub(crate) fn replay_updates(
        &self,
        session: &SessionId,
        shown: impl FnOnce(&mut SessionUpdates) -> Vec<SessionUpdate>,
    ) {
        let mut sessions = self.lock_sessions();
        let updates = sessions.open.get_mut(session).map(|session| shown(&mut session.updates));
        self.send_updates(session, updates.unwrap_or_default());
    }

    /// Notes that a question is open in a session.
    fn open_ask(&self, id: &str, session: &str) -> OpenAsk<'_> {
        if let Ok(session) = SessionId::parse(session) {
            self.lock_asks().insert(id.to_owned(), session);
        }
        OpenAsk { editor: self, id: id.to_owned() }
    }

    fn lock_asks(&self) -> MutexGuard<'_, HashMap<String, SessionId>> {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_sessions(&self) -> MutexGuard<'_, EditorSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues updates for a session, even if it is muted.
    pub(crate) fn send_updates(&self, session: &SessionId, updates: Vec<SessionUpdate>) {
        let Some(line) = self.client_connection.get() else { return };
        for update in updates {
            self.outgoing.count_message();
            let notification = SessionNotification::new(session.to_string(), update);
            // Sending fails only if the editor is gone.
            let _ = line.send_notification(notification);
        }
    }

    /// Returns the call of a question, or `None` if no open session can show the question.
    fn ask_target(
        &self,
        call_id: &str,
        driver_call_id: Option<&str>,
    ) -> Option<(&ConnectionTo<Client>, AskTarget)> {
        let id = SessionId::parse(call_id.split('/').next()?).ok()?;
        let sessions = self.lock_sessions();
        let (session, child) = sessions.session_of(&id)?;
        let open = sessions.open.get(&session).filter(|open| !open.is_muted)?;
        let call = call_name(child.as_ref(), driver_call_id?);
        let display = open.updates.call_display(&call);
        let target = AskTarget { session: session.to_string(), call, display };
        Some((self.client_connection.get()?, target))
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
            child @ Some(_) => open.updates.call_event_updates(event.kind, child.as_ref(), before),
        };
        self.send_updates(&session, updates);
    }
}

impl Asker for EditorConnection {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async move {
            let Some((line, about)) = self.ask_target(&ask.call_id, ask.driver_call_id.as_deref())
            else {
                return AskAnswer::Unanswered;
            };
            // Dropping this future withdraws the request.
            let _open = self.open_ask(&ask.id, &about.session);
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

    fn elicit(&self, elicitation: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async move {
            let asked =
                self.ask_target(&elicitation.call_id, elicitation.driver_call_id.as_deref());
            let accepts_forms = {
                let client =
                    self.client_capabilities.lock().unwrap_or_else(PoisonError::into_inner);
                client.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some())
            };
            let Some((line, about)) = asked else {
                return ElicitationReply::Unanswered;
            };
            if !accepts_forms {
                return ask_in_turn(line, &about, &elicitation).await;
            }
            let form = elicit::form(&elicitation, &about.session, &about.call);
            match line.send_request(form).block_task().await {
                Ok(response) => elicit::parse_reply(&response, &elicitation),
                Err(err) => elicit::dismissed_by_editor(&format!("answered with an error: {err}")),
            }
        })
    }

    fn note_end(&self, ask: &str, how: &str) {
        let Some(session) = self.lock_asks().get(ask).cloned() else { return };
        let sessions = self.lock_sessions();
        let open = sessions.open.get(&session).filter(|open| !open.is_muted);
        let notice =
            open.map(|open| open.updates.notice_update(&format!("Answered elsewhere: {how}")));
        self.send_updates(&session, notice.into_iter().collect());
    }

    // An editor has many sessions, and a question in one must not wait for an answer in another.
    fn asks_one_at_a_time(&self) -> bool {
        false
    }
}

/// Asks the questions of a tool as permission requests, one after the other. A question without offered answers has no such form
/// and is skipped.
async fn ask_in_turn(
    line: &ConnectionTo<Client>,
    about: &AskTarget,
    elicitation: &Elicitation,
) -> ElicitationReply {
    if elicitation.questions.iter().all(|question| question.options.is_empty()) {
        return ElicitationReply::Unanswered;
    }
    let mut answers = Vec::new();
    for question in &elicitation.questions {
        if question.options.is_empty() {
            answers.push(Vec::new());
            continue;
        }
        let request = elicit::permission_request(question, &about.session, &about.call);
        let answer = match line.send_request(request).block_task().await {
            Ok(response) => elicit::parse_permission(&response.outcome, question),
            Err(err) => {
                let what = format!("answered with an error: {err}");
                Err(elicit::dismissed_by_editor(&what))
            }
        };
        match answer {
            Ok(answer) => answers.push(answer),
            Err(dismissed) => return dismissed,
        }
    }
    if answers.iter().all(Vec::is_empty) {
        return ElicitationReply::Dismissed(None);
    }
    ElicitationReply::Answers(answers)
}
