//! The sessions that an editor has open, and what it does with them: begins, loads, lists and closes them, and has turns in
//! them. A session is a chat of the agent host; only one turn goes on in it at a time.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{
    ListSessionsRequest, ListSessionsResponse, SessionId, SessionInfo, SessionInfoUpdate,
    SessionUpdate, StopReason,
};
use agent_client_protocol::{Error, ErrorCode};
use haft_agent::{AgentError, Chat, NewChat, Prompt, TurnEnd};
use haft_journal::{ChatId, ChatQuery, ChatSession};
use tokio_util::sync::CancellationToken;

use crate::connection::ServeParts;
use crate::editor::Desk;
use crate::failure::{error, failure, invalid, not_open};
use crate::limits::{LISTED_SESSIONS_MAX, OPEN_SESSIONS_MAX};
use crate::modes::is_offered;
use crate::replay;
use crate::updates::{Updates, chunk};

/// The sessions of one editor.
pub(crate) struct Sessions {
    pub(crate) desk: Arc<Desk>,
    pub(crate) parts: ServeParts,
    // Written when sessions are opened and closed; read with each request.
    open: Mutex<HashMap<ChatId, Arc<Open>>>,
}

/// One session that is open.
pub(crate) struct Open {
    pub(crate) id: ChatId,
    // The turn that goes on has it; nothing while another agent takes over, or if that failed.
    chat: tokio::sync::Mutex<Option<Chat>>,
    // Written by requests, which come one after the other, and by the end of a turn.
    turn: Mutex<Option<CancellationToken>>,
    // The agent that the next turn is had with.
    agent: Mutex<String>,
}

/// A turn that is about to be had. While it is there, no other one is.
pub(crate) struct Turn {
    open: Arc<Open>,
    pub(crate) stop: CancellationToken,
}

impl Drop for Turn {
    fn drop(&mut self) {
        *locked(&self.open.turn) = None;
    }
}

impl Open {
    fn new(chat: Chat) -> Self {
        Self {
            id: chat.id().clone(),
            agent: Mutex::new(chat.agent().to_owned()),
            chat: tokio::sync::Mutex::new(Some(chat)),
            turn: Mutex::default(),
        }
    }

    /// Returns the agent that the next turn is had with.
    pub(crate) fn agent(&self) -> String {
        locked(&self.agent).clone()
    }

    /// Stops the turn, if there is one.
    pub(crate) fn cancel(&self) {
        if let Some(stop) = &*locked(&self.turn) {
            stop.cancel();
        }
    }
}

impl Sessions {
    pub(crate) fn new(desk: Arc<Desk>, parts: ServeParts) -> Self {
        Self { desk, parts, open: Mutex::default() }
    }

