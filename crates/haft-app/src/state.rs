//! The user's state directory: the journal, the sidecars of sessions, what was trusted and what
//! was decided for projects. It lies outside every
//! workspace, so that what works in one cannot rewrite what is known about it.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::app_error::{AppError, NextStep};

/// The number of the user root, and of its group.
const ROOT: u32 = 0;
/// The permission of the group to write.
const GROUP_WRITES: u32 = 0o020;
/// The permission of others to write.
const OTHERS_WRITE: u32 = 0o002;

/// Where haft keeps what outlives a process.
#[derive(Clone, Debug)]
pub struct StateDirectory {
    /// The absolute path of the directory.
    directory: PathBuf,
}

impl StateDirectory {
    /// Returns the state directory at this path; makes nothing.
    ///
    /// # Errors
    ///
    /// Fails if the path is relative and the process has no working directory.
    pub fn new(path: PathBuf) -> Result<Self, AppError> {
        let directory = std::path::absolute(&path).map_err(|err| {
            AppError::configuration(format!(
                "state directory {} cannot be used: {err}",
                path.display()
            ))
        })?;
        Ok(Self { directory })
    }

    /// Checks that only root can write what root would believe: trust, rules, the journal.
    ///
    /// # Errors
    ///
    /// Fails if this process is root's, and the directory or an entry of it belongs to another user or can be changed by one.
    pub(crate) fn check_owner(&self) -> Result<(), AppError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let Some(path) = foreign_entry(&self.directory, ROOT, ROOT) else { return Ok(()) };
        Err(AppError::configuration(format!(
            "{} belongs to another user or can be changed by others, and haft runs as root: a person could write what root \
             trusts; give the state directory to root alone, or name another one",
            path.display()
        ))
        .next(NextStep::NameStateDirectory))
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

    /// Returns where running inspectors say how they are reached, a directory each.
    pub fn inspectors(&self) -> PathBuf {
        self.directory.join("inspectors")
    }

    /// Returns where it is kept what was typed to agents.
    pub fn agent_history(&self) -> PathBuf {
        self.directory.join("agent-history")
    }

    /// Returns the file that says what haft wrote into the configuration of clients.
    pub fn connections(&self) -> PathBuf {
        self.directory.join("connections.json")
    }

    /// Returns where the rules for projects are, a file each.
    pub fn projects(&self) -> PathBuf {
        self.directory.join("projects")
    }
}

/// Returns the first of a directory and its entries that a user other than `owner` owns, or may change without being of the
/// group. A directory that does not exist has none.
fn foreign_entry(directory: &Path, owner: u32, group: u32) -> Option<PathBuf> {
    let is_foreign = |path: &PathBuf| {
        let Ok(state) = path.symlink_metadata() else { return false };
        // The permissions of a link mean nothing.
        let of_group = if state.gid() == group { 0 } else { GROUP_WRITES };
        let is_writable = !state.is_symlink() && state.mode() & (OTHERS_WRITE | of_group) != 0;
        state.uid() != owner || is_writable
    };
    let real = directory.canonicalize().ok()?;
    let entries = std::fs::read_dir(&real).into_iter().flatten().flatten();
    let entries = entries.map(|entry| entry.path());
    std::iter::once(real.clone()).chain(entries).find(is_foreign)
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
    fn what_others_own_or_may_change_is_found() {
        use std::os::unix::fs::PermissionsExt as _;

        let place = tempfile::tempdir().unwrap();
        let directory = place.path().canonicalize().unwrap().join("state");
        let state = place.path().metadata().unwrap();
        let (own, group) = (state.uid(), state.gid());
        assert_eq!(foreign_entry(&directory, own, group), None);
        std::fs::create_dir(&directory).unwrap();
        std::fs::create_dir(directory.join("trust")).unwrap();
        let allow = |path: &Path, mode: u32| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for (mode, of_trust, expect) in [
            (0o755, 0o700, None),
            (0o775, 0o700, None),
            (0o702, 0o700, Some(directory.clone())),
            (0o700, 0o702, Some(directory.join("trust"))),
        ] {
            allow(&directory, mode);
            allow(&directory.join("trust"), of_trust);
            assert_eq!(foreign_entry(&directory, own, group), expect, "{mode:o} {of_trust:o}");
        }
        allow(&directory.join("trust"), 0o700);
        assert_eq!(foreign_entry(&directory, own + 1, group), Some(directory.clone()));
        allow(&directory, 0o775);
        assert_eq!(foreign_entry(&directory, own, group + 1), Some(directory));
    }

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
