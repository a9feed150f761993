//! One agent as data. How a file says it is not here.

use std::path::PathBuf;

use haft_contract::{RequirementSet, ToolId};
use haft_policy::{Rule, ToolScope};
use serde::Serialize;

/// The agent that summarises conversations.
pub(crate) const SUMMARY: &str = "summary";

/// An agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDefinition {
    /// Its name: that of its file.
    pub name: String,
    /// What it is good for, on one line.
    pub description: String,
    /// Who has it work.
    pub mode: AgentMode,
    /// The model of the agent, as `provider/name`. Without one, the agent uses the model of its caller.
    pub model: Option<String>,
    /// The tools that it keeps, by id or by glob; without any list, all that there are.
    pub tools: Option<Vec<String>>,
    /// What its calls reach at most; without it, what everybody's may.
    pub requires: Option<RequirementSet>,
    /// Rules that hold beside all others, of which the strictest decides.
    pub permissions: Vec<Rule>,
    /// Whether its work for others is a session that people find, or only what became of a task.
    pub inspectable: bool,
    /// Answers of the model in one turn, at most.
    pub max_steps: Option<u32>,
    /// What the model is told first.
    pub prompt: String,
    /// Where it was found.
    pub source: AgentSource,
    /// The file that says all this; a bundled one has none.
    pub file: Option<PathBuf>,
}

/// Who has an agent work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMode {
    /// A person.
    Primary,
    /// Another agent, through `task`.
    Subagent,
    /// Either.
    All,
    /// The loop itself. No file can say so.
    Internal,
}

/// Where an agent was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentSource {
    /// In the workspace.
    Workspace,
    /// In the user's configuration.
    User,
    /// In the program.
    Bundled,
}

/// What of an agent's file names tools, and what tools need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentFileReferenceField {
    /// `tools`: tools, by id or by glob.
    Tools,
    /// `requires.capabilities`: what tools need.
    Capabilities,
    /// The `permission` of a rule: a tool or what one needs, also by glob.
    Permissions,
}

impl AgentDefinition {
    /// Returns whether the agent keeps a tool, as far as its own list says.
    pub fn allows_tool(&self, tool: &ToolId) -> bool {
        let Some(tools) = &self.tools else { return true };
        // What is no list of tools keeps none; it is refused when the agent is read.
        ToolScope::compile(tools).is_ok_and(|scope| scope.contains(tool))
    }
}

impl AgentMode {
    /// Returns whether a person can have the agent work.
    pub fn is_primary(self) -> bool {
        match self {
            Self::Primary | Self::All => true,
            Self::Subagent | Self::Internal => false,
        }
    }

    /// Returns whether another agent can have it work.
    pub fn is_subagent(self) -> bool {
        match self {
            Self::Subagent | Self::All => true,
            Self::Primary | Self::Internal => false,
        }
    }

    /// Returns the mode as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Subagent => "subagent",
            Self::All => "all",
            Self::Internal => "internal",
        }
    }
}
