//! The parts that a front end gives to a host of agents: the runtime, the models, the agents and the bounds.

use std::sync::Arc;

use haft::{Asker, Clock, Connection, Runtime};
use haft_model::{Model, ModelError};

use crate::definition::AgentRegistry;
use crate::event::AgentEventObserver;
use crate::id::RandomSource;
use crate::limits::{CONTEXT_TOKENS_DEFAULT, STEPS_MAX_DEFAULT};
use crate::prompt::AgentPromptContext;

/// The parts that all sessions need.
pub struct AgentHostParts {
    /// The runtime.
    pub runtime: Runtime,
    /// The front end's connection. Each agent gets it with the agent's restrictions.
    pub connection: Connection,
    /// The models.
    pub models: Arc<dyn ModelLookup>,
    /// The agents.
    pub agents: Arc<AgentRegistry>,
    /// The surroundings that system prompts describe.
    pub prompt_context: AgentPromptContext,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The random source for ids.
    pub random: Arc<dyn RandomSource>,
    /// The bounds of every session.
    pub bounds: AgentBounds,
    /// Asks the person behind the front end, for all sessions and those of their subagents.
    pub asker: Arc<dyn Asker>,
    /// Receives the events of all sessions.
    pub observer: Arc<dyn AgentEventObserver>,
}

/// Finds models by their names.
pub trait ModelLookup: Send + Sync {
    /// Returns the model of that name, or the configured one, and the name that finds it again.
    fn model(&self, name: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError>;
}

/// The bounds of every session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentBounds {
    /// The context of the model, in tokens.
    pub context_tokens: u64,
    /// The longest answer, in tokens. Without it, the provider decides.
    pub output_tokens: Option<u32>,
    /// Answers of the model in one turn. An agent may set a lower number.
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
