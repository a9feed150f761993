//! The open sessions of an editor: begins, loads, lists and closes them, and runs turns in them, one at a time for each session.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, ListSessionsRequest, ListSessionsResponse,
    SessionId as AcpSessionId, SessionInfo, SessionInfoUpdate, SessionUpdate, StopReason,
};
use agent_client_protocol::{Error, ErrorCode};
use haft_agent::{AgentError, AgentSession, NewSession, SessionChanges, TurnEnd, TurnPrompt};
use haft_journal::{SessionId, SessionQuery};

use crate::editor::EditorConnection;
use crate::errors::{agent_error, error, invalid_params, not_open_error};
use crate::limits::{LISTED_SESSIONS_MAX, OPEN_SESSIONS_MAX};
use crate::modes::{offered, options};
use crate::open_session::{OpenSession, SessionTurn};
use crate::preparation::AcpServeParts;
use crate::prompt::EditorPrompt;
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

    /// Returns an open session.
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
        let begun = self.parts.host.begin(new).await.map_err(|err| {
            // No session can show the notices, and they may hold the reason.
            let err = agent_error(&err);
            let notices = self.parts.notices.iter().map(String::as_str);
            let lines: Vec<&str> = std::iter::once(&*err.message).chain(notices).collect();
            error(err.code, lines.join("\n\n"))
        })?;
        Ok(self.add_session(begun))
    }

    /// Opens an existing session.
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
        let root = self.parts.runtime.roots().workspace().to_path_buf();
        let accepts_notices = self.editor.accepts_notices();
        let updates = SessionUpdates::new(root, self.parts.context_tokens, accepts_notices);
        self.editor.open_session(&open.id, updates);
        self.lock_open_sessions().insert(open.id.clone(), Arc::clone(&open));
        open
    }

    /// Sends the title of an existing session.
    pub(crate) async fn send_saved_title(&self, open: &OpenSession) {
        // The end of a turn sends the title as well.
        let Ok(mut chat) = open.agent_session.try_lock() else { return };
        if let Some(chat) = chat.as_mut() {
            self.send_title(chat).await;
        }
    }

    /// Sends the messages of a session.
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
        let directory = request.cwd.as_deref();
        if directory.is_some_and(|directory| self.check_directory(directory).is_err()) {
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
        let sessions = rows.into_iter().map(|row| {
            let updated_at = (self.parts.format_time)(row.updated_at_ms);
            SessionInfo::new(row.id.to_string(), row.root).title(row.title).updated_at(updated_at)
        });
        Ok(ListSessionsResponse::new(sessions.collect()).next_cursor(next))
    }

    /// Closes a session, and returns when its turn is over.
    pub(crate) async fn close(&self, open: &OpenSession) {
        self.lock_open_sessions().remove(&open.id);
        self.editor.close_session(&open.id);
        open.cancel_turn();
        let chat = open.agent_session.lock().await.take();
        // A turn that was dropped may have left background subagents.
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

    /// Begins a turn, so that the next message of the editor can cancel it.
    pub(crate) fn begin_turn(&self, open: &Arc<OpenSession>) -> Result<SessionTurn, Error> {
        let turn = open.begin_turn().ok_or_else(|| busy_error(&open.id))?;
        self.editor.unmute_session(&open.id);
        Ok(turn)
    }

    /// Runs a turn, and further turns that notify the agent of ended background subagents. When this returns, nothing runs in the
    /// session. After a cancelled turn, the session sends no updates.
    pub(crate) async fn run_turn(
        &self,
        mut turn: SessionTurn,
        prompt: EditorPrompt,
    ) -> Result<StopReason, Error> {
        let open = Arc::clone(&turn.session);
        let mut slot = open.agent_session.lock().await;
        let end = self.run_turns(&turn, &mut slot, prompt).await;
        // Without a prompt, the editor could not cancel them.
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
        end.map(|end| match end {
            TurnEnd::Done { .. } => StopReason::EndTurn,
            TurnEnd::Aborted => StopReason::Cancelled,
            TurnEnd::StepsSpent => StopReason::MaxTurnRequests,
            TurnEnd::OutputCut => StopReason::MaxTokens,
            TurnEnd::Refused { reason } => {
                let text = chunk(format!("The model would not answer: {reason}"), None);
                self.editor.send_updates(&open.id, vec![SessionUpdate::AgentMessageChunk(text)]);
                StopReason::Refusal
            }
        })
    }

    /// Runs turns until no background subagent runs and the agent has a notice of each end. If the person chooses another agent
    /// meanwhile, that agent takes over at once.
    async fn run_turns(
        &self,
        turn: &SessionTurn,
        slot: &mut Option<AgentSession>,
        prompt: EditorPrompt,
    ) -> Result<TurnEnd, Error> {
        let EditorPrompt { message, attached } = prompt;
        let mut prompt = TurnPrompt::Message(message);
        loop {
            let session = self.chosen_agent_session(&turn.session, slot).await?;
            // A file that cannot be added is one that calls cannot read, which their answers say.
            for path in &attached {
                session.connection().add_ad_hoc(path);
            }
            let agent = session.agent().to_owned();
            let end = session.run_turn(prompt, turn.stop.clone()).await;
            if session.agent() != agent {
                // A person agreed to a plan, and another agent carries it out.
                turn.session.choose_agent(session.agent());
                self.send_agent(&turn.session);
            }
            let end = end.map_err(|err| agent_error(&err))?;
            if !matches!(end, TurnEnd::Done { .. }) {
                return Ok(end);
            }
            loop {
                let agent_chosen = turn.session.agent_chosen.notified();
                let session = self.chosen_agent_session(&turn.session, slot).await?;
                tokio::select! {
                    biased;
                    // A turn that is cancelled before it begins stops the background subagents.
                    () = turn.stop.cancelled() => break,
                    has_end = session.wait_for_background() => match has_end {
                        true => break,
                        false => return Ok(end),
                    },
                    () = agent_chosen => {}
                }
            }
            prompt = TurnPrompt::Continue;
        }
    }

    /// Ends a turn. An agent that was chosen meanwhile takes over first, so that nothing of the former agent still runs.
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

    /// Changes the agent of a session, at once or at the end of the turn that runs.
    pub(crate) async fn change_agent(
        &self,
        open: &Arc<OpenSession>,
        agent: &str,
    ) -> Result<(), Error> {
        let offered: Vec<&str> =
            offered(&self.parts.agents).map(|agent| agent.name.as_str()).collect();
        if !offered.contains(&agent) {
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

    /// Returns the agent session with the chosen agent. If the agent changes, the background subagents of the former one are stopped,
    /// because they may have more permissions than the new agent.
    async fn chosen_agent_session<'a>(
        &self,
        open: &OpenSession,
        slot: &'a mut Option<AgentSession>,
    ) -> Result<&'a mut AgentSession, Error> {
        let agent = open.agent();
        if slot.as_ref().is_none_or(|session| session.agent() != agent) {
            let stopped = stop_background(slot.as_ref()).await;
            // A session can be open only once, so it is closed before the other agent opens it.
            slot.take();
            let changes =
                SessionChanges { agent: Some(agent.clone()), ..SessionChanges::default() };
            match self.parts.host.open_with(&open.id, &changes).await {
                Ok(session) => *slot = Some(session),
                Err(err) => {
                    *slot = self.parts.host.open(&open.id).await.ok();
                    if let Some(session) = slot {
                        open.choose_agent(session.agent());
                        // The editor may show the agent that was chosen.
                        self.send_agent(open);
                    }
                    return Err(agent_error(&err));
                }
            }
            if stopped > 0 {
                let why = format!("{agent} works in this session now");
                self.editor.send_notice(&open.id, &stopped_notice(stopped, &why));
            }
        }
        slot.as_mut().ok_or_else(|| not_open_error(open.id.as_str()))
    }

    /// Sends the editor the agent of a session.
    fn send_agent(&self, open: &OpenSession) {
        let (agents, agent) = (&self.parts.agents, open.agent());
        let mode = CurrentModeUpdate::new(agent.clone());
        let options = ConfigOptionUpdate::new(options(agents, &agent));
        let updates = vec![
            SessionUpdate::CurrentModeUpdate(mode),
            SessionUpdate::ConfigOptionUpdate(options),
        ];
        self.editor.send_updates(&open.id, updates);
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

    /// Checks that a directory is within a root of this process.
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

/// Stops the background subagents of a session, and returns their number.
async fn stop_background(session: Option<&AgentSession>) -> usize {
    match session {
        Some(session) => session.stop_background().await,
        None => 0,
    }
}

/// Returns a notice about stopped subagents.
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
