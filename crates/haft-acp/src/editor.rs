//! The editor as an agent host knows it: whom it tells what happens and whom it asks. Which session of the editor a chat
//! belongs to, and whether that session may be told anything now, is known here; what an update looks like is not.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ClientCapabilities, RequestPermissionRequest, SessionNotification, SessionUpdate,
};
use haft::{Answer, Ask, Asker, Inquiry, Reply, Roots};
use haft_agent::{AgentEvent, Happened, Watcher};
use haft_contract::BoxFuture;
use haft_journal::ChatId;

use crate::elicit;
use crate::limits::SHOWN_CHANGE_BYTES_MAX;
use crate::permission;
use crate::transport::Outgoing;
use crate::updates::{Child, Shown, Updates, name_of};

/// The editor at the other end. An agent host is made with its [`asker`](Self::asker) and [`watcher`](Self::watcher), and
/// then [`serve`](crate::serve)d to it; until then there is nobody to tell and to ask.
#[derive(Clone, Default)]
pub struct Editor {
    pub(crate) desk: Arc<Desk>,
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
    pub fn watcher(&self) -> Arc<dyn Watcher> {
        Arc::clone(&self.desk) as Arc<dyn Watcher>
    }
}

/// What is known of the editor and its sessions.
#[derive(Default)]
pub(crate) struct Desk {
    line: OnceLock<ConnectionTo<Client>>,
    /// Where files are read before they are written, once that is known.
    roots: OnceLock<Roots>,
    // What the editor said of itself; written once, when it begins.
    client: Mutex<ClientCapabilities>,
    // Written when sessions are opened and closed and with each update, so that updates are sent in their order; read by
    // whoever asks.
    sessions: Mutex<Sessions>,
    pub(crate) outgoing: Arc<Outgoing>,
}

#[derive(Default)]
struct Sessions {
    open: HashMap<ChatId, Session>,
    /// Chats of subagents, and the sessions that they work for.
    children: HashMap<ChatId, (ChatId, Child)>,
}

struct Session {
    updates: Updates,
    /// Whether nothing is said now: the session was not prompted, or its prompt was cancelled.
    is_quiet: bool,
}

/// The call that a question is about, as the editor knows it.
struct AskedCall {
    session: String,
    call: String,
    shown: Shown,
}

impl Sessions {
    /// Returns the session that a chat works for, and which subagent it is of.
    fn place(&self, chat: &ChatId) -> Option<(ChatId, Option<Child>)> {
        if self.open.contains_key(chat) {
            return Some((chat.clone(), None));
        }
        let (session, child) = self.children.get(chat)?;
        Some((session.clone(), Some(child.clone())))
    }
}

impl Desk {
    /// Connects the editor.
    pub(crate) fn connect(&self, connection: ConnectionTo<Client>) {
        // An editor that introduces itself again does it over the same connection.
        let _ = self.line.set(connection);
    }

    /// Says where sessions work.
    pub(crate) fn settle_in(&self, roots: Roots) {
        let _ = self.roots.set(roots);
    }

    pub(crate) fn introduce(&self, client: ClientCapabilities) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    pub(crate) fn takes_notices(&self) -> bool {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.session.as_ref().is_some_and(|session| session.notices.is_some())
    }

