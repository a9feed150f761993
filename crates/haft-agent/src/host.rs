//! What all chats of one front end share, and how a chat comes to be: begun, opened again, or forked from another. What is
//! done in a chat is not here.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use haft::{Asker, Clock, Resume, Runtime, Session};
use haft_contract::BoxFuture;
use haft_journal::{
    ChatFirmness, ChatId, ChatMode, ChatRecord, ChatSession, ChatStatus, MessageId, TokenCounts,
};
use haft_model::{Model, ModelError, Request, Responding};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::chat::{Chat, ChatCore};
use crate::children::{Children, Tree};
use crate::definition::{AgentDefinition, FoundAgents};
use crate::error::AgentError;
use crate::event::Watcher;
use crate::fork;
use crate::id::ChatIds;
use crate::limits::{CONTEXT_TOKENS_DEFAULT, STEPS_MAX_DEFAULT};
use crate::narrow::{Layer, kept, narrowed};
use crate::open;
use crate::prompt::Surroundings;

/// Everything that chats need, which front ends fill in.
pub struct HostParts {
    /// The runtime.
    pub runtime: Runtime,
    /// The front end's session. What each agent may do is cut out of what this one may.
    pub session: Session,
    /// The models.
    pub models: Arc<dyn Models>,
    /// The agents.
    pub agents: Arc<FoundAgents>,
    /// What agents are told of where they are.
    pub surroundings: Surroundings,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Chance, for names.
    pub random: Arc<dyn Random>,
    /// Bounds of every chat.
    pub bounds: AgentBounds,
    /// Asks the person behind the front end, for all chats and those of their subagents.
    pub asker: Arc<dyn Asker>,
    /// Is told what happens in all chats.
    pub watcher: Arc<dyn Watcher>,
}

/// Finds models by their names.
pub trait Models: Send + Sync {
    /// Returns the model of that name, or the configured one, and the name by which it is found again.
    fn model(&self, name: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError>;
}

/// A source of chance.
pub trait Random: Send + Sync {
    /// Fills the bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// Bounds of every chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentBounds {
    /// What the model can read, in tokens.
    pub context_tokens: u64,
    /// The longest answer, in tokens; left to the provider when absent.
    pub output_tokens: Option<u32>,
    /// Answers of the model in one turn. An agent may say less.
    pub steps: u32,
}

impl Default for AgentBounds {
    fn default() -> Self {
        Self {
            context_tokens: CONTEXT_TOKENS_DEFAULT,
            output_tokens: None,
            steps: STEPS_MAX_DEFAULT,
        }
    }
}

/// A chat that is to be begun.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewChat {
    /// The agent.
    pub agent: String,
    /// The model, in place of the agent's own.
    pub model: Option<String>,
    /// What it is about. Without one, the first prompt gives it.
    pub title: Option<String>,
}

/// What is another one in a chat from when it is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The agent, which can be talked to. What the chat may is what that one may.
    pub agent: Option<String>,
    /// The model. It reads all that was said before.
    pub model: Option<String>,
}

/// Begins and opens chats. Dropping it stops what is done in them, as a cancelled turn does; [`close`](Self::close) also waits
/// until that is recorded.
pub struct AgentHost {
    shared: Arc<HostShared>,
    _closing: DropGuard,
}

pub(crate) struct HostShared {
    pub(crate) parts: HostParts,
    pub(crate) ids: ChatIds,
    /// Cancelled when the host goes.
    pub(crate) closing: CancellationToken,
    /// Turns that are under way, and subagents in the background.
    pub(crate) tasks: TaskTracker,
    // The subagents of each chat, for as long as the chat or one of them is there; locked to find those of one chat.
    children: Mutex<HashMap<ChatId, Weak<Children>>>,
    // The chats that somebody has here; locked to take one and to give it back.
    open: Mutex<HashSet<ChatId>>,
}

/// That somebody has a chat; nobody else in this process does meanwhile.
pub(crate) struct Taken {
    host: Arc<HostShared>,
    chat: ChatId,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.host.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.chat);
    }
}

