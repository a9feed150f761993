//! Agents as data: what a file says of one, where files are looked for, and which of two with one name counts. An agent only
//! narrows: what it names beyond what its host allows is not there, and nothing here gives anybody anything. What is written
//! below the front matter is a prompt for a model, and is believed no more than any other text.

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
