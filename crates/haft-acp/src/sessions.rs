//! The sessions that an editor has open, and what it does with them: begins, loads, lists and closes them, and has turns in
//! them. A session is a chat of the agent host; only one turn goes on in it at a time.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, ListSessionsRequest, ListSessionsResponse, SessionId,
    SessionInfo, SessionInfoUpdate, SessionUpdate, StopReason,
};
use agent_client_protocol::{Error, ErrorCode};
use haft_agent::{AgentError, Changes, Chat, NewChat, Prompt, TurnEnd};
use haft_journal::{ChatId, ChatQuery, ChatSession};

use crate::editor::Desk;
use crate::failure::{error, failure, invalid, not_open};
use crate::limits::{LISTED_SESSIONS_MAX, OPEN_SESSIONS_MAX};
use crate::modes::{is_offered, modes, options};
use crate::open::{Open, Turn};
use crate::preparation::ServeParts;
use crate::replay;
use crate::updates::{Updates, chunk};

/// The sessions of one editor.
pub(crate) struct Sessions {
    pub(crate) desk: Arc<Desk>,
    pub(crate) parts: ServeParts,
    // Written when sessions are opened and closed; read with each request.
    open: Mutex<HashMap<ChatId, Arc<Open>>>,
}

impl Sessions {
    pub(crate) fn new(desk: Arc<Desk>, parts: ServeParts) -> Self {
        desk.settle_in(parts.runtime.roots().clone());
        Self { desk, parts, open: Mutex::default() }
    }

    /// Returns a session that is open.
    pub(crate) fn find(&self, session: &SessionId) -> Result<Arc<Open>, Error> {
        let open = ChatId::parse(&session.0).ok().and_then(|id| self.opened().get(&id).cloned());
        open.ok_or_else(|| not_open(&session.0))
    }

    fn opened(&self) -> MutexGuard<'_, HashMap<ChatId, Arc<Open>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session in a directory.
    pub(crate) async fn begin(&self, directory: &Path) -> Result<Arc<Open>, Error> {
        self.check_place(directory)?;
        self.check_room()?;
        let new = NewChat { agent: self.parts.agent.clone(), ..NewChat::default() };
        let begun = self.parts.host.begin(new).await;
        begun.map(|chat| self.take(chat)).map_err(|err| self.with_notices(failure(&err)))
    }

