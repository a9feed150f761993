//! Finds the agents: those of the workspace, of the user and of the program, in this order. A workspace that the user has not trusted
//! may only add agents. Replacing an agent or choosing a model would widen what the user decided.

use std::path::{Path, PathBuf};

use haft::{FileProblem, FrontMatterFault, ProblemSeverity};

use super::agent::{AgentDefinition, AgentSource, SUMMARY};
use super::directory::{self, AgentFile};
use super::fields::{FrontMatterReference, file_problem};
use super::read;
use super::registry::{AgentDirectories, AgentFileReference, AgentRegistry, WorkspaceTrust};
use crate::limits::{AGENT_ENTRIES_MAX, AGENTS_MAX};

/// The directory of agents in a workspace.
const DIRECTORY: &str = "agents";
/// The agents of the program.
const BUNDLED: [(&str, &str); 5] = [
    ("build", include_str!("../../agents/build.md")),
    ("explore", include_str!("../../agents/explore.md")),
    ("general", include_str!("../../agents/general.md")),
    ("plan", include_str!("../../agents/plan.md")),
    ("summary", include_str!("../../agents/summary.md")),
];

impl AgentRegistry {
    /// Returns these agents. Of several with one name, the first counts. Without an agent `summary`, the bundled one is added.
    pub fn from_definitions(definitions: impl IntoIterator<Item = AgentDefinition>) -> Self {
        let mut found = Self::default();
        for definition in definitions {
            found.add(definition);
        }
        if found.get(SUMMARY).is_none() {
            let bundled = bundled_agents().agents.into_iter();
            bundled.filter(|agent| agent.name == SUMMARY).for_each(|agent| found.add(agent));
        }
        found
    }
}

/// Finds the agents of all directories. Of several with one name, the workspace's comes first, then the user's, then the
/// program's. Reads the file system.
pub fn find_agents(places: &AgentDirectories) -> AgentRegistry {
    let mut workspace = LoadedAgents::default();
    // A root without a canonical path does not exist.
    if let Some(Ok(root)) = places.root.as_ref().map(|root| root.canonicalize()) {
        workspace.load_directory(&root.join(DIRECTORY), AgentSource::Workspace, Some(&root));
    }
    let mut user = LoadedAgents::default();
    if let Some(directory) = &places.user {
        user.load_directory(directory, AgentSource::User, None);
    }
    let bundled = bundled_agents();
    let named = workspace.references.into_iter().chain(user.references);
    let mut problems = workspace.problems;
    let files: Vec<AgentDefinition> = match places.trust {
        WorkspaceTrust::Trusted => workspace.agents.into_iter().chain(user.agents).collect(),
        WorkspaceTrust::Untrusted => {
            let mut added = Vec::new();
            for agent in workspace.agents {
                let mut others = user.agents.iter().chain(&bundled.agents);
                if others.any(|other| other.name == agent.name) {
                    let message = format!(
                        "there is another agent called {}, and this one may not take its place, because this workspace is \
                         not trusted: it is left out. Rename it, or trust the workspace's haft.toml",
                        agent.name
                    );
                    problems.push(warning(&agent, message));
                    continue;
                }
                // A model's provider reads the outputs of tools and is paid.
                if let Some(model) = &agent.model {
                    let message = format!(
                        "this workspace is not trusted, so its agents do not choose a model: {model} is not used. Trust the \
                         workspace's haft.toml, or keep the agent in your own configuration"
                    );
                    problems.push(warning(&agent, message));
                }
                added.push(AgentDefinition { model: None, ..agent });
            }
            // If there are too many agents, those of the workspace are left out.
            user.agents.into_iter().chain(added).collect()
        }
    };
    problems.extend(user.problems.into_iter().chain(bundled.problems));
    let mut found = AgentRegistry::default();
    for agent in files {
        if found.agents.len() < AGENTS_MAX || found.get(&agent.name).is_some() {
            found.add(agent);
            continue;
        }
        let message = format!("more than {AGENTS_MAX} agents: this one is left out");
        problems.push(warning(&agent, message));
    }
    bundled.agents.into_iter().for_each(|agent| found.add(agent));
    found.problems = problems;
    // References of agents that are left out or hidden do not count.
    let files = |file: &Path| found.agents.iter().any(|agent| agent.file.as_deref() == Some(file));
    found.references = named.filter(|named| files(&named.file)).collect();
    found
}

