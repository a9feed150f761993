//! Agents: what they are as data, the conversations that are had with them, and the loop that stands between a model and
//! the pipeline. An [`AgentHost`] begins, opens and forks [`Chat`]s; a chat takes prompts, and everything that
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
mod answer;
mod calls;
mod chat;
mod children;
mod compaction;
mod definition;
mod delegate;
mod error;
mod event;
mod fork;
mod host;
mod id;
mod ledger;
pub mod limits;
mod narrow;
mod open;
mod prompt;
mod transcript;
mod turn;

pub use definition::{
    AgentDefinition, AgentMode, AgentNaming, AgentPlaces, AgentSource, FoundAgents, HiddenAgent,
    NamingField, WorkspaceTrust, check_agents, find_agents,
};
pub use prompt::{GitSurroundings, Surroundings, system_prompt};

pub use calls::call_title;
pub use chat::{Chat, Prompt, TurnEnd};
pub use error::AgentError;
pub use event::{AgentEvent, Happened, ToolResultStatus, Watcher};
pub use host::{AgentBounds, AgentHost, Changes, HostParts, Models, NewChat, Random};
pub use id::ChatIds;