    /// Adds to an error what is said in sessions, because there is none to say it in: it may be the reason.
    fn with_notices(&self, err: Error) -> Error {
        let lines: Vec<&str> = std::iter::once(err.message.as_str())
            .chain(self.parts.notices.iter().map(String::as_str))
            .collect();
        error(err.code, lines.join("\n\n"))
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

    /// Says what a session is called that was had before.
    pub(crate) async fn introduce(&self, open: &Open) {
        // While a turn goes on, its end says so.
        let Ok(mut chat) = open.chat.try_lock() else { return };
        if let Some(chat) = chat.as_mut() {
            self.tell_title(chat).await;
        }
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
        self.desk
            .replay(&open.id, |updates| replay::usage(updates, &history).into_iter().collect());
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
        let chat = open.chat.lock().await.take();
        // Also those in the background that a turn left which never came to its end.
        stop_background(chat.as_ref()).await;
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
        let turn = open.begin_turn().ok_or_else(|| busy(&open.id))?;
        self.desk.speak(&open.id);
        Ok(turn)
    }

    /// Has a turn, and those after it in which the agent is told what came of subagents in the background. Nothing goes on in
    /// the session when this returns, however the turn ended, and nothing is said there after a cancelled one.
    pub(crate) async fn have(&self, mut turn: Turn, text: String) -> Result<StopReason, Error> {
        let open = Arc::clone(&turn.open);
        let mut slot = open.chat.lock().await;
        let end = self.turns(&turn, &mut slot, text).await;
        // While no prompt is under way, nobody could cancel them.
        let stopped = stop_background(slot.as_ref()).await;
        let is_cancelled = turn.stop.is_cancelled();
        if is_cancelled {
            self.desk.hush(&open.id);
        } else if let Some(chat) = slot.as_mut() {
            if stopped > 0 {
                self.desk.notice(&open.id, &stopped_because(stopped, "the turn broke off"));
            }
            self.tell_title(chat).await;
        }
        self.end(&mut turn, &mut slot).await;
        if is_cancelled {
            return Ok(StopReason::Cancelled);
        }
        end.map(|end| self.stop_reason(&open.id, end))
    }

    /// Has turns until no subagent in the background is left whose end the agent is to be told.
    async fn turns(
        &self,
        turn: &Turn,
        slot: &mut Option<Chat>,
        text: String,
    ) -> Result<TurnEnd, Error> {
        let mut prompt = Prompt::Say(text);
        loop {
            let chat = self.hand_over(&turn.open, slot).await?;
            let end = chat.turn(prompt, turn.stop.clone()).await.map_err(|err| failure(&err))?;
            let is_done = matches!(end, TurnEnd::Done { .. });
            if !is_done || !self.comes_news(turn, slot).await? {
                return Ok(end);
            }
            prompt = Prompt::GoOn;
        }
    }

    /// Waits until there is something to tell the agent, and returns whether there is. Another agent that is chosen meanwhile
    /// takes over at once.
    async fn comes_news(&self, turn: &Turn, slot: &mut Option<Chat>) -> Result<bool, Error> {
        loop {
            let chosen = turn.open.chosen.notified();
            let chat = self.hand_over(&turn.open, slot).await?;
            tokio::select! {
                biased;
                // A turn that is cancelled before it begins stops what is in the background.
                () = turn.stop.cancelled() => return Ok(true),
                comes_news = chat.next_background() => return Ok(comes_news),
                () = chosen => {}
            }
        }
    }

    /// Ends a turn. Whoever was chosen meanwhile takes over before, so that nothing goes on that another agent had begun.
    async fn end(&self, turn: &mut Turn, slot: &mut Option<Chat>) {
        loop {
            let agent = match self.hand_over(&turn.open, slot).await {
                Ok(chat) => chat.agent().to_owned(),
                Err(err) => {
                    self.desk.notice(&turn.open.id, &err.message);
                    turn.open.agent()
                }
            };
            if turn.end(&agent) {
                return;
            }
        }
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
        if row.title.is_none() {
            return;
        }
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
        if open.choose(agent) {
            return Ok(());
        }
        let mut slot = open.chat.lock().await;
        self.hand_over(open, &mut slot).await.map(|_| ())
    }

    /// Returns the chat of a session, with the agent that was chosen.
    async fn hand_over<'a>(
        &self,
        open: &Open,
        slot: &'a mut Option<Chat>,
    ) -> Result<&'a mut Chat, Error> {
        let agent = open.agent();
        if slot.as_ref().is_none_or(|chat| chat.agent() != agent) {
            self.take_over(open, slot, &agent).await?;
        }
        slot.as_mut().ok_or_else(|| not_open(open.id.as_str()))
    }

    /// Has another agent open the chat. Those who work in the background for the one before are stopped: they may more than
    /// this one, perhaps, and nobody who chooses an agent that may less wants that to go on.
    async fn take_over(
        &self,
        open: &Open,
        slot: &mut Option<Chat>,
        agent: &str,
    ) -> Result<(), Error> {
        let stopped = stop_background(slot.as_ref()).await;
        // A chat is open once, so it is closed before another agent opens it.
        slot.take();
        let changes = Changes { agent: Some(agent.to_owned()), ..Changes::default() };
        match self.parts.host.open_with(&open.id, &changes).await {
            Ok(chat) => *slot = Some(chat),
            Err(err) => {
                *slot = self.parts.host.open(&open.id).await.ok();
                if let Some(chat) = slot {
                    open.choose(chat.agent());
                    self.tell_agent(open);
                }
                return Err(failure(&err));
            }
        }
        if stopped > 0 {
            let why = format!("{agent} works in this session now");
            self.desk.notice(&open.id, &stopped_because(stopped, &why));
        }
        Ok(())
    }

    /// Says which agent works in a session, where the editor may think that it is another one.
    fn tell_agent(&self, open: &Open) {
        let (agents, agent) = (&self.parts.agents, open.agent());
        let mode = CurrentModeUpdate::new(modes(agents, &agent).current_mode_id);
        let options = ConfigOptionUpdate::new(options(agents, &agent));
        let updates =
            [SessionUpdate::CurrentModeUpdate(mode), SessionUpdate::ConfigOptionUpdate(options)];
        self.desk.say(&open.id, updates.into());
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
        if !directory.is_absolute() {
            return Err(invalid(format!(
                "the session's directory is {directory:?}: expected an absolute path"
            )));
        }
        let root = self.parts.runtime.roots().workspace().display();
        let directory = directory.display();
        Err(invalid(format!(
            "the session's directory {directory} is not within {root}, where this haft works: have the editor start `haft acp \
             --root {directory}`"
        )))
    }
}

/// Stops the subagents that a chat has in the background, and returns how many they were.
async fn stop_background(chat: Option<&Chat>) -> usize {
    match chat {
        Some(chat) => chat.stop_background().await,
        None => 0,
    }
}

/// Says that subagents were stopped, and why.
fn stopped_because(stopped: usize, why: &str) -> String {
    let who = match stopped {
        1 => "A subagent in the background was stopped".to_owned(),
        stopped => format!("{stopped} subagents in the background were stopped"),
    };
    format!("{who}, because {why}.")
}

fn busy(session: &ChatId) -> Error {
    let message =
        format!("a prompt of session {session} is being worked on: wait for its end, or cancel it");
    error(ErrorCode::INVALID_REQUEST, message)
}
