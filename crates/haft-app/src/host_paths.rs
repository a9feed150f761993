//! Finds the places on this machine that commands need, and those that they must not see: system directories, toolchains on
//! PATH with their package caches, and credentials. This module reads names and links only; the sandbox uses the places.

mod credential_paths;
mod credentials;
mod git_identity;
mod links;
mod toolchains;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use haft::ReadablePaths;

pub(crate) use credential_paths::{owners_of, user_paths};
pub use credentials::{CREDENTIALS, CredentialOwner};
pub use git_identity::git_identity;
pub use links::{
    LINKS_MAX as OUTSIDE_LINKS_MAX, LinkTrail, OutsideError, canonical_outside_roots, follow_links,
};

/// Directories of the system that programs need to run.
const SYSTEM: &[&str] = &[
    "/bin",
    "/etc",
    "/gnu/store",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix/store",
    "/opt",
    "/sbin",
    "/usr",
];

/// The places that commands can read beside the roots, and those that are hidden from commands wherever they lie.
#[derive(Clone, Debug)]
pub struct HostPaths {
    /// The user's home directory.
    pub home: PathBuf,
    /// System directories, toolchains and their package caches.
    pub readable: ReadablePaths,
    /// Credentials.
    pub hidden: Vec<PathBuf>,
}

impl HostPaths {
    /// Finds the places that exist, given this process's environment and home directory, and the canonical roots. A place
    /// in a root, or one that is reached through a root, is left out: commands could change it.
    pub fn discover(
        variable: impl Fn(&str) -> Option<OsString> + Send + 'static,
        home: &Path,
        roots: &[PathBuf],
    ) -> Self {
        let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
        let hidden = credential_paths::credential_paths(&variable, &home);
        let (roots, of_user) = (roots.to_vec(), home.clone());
        let readable = ReadablePaths::from_search(move || readable(&variable, &of_user, &roots));
        Self { home, readable, hidden }
    }
}

/// Returns the places that commands can read beside the roots.
fn readable(
    variable: &dyn Fn(&str) -> Option<OsString>,
    home: &Path,
    roots: &[PathBuf],
) -> Vec<PathBuf> {
    let system = SYSTEM.iter().map(PathBuf::from).filter(|path| path.exists());
    // A place in a root is writable; as a readable place it would be read-only.
    let is_outside = |place: &PathBuf| !roots.iter().any(|root| place.starts_with(root));
    let mut readable: Vec<PathBuf> = system.filter(is_outside).collect();
    for place in toolchains::find(variable, home, roots) {
        // Most toolchains lie in a system directory.
        let is_known = readable.iter().any(|known| place.starts_with(known));
        if !is_known {
            readable.retain(|known| !known.starts_with(&place));
            readable.push(place);
        }
    }
    readable
}

/// Returns the directory that a variable names, if it is one and absolute.
fn directory_of(variable: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests;
