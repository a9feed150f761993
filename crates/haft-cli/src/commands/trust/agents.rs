//! The agents of the workspace that are trusted with its manifest: those that replace others, and the models that they name.
//! `haft agents check` reports their problems.

use haft_agent::{AgentDirectories, AgentSource, WorkspaceTrust, find_agents};
use serde::Serialize;

use crate::views::path_text::counted;
use haft_app::host::AppHost;
use haft_app::manifest::{Manifest, ManifestFile};

/// One agent.
#[derive(Serialize)]
pub(super) struct TrustedAgentReport {
    agent: String,
    /// The model that it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The origins of the agents that it replaces.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hides: Vec<AgentSource>,
}

/// Returns the agents that are trusted with a manifest: those beside it, where its directory is the root.
pub(super) fn agents(
    file: &ManifestFile,
    manifest: &Manifest,
    host: &AppHost,
) -> Vec<TrustedAgentReport> {
    let directory = file.directory();
    let root = manifest.root.as_ref().map_or_else(|| directory.to_owned(), |it| directory.join(it));
    let is_root = root.canonicalize().ok().zip(directory.canonicalize().ok());
    if is_root.is_none_or(|(root, directory)| root != directory) {
        return Vec::new();
    }
    let user = host.config_directory().map(|config| config.join("haft/agents"));
    let places = AgentDirectories { root: Some(root), trust: WorkspaceTrust::Trusted, user };
    let found = find_agents(&places);
    let own = found.iter().filter(|agent| agent.source == AgentSource::Workspace);
    own.map(|agent| TrustedAgentReport {
        agent: agent.name.clone(),
        model: agent.model.clone(),
        hides: found
            .hidden
            .iter()
            .filter(|hidden| hidden.name == agent.name)
            .map(|hidden| hidden.source)
            .collect(),
    })
    .collect()
}

/// Returns the lines about the agents. Empty without agents.
pub(super) fn text(agents: &[TrustedAgentReport]) -> String {
    if agents.is_empty() {
        return String::new();
    }
    let is = if agents.len() == 1 { "is" } else { "are" };
    let head = format!(
        "\n{} in agents/ {is} trusted as well, and so is what will be there later:",
        counted(agents.len(), "agent")
    );
    let line = |agent: &TrustedAgentReport| {
        let mut says: Vec<String> = Vec::new();
        if agent.hides.contains(&AgentSource::User) {
            says.push("takes the place of yours".to_owned());
        }
        if agent.hides.contains(&AgentSource::Bundled) {
            says.push("takes the place of the bundled one".to_owned());
        }
        says.extend(agent.model.as_ref().map(|model| format!("asks {model}")));
        match says.as_slice() {
            [] => format!("\n  {}", agent.agent),
            says => format!("\n  {}: {}", agent.agent, says.join("; ")),
        }
    };
    head + &agents.iter().map(line).collect::<String>()
}