    fn takes_forms(&self) -> bool {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        client.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some())
    }

    /// Opens a session, which is quiet until it is prompted.
    pub(crate) fn open(&self, session: &ChatId, updates: Updates) {
        self.sessions().open.insert(session.clone(), Session { updates, is_quiet: true });
    }

    /// Closes a session: nothing is said in it any more.
    pub(crate) fn close(&self, session: &ChatId) {
        let mut sessions = self.sessions();
        sessions.open.remove(session);
        sessions.children.retain(|_, (works_for, _)| works_for != session);
    }

    /// Lets what happens in a session be said, or not.
    pub(crate) fn speak(&self, session: &ChatId) {
        self.set_quiet(session, false);
    }

    /// Lets nothing more be said in a session.
    pub(crate) fn hush(&self, session: &ChatId) {
        self.set_quiet(session, true);
    }

    fn set_quiet(&self, session: &ChatId, is_quiet: bool) {
        if let Some(session) = self.sessions().open.get_mut(session) {
            session.is_quiet = is_quiet;
        }
    }

    /// Says something in a session, quiet or not.
    pub(crate) fn say(&self, session: &ChatId, updates: Vec<SessionUpdate>) {
        self.send(session, updates);
    }

    /// Says something that is no part of the conversation.
    pub(crate) fn notice(&self, session: &ChatId, text: &str) {
        let sessions = self.sessions();
        let update = sessions.open.get(session).map(|session| session.updates.notice(text));
        self.send(session, update.into_iter().collect());
    }

    /// Shows what was said in a session before, as `shown` makes it out of what the editor was shown.
    pub(crate) fn replay(
        &self,
        session: &ChatId,
        shown: impl FnOnce(&mut Updates) -> Vec<SessionUpdate>,
    ) {
        let mut sessions = self.sessions();
        let updates = sessions.open.get_mut(session).map(|session| shown(&mut session.updates));
        self.send(session, updates.unwrap_or_default());
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands updates over to the connection, which writes them when it can.
    fn send(&self, session: &ChatId, updates: Vec<SessionUpdate>) {
        let Some(line) = self.line.get() else { return };
        for update in updates {
            self.outgoing.add();
            let notification = SessionNotification::new(session.to_string(), update);
            // An editor that is gone is told nothing.
            let _ = line.send_notification(notification);
        }
    }

    /// Returns the call that a question is about; nothing if no session is there that could be asked.
    fn asked(
        &self,
        call_id: &str,
        driver_call_id: Option<&str>,
    ) -> Option<(&ConnectionTo<Client>, AskedCall)> {
        let chat = ChatId::parse(call_id.split('/').next()?).ok()?;
        let sessions = self.sessions();
        let (session, child) = sessions.place(&chat)?;
        let open = sessions.open.get(&session).filter(|open| !open.is_quiet)?;
        let call = name_of(child.as_ref(), driver_call_id?);
        let shown = open.updates.shown(&call);
        Some((self.line.get()?, AskedCall { session: session.to_string(), call, shown }))
    }
}

impl Watcher for Desk {
    fn event(&self, event: AgentEvent) {
        let mut sessions = self.sessions();
        let Some((session, child)) = sessions.place(&event.session) else { return };
        if let Happened::Subagent { agent, child, .. } = &event.happened {
            let known = Child { id: child.to_string(), agent: agent.clone() };
            sessions.children.insert(child.clone(), (session.clone(), known));
        }
        let Some(open) = sessions.open.get_mut(&session).filter(|open| !open.is_quiet) else {
            return;
        };
        let before = |path: &str| self.roots.get()?.text_of(path, SHOWN_CHANGE_BYTES_MAX);
        let updates = match &child {
            None => open.updates.of_session(event.happened, before),
            Some(child) => open.updates.of_child(event.happened, child, before),
        };
        self.send(&session, updates);
    }
}

impl Asker for Desk {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let Some((line, about)) = self.asked(&ask.call_id, ask.driver_call_id.as_deref())
            else {
                return Answer::Nobody;
            };
            let call = permission::call(&about.call, &ask, about.shown);
            let request =
                RequestPermissionRequest::new(about.session, call, permission::options(&ask));
            match line.send_request(request).block_task().await {
                Ok(response) => permission::answer(&ask, &response.outcome),
                Err(err) => {
                    tracing::warn!(
                        "the editor answered a question with an error, which counts as a rejection: {err}"
                    );
                    Answer::Reject
                }
            }
        })
    }

    fn inquire(&self, inquiry: Inquiry) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let asked = self.asked(&inquiry.call_id, inquiry.driver_call_id.as_deref());
            let Some((line, about)) = asked.filter(|_| self.takes_forms()) else {
                return Reply::Nobody;
            };
            let form = elicit::form(&inquiry, &about.session, &about.call);
            match line.send_request(form).block_task().await {
                Ok(response) => elicit::replied(&response, &inquiry),
                Err(err) => elicit::dismissed(&format!("answered with an error: {err}")),
            }
        })
    }

    // One editor has many sessions, and what one of them asks must not wait for an answer in another.
    fn asks_in_turn(&self) -> bool {
        false
    }
}
