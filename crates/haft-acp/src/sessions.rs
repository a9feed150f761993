//! The sessions that an editor has open, and what it does with them: begins, loads, lists and closes them, and has turns in
//! them. A session is a chat of the agent host; only one turn goes on in it at a time.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, ListSessionsRequest, ListSessionsResponse,
    SessionId as AcpSessionId, SessionInfo, SessionInfoUpdate, SessionUpdate, StopReason,
};
use agent_client_protocol::{Error, ErrorCode};
use haft_agent::{AgentError, AgentSession, NewSession, SessionChanges, TurnEnd, TurnPrompt};
use haft_journal::{SessionId, SessionQuery, SessionRow};

use crate::editor::EditorConnection;
use crate::errors::{agent_error, error, invalid_params, not_open_error};
use crate::limits::{LISTED_SESSIONS_MAX, OPEN_SESSIONS_MAX};
use crate::modes::{is_offered, modes, options};
use crate::open_session::{OpenSession, SessionTurn};
use crate::preparation::AcpServeParts;
use crate::replay;
use crate::updates::{SessionUpdates, chunk};

/// The sessions of one editor.
pub(crate) struct AcpSessions {
    pub(crate) editor: Arc<EditorConnection>,
    pub(crate) parts: AcpServeParts,
    // Written when sessions are opened and closed; read with each request.
    open_sessions: Mutex<HashMap<SessionId, Arc<OpenSession>>>,
}

impl AcpSessions {
    pub(crate) fn new(desk: Arc<EditorConnection>, parts: AcpServeParts) -> Self {
        desk.set_roots(parts.runtime.roots().clone());
        Self { editor: desk, parts, open_sessions: Mutex::default() }
    }

    /// Returns a session that is open.
    pub(crate) fn open_session(&self, session: &AcpSessionId) -> Result<Arc<OpenSession>, Error> {
        let open = SessionId::parse(&session.0)
            .ok()
            .and_then(|id| self.lock_open_sessions().get(&id).cloned());
        open.ok_or_else(|| not_open_error(&session.0))
    }

