//! The user's state directory: the journal, the sidecars of sessions, what was trusted and what
//! was decided for projects. It lies outside every
//! workspace, so that what works in one cannot rewrite what is known about it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::CommandError;

/// Where haft keeps what outlives a process.
#[derive(Clone, Debug)]
pub(crate) struct State {
    directory: PathBuf,
}

impl State {
    /// Finds the directory from the environment of this process; makes nothing.
    pub(crate) fn locate() -> Result<Self, CommandError> {
        let variable = |name: &str| std::env::var_os(name);
        let found = directory(variable, std::env::home_dir()).ok_or_else(|| {
            CommandError::usage(
                "there is no home directory to keep the journal in: expected HOME to be set",
            )
            .hint("export HAFT_STATE_DIR=/path/to/a/directory")
        })?;
        let directory = std::path::absolute(&found).map_err(|err| {
            CommandError::usage(format!(
                "state directory {} cannot be used: {err}",
                found.display()
            ))
        })?;
        Ok(Self { directory })
    }

    /// Returns the directory itself.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the journal that is used unless another one is named.
    pub(crate) fn journal(&self) -> PathBuf {
        self.directory.join("journal.sqlite")
    }

    /// Returns where sessions keep their cut outputs, a directory each.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.directory.join("sessions")
    }

    /// Returns where what commands left at protected names is moved to.
    pub(crate) fn quarantine(&self) -> PathBuf {
        self.directory.join("quarantine")
    }

    /// Returns where it is written down what was under protected names, as long as commands run.
    pub(crate) fn underway(&self) -> PathBuf {
        self.directory.join("underway")
    }

    /// Returns where it is kept what workspaces looked like around effects.
    pub(crate) fn snapshots(&self) -> PathBuf {
        self.directory.join("snapshots")
    }

    /// Returns where it is recorded which manifests were trusted.
    pub(crate) fn trust(&self) -> PathBuf {
        self.directory.join("trust")
    }

    /// Returns where it is kept what was found out about files of Python tools.
    pub(crate) fn python(&self) -> PathBuf {
        self.directory.join("python")
    }

    /// Returns where it is kept what MCP servers listed.
    pub(crate) fn mcp(&self) -> PathBuf {
        self.directory.join("mcp")
    }

    /// Returns where the logins to MCP servers are kept, a file each.
    pub(crate) fn mcp_logins(&self) -> PathBuf {
        self.directory.join("mcp-logins")
    }

    /// Returns where it is recorded which plans may call the dangerous tools that they ask for.
    pub(crate) fn confirmed_plans(&self) -> PathBuf {
        self.directory.join("plans")
    }

    /// Returns where it is kept what was typed to agents.
    pub(crate) fn agent_history(&self) -> PathBuf {
        self.directory.join("agent-history")
    }

    /// Returns where the rules for projects are, a file each.
    pub(crate) fn projects(&self) -> PathBuf {
        self.directory.join("projects")
    }
}

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

/// Returns the directory of the user's data, which `{user-data}` in patterns stands for.
pub(crate) fn user_data() -> Option<PathBuf> {
    let set = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let set = set.filter(|path| path.is_absolute());
    set.or_else(|| Some(std::env::home_dir()?.join(".local/share")))
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
