//! The state that the sessions of one host share, and the parts that one session works with. This module reads and records
//! nothing.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use haft::{Asker, Connection, ResumeMode, Run};
use haft_contract::{AttemptAddress, BoxFuture, CallTime, Subagents};
use haft_journal::{SessionId, SessionMode, SessionRow, SessionStatus, TokenCounts};
use haft_model::{Model, ModelAnswerStream, ModelError, ModelRequest};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::background::BackgroundSubagents;
use crate::call_scope::call_scope;
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
    /// Cancelled when the host is closed or dropped.
    pub(crate) closing: CancellationToken,
    /// Turns and background subagents that run.
    pub(crate) tasks: TaskTracker,
    // The background subagents of each session, as long as the session or one of them exists. Locked to find those of one session.
    background: Mutex<HashMap<SessionId, Weak<BackgroundSubagents>>>,
    // The sessions that are open in this process. Locked to open and to close one.
    open_sessions: Mutex<HashSet<SessionId>>,
}

/// Returns the subagents that one call of a session reaches. It is a pointer, because the module of subagents is above the module
/// of turns.
pub(crate) type SubagentsOfCall =
    fn(parent: &Arc<AgentSessionContext>, tool_call_id: &str) -> Arc<dyn Subagents>;

/// The constant parts of a session.
pub(crate) struct AgentSessionContext {
    pub(crate) host: Arc<AgentHostShared>,
    pub(crate) id: SessionId,
    pub(crate) agent: Arc<AgentDefinition>,
    pub(crate) model_name: String,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) restrictions: Vec<AgentRestrictions>,
    /// The front end's connection with the restrictions of this session.
    pub(crate) connection: Connection,
    /// The run of the session, in which its messages are recorded.
    pub(crate) run: Run,
    /// The run in which its calls are made: the same one, or that of a plan.
    pub(crate) call_run: Run,
    /// The attempt that its calls are made in.
    pub(crate) call_scope: AttemptAddress,
    pub(crate) depth: u32,
    pub(crate) background: Arc<BackgroundSubagents>,
    /// The time of the call that waits for this session, if one does.
    pub(crate) parent_call_time: OnceLock<Arc<dyn CallTime>>,
    /// Asks the person in place of the host's asker, if the session works for a call that has its own.
    pub(crate) call_asker: OnceLock<Arc<dyn Asker>>,
    pub(crate) open_guard: SessionOpenGuard,
}

/// Keeps others in this process from opening the session.
pub(crate) struct SessionOpenGuard {
    host: Arc<AgentHostShared>,
    session: SessionId,
    is_released: AtomicBool,
}

impl SessionOpenGuard {
    /// Lets others in this process open the session. The caller does nothing more in the session.
    pub(crate) fn release(&self) {
        if !self.is_released.swap(true, Ordering::Relaxed) {
            let open = &self.host.open_sessions;
            open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.session);
        }
    }
}

impl Drop for SessionOpenGuard {
    fn drop(&mut self) {
        self.release();
    }
}

impl AgentHostShared {
    /// Returns the state of a host with these parts.
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

    /// Returns an agent that a person can talk to.
    pub(crate) fn primary_agent(&self, name: &str) -> Result<Arc<AgentDefinition>, AgentError> {
        let agents = &self.parts.agents;
        let agent = agents.get(name).filter(|agent| agent.mode.is_primary());
        agent.map(|agent| Arc::new(agent.clone())).ok_or_else(|| self.unknown_agent(name))
    }

    /// Returns an agent of any mode.
    pub(crate) fn any_agent(&self, name: &str) -> Result<Arc<AgentDefinition>, AgentError> {
        let agent = self.parts.agents.get(name);
        agent.map(|agent| Arc::new(agent.clone())).ok_or_else(|| self.unknown_agent(name))
    }

    fn unknown_agent(&self, name: &str) -> AgentError {
        let primary = self.parts.agents.iter().filter(|agent| agent.mode.is_primary());
        let available = primary.map(|agent| agent.name.clone()).collect();
        AgentError::UnknownAgent { name: name.to_owned(), available }
    }

