//! The state that the sessions of one host share, and the parts that one session works with. Nothing is read, recorded or
//! said here.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use haft::{Connection, ResumeMode, Run};
use haft_contract::{BoxFuture, CallTime, Subagents};
use haft_journal::{SessionId, SessionMode, SessionRow, SessionStatus, TokenCounts};
use haft_model::{Model, ModelAnswerStream, ModelError, ModelRequest};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::background::{BackgroundSubagents, SubagentTree};
use crate::definition::AgentDefinition;
use crate::error::AgentError;
use crate::event::{AgentEvent, AgentEventKind};
use crate::host_parts::AgentHostParts;
use crate::id::SessionIdGenerator;
use crate::restrictions::{AgentRestrictions, restrict_connection, restrictions_json};

/// The state that all sessions of one host share.
pub(crate) struct AgentHostShared {
    pub(crate) parts: AgentHostParts,
    pub(crate) ids: SessionIdGenerator,
    /// Makes the subagents that one call of a session reaches.
    pub(crate) subagents_of_call: SubagentsOfCall,
    /// Cancelled when the host goes.
    pub(crate) closing: CancellationToken,
    /// Turns that are under way, and subagents in the background.
    pub(crate) tasks: TaskTracker,
    // The subagents of each chat, for as long as the chat or one of them is there; locked to find those of one chat.
    background: Mutex<HashMap<SessionId, Weak<BackgroundSubagents>>>,
    // The chats that somebody has here; locked to take one and to give it back.
    open_sessions: Mutex<HashSet<SessionId>>,
}

/// Returns the subagents that one call of a session reaches. A turn of a session begins turns of others through it, and the
/// module of turns is below the one of subagents.
pub(crate) type SubagentsOfCall =
    fn(parent: &Arc<AgentSessionContext>, tool_call_id: &str) -> Arc<dyn Subagents>;

/// What a chat works with, which does not change.
pub(crate) struct AgentSessionContext {
    pub(crate) host: Arc<AgentHostShared>,
    pub(crate) id: SessionId,
    pub(crate) agent: Arc<AgentDefinition>,
    pub(crate) model_name: String,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) restrictions: Vec<AgentRestrictions>,
    /// What the front end may, narrowed to what this chat may.
    pub(crate) connection: Connection,
    pub(crate) run: Run,
    pub(crate) depth: u32,
    pub(crate) background: Arc<BackgroundSubagents>,
    /// The time of the call that waits for this chat, where one does.
    pub(crate) parent_call_time: OnceLock<Arc<dyn CallTime>>,
    pub(crate) _taken: SessionOpenGuard,
}

/// That somebody has a chat; nobody else in this process does meanwhile.
pub(crate) struct SessionOpenGuard {
    host: Arc<AgentHostShared>,
    session: SessionId,
}

impl Drop for SessionOpenGuard {
    fn drop(&mut self) {
        self.host
            .open_sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.session);
    }
}