    fn lock_open_sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<OpenSession>>> {
        self.open_sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a session in a directory.
    pub(crate) async fn begin(&self, directory: &Path) -> Result<Arc<OpenSession>, Error> {
        self.check_directory(directory)?;
        self.check_room()?;
        let new = NewSession { agent: self.parts.agent.clone(), ..NewSession::default() };
        let begun = self.parts.host.begin(new).await;
        begun.map(|chat| self.add_session(chat)).map_err(|err| self.with_notices(agent_error(&err)))
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
        session: &AcpSessionId,
        directory: &Path,
    ) -> Result<Arc<OpenSession>, Error> {
        self.check_directory(directory)?;
        if let Ok(open) = self.open_session(session) {
            return Ok(open);
        }
        self.check_room()?;
        let id = SessionId::parse(&session.0).map_err(|err| invalid_params(err.to_string()))?;
        let chat = self.parts.host.open(&id).await.map_err(|err| agent_error(&err))?;
        Ok(self.add_session(chat))
    }

    fn add_session(&self, chat: AgentSession) -> Arc<OpenSession> {
        let open = Arc::new(OpenSession::new(chat));
        self.editor.open_session(&open.id, self.updates());
        self.lock_open_sessions().insert(open.id.clone(), Arc::clone(&open));
        open
    }

    fn updates(&self) -> SessionUpdates {
        let root = self.parts.runtime.roots().workspace().to_path_buf();
        SessionUpdates::new(root, self.parts.context_tokens, self.editor.accepts_notices())
    }

    /// Says what a session is called that was had before.
    pub(crate) async fn send_saved_title(&self, open: &OpenSession) {
        // While a turn goes on, its end says so.
        let Ok(mut chat) = open.agent_session.try_lock() else { return };
        if let Some(chat) = chat.as_mut() {
            self.send_title(chat).await;
        }
    }

    /// Shows what was said in a session.
    pub(crate) async fn replay_history(&self, open: &OpenSession) -> Result<(), Error> {
        let chat = open.agent_session.try_lock().map_err(|_| busy_error(&open.id))?;
        let chat = chat.as_ref().ok_or_else(|| not_open_error(open.id.as_str()))?;
        let history = chat.history().await.map_err(|err| agent_error(&err))?;
        let registry = self.parts.runtime.registry();
        for (message, parts) in &history {
            self.editor.replay_updates(&open.id, |updates| {
                replay::message_updates(updates, &registry, message, parts)
            });
        }
        self.editor.replay_updates(&open.id, |updates| {
            replay::usage_update(updates, &history).into_iter().collect()
        });
        Ok(())
    }

    /// Returns sessions of this workspace, the latest first.
    pub(crate) async fn list(
        &self,
        request: &ListSessionsRequest,
    ) -> Result<ListSessionsResponse, Error> {
        let is_elsewhere = |directory: &Path| self.check_directory(directory).is_err();
        if request.cwd.as_deref().is_some_and(is_elsewhere) {
            return Ok(ListSessionsResponse::new(Vec::new()));
        }
        let before = request.cursor.as_deref().map(SessionId::parse).transpose();
        let before =
            before.map_err(|err| invalid_params(format!("the cursor is unknown: {err}")))?;
        let root = self.parts.runtime.roots().workspace().to_string_lossy().into_owned();
        let limit = LISTED_SESSIONS_MAX;
        let query = SessionQuery {
            root: Some(root),
            only_top: true,
            before,
            limit,
            ..SessionQuery::default()
        };
        let rows = self.parts.runtime.journal().sessions(query).await;
        let rows = rows.map_err(|err| agent_error(&AgentError::from(err)))?;
        let is_whole = u32::try_from(rows.len()).is_ok_and(|rows| rows < limit);
        let next = rows.last().filter(|_| !is_whole).map(|row| row.id.to_string());
        let sessions = rows.into_iter().map(|row| self.session_info(row)).collect();
        Ok(ListSessionsResponse::new(sessions).next_cursor(next))
    }

    fn session_info(&self, row: SessionRow) -> SessionInfo {
        SessionInfo::new(row.id.to_string(), row.root).title(row.title).updated_at((self
            .parts
            .format_time)(
            row.updated_at_ms,
        ))
    }

    /// Closes a session, and returns when its turn is over.
    pub(crate) async fn close(&self, open: &OpenSession) {
        self.lock_open_sessions().remove(&open.id);
        self.editor.close_session(&open.id);
        open.cancel_turn();
        let chat = open.agent_session.lock().await.take();
        // Also those in the background that a turn left which never came to its end.
        stop_background(chat.as_ref()).await;
    }

    /// Closes all sessions, and returns when their turns are over.
    pub(crate) async fn close_all(&self) {
        let all: Vec<Arc<OpenSession>> = self.lock_open_sessions().values().cloned().collect();
        for open in &all {
            open.cancel_turn();
        }
        for open in all {
            self.close(&open).await;
        }
    }

    /// Begins a turn, which what comes next from the editor can cancel.
    pub(crate) fn begin_turn(&self, open: &Arc<OpenSession>) -> Result<SessionTurn, Error> {
        let turn = open.begin_turn().ok_or_else(|| busy_error(&open.id))?;
        self.editor.unmute_session(&open.id);
        Ok(turn)
    }

    /// Has a turn, and those after it in which the agent is told what came of subagents in the background. Nothing goes on in
    /// the session when this returns, however the turn ended, and nothing is said there after a cancelled one.
    pub(crate) async fn run_turn(
        &self,
        mut turn: SessionTurn,
        text: String,
    ) -> Result<StopReason, Error> {
        let open = Arc::clone(&turn.session);
        let mut slot = open.agent_session.lock().await;
        let end = self.run_turns(&turn, &mut slot, text).await;
        // While no prompt is under way, nobody could cancel them.
        let stopped = stop_background(slot.as_ref()).await;
        let is_cancelled = turn.stop.is_cancelled();
        if is_cancelled {
            self.editor.mute_session(&open.id);
        } else if let Some(chat) = slot.as_mut() {
            if stopped > 0 {
                self.editor.send_notice(&open.id, &stopped_notice(stopped, "the turn broke off"));
            }
            self.send_title(chat).await;
        }
        self.end_turn(&mut turn, &mut slot).await;
        if is_cancelled {
            return Ok(StopReason::Cancelled);
        }
        end.map(|end| self.stop_reason(&open.id, end))
    }

    /// Has turns until no subagent in the background is left whose end the agent is to be told.
    async fn run_turns(
        &self,
        turn: &SessionTurn,
        slot: &mut Option<AgentSession>,
        text: String,
    ) -> Result<TurnEnd, Error> {
        let mut prompt = TurnPrompt::Message(text);
        loop {
            let chat = self.chosen_agent_session(&turn.session, slot).await?;
            let end =
                chat.run_turn(prompt, turn.stop.clone()).await.map_err(|err| agent_error(&err))?;
            let is_done = matches!(end, TurnEnd::Done { .. });
            if !is_done || !self.wait_for_background_news(turn, slot).await? {
                return Ok(end);
            }
            prompt = TurnPrompt::Continue;
        }
    }

    /// Waits until there is something to tell the agent, and returns whether there is. Another agent that is chosen meanwhile
    /// takes over at once.
    async fn wait_for_background_news(
        &self,
        turn: &SessionTurn,
        slot: &mut Option<AgentSession>,
    ) -> Result<bool, Error> {
        loop {
            let chosen = turn.session.agent_chosen.notified();
            let chat = self.chosen_agent_session(&turn.session, slot).await?;
            tokio::select! {
                biased;
                // A turn that is cancelled before it begins stops what is in the background.
                () = turn.stop.cancelled() => return Ok(true),
                comes_news = chat.wait_for_background() => return Ok(comes_news),
                () = chosen => {}
            }
        }
    }

    /// Ends a turn. Whoever was chosen meanwhile takes over before, so that nothing goes on that another agent had begun.
    async fn end_turn(&self, turn: &mut SessionTurn, slot: &mut Option<AgentSession>) {
        loop {
            let agent = match self.chosen_agent_session(&turn.session, slot).await {
                Ok(chat) => chat.agent().to_owned(),
                Err(err) => {
                    self.editor.send_notice(&turn.session.id, &err.message);
                    turn.session.agent()
                }
            };
            if turn.end_turn(&agent) {
                return;
            }
        }
    }

    fn stop_reason(&self, session: &SessionId, end: TurnEnd) -> StopReason {
        match end {
            TurnEnd::Done { .. } => StopReason::EndTurn,
            TurnEnd::Aborted => StopReason::Cancelled,
            TurnEnd::StepsSpent => StopReason::MaxTurnRequests,
            TurnEnd::OutputCut => StopReason::MaxTokens,
            TurnEnd::Refused { reason } => {
                let text = format!("The model would not answer: {reason}");
                self.editor.send_updates(
                    session,
                    vec![SessionUpdate::AgentMessageChunk(chunk(text, None))],
                );
                StopReason::Refusal
            }
        }
    }

    async fn send_title(&self, chat: &mut AgentSession) {
        let Ok(row) = chat.row().await else { return };
        if row.title.is_none() {
            return;
        }
        let info = SessionInfoUpdate::new()
            .title(row.title)
            .updated_at((self.parts.format_time)(row.updated_at_ms));
        self.editor.send_updates(&row.id, vec![SessionUpdate::SessionInfoUpdate(info)]);
    }

    /// Has another agent go on with a session: at once, or with the next turn while one goes on.
    pub(crate) async fn change_agent(
        &self,
        open: &Arc<OpenSession>,
        agent: &str,
    ) -> Result<(), Error> {
        if !is_offered(&self.parts.agents, agent) {
            let offered = self.parts.agents.iter().filter(|agent| agent.mode.is_primary());
            let offered: Vec<&str> = offered.map(|agent| agent.name.as_str()).collect();
            return Err(invalid_params(format!(
                "no agent {agent:?} can be talked to: expected one of {}",
                offered.join(", ")
            )));
        }
        if open.choose_agent(agent) {
            return Ok(());
        }
        let mut slot = open.agent_session.lock().await;
        self.chosen_agent_session(open, &mut slot).await.map(|_| ())
    }

    /// Returns the chat of a session, with the agent that was chosen.
    async fn chosen_agent_session<'a>(
        &self,
        open: &OpenSession,
        slot: &'a mut Option<AgentSession>,
    ) -> Result<&'a mut AgentSession, Error> {
        let agent = open.agent();
        if slot.as_ref().is_none_or(|chat| chat.agent() != agent) {
            self.switch_agent(open, slot, &agent).await?;
        }
        slot.as_mut().ok_or_else(|| not_open_error(open.id.as_str()))
    }

    /// Has another agent open the chat. Those who work in the background for the one before are stopped: they may more than
    /// this one, perhaps, and nobody who chooses an agent that may less wants that to go on.
    async fn switch_agent(
        &self,
        open: &OpenSession,
        slot: &mut Option<AgentSession>,
        agent: &str,
    ) -> Result<(), Error> {
        let stopped = stop_background(slot.as_ref()).await;
        // A chat is open once, so it is closed before another agent opens it.
        slot.take();
        let changes = SessionChanges { agent: Some(agent.to_owned()), ..SessionChanges::default() };
        match self.parts.host.open_with(&open.id, &changes).await {
            Ok(chat) => *slot = Some(chat),
            Err(err) => {
                *slot = self.parts.host.open(&open.id).await.ok();
                if let Some(chat) = slot {
                    open.choose_agent(chat.agent());
                    self.send_agent(open);
                }
                return Err(agent_error(&err));
            }
        }
        if stopped > 0 {
            let why = format!("{agent} works in this session now");
            self.editor.send_notice(&open.id, &stopped_notice(stopped, &why));
        }
        Ok(())
    }

    /// Says which agent works in a session, where the editor may think that it is another one.
    fn send_agent(&self, open: &OpenSession) {
        let (agents, agent) = (&self.parts.agents, open.agent());
        let mode = CurrentModeUpdate::new(modes(agents, &agent).current_mode_id);
        let options = ConfigOptionUpdate::new(options(agents, &agent));
        let updates =
            [SessionUpdate::CurrentModeUpdate(mode), SessionUpdate::ConfigOptionUpdate(options)];
        self.editor.send_updates(&open.id, updates.into());
    }

    fn check_room(&self) -> Result<(), Error> {
        if self.lock_open_sessions().len() < OPEN_SESSIONS_MAX {
            return Ok(());
        }
        let message = format!(
            "{OPEN_SESSIONS_MAX} sessions are open, which is as many as can be: close one of them"
        );
        Err(error(ErrorCode::INVALID_REQUEST, message))
    }

    /// Checks that the editor works where this process does.
    fn check_directory(&self, directory: &Path) -> Result<(), Error> {
        let place = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
        let roots = self.parts.runtime.roots().paths();
        if directory.is_absolute() && roots.iter().any(|root| place.starts_with(root)) {
            return Ok(());
        }
        if !directory.is_absolute() {
            return Err(invalid_params(format!(
                "the session's directory is {directory:?}: expected an absolute path"
            )));
        }
        let root = self.parts.runtime.roots().workspace().display();
        let directory = directory.display();
        Err(invalid_params(format!(
            "the session's directory {directory} is not within {root}, where this haft works: have the editor start haft \
             with that directory as its root"
        )))
    }
}

/// Stops the subagents that a chat has in the background, and returns how many they were.
async fn stop_background(chat: Option<&AgentSession>) -> usize {
    match chat {
        Some(chat) => chat.stop_background().await,
        None => 0,
    }
}

/// Says that subagents were stopped, and why.
fn stopped_notice(stopped: usize, why: &str) -> String {
    let who = match stopped {
        1 => "A subagent in the background was stopped".to_owned(),
        stopped => format!("{stopped} subagents in the background were stopped"),
    };
    format!("{who}, because {why}.")
}

fn busy_error(session: &SessionId) -> Error {
    let message =
        format!("a prompt of session {session} is being worked on: wait for its end, or cancel it");
    error(ErrorCode::INVALID_REQUEST, message)
}