/// Checks one directory of agents or one file, without all others.
pub fn check_agent_files(place: &Path) -> AgentRegistry {
    let mut layer = LoadedAgents::default();
    if place.is_dir() {
        layer.load_directory(place, AgentSource::User, None);
    } else if let Some(file) = directory::agent_file(place.to_path_buf()).filter(|_| place.exists())
    {
        layer.load_file(file, AgentSource::User, None);
    } else {
        let found = if place.exists() { "a file of another name" } else { "nothing" };
        let expected = "expected a file NAME.md or a directory of such files";
        layer.push_error(place, format!("{expected}, found {found}"));
    }
    let LoadedAgents { agents, problems, references: named } = layer;
    let mut found = AgentRegistry { problems, references: named, ..AgentRegistry::default() };
    agents.into_iter().for_each(|agent| found.add(agent));
    found
}

/// The agents of one directory.
#[derive(Default)]
struct LoadedAgents {
    agents: Vec<AgentDefinition>,
    problems: Vec<FileProblem>,
    references: Vec<AgentFileReference>,
}

impl LoadedAgents {
    fn load_directory(&mut self, directory: &Path, source: AgentSource, workspace: Option<&Path>) {
        let found = match directory::files(directory) {
            Ok(found) => found,
            Err(message) => return self.push_error(directory, message),
        };
        if found.has_more {
            self.problems.push(FileProblem {
                severity: ProblemSeverity::Warning,
                file: directory.to_path_buf(),
                line: None,
                message: format!(
                    "more than {AGENT_ENTRIES_MAX} entries: the rest is not looked at"
                ),
            });
        }
        for file in found.files {
            self.load_file(file, source, workspace);
        }
    }

    fn load_file(&mut self, file: AgentFile, source: AgentSource, workspace: Option<&Path>) {
        let AgentFile { path, name } = file;
        let bytes = match directory::read(&path, workspace) {
            Ok(bytes) => bytes,
            Err(message) => return self.push_error(&path, message),
        };
        match read::parse_definition(&name, &bytes, source) {
            Ok((agent, named)) => {
                self.references.extend(named.into_iter().map(|named| {
                    let FrontMatterReference { line, field, name } = named;
                    AgentFileReference { file: path.clone(), line, field, name }
                }));
                self.agents.push(AgentDefinition { file: Some(path), ..agent });
            }
            Err(faults) => {
                self.problems.extend(faults.into_iter().map(|it| file_problem(it, &path)))
            }
        }
    }

    fn push_error(&mut self, file: &Path, message: String) {
        self.problems.push(file_problem(FrontMatterFault { line: None, message }, file));
    }
}

fn bundled_agents() -> LoadedAgents {
    let mut layer = LoadedAgents::default();
    for (name, text) in BUNDLED {
        match read::parse_definition(name, text.as_bytes(), AgentSource::Bundled) {
            Ok((agent, _)) => layer.agents.push(agent),
            Err(faults) => {
                let file = PathBuf::from(format!("(bundled) {name}"));
                layer.problems.extend(faults.into_iter().map(|it| file_problem(it, &file)));
            }
        }
    }
    layer
}

fn warning(agent: &AgentDefinition, message: String) -> FileProblem {
    let bundled = || PathBuf::from(format!("(bundled) {}", agent.name));
    let file = agent.file.clone().unwrap_or_else(bundled);
    FileProblem { severity: ProblemSeverity::Warning, file, line: None, message }
}
