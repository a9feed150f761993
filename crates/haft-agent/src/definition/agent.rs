//! One agent as data. The module `read` parses its file.

use std::path::PathBuf;

use haft_contract::{RequirementSet, ToolId};
use haft_policy::{Rule, ToolScope};
use serde::Serialize;

/// The agent that summarises conversations.
pub(crate) const SUMMARY: &str = "summary";

/// An agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDefinition {
    /// The name, which is that of its file.
    pub name: String,
    /// Its purpose, on one line.
    pub description: String,
    /// Who can use it.
    pub mode: AgentMode,
    /// The model of the agent, as `provider/name`. Without one, the agent uses the model of its caller.
    pub model: Option<String>,
    /// Its tools, by id or by glob. Without a list, the agent has all tools.
    pub tools: Option<Vec<String>>,
    /// The maximum capabilities of its calls. Without them, it has those of its host.
    pub requires: Option<RequirementSet>,
    /// Rules in addition to all others. The strictest rule decides.
    pub permissions: Vec<Rule>,
    /// Whether its sessions as a subagent are listed.
    pub inspectable: bool,
    /// The maximum of answers of the model in one turn.
    pub max_steps: Option<u32>,
    /// The beginning of the system prompt.
    pub prompt: String,
    /// The place where it was found.
    pub source: AgentSource,
    /// Its file. A bundled agent has none.
    pub file: Option<PathBuf>,
}

/// Who can use an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMode {
    /// A person.
    Primary,
    /// Another agent, through `task`.
    Subagent,
    /// Either.
    All,
    /// Only haft itself. Files cannot choose this mode.
    Internal,
}

/// The place where an agent was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentSource {
    /// The workspace.
    Workspace,
    /// The user's configuration.
    User,
    /// The program.
    Bundled,
}

/// The field of an agent's file that names a tool or capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentFileReferenceField {
    /// `tools`: tools, by id or by glob.
    Tools,
    /// `requires.capabilities`: capabilities.
    Capabilities,
    /// The `permission` of a rule: a tool or capability, or a glob.
    Permissions,
}

impl AgentDefinition {
    /// Returns whether the agent's list contains a tool.
    pub fn allows_tool(&self, tool: &ToolId) -> bool {
        let Some(tools) = &self.tools else { return true };
        // An invalid list is refused when the file is parsed. Here it contains no tool.
        ToolScope::compile(tools).is_ok_and(|scope| scope.contains(tool))
    }
}

impl AgentMode {
    /// Returns whether a person can talk to the agent.
    pub fn is_primary(self) -> bool {
        matches!(self, Self::Primary | Self::All)
    }

    /// Returns whether another agent can delegate to it.
    pub fn is_subagent(self) -> bool {
        matches!(self, Self::Subagent | Self::All)
    }

    /// Returns the mode as files spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Subagent => "subagent",
            Self::All => "all",
            Self::Internal => "internal",
        }
    }
}
