//! The found agents, the problems of their files, and the directories that are searched.

use std::path::PathBuf;

use haft::FileProblem;
use haft_contract::SubagentSummary;
use serde::Serialize;

use super::agent::{AgentDefinition, AgentFileReferenceField, AgentMode, AgentSource};

/// The directories of agents, in the order of precedence. Without them, only the program's agents are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentDirectories {
    /// The workspace, whose directory `agents` is searched.
    pub root: Option<PathBuf>,
    /// Whether the user trusts the workspace.
    pub trust: WorkspaceTrust,
    /// The user's own directory of agents.
    pub user: Option<PathBuf>,
}

/// Whether the user trusts a workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkspaceTrust {
    /// Its agents may neither replace another agent nor choose a model.
    #[default]
    Untrusted,
    /// Its agents come before all others.
    Trusted,
}

/// The found agents, and the problems of all files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentRegistry {
    pub(crate) agents: Vec<AgentDefinition>,
    /// The agents that another one of the same name hides.
    pub hidden: Vec<ShadowedAgent>,
    /// The problems, in the order in which they were found.
    pub problems: Vec<FileProblem>,
    /// The references in their files, in the order of the files and lines.
    pub references: Vec<AgentFileReference>,
}

/// A tool or capability that an agent's file names. The caller, which knows all tools, checks that it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFileReference {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// The field that names it.
    pub field: AgentFileReferenceField,
    /// The name, or a glob.
    pub name: String,
}

/// An agent that another one of the same name hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShadowedAgent {
    /// The name of both.
    pub name: String,
    /// Where the hidden one was found.
    pub source: AgentSource,
    /// Its file. A bundled agent has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl AgentRegistry {
    /// Returns the agent of this name, in any mode.
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// Returns all agents that a person or an agent can use, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.agents.iter().filter(|agent| agent.mode != AgentMode::Internal)
    }

    /// Returns the sorted names of these agents.
    pub fn names(&self) -> Vec<&str> {
        self.iter().map(|agent| agent.name.as_str()).collect()
    }

    /// Returns the agents that another agent can delegate to, sorted by name.
    pub fn subagents(&self) -> Vec<SubagentSummary> {
        let subagents = self.iter().filter(|agent| agent.mode.is_subagent());
        subagents
            .map(|agent| SubagentSummary {
                name: agent.name.clone(),
                description: agent.description.clone(),
            })
            .collect()
    }

    /// Adds an agent. If one of the same name exists, the new one is hidden.
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
