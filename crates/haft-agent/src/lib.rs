//! Agents: their definitions, their sessions, and the loop between a model and the pipeline. An [`AgentHost`] begins, opens and
//! forks [`AgentSession`]s. A session takes prompts, and sends an [`AgentEvent`] for everything that happens.
//!
//! The loop executes no tool itself. Each call of a model goes through [`haft::Run::call`], so haft judges, records and recalls it
//! like any other call. Messages are recorded while they arrive, and a session whose process was killed can be resumed. The crate
//! reads no environment and no configuration, prints nothing, and asks people only through the given [`haft::Asker`].
//!
#![doc = include_str!("../docs/example.md")]
#![deny(missing_docs)]

mod abandon;
mod advice;
mod background;
mod call_answer;
mod call_scope;
mod call_title;
mod compaction;
mod definition;
mod delegate;
mod error;
mod event;
mod fork;
mod handover;
mod host;
mod host_parts;
mod id;
mod incoming_answer;
pub mod limits;
mod node_answer;
mod open;
mod plan_exit;
mod plan_node;
mod prompt;
mod restrictions;
mod run_task;
mod session;
mod session_context;
mod session_log;
mod stored_session;
mod subagent_notice;
mod tool_calls;
mod transcript;
mod turn;

pub use definition::{
    AgentDefinition, AgentDirectories, AgentFileReference, AgentFileReferenceField, AgentMode,
    AgentRegistry, AgentSource, ShadowedAgent, WorkspaceTrust, check_agent_files, find_agents,
};
pub use prompt::{AgentPromptContext, GitPromptContext, system_prompt};

pub use call_scope::{caller_run_of, plan_node_of};
pub use call_title::call_title;
pub use error::AgentError;
pub use event::{AgentEvent, AgentEventKind, AgentEventObserver, ToolResultStatus};
pub use host::{AgentHost, NewSession};
pub use host_parts::{AgentBounds, AgentHostParts, ModelLookup};
pub use id::{RandomSource, SessionIdGenerator};
pub use open::SessionChanges;
pub use plan_exit::plan_exit_tool;
pub use session::AgentSession;
pub use transcript::prompt_image;
pub use turn::{TurnEnd, TurnPrompt};