    /// Returns the row of a new session with the given model, the agent's or the configured one.
    pub(crate) fn new_row(
        &self,
        agent: &AgentDefinition,
        model: Option<&str>,
        layers: &[AgentRestrictions],
    ) -> Result<SessionRow, AgentError> {
        let (model, _) = self.parts.models.model(model.or(agent.model.as_deref()))?;
        Ok(self.new_row_with_model(agent, model, layers))
    }

    /// Returns the row of a new session with this model, which need not be available.
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

    /// Opens a session and returns its parts.
    pub(crate) fn session_context(
        self: &Arc<Self>,
        row: &SessionRow,
        agent: Arc<AgentDefinition>,
        layers: &[AgentRestrictions],
    ) -> Result<Arc<AgentSessionContext>, AgentError> {
        let unavailable = |source| AgentError::ModelUnavailable {
            session: row.id.clone(),
            model: row.model.clone(),
            source: Box::new(source),
        };
        let (_, model) = self.parts.models.model(Some(&row.model)).map_err(unavailable)?;
        self.session_context_with_model(row, agent, layers, model)
    }

    /// Opens a session whose model may be unavailable. Only the first request to the model fails then.
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
        if !self.open_sessions.lock().unwrap_or_else(PoisonError::into_inner).insert(row.id.clone())
        {
            return Err(AgentError::AlreadyOpen(row.id.clone()));
        }
        let open_guard = SessionOpenGuard {
            host: Arc::clone(self),
            session: row.id.clone(),
            is_released: AtomicBool::new(false),
        };
        let subagents = self.parts.agents.subagents();
        let broken = |source| AgentError::BrokenRestrictions {
            agent: agent.name.clone(),
            source: Box::new(source),
        };
        let connection =
            restrict_connection(&self.parts.connection, layers, &subagents).map_err(broken)?;
        let run = connection.resume(row.id.run(), ResumeMode::Continue);
        let call_scope = call_scope(row);
        let call_run = if call_scope.run == *run.id() {
            run.clone()
        } else {
            connection.resume(call_scope.run.clone(), ResumeMode::Continue)
        };
        let background = {
            let mut all = self.background.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, shared| shared.strong_count() > 0);
            let known = |id: &SessionId| all.get(id).and_then(Weak::upgrade);
            // Limits hold for the whole tree, so a subagent joins the tree of its parent.
            let tree = row.parent_id.as_ref().and_then(known).map(|it| Arc::clone(&it.tree));
            let new = || Arc::new(BackgroundSubagents::in_tree(tree.unwrap_or_default()));
            let shared = known(&row.id).unwrap_or_else(new);
            all.insert(row.id.clone(), Arc::downgrade(&shared));
            shared
        };
        Ok(Arc::new(AgentSessionContext {
            host: Arc::clone(self),
            id: row.id.clone(),
            agent,
            model_name: row.model.clone(),
            model,
            restrictions: layers.to_vec(),
            connection,
            run,
            call_run,
            call_scope,
            depth: row.depth,
            background,
            parent_call_time: OnceLock::new(),
            call_asker: OnceLock::new(),
            open_guard,
        }))
    }
}

impl AgentSessionContext {
    /// Returns the asker of the session's calls.
    pub(crate) fn asker(&self) -> &dyn Asker {
        &**self.call_asker.get().unwrap_or(&self.host.parts.asker)
    }

    /// Sends an event to the observer.
    pub(crate) fn notify_observer(&self, kind: AgentEventKind) {
        self.host.parts.observer.on_event(AgentEvent { kind, session: self.id.clone() });
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.host.now_ms()
    }
}

/// A model that is not available.
struct UnavailableModel {
    reason: String,
}

impl Model for UnavailableModel {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        Box::pin(async { Err(ModelError::Settings(self.reason.clone())) })
    }

    fn takes_images(&self) -> bool {
        false
    }
}
