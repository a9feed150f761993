//! The parts that a front end gives to a host of agents: the runtime, the models, the agents and the bounds. Nothing is done
//! with them here.

use std::sync::Arc;

use haft::{Asker, Clock, Connection, Runtime};
use haft_model::{Model, ModelError};

use crate::definition::AgentRegistry;
use crate::event::AgentEventObserver;
use crate::id::RandomSource;
use crate::limits::{CONTEXT_TOKENS_DEFAULT, STEPS_MAX_DEFAULT};
use crate::prompt::AgentPromptContext;

/// Everything that chats need, which front ends fill in.
pub struct AgentHostParts {
    /// The runtime.
    pub runtime: Runtime,
    /// The front end's session. What each agent may do is cut out of what this one may.
    pub connection: Connection,
    /// The models.
    pub models: Arc<dyn ModelLookup>,
    /// The agents.
    pub agents: Arc<AgentRegistry>,
    /// What agents are told of where they are.
    pub prompt_context: AgentPromptContext,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Chance, for names.
    pub random: Arc<dyn RandomSource>,
    /// Bounds of every chat.
    pub bounds: AgentBounds,
    /// Asks the person behind the front end, for all chats and those of their subagents.
    pub asker: Arc<dyn Asker>,
    /// Is told what happens in all chats.
    pub observer: Arc<dyn AgentEventObserver>,
}

/// Finds models by their names.
pub trait ModelLookup: Send + Sync {
    /// Returns the model of that name, or the configured one, and the name by which it is found again.
    fn model(&self, name: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError>;
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
