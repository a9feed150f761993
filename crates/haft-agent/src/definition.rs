//! Agents as data: their files, the directories of the files, and the precedence of agents with the same name. An agent only restricts
//! what its host allows. The text below the front matter is a prompt for a model, and haft does not trust it.

mod agent;
mod directory;
mod fields;
mod find;
mod read;
mod registry;
mod requires;

pub(crate) use agent::SUMMARY;
pub use agent::{AgentDefinition, AgentFileReferenceField, AgentMode, AgentSource};
pub use find::{check_agent_files, find_agents};
pub use registry::{
    AgentDirectories, AgentFileReference, AgentRegistry, ShadowedAgent, WorkspaceTrust,
};

#[cfg(test)]
mod tests;
