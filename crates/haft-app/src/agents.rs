//! Where the agents of this machine are: those of the workspace, the user's own, and what the program brings along. What an
//! agent is, and which of two counts, is the library's business.

use std::path::Path;

use haft_agent::{AgentDirectories, WorkspaceTrust};
use haft_sandbox::ProtectedPaths;

use crate::app_error::AppError;
use crate::host::AppHost;
use crate::settings::EffectiveSettings;

/// The agents of a workspace, beneath its root.
pub const WORKSPACE_AGENTS: &str = "agents/*.md";

/// Returns where the agents for a workspace are looked for.
pub fn agent_paths(settings: &EffectiveSettings, host: &AppHost) -> AgentDirectories {
    let whole = settings.manifest.as_deref().filter(|_| settings.is_trusted);
    AgentDirectories {
        root: Some(settings.root.clone()),
        trust: trust(&settings.root, whole),
        user: host.config_directory().map(|config| config.join("haft/agents")),
    }
}

/// Returns whether the user trusts the workspace: the manifest in its root is one that holds whole. One that lies elsewhere,
/// and was named for this work, says nothing about the files here.
fn trust(root: &Path, whole: Option<&Path>) -> WorkspaceTrust {
    let directory = whole.and_then(Path::parent).and_then(|it| it.canonicalize().ok());
    match directory.zip(root.canonicalize().ok()) {
        Some((directory, root)) if directory == root => WorkspaceTrust::Trusted,
        Some(_) | None => WorkspaceTrust::Untrusted,
    }
}

/// Adds to the protected names the agents of a workspace that the user trusts, with `whole` as the manifest that holds whole:
/// whoever changes them decides what the next session is held to, and which model reads it.
pub fn protected(
    names: ProtectedPaths,
    root: &Path,
    whole: Option<&Path>,
    unprotected: &[String],
) -> Result<ProtectedPaths, AppError> {
    let is_unprotected = unprotected.iter().any(|name| name == WORKSPACE_AGENTS);
    if is_unprotected || trust(root, whole) == WorkspaceTrust::Untrusted {
        return Ok(names);
    }
    // It begins with the name of the root, so that what is called the same deeper down is not meant.
    let root = root.canonicalize().ok();
    let name = root.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    let name = name.filter(|name| !name.contains(['*', '\\']));
    let pattern = name.map(|name| format!("{name}/{WORKSPACE_AGENTS}"));
    names.with_patterns(pattern).map_err(AppError::configuration)
}
