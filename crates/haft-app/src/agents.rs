//! Whether the user trusts the agents of a workspace, and how those that the user trusts are protected. The agent crate knows
//! what an agent is, and which of two agents of one name counts.

use std::path::Path;

use haft_agent::WorkspaceTrust;
use haft_sandbox::ProtectedPaths;

use crate::app_error::AppError;
use crate::manifest::WORKSPACE_AGENTS;

/// Returns whether the user trusts the workspace: all of the manifest in its root holds. A manifest that lies elsewhere, and was
/// named for this work, says nothing about the files here.
pub(crate) fn trust(root: &Path, whole: Option<&Path>) -> WorkspaceTrust {
    let directory = whole.and_then(Path::parent).and_then(|it| it.canonicalize().ok());
    match directory.zip(root.canonicalize().ok()) {
        Some((directory, root)) if directory == root => WorkspaceTrust::Trusted,
        Some(_) | None => WorkspaceTrust::Untrusted,
    }
}

/// Adds to the protected names the agents of a workspace that the user trusts. `whole` is the manifest, if all of it holds. A
/// changed agent would decide what the next session may do, and which model reads it.
pub(crate) fn protected(
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
