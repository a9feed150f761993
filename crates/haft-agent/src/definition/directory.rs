//! Reads a directory of agents, which may be untrusted: only regular files are opened, no link leads out of a workspace, and sizes
//! are bounded.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::limits::{AGENT_BYTES_MAX, AGENT_ENTRIES_MAX};

/// The end of an agent's file name.
const SUFFIX: &str = ".md";
/// A file that describes the directory to people. It is never an agent.
const README: &str = "README.md";

/// A file that may be an agent's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AgentFile {
    pub(super) path: PathBuf,
    /// The file name without its end.
    pub(super) name: String,
}

/// The files of a directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AgentFiles {
    /// Sorted by name.
    pub(super) files: Vec<AgentFile>,
    pub(super) has_more: bool,
}

/// Returns the files of a directory that may be agents. A directory that does not exist has none.
pub(super) fn files(directory: &Path) -> Result<AgentFiles, String> {
    let unreadable = |err: &io::Error| format!("expected a directory of agents: {err}");
    let listed = match std::fs::read_dir(directory) {
        Ok(listed) => listed,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(AgentFiles::default()),
        Err(err) => return Err(unreadable(&err)),
    };
    let mut found = AgentFiles::default();
    for (seen, entry) in listed.enumerate() {
        if seen == AGENT_ENTRIES_MAX {
            found.has_more = true;
            break;
        }
        let path = entry.map_err(|err| unreadable(&err))?.path();
        found.files.extend(agent_file(path));
    }
    found.files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Returns the file at a path if its name is valid for an agent.
pub(super) fn agent_file(path: PathBuf) -> Option<AgentFile> {
    let file_name = path.file_name()?.to_str()?;
    let name = file_name.strip_suffix(SUFFIX)?;
    if file_name == README || name.is_empty() || name.starts_with('.') {
        return None;
    }
    let name = name.to_owned();
    Some(AgentFile { path, name })
}

/// Returns the content of a file. In a workspace, a link that leads out of it is not followed, because the model may not read there.
pub(super) fn read(path: &Path, workspace: Option<&Path>) -> Result<Vec<u8>, String> {
    let unreadable = |err: io::Error| format!("cannot be read: {err}");
    let canonical = path.canonicalize().map_err(unreadable)?;
    if workspace.is_some_and(|workspace| !canonical.starts_with(workspace)) {
        return Err(
            "a link that leads out of the workspace is not followed: copy the file".to_owned()
        );
    }
    let metadata = canonical.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err("expected a regular file, found something else".to_owned());
    }
    let bytes_max = u64::try_from(AGENT_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let file = File::open(&canonical).map_err(unreadable)?;
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > AGENT_BYTES_MAX {
        return Err(format!("expected at most {AGENT_BYTES_MAX} bytes, found more"));
    }
    Ok(bytes)
}
