//! Agents: what they are as data, the conversations that are had with them, and the loop that stands between a model and
//! the pipeline. An [`AgentHost`] begins, opens and forks [`AgentSession`]s; a chat takes prompts, and everything that
//! happens meanwhile is an [`AgentEvent`] for whoever watches.
//!
//! The loop executes nothing by itself: each call that a model asks for goes through [`haft::Run::call`], so it is judged,
//! recorded and recalled like any other. What is said is kept in the journal's database while it is said, and a chat whose
//! process was killed is gone on with from there. Reads no environment and no configuration, prints nothing, and asks
//! nobody but through the [`haft::Asker`] that it was given.
//!
#![doc = include_str!("../docs/example.md")]
#![deny(missing_docs)]

mod abandon;
mod advice;
mod background;
mod call_answer;
mod call_title;
mod compaction;
mod definition;
mod delegate;
mod error;
mod event;
mod fork;
mod host;
mod host_parts;
mod id;
mod incoming_answer;
pub mod limits;
mod open;
mod prompt;
mod restrictions;
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

pub use call_title::call_title;
pub use error::AgentError;
pub use event::{AgentEvent, AgentEventKind, AgentEventObserver, ToolResultStatus};
pub use host::{AgentHost, NewSession};
pub use host_parts::{AgentBounds, AgentHostParts, ModelLookup};
pub use id::{RandomSource, SessionIdGenerator};
pub use open::SessionChanges;
pub use session::AgentSession;
pub use turn::{TurnEnd, TurnPrompt};