    /// Returns a session that is open.
    pub(crate) fn find(&self, session: &SessionId) -> Result<Arc<Open>, Error> {
        let open = ChatId::parse(&session.0).ok().and_then(|id| self.opened().get(&id).cloned());
        open.ok_or_else(|| not_open(&session.0))
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<ChatId, Arc<Open>>> {
        locked(&self.open)
    }

    /// Begins a session in a directory.
    pub(crate) async fn begin(&self, directory: &Path) -> Result<Arc<Open>, Error> {
        self.check_place(directory)?;
        self.check_room()?;
        let new = NewChat { agent: self.parts.agent.clone(), ..NewChat::default() };
        let chat = self.parts.host.begin(new).await.map_err(|err| failure(&err))?;
        Ok(self.take(chat))
    }

    /// Opens a session that was had before.
    pub(crate) async fn resume(
        &self,
        session: &SessionId,
        directory: &Path,
    ) -> Result<Arc<Open>, Error> {
        self.check_place(directory)?;
        if let Ok(open) = self.find(session) {
            return Ok(open);
        }
        self.check_room()?;
        let id = ChatId::parse(&session.0).map_err(|err| invalid(err.to_string()))?;
        let chat = self.parts.host.open(&id).await.map_err(|err| failure(&err))?;
        Ok(self.take(chat))
    }

    fn take(&self, chat: Chat) -> Arc<Open> {
        let open = Arc::new(Open::new(chat));
        self.desk.open(&open.id, self.updates());
        self.opened().insert(open.id.clone(), Arc::clone(&open));
        open
    }

    fn updates(&self) -> Updates {
        let root = self.parts.runtime.roots().workspace().to_path_buf();
        Updates::new(root, self.parts.context_tokens, self.desk.takes_notices())
    }

    /// Shows what was said in a session.
    pub(crate) async fn replay(&self, open: &Open) -> Result<(), Error> {
        let chat = open.chat.try_lock().map_err(|_| busy(&open.id))?;
        let chat = chat.as_ref().ok_or_else(|| not_open(open.id.as_str()))?;
        let history = chat.history().await.map_err(|err| failure(&err))?;
        let registry = self.parts.runtime.registry();
        for (message, parts) in &history {
            self.desk
                .replay(&open.id, |updates| replay::message(updates, &registry, message, parts));
        }
        Ok(())
    }

    /// Returns sessions of this workspace, the latest first.
    pub(crate) async fn list(
        &self,
        request: &ListSessionsRequest,
    ) -> Result<ListSessionsResponse, Error> {
        let is_elsewhere = |directory: &Path| self.check_place(directory).is_err();
        if request.cwd.as_deref().is_some_and(is_elsewhere) {
            return Ok(ListSessionsResponse::new(Vec::new()));
        }
        let before = request.cursor.as_deref().map(ChatId::parse).transpose();
        let before = before.map_err(|err| invalid(format!("the cursor is unknown: {err}")))?;
        let root = self.parts.runtime.roots().workspace().to_string_lossy().into_owned();
        let limit = LISTED_SESSIONS_MAX;
        let query =
            ChatQuery { root: Some(root), only_top: true, before, limit, ..ChatQuery::default() };
        let rows = self.parts.runtime.journal().chats(query).await;
        let rows = rows.map_err(|err| failure(&AgentError::from(err)))?;
        let is_whole = u32::try_from(rows.len()).is_ok_and(|rows| rows < limit);
        let next = rows.last().filter(|_| !is_whole).map(|row| row.id.to_string());
        let sessions = rows.into_iter().map(|row| self.info(row)).collect();
        Ok(ListSessionsResponse::new(sessions).next_cursor(next))
    }

    fn info(&self, row: ChatSession) -> SessionInfo {
        SessionInfo::new(row.id.to_string(), row.root).title(row.title).updated_at((self
            .parts
            .time)(
            row.updated_at_ms,
        ))
    }

    /// Closes a session, and returns when its turn is over.
    pub(crate) async fn close(&self, open: &Open) {
        self.opened().remove(&open.id);
        self.desk.close(&open.id);
        open.cancel();
        open.chat.lock().await.take();
    }

    /// Closes all sessions, and returns when their turns are over.
    pub(crate) async fn close_all(&self) {
        let all: Vec<Arc<Open>> = self.opened().values().cloned().collect();
        for open in &all {
            open.cancel();
        }
        for open in all {
            self.close(&open).await;
        }
    }

    /// Begins a turn, which what comes next from the editor can cancel.
    pub(crate) fn begin_turn(&self, open: &Arc<Open>) -> Result<Turn, Error> {
        let mut turn = locked(&open.turn);
        if turn.is_some() {
            return Err(busy(&open.id));
        }
        let stop = CancellationToken::new();
        *turn = Some(stop.clone());
        drop(turn);
        self.desk.speak(&open.id);
        Ok(Turn { open: Arc::clone(open), stop })
    }

    /// Has a turn, and those after it in which the agent is told what came of subagents in the background. Nothing is said in
    /// the session after a cancelled one.
    pub(crate) async fn have(&self, turn: Turn, text: String) -> Result<StopReason, Error> {
        let open = &turn.open;
        let mut slot = open.chat.lock().await;
        let end = match self.hand_over(open, &mut slot).await {
            Ok(chat) => turns(chat, text, &turn.stop).await.map_err(|err| failure(&err)),
            Err(err) => Err(err),
        };
        if turn.stop.is_cancelled() {
            self.desk.hush(&open.id);
            return Ok(StopReason::Cancelled);
        }
        if let Some(chat) = slot.as_mut() {
            self.tell_title(chat).await;
        }
        end.map(|end| self.stop_reason(&open.id, end))
    }

    fn stop_reason(&self, session: &ChatId, end: TurnEnd) -> StopReason {
        match end {
            TurnEnd::Done { .. } => StopReason::EndTurn,
            TurnEnd::Aborted => StopReason::Cancelled,
            TurnEnd::StepsSpent => StopReason::MaxTurnRequests,
            TurnEnd::OutputCut => StopReason::MaxTokens,
            TurnEnd::Refused { reason } => {
                let text = format!("The model would not answer: {reason}");
                self.desk.say(session, vec![SessionUpdate::AgentMessageChunk(chunk(text, None))]);
                StopReason::Refusal
            }
        }
    }

    async fn tell_title(&self, chat: &mut Chat) {
        let Ok(row) = chat.row().await else { return };
        let info = SessionInfoUpdate::new()
            .title(row.title)
            .updated_at((self.parts.time)(row.updated_at_ms));
        self.desk.say(&row.id, vec![SessionUpdate::SessionInfoUpdate(info)]);
    }

    /// Has another agent go on with a session: at once, or with the next turn while one goes on.
    pub(crate) async fn change_agent(&self, open: &Arc<Open>, agent: &str) -> Result<(), Error> {
        if !is_offered(&self.parts.agents, agent) {
            let offered = self.parts.agents.iter().filter(|agent| agent.mode.is_primary());
            let offered: Vec<&str> = offered.map(|agent| agent.name.as_str()).collect();
            return Err(invalid(format!(
                "no agent {agent:?} can be talked to: expected one of {}",
                offered.join(", ")
            )));
        }
        *locked(&open.agent) = agent.to_owned();
        match open.chat.try_lock() {
            Ok(mut slot) => self.hand_over(open, &mut slot).await.map(|_| ()),
            Err(_) => Ok(()),
        }
    }

    /// Returns the chat of a session, with the agent that was chosen.
    async fn hand_over<'a>(
        &self,
        open: &Open,
        slot: &'a mut Option<Chat>,
    ) -> Result<&'a mut Chat, Error> {
        let agent = open.agent();
        let former = slot.as_ref().map(|chat| chat.agent().to_owned());
        if former.as_ref() != Some(&agent) {
            // A chat is open once, so it is closed before another agent opens it.
            slot.take();
            match self.parts.host.open_as(&open.id, &agent).await {
                Ok(chat) => *slot = Some(chat),
                Err(err) => {
                    *slot = self.parts.host.open(&open.id).await.ok();
                    if let Some(chat) = slot {
                        *locked(&open.agent) = chat.agent().to_owned();
                    }
                    return Err(failure(&err));
                }
            }
        }
        slot.as_mut().ok_or_else(|| not_open(open.id.as_str()))
    }

    fn check_room(&self) -> Result<(), Error> {
        if self.opened().len() < OPEN_SESSIONS_MAX {
            return Ok(());
        }
        let message = format!(
            "{OPEN_SESSIONS_MAX} sessions are open, which is as many as can be: close one of them"
        );
        Err(error(ErrorCode::INVALID_REQUEST, message))
    }

    /// Checks that the editor works where this process does.
    fn check_place(&self, directory: &Path) -> Result<(), Error> {
        let place = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
        let roots = self.parts.runtime.roots().paths();
        if directory.is_absolute() && roots.iter().any(|root| place.starts_with(root)) {
            return Ok(());
        }
        let root = self.parts.runtime.roots().workspace().display();
        let directory = directory.display();
        Err(invalid(format!(
            "the session's directory {directory} is not within {root}, where this haft works: have the editor start `haft acp \
             --root {directory}`"
        )))
    }
}

/// Has turns until no subagent in the background is left whose end the agent is to be told.
async fn turns(
    chat: &mut Chat,
    text: String,
    stop: &CancellationToken,
) -> Result<TurnEnd, AgentError> {
    let mut end = chat.turn(Prompt::Say(text), stop.clone()).await?;
    while matches!(end, TurnEnd::Done { .. }) {
        let is_told = tokio::select! {
            biased;
            // A turn that is cancelled before it begins stops what is in the background.
            () = stop.cancelled() => true,
            is_told = chat.next_background() => is_told,
        };
        if !is_told {
            break;
        }
        end = chat.turn(Prompt::GoOn, stop.clone()).await?;
    }
    Ok(end)
}

fn busy(session: &ChatId) -> Error {
    let message =
        format!("a prompt of session {session} is being worked on: wait for its end, or cancel it");
    error(ErrorCode::INVALID_REQUEST, message)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