impl AgentHostShared {
    /// Returns the state of a host of these parts.
    pub(crate) fn new(parts: AgentHostParts, subagents_of_call: SubagentsOfCall) -> Self {
        let ids = SessionIdGenerator::new(Arc::clone(&parts.clock), Arc::clone(&parts.random), 0);
        Self {
            parts,
            ids,
            subagents_of_call,
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
            background: Mutex::default(),
            open_sessions: Mutex::default(),
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.parts.clock.now_ms()
    }

    /// Returns the workspace root as rows name it.
    pub(crate) fn workspace_root(&self) -> String {
        self.parts.runtime.roots().workspace().to_string_lossy().into_owned()
    }

    /// Returns an agent that can be talked to.
    pub(crate) fn primary_agent(&self, name: &str) -> Result<Arc<AgentDefinition>, AgentError> {
        let agents = &self.parts.agents;
        let agent = agents.get(name).filter(|agent| agent.mode.is_primary());
        agent.map(|agent| Arc::new(agent.clone())).ok_or_else(|| self.unknown_agent(name))
    }

    /// Returns an agent, whatever it is for.
    pub(crate) fn any_agent(&self, name: &str) -> Result<Arc<AgentDefinition>, AgentError> {
        let agent = self.parts.agents.get(name);
        agent.map(|agent| Arc::new(agent.clone())).ok_or_else(|| self.unknown_agent(name))
    }

    fn unknown_agent(&self, name: &str) -> AgentError {
        let primary = self.parts.agents.iter().filter(|agent| agent.mode.is_primary());
        let available = primary.map(|agent| agent.name.clone()).collect();
        AgentError::UnknownAgent { name: name.to_owned(), available }
    }

    /// Returns the row of a new chat.
    pub(crate) fn new_row(
        &self,
        agent: &AgentDefinition,
        model: Option<&str>,
        layers: &[AgentRestrictions],
    ) -> Result<SessionRow, AgentError> {
        let (model, _) = self.parts.models.model(model.or(agent.model.as_deref()))?;
        Ok(self.new_row_with_model(agent, model, layers))
    }

    /// Returns the row of a new chat in which the model of that name answers.
    pub(crate) fn new_row_with_model(
        &self,
        agent: &AgentDefinition,
        model: String,
        layers: &[AgentRestrictions],
    ) -> SessionRow {
        let now_ms = self.now_ms();
        SessionRow {
            id: self.ids.next_session_id(),
            parent_id: None,
            parent_tool_call_id: None,
            forked_from_id: None,
            forked_from_message_id: None,
            agent: agent.name.clone(),
            title: None,
            model,
            root: self.workspace_root(),
            status: SessionStatus::Idle,
            mode: SessionMode::Foreground,
            inspectable: true,
            delivered: false,
            permissions_json: restrictions_json(layers),
            metadata_json: "{}".to_owned(),
            depth: 0,
            tokens: TokenCounts::default(),
            steps: 0,
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        }
    }

    /// Returns what a chat works with.
    pub(crate) fn session_context(
        self: &Arc<Self>,
        row: &SessionRow,
        agent: Arc<AgentDefinition>,
        layers: &[AgentRestrictions],
    ) -> Result<Arc<AgentSessionContext>, AgentError> {
        let gone = |source| AgentError::ModelUnavailable {
            chat: row.id.clone(),
            model: row.model.clone(),
            source: Box::new(source),
        };
        let (_, model) = self.parts.models.model(Some(&row.model)).map_err(gone)?;
        self.session_context_with_model(row, agent, layers, model)
    }

    /// Returns what a chat works with in which nothing is said for now: a model that is gone is not missed before.
    pub(crate) fn idle_session_context(
        self: &Arc<Self>,
        row: &SessionRow,
        agent: Arc<AgentDefinition>,
        layers: &[AgentRestrictions],
    ) -> Result<Arc<AgentSessionContext>, AgentError> {
        let model: Arc<dyn Model> = match self.parts.models.model(Some(&row.model)) {
            Ok((_, model)) => model,
            Err(err) => Arc::new(UnavailableModel { reason: err.to_string() }),
        };
        self.session_context_with_model(row, agent, layers, model)
    }

    fn session_context_with_model(
        self: &Arc<Self>,
        row: &SessionRow,
        agent: Arc<AgentDefinition>,
        layers: &[AgentRestrictions],
        model: Arc<dyn Model>,
    ) -> Result<Arc<AgentSessionContext>, AgentError> {
        if self.closing.is_cancelled() {
            return Err(AgentError::Closed);
        }
        let taken = self.mark_open(&row.id)?;
        let subagents = self.parts.agents.subagents();
        let session =
            restrict_connection(&self.parts.connection, layers, &subagents).map_err(|source| {
                AgentError::BrokenRestrictions {
                    agent: agent.name.clone(),
                    source: Box::new(source),
                }
            })?;
        let run = session.resume(row.id.run(), ResumeMode::Continue);
        Ok(Arc::new(AgentSessionContext {
            host: Arc::clone(self),
            id: row.id.clone(),
            agent,
            model_name: row.model.clone(),
            model,
            restrictions: layers.to_vec(),
            connection: session,
            run,
            depth: row.depth,
            background: self.background_of(row),
            parent_call_time: OnceLock::new(),
            _taken: taken,
        }))
    }

    fn mark_open(self: &Arc<Self>, chat: &SessionId) -> Result<SessionOpenGuard, AgentError> {
        let mut open = self.open_sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if open.insert(chat.clone()) {
            Ok(SessionOpenGuard { host: Arc::clone(self), session: chat.clone() })
        } else {
            Err(AgentError::AlreadyOpen(chat.clone()))
        }
    }

    /// Returns the subagents of a chat, the same to everybody. They are counted with those of the chat above, as long as that
    /// is there.
    fn background_of(&self, chat: &SessionRow) -> Arc<BackgroundSubagents> {
        let mut all = self.background.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = all.get(&chat.id).and_then(Weak::upgrade) {
            return shared;
        }
        let above = chat.parent_id.as_ref().and_then(|parent| all.get(parent)?.upgrade());
        let tree = above.map_or_else(Arc::<SubagentTree>::default, |above| Arc::clone(&above.tree));
        all.retain(|_, shared| shared.strong_count() > 0);
        let shared = Arc::new(BackgroundSubagents::in_tree(tree));
        all.insert(chat.id.clone(), Arc::downgrade(&shared));
        shared
    }
}

impl AgentSessionContext {
    /// Tells whoever watches.
    pub(crate) fn notify_observer(&self, happened: AgentEventKind) {
        self.host.parts.observer.on_event(AgentEvent { kind: happened, session: self.id.clone() });
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.host.now_ms()
    }
}

/// Stands for a model that is gone.
struct UnavailableModel {
    reason: String,
}

impl Model for UnavailableModel {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        Box::pin(async { Err(ModelError::Settings(self.reason.clone())) })
    }
}
