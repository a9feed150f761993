//! Agents as data: what a file says of one, where files are looked for, and which of two with one name counts. An agent only
//! narrows: what it names beyond what its host allows is not there, and nothing here gives anybody anything. What is written
//! below the front matter is a prompt for a model, and is believed no more than any other text.

mod directory;
mod fields;
mod find;
mod read;
mod requires;

use std::path::PathBuf;

use haft::FileProblem;
use haft_contract::{RequirementSet, SubagentSummary, ToolId};
use haft_policy::{Rule, ToolScope};
use serde::Serialize;

pub use find::{check_agents, find_agents};

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
    /// The model that it wants, as `provider/name`; without one, that of whoever has it work.
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

/// Where agents are looked for, the nearest first. The default is the program alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentPlaces {
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
pub struct FoundAgents {
    pub(crate) agents: Vec<AgentDefinition>,
    /// Those that a nearer one of the same name hides.
    pub hidden: Vec<HiddenAgent>,
    /// What is wrong, in the order in which it was found.
    pub problems: Vec<FileProblem>,
    /// What their files name, in the order of the files and their lines.
    pub named: Vec<AgentNaming>,
}

/// Something that an agent's file names. Whether there is such a thing is for those to say who know all tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentNaming {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u64,
    /// What of the file names it.
    pub field: NamingField,
    /// The name, or a glob.
    pub name: String,
}

/// What of an agent's file names tools, and what tools need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamingField {
    /// `tools`: tools, by id or by glob.
    Tools,
    /// `requires.capabilities`: what tools need.
    Capabilities,
    /// The `permission` of a rule: a tool or what one needs, also by glob.
    Permissions,
}

/// An agent that a nearer one of the same name hides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HiddenAgent {
    /// The name of both.
    pub name: String,
    /// Where the hidden one was found.
    pub source: AgentSource,
    /// Its file; a bundled one has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
}

impl AgentDefinition {
    /// Reads an agent of this name from the text of a file; all mistakes are reported at once.
    ///
    /// ```
    /// use haft_agent::{AgentDefinition, AgentMode};
    ///
    /// let text = "---\ndescription: Reads logs\nmode: subagent\ntools: [read, grep]\n---\nYou read logs.\n";
    /// let agent = AgentDefinition::parse("logs", text).unwrap();
    /// assert_eq!((agent.mode, agent.prompt.as_str()), (AgentMode::Subagent, "You read logs."));
    /// let problems = AgentDefinition::parse("logs", &text.replace("tools", "tool")).unwrap_err();
    /// assert_eq!(problems[0].line, Some(4));
    /// ```
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<FileProblem>> {
        let file = PathBuf::from(format!("{name}.md"));
        read::definition(name, text.as_bytes(), AgentSource::User)
            .map(|read| read.agent)
            .map_err(|faults| faults.into_iter().map(|fault| fault.in_file(&file)).collect())
    }

    /// Returns whether the agent keeps a tool, as far as its own list says.
    pub fn keeps(&self, tool: &ToolId) -> bool {
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

impl FoundAgents {
    /// Returns these agents; of one name the first. Where none of them is `summary`, the bundled one summarises conversations
    /// that get too long.
    pub fn of(definitions: impl IntoIterator<Item = AgentDefinition>) -> Self {
        let mut found = Self::default();
        for definition in definitions {
            found.add(definition);
        }
        if found.get(SUMMARY).is_none() {
            find::bundled_agent(SUMMARY).into_iter().for_each(|agent| found.add(agent));
        }
        found
    }

    /// Returns the agent of this name, whatever it is for.
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.iter().find(|agent| agent.name == name)
    }

    /// Returns all agents that somebody can have work, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.agents.iter().filter(|agent| agent.mode != AgentMode::Internal)
    }

    /// Returns the names of all agents that somebody can have work, sorted.
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
    fn add(&mut self, definition: AgentDefinition) {
        let place = self.agents.binary_search_by(|agent| agent.name.cmp(&definition.name));
        match place {
            Err(place) => self.agents.insert(place, definition),
            Ok(_) => {
                let AgentDefinition { name, source, file, .. } = definition;
                self.hidden.push(HiddenAgent { name, source, file });
            }
        }
    }
}

#[cfg(test)]
mod tests;
