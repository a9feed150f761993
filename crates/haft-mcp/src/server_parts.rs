//! The parts that a front end gives to an MCP server. Nothing is done with them here.

use std::sync::Arc;

use haft::{Asker, Clock, Connection, ResumeMode, RunError, Runtime, TaskAttempt};
use haft_contract::{Refusal, RunId, Subagents};

use crate::request_state::STATE_KEY_BYTES;
use crate::resource_provider::McpResourceProvider;

/// The parts of a server for one connection.
pub struct McpServerParts {
    /// The runtime whose tools are offered.
    pub runtime: Runtime,
    /// The session of this connection.
    pub connection: Connection,
    /// The run of the calls that name none.
    pub run: RunId,
    /// Where in that run its calls belong unless they say so.
    pub address: TaskAttempt,
    /// How the connection goes on with that run.
    pub resume: ResumeMode,
    /// Tells how long a client has taken to answer a question.
    pub clock: Arc<dyn Clock>,
    /// Says in words for the client why haft cannot tell what happened.
    pub explain: RunErrorExplainer,
    /// Says in words for a model what lifts a refusal.
    pub advise: RefusalAdviser,
    /// Signs what a client carries from a question to its answer: random, and of this server alone.
    pub state_key: [u8; STATE_KEY_BYTES],
    /// Resources, prompts and completions beside those of haft, if there are any.
    pub resource_provider: Option<Arc<dyn McpResourceProvider>>,
    /// Finds the page on which a person answers an ask, for clients that open pages.
    pub ask_pages: Option<AskPageFinder>,
    /// Does the tasks of the tool `task`, if there are agents.
    pub task_host: Option<Arc<dyn McpTaskHost>>,
}

/// Starts subagents for calls of clients.
pub trait McpTaskHost: Send + Sync {
    /// Returns the subagents of one call. `asker` asks the person behind the client, if the client shows forms.
    fn call_subagents(&self, asker: Option<Arc<dyn Asker>>) -> Arc<dyn Subagents>;
}

/// Returns the address of the page on which a person answers the ask of this name; nothing if no page can be reached. The address
/// holds no secret, because the client learns it.
pub type AskPageFinder = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Says in words why haft cannot tell what became of a call, and what to do about it.
pub type RunErrorExplainer = fn(RunError) -> String;

/// Says in one or two sentences what a model can do about a refusal; nothing if the reason says all.
pub type RefusalAdviser = fn(&Refusal) -> Option<String>;

/// Opens what one more session is connected to, or says why it cannot.
pub type McpServerFactory = Box<dyn Fn() -> Result<McpServerParts, String> + Send + Sync>;