impl AgentHost {
    /// Returns a host of these parts.
    pub fn new(parts: HostParts) -> Self {
        let ids = ChatIds::new(Arc::clone(&parts.clock), Arc::clone(&parts.random), 0);
        let closing = CancellationToken::new();
        let shared = HostShared {
            parts,
            ids,
            closing: closing.clone(),
            tasks: TaskTracker::new(),
            children: Mutex::default(),
            open: Mutex::default(),
        };
        Self { shared: Arc::new(shared), _closing: closing.drop_guard() }
    }

    /// Begins a chat with an agent that can be talked to.
    pub async fn begin(&self, new: NewChat) -> Result<Chat, AgentError> {
        let agent = self.shared.primary(&new.agent)?;
        let layers = vec![Layer::of(&agent)];
        let row = self.shared.row(&agent, new.model.as_deref(), &layers)?;
        let row = ChatSession { title: new.title, ..row };
        self.shared.begin(row, agent, &layers).await
    }

    /// Opens a chat, to go on with it. It is this process's from then on: where another process has it, that is an error that
    /// says so. What a process that was killed left half done is settled, but for its calls: those are settled by
    /// the next turn.
    pub async fn open(&self, id: &ChatId) -> Result<Chat, AgentError> {
        open::open(&self.shared, id, &Changes::default()).await
    }

    /// Opens a chat as [`open`](Self::open) does, and goes on with it by another agent, another model or both, from then on. A
    /// subagent's chat stays that subagent's; what its former agent had in the background is stopped.
    pub async fn open_with(&self, id: &ChatId, changes: &Changes) -> Result<Chat, AgentError> {
        open::open(&self.shared, id, changes).await
    }

    /// Begins a chat that shares the beginning of another, through a message or all of it. Nothing that was done is done
    /// again, and the other chat stays as it is. A model that is gone is not missed until somebody says something.
    pub async fn fork(&self, id: &ChatId, through: Option<&MessageId>) -> Result<Chat, AgentError> {
        fork::fork(&self.shared, id, through).await
    }

    /// Stops what is done in all chats, and waits until that is recorded.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

impl HostShared {
    pub(crate) fn now_ms(&self) -> u64 {
        self.parts.clock.now_ms()
    }

    /// Returns the workspace root as rows name it.
    pub(crate) fn root(&self) -> String {
        self.parts.runtime.roots().workspace().to_string_lossy().into_owned()
    }

    /// Returns an agent that can be talked to.
    pub(crate) fn primary(&self, name: &str) -> Result<Arc<AgentDefinition>, AgentError> {
        let agents = &self.parts.agents;
        let agent = agents.get(name).filter(|agent| agent.mode.is_primary());
        agent.map(|agent| Arc::new(agent.clone())).ok_or_else(|| self.unknown(name))
    }

    /// Returns an agent, whatever it is for.
    pub(crate) fn agent(&self, name: &str) -> Result<Arc<AgentDefinition>, AgentError> {
        let agent = self.parts.agents.get(name);
        agent.map(|agent| Arc::new(agent.clone())).ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> AgentError {
        let primary = self.parts.agents.iter().filter(|agent| agent.mode.is_primary());
        let available = primary.map(|agent| agent.name.clone()).collect();
        AgentError::UnknownAgent { name: name.to_owned(), available }
    }

    /// Returns the row of a new chat.
    pub(crate) fn row(
        &self,
        agent: &AgentDefinition,
        model: Option<&str>,
        layers: &[Layer],
    ) -> Result<ChatSession, AgentError> {
        let (model, _) = self.parts.models.model(model.or(agent.model.as_deref()))?;
        Ok(self.row_of_model(agent, model, layers))
    }

    /// Returns the row of a new chat in which the model of that name answers.
    pub(crate) fn row_of_model(
        &self,
        agent: &AgentDefinition,
        model: String,
        layers: &[Layer],
    ) -> ChatSession {
        let now_ms = self.now_ms();
        ChatSession {
            id: self.ids.chat(),
            parent_id: None,
            parent_tool_call_id: None,
            forked_from_id: None,
            forked_from_message_id: None,
            agent: agent.name.clone(),
            title: None,
            model,
            root: self.root(),
            status: ChatStatus::Idle,
            mode: ChatMode::Foreground,
            inspectable: true,
            delivered: false,
            permissions_json: kept(layers),
            metadata_json: "{}".to_owned(),
            depth: 0,
            tokens: TokenCounts::default(),
            steps: 0,
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        }
    }

    /// Takes the run of a new chat and records the chat.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        row: ChatSession,
        agent: Arc<AgentDefinition>,
        layers: &[Layer],
    ) -> Result<Chat, AgentError> {
        let core = self.core(&row, agent, layers)?;
        core.run.open().await?;
        // Whoever is told of it finds it, also when this process dies then.
        let records = vec![ChatRecord::Session(row.clone())];
        core.run.record_chat(records, ChatFirmness::Durable).await?;
        Ok(Chat::of(core, row))
    }

