//! The agents of some places, what is wrong with others there, and where agents are looked for.

use std::path::PathBuf;

use haft::FileProblem;
use haft_contract::SubagentSummary;
use serde::Serialize;

use super::agent::{AgentDefinition, AgentFileReferenceField, AgentMode, AgentSource};

/// Where agents are looked for, the nearest first. The default is the program alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentDirectories {
    /// The workspace, whose directory `agents` is looked at.
    pub root: Option<PathBuf>,
    /// Whether the user trusts what the workspace says of itself.
    pub trust: WorkspaceTrust,
    /// The user's own directory of agents.
    pub user: Option<PathBuf>,
}

/// Whether the user trusts what a workspace says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceTrust {
    /// Its agents add to the others: none takes the place of another, and none names a model.
    #[default]
    Untrusted,
    /// Its agents come before all others.
    Trusted,
}

/// The agents of some places, and what is wrong with others there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentRegistry {
    pub(crate) agents: Vec<AgentDefinition>,
    /// Those that a nearer one of the same name hides.
    pub hidden: Vec<ShadowedAgent>,
    /// What is wrong, in the order in which it was found.
    pub problems: Vec<FileProblem>,
    /// What their files name, in the order of the files and their lines.
    pub references: Vec<AgentFileReference>,
}

/// Something that an agent's file names. Whether there is such a thing is for those to say who know all tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFileReference {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// What of the file names it.
    pub field: AgentFileReferenceField,
    /// The name, or a glob.
    pub name: String,
}

/// An agent that a nearer one of the same name hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShadowedAgent {
    /// The name of both.
    pub name: String,
    /// Where the hidden one was found.
    pub source: AgentSource,
    /// Its file; a bundled one has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl AgentRegistry {
    /// Returns the agent of this name, whatever it is for.
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// Returns all agents that can be called, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.agents.iter().filter(|agent| agent.mode != AgentMode::Internal)
    }

    /// Returns the names of all agents that can be called, sorted.
    pub fn names(&self) -> Vec<&str> {
        self.iter().map(|agent| agent.name.as_str()).collect()
    }

    /// Returns those that another agent can have work, sorted by name.
    pub fn subagents(&self) -> Vec<SubagentSummary> {
        let subagents = self.iter().filter(|agent| agent.mode.is_subagent());
        subagents
            .map(|agent| SubagentSummary {
                name: agent.name.clone(),
                description: agent.description.clone(),
            })
            .collect()
    }

    /// Adds an agent, unless there is one of its name; then it is hidden.
    pub(super) fn add(&mut self, definition: AgentDefinition) {
        let place = self.agents.binary_search_by(|agent| agent.name.cmp(&definition.name));
        match place {
            Err(place) => self.agents.insert(place, definition),
            Ok(_) => {
                let AgentDefinition { name, source, file, .. } = definition;
                self.hidden.push(ShadowedAgent { name, source, file });
            }
        }
    }
}
