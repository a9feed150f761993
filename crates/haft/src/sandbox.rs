//! How the processes of calls are confined, as a front end decides it, and the same places as far as files that tools
//! touch directly are concerned. What is written here is enforced twice: by the kernel around processes, and by
//! resolving and comparing in front of files.

use std::path::{Path, PathBuf};

use haft_contract::{ErrorCode, ToolError};
use haft_policy::PathSubject;
use haft_sandbox::{Confinement, Mechanisms, Network, ProtectedNames, Resources};

/// Files that are compared with when a file has several names, at most; beyond, such a file is not opened.
pub(crate) const HIDDEN_FILES_MAX: usize = 10_000;

/// Directories for temporary files, of which confined processes have their own.
const PRIVATE: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// What confines the processes of calls.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Whether they are confined at all.
    pub confine: Confine,
    /// Directories and files outside the roots that they can read and execute: the system, toolchains, package caches.
    pub readable: Vec<PathBuf>,
    /// Places that neither they nor tools see, inside roots too: credentials and haft's own state.
    pub hidden: Vec<PathBuf>,
    /// Names that neither they nor tools change.
    pub protected: ProtectedNames,
    /// Their home directory, which is private, empty and gone afterwards.
    pub home: PathBuf,
    /// How much they can use.
    pub resources: Resources,
    /// The mechanisms of the kernel to use; all of them but in tests of one alone.
    pub mechanisms: Mechanisms,
}

/// Whether processes are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confine {
    /// Always; where the kernel cannot, the call is refused.
    Always,
    /// Never. Every envelope says so.
    UnsafeNever,
}

impl Sandbox {
    /// Returns the sandbox that shows the system's own directories and hides nothing inside the roots.
    ///
    /// Whoever knows the user's home directory adds toolchains to `readable` and credentials to `hidden`.
    #[must_use]
    pub fn system() -> Self {
        let system = ["/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr"];
        Self {
            confine: Confine::Always,
            readable: system.map(PathBuf::from).to_vec(),
            hidden: Vec::new(),
            protected: ProtectedNames::builtin(),
            home: PathBuf::from("/home/you"),
            resources: Resources::default(),
            mechanisms: Mechanisms::ALL,
        }
    }

    /// Returns whether processes run as the user runs them.
    pub(crate) fn is_off(&self) -> bool {
        self.confine == Confine::UnsafeNever
    }

    /// Returns what one call's processes are confined to.
    pub(crate) fn confinement(&self, writable: Vec<PathBuf>, network: Network) -> Confinement {
        Confinement {
            writable,
            readable: self.readable.clone(),
            hidden: self.hidden.clone(),
            protected: self.protected.clone(),
            home: self.home.clone(),
            network,
            resources: self.resources,
            mechanisms: self.mechanisms,
        }
    }

    /// Refuses a place that nobody reads.
    pub(crate) fn check_read(&self, path: &PathSubject) -> Result<(), ToolError> {
        match self.hidden_around(&path.absolute) {
            None => Ok(()),
            Some(_) => Err(refused(format!(
                "{path} holds credentials or haft's own state, which no call reads: work without it"
            ))),
        }
    }

    /// Refuses a place that nobody changes.
    pub(crate) fn check_write(&self, path: &PathSubject) -> Result<(), ToolError> {
        self.check_read(path)?;
        let relative = path.relative.as_deref().unwrap_or(&path.absolute);
        match self.protected.matching(relative) {
            None => Ok(()),
            Some(pattern) => Err(refused(format!(
                "{path} is protected by {pattern:?}, because others run or obey what it says: leave it, or ask the \
                 user to change it"
            ))),
        }
    }

    /// Refuses a file that is a hidden one by another name. Only a file with several names can be.
    pub(crate) fn check_links(&self, opened: &haft_sandbox::OpenFile) -> Result<(), ToolError> {
        if !opened.has_other_names {
            return Ok(());
        }
        let identity = (opened.stamp.device, opened.stamp.inode);
        let mut budget = HIDDEN_FILES_MAX;
        let is_hidden = self.hidden.iter().any(|place| holds(place, identity, &mut budget));
        if is_hidden || budget == 0 {
            let message =
                "the file is another name of one that holds credentials or haft's own state";
            return Err(refused(message.to_owned()));
        }
        Ok(())
    }

    /// Returns whether a process that reads a place outside the roots does no harm: confined, it finds there what it may
    /// see, which is mostly nothing.
    pub(crate) fn shows(&self, path: &Path) -> bool {
        let is_readable = || self.readable.iter().any(|place| path.starts_with(place));
        self.confine == Confine::Always || is_readable()
    }

    /// Returns whether each call's processes have a place of their own there.
    pub(crate) fn is_private(&self, path: &Path) -> bool {
        let temporary = PRIVATE.iter().any(|place| path.starts_with(place));
        self.confine == Confine::Always && (temporary || path.starts_with(&self.home))
    }

    fn hidden_around(&self, path: &Path) -> Option<&PathBuf> {
        self.hidden.iter().find(|place| path.starts_with(place))
    }
}

fn refused(message: String) -> ToolError {
    ToolError::new(ErrorCode::CapabilityDenied, message)
}

/// Returns whether a place is, or holds, the file of that device and number. Follows no links.
fn holds(place: &Path, identity: (u64, u64), budget: &mut usize) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Ok(metadata) = place.symlink_metadata() else { return false };
    *budget = budget.saturating_sub(1);
    if *budget == 0 {
        return false;
    }
    if !metadata.is_dir() {
        return (metadata.dev(), metadata.ino()) == identity;
    }
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| holds(&entry.path(), identity, budget))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_name_of_a_hidden_file_is_the_hidden_file() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("secrets/deep")).unwrap();
        std::fs::write(base.join("secrets/deep/key"), "k").unwrap();
        std::fs::write(base.join("plain"), "p").unwrap();
        std::fs::hard_link(base.join("secrets/deep/key"), base.join("other")).unwrap();
        std::fs::hard_link(base.join("plain"), base.join("twin")).unwrap();
        let mut sandbox = Sandbox::system();
        sandbox.hidden = vec![base.join("secrets")];
        let root = haft_sandbox::Root::open(&base).unwrap();
        let check = |name: &str| sandbox.check_links(&root.open_file(name.as_ref()).unwrap());
        assert!(check("other").is_err());
        assert!(check("twin").is_ok());
        assert!(check("plain").is_ok());
    }
}
