//! The user's state directory: the journal, the sidecars of sessions, what was trusted and what
//! was decided for projects. It lies outside every
//! workspace, so that what works in one cannot rewrite what is known about it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::app_error::{AppError, NextStep};

/// Where haft keeps what outlives a process.
#[derive(Clone, Debug)]
pub struct StateDirectory {
    /// The absolute path of the directory.
    directory: PathBuf,
}

impl StateDirectory {
    /// Returns the state directory at this path; makes nothing.
    pub fn new(path: PathBuf) -> Result<Self, AppError> {
        let directory = std::path::absolute(&path).map_err(|err| {
            AppError::configuration(format!(
                "state directory {} cannot be used: {err}",
                path.display()
            ))
        })?;
        Ok(Self { directory })
    }

    /// Returns the directory itself.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the journal that is used unless another one is named.
    pub fn journal(&self) -> PathBuf {
        self.directory.join("journal.sqlite")
    }

    /// Returns where sessions keep their cut outputs, a directory each.
    pub fn sidecars(&self) -> PathBuf {
        self.directory.join("sessions")
    }

    /// Returns where what commands left at protected names is moved to.
    pub fn quarantine(&self) -> PathBuf {
        self.directory.join("quarantine")
    }

    /// Returns where it is written down what was under protected names, as long as commands run.
    pub fn concurrent_scans(&self) -> PathBuf {
        self.directory.join("underway")
    }

    /// Returns where it is kept what workspaces looked like around effects.
    pub fn snapshots(&self) -> PathBuf {
        self.directory.join("snapshots")
    }

    /// Returns where it is recorded which manifests were trusted.
    pub fn trust(&self) -> PathBuf {
        self.directory.join("trust")
    }

    /// Returns where it is kept what was found out about files of Python tools.
    pub fn python(&self) -> PathBuf {
        self.directory.join("python")
    }

    /// Returns where it is kept what MCP servers listed.
    pub fn mcp(&self) -> PathBuf {
        self.directory.join("mcp")
    }

    /// Returns where the logins to MCP servers are kept, a file each.
    pub fn mcp_logins(&self) -> PathBuf {
        self.directory.join("mcp-logins")
    }

    /// Returns where it is recorded which plans may call the dangerous tools that they ask for.
    pub fn confirmed_plans(&self) -> PathBuf {
        self.directory.join("plans")
    }

    /// Returns where it is kept what was typed to agents.
    pub fn agent_history(&self) -> PathBuf {
        self.directory.join("agent-history")
    }

    /// Returns where the rules for projects are, a file each.
    pub fn projects(&self) -> PathBuf {
        self.directory.join("projects")
    }
}

/// Returns the path of the state directory that an environment and a home directory name.
pub(crate) fn state_path(
    variable: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
) -> Result<PathBuf, AppError> {
    directory(variable, home).ok_or_else(|| {
        AppError::configuration(
            "there is no home directory to keep the journal in: expected HOME to be set",
        )
        .next(NextStep::NameStateDirectory)
    })
}

/// Returns the directory that the environment names, or its usual place in the home directory.
fn directory(
    variable: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HAFT_STATE_DIR")
        // The XDG specification wants a relative path there to be ignored.
        .or_else(|| Some(set("XDG_STATE_HOME").filter(|path| path.is_absolute())?.join("haft")))
        .or_else(|| Some(home?.join(".local/state/haft")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_variable_wins() {
        let check = |variables: &[(&str, &str)], expect: &str| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            let found = directory(variable, Some(PathBuf::from("/home/ada")));
            assert_eq!(found, Some(PathBuf::from(expect)));
        };
        check(&[], "/home/ada/.local/state/haft");
        check(&[("XDG_STATE_HOME", "/state")], "/state/haft");
        check(&[("XDG_STATE_HOME", "state")], "/home/ada/.local/state/haft");
        check(&[("XDG_STATE_HOME", "/state"), ("HAFT_STATE_DIR", "/mine")], "/mine");
        check(&[("HAFT_STATE_DIR", "")], "/home/ada/.local/state/haft");
        assert_eq!(directory(|_| None, None), None);
    }
}