    /// Returns what a chat works with.
    pub(crate) fn core(
        self: &Arc<Self>,
        row: &ChatSession,
        agent: Arc<AgentDefinition>,
        layers: &[Layer],
    ) -> Result<Arc<ChatCore>, AgentError> {
        let gone = |source| AgentError::ModelGone {
            chat: row.id.clone(),
            model: row.model.clone(),
            source: Box::new(source),
        };
        let (_, model) = self.parts.models.model(Some(&row.model)).map_err(gone)?;
        self.core_of_model(row, agent, layers, model)
    }

    /// Returns what a chat works with in which nothing is said for now: a model that is gone is not missed before.
    pub(crate) fn core_of_silent(
        self: &Arc<Self>,
        row: &ChatSession,
        agent: Arc<AgentDefinition>,
        layers: &[Layer],
    ) -> Result<Arc<ChatCore>, AgentError> {
        let model: Arc<dyn Model> = match self.parts.models.model(Some(&row.model)) {
            Ok((_, model)) => model,
            Err(err) => Arc::new(Gone { why: err.to_string() }),
        };
        self.core_of_model(row, agent, layers, model)
    }

    fn core_of_model(
        self: &Arc<Self>,
        row: &ChatSession,
        agent: Arc<AgentDefinition>,
        layers: &[Layer],
        model: Arc<dyn Model>,
    ) -> Result<Arc<ChatCore>, AgentError> {
        if self.closing.is_cancelled() {
            return Err(AgentError::Closed);
        }
        let taken = self.take(&row.id)?;
        let subagents = self.parts.agents.subagents();
        let session = narrowed(&self.parts.session, layers, &subagents).map_err(|source| {
            AgentError::Narrowing { agent: agent.name.clone(), source: Box::new(source) }
        })?;
        let run = session.resume(row.id.run(), Resume::Continue);
        Ok(Arc::new(ChatCore {
            host: Arc::clone(self),
            id: row.id.clone(),
            agent,
            model_name: row.model.clone(),
            model,
            layers: layers.to_vec(),
            session,
            run,
            depth: row.depth,
            children: self.children_of(row),
            above: OnceLock::new(),
            _taken: taken,
        }))
    }

    fn take(self: &Arc<Self>, chat: &ChatId) -> Result<Taken, AgentError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.insert(chat.clone()) {
            Ok(Taken { host: Arc::clone(self), chat: chat.clone() })
        } else {
            Err(AgentError::AlreadyOpen(chat.clone()))
        }
    }

    /// Returns the subagents of a chat, the same to everybody. They are counted with those of the chat above, as long as that
    /// is there.
    fn children_of(&self, chat: &ChatSession) -> Arc<Children> {
        let mut all = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = all.get(&chat.id).and_then(Weak::upgrade) {
            return shared;
        }
        let above = chat.parent_id.as_ref().and_then(|parent| all.get(parent)?.upgrade());
        let tree = above.map_or_else(Arc::<Tree>::default, |above| Arc::clone(&above.tree));
        all.retain(|_, shared| shared.strong_count() > 0);
        let shared = Arc::new(Children::within(tree));
        all.insert(chat.id.clone(), Arc::downgrade(&shared));
        shared
    }
}

/// Stands for a model that is gone.
struct Gone {
    why: String,
}

impl Model for Gone {
    fn respond(&self, _: Request) -> BoxFuture<'_, Result<Responding, ModelError>> {
        Box::pin(async { Err(ModelError::Settings(self.why.clone())) })
    }
}
