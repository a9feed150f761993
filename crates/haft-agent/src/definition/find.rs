//! Which agents there are: those of the workspace, then the user's, then the program's. A workspace that nobody trusted may
//! add agents; taking the place of one, or naming a model, would widen what its user decided.

use std::path::{Path, PathBuf};

use haft::{FileProblem, ProblemSeverity};

use super::agent::{AgentDefinition, AgentSource, SUMMARY};
use super::directory::{self, AgentFile};
use super::fields::{AgentFileFault, FrontMatterReference};
use super::read::{self, ParsedAgentFile};
use super::registry::{AgentDirectories, AgentFileReference, AgentRegistry, WorkspaceTrust};
use crate::limits::{AGENT_ENTRIES_MAX, AGENTS_MAX};

/// Where the agents of a workspace lie in it.
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
    /// Returns these agents; of one name the first. Where none of them is `summary`, the bundled one summarises conversations
    /// that get too long.
    pub fn from_definitions(definitions: impl IntoIterator<Item = AgentDefinition>) -> Self {
        let mut found = Self::default();
        for definition in definitions {
            found.add(definition);
        }
        if found.get(SUMMARY).is_none() {
            bundled_agent(SUMMARY).into_iter().for_each(|agent| found.add(agent));
        }
        found
    }
}

/// Finds the agents of all places. Of two with one name the nearest counts: the workspace's before the user's, and those
/// before the program's. Reads the file system.
pub fn find_agents(places: &AgentDirectories) -> AgentRegistry {
    let mut workspace = LoadedAgents::default();
    if let Some(root) = &places.root {
        // What has no canonical form is not there.
        if let Ok(root) = root.canonicalize() {
            workspace.load_directory(&root.join(DIRECTORY), AgentSource::Workspace, Some(&root));
        }
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
            let own = user.agents.iter().chain(&bundled.agents);
            let own: Vec<&str> = own.map(|agent| agent.name.as_str()).collect();
            let narrow = |agent| restrict_untrusted_agent(agent, &own, &mut problems);
            let narrow: Vec<_> = workspace.agents.into_iter().filter_map(narrow).collect();
            // Where there are too many, those of a stranger are left out.
            user.agents.into_iter().chain(narrow).collect()
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
        problems.push(problem(ProblemSeverity::Warning, &agent, message));
    }
    bundled.agents.into_iter().for_each(|agent| found.add(agent));
    found.problems = problems;
    // What is left out, or hidden, names nothing that counts.
    let files = |file: &Path| found.agents.iter().any(|agent| agent.file.as_deref() == Some(file));
    found.references = named.filter(|named| files(&named.file)).collect();
    found
}

/// Looks a directory of agents over, or one file, whatever else there is.
pub fn check_agent_files(place: &Path) -> AgentRegistry {
    let mut layer = LoadedAgents::default();
    if place.is_dir() {
        layer.load_directory(place, AgentSource::User, None);
    } else {
        let expected = "expected a file NAME.md or a directory of such files";
        match directory::agent_file(place.to_path_buf()) {
            _ if !place.exists() => {
                layer.push_error(
                    place,
                    AgentFileFault::new(None, format!("{expected}, found nothing")),
                );
            }
            Some(file) => layer.load_file(file, AgentSource::User, None),
            None => layer.push_error(
                place,
                AgentFileFault::new(None, format!("{expected}, found a file of another name")),
            ),
        }
    }
    let LoadedAgents { agents, problems, references: named } = layer;
    let mut found = AgentRegistry { problems, references: named, ..AgentRegistry::default() };
    agents.into_iter().for_each(|agent| found.add(agent));
    found
}

/// The agents of one place.
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
            Err(message) => return self.push_error(directory, AgentFileFault::new(None, message)),
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
            Err(message) => return self.push_error(&path, AgentFileFault::new(None, message)),
        };
        match read::parse_definition(&name, &bytes, source) {
            Ok(ParsedAgentFile { agent, references: named }) => {
                self.references.extend(named.into_iter().map(
                    |FrontMatterReference { line, field, name }| AgentFileReference {
                        file: path.clone(),
                        line,
                        field,
                        name,
                    },
                ));
                self.agents.push(AgentDefinition { file: Some(path), ..agent });
            }
            Err(faults) => faults.into_iter().for_each(|fault| self.push_error(&path, fault)),
        }
    }

    fn push_error(&mut self, file: &Path, fault: AgentFileFault) {
        self.problems.push(fault.in_file(file));
    }
}

/// Returns the agent of this name that the program brings along.
pub(super) fn bundled_agent(name: &str) -> Option<AgentDefinition> {
    bundled_agents().agents.into_iter().find(|agent| agent.name == name)
}

fn bundled_agents() -> LoadedAgents {
    let mut layer = LoadedAgents::default();
    for (name, text) in BUNDLED {
        match read::parse_definition(name, text.as_bytes(), AgentSource::Bundled) {
            Ok(read) => layer.agents.push(read.agent),
            Err(faults) => {
                let file = PathBuf::from(format!("(bundled) {name}"));
                faults.into_iter().for_each(|fault| layer.push_error(&file, fault));
            }
        }
    }
    layer
}

/// Returns what holds of an agent of a workspace that nobody trusted, if anything does.
fn restrict_untrusted_agent(
    agent: AgentDefinition,
    own: &[&str],
    problems: &mut Vec<FileProblem>,
) -> Option<AgentDefinition> {
    if own.contains(&agent.name.as_str()) {
        let message = format!(
            "there is another agent called {}, and this one may not take its place, because nobody trusted this \
             workspace: it is left out. Rename it, or trust the workspace's haft.toml",
            agent.name
        );
        problems.push(problem(ProblemSeverity::Warning, &agent, message));
        return None;
    }
    // Whoever names the model decides who reads what tools answer, and who is paid.
    if let Some(model) = &agent.model {
        let message = format!(
            "nobody trusted this workspace, so its agents do not choose a model: {model} is not used. Trust the \
             workspace's haft.toml, or keep the agent in your own configuration"
        );
        problems.push(problem(ProblemSeverity::Warning, &agent, message));
    }
    Some(AgentDefinition { model: None, ..agent })
}

fn problem(severity: ProblemSeverity, agent: &AgentDefinition, message: String) -> FileProblem {
    let bundled = || PathBuf::from(format!("(bundled) {}", agent.name));
    FileProblem { severity, file: agent.file.clone().unwrap_or_else(bundled), line: None, message }
}
