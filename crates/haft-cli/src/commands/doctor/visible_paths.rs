//! The paths that commands see and change, as far as that is known before one runs: the roots, other readable paths, hidden
//! paths, and settings that have no effect. `haft permissions list` shows the protected names.

use std::path::{Path, PathBuf};

use serde::Serialize;

use haft_app::host_paths::{HostPaths, OutsideError, canonical_outside_roots};
use haft_app::settings::SandboxSettings;

/// The paths that commands see and change.
#[derive(Serialize)]
pub(super) struct VisiblePathsReport {
    /// The roots.
    pub(super) writable: Vec<PathBuf>,
    pub(super) readable: Vec<PathBuf>,
    /// Paths of `sandbox.readable` that commands do not see.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_readable: Vec<UnreadablePath>,
    /// Those that exist.
    pub(super) hidden: Vec<PathBuf>,
    /// Names that would be protected, and by `sandbox.unprotect` are not.
    pub(super) unprotected: Vec<String>,
    /// Repositories that roots lie in and commands do not see.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) repositories_above: Vec<EnclosingRepository>,
}

/// A place that was meant to be readable.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct UnreadablePath {
    pub(super) path: PathBuf,
    pub(super) why: &'static str,
}

/// A repository around a root.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct EnclosingRepository {
    pub(super) root: PathBuf,
    /// The directory to be the root if git is to work.
    pub(super) worktree: PathBuf,
}

impl VisiblePathsReport {
    /// Returns it for these places, settings and canonical roots.
    pub(super) fn find(places: HostPaths, sandbox: &SandboxSettings, roots: &[PathBuf]) -> Self {
        let above = |root: &PathBuf| {
            let worktree = repository_above(root)?.into();
            Some(EnclosingRepository { root: root.clone(), worktree })
        };
        Self {
            writable: roots.to_vec(),
            not_readable: not_readable(&sandbox.readable, roots),
            hidden: places.hidden.into_iter().filter(|place| place.exists()).collect(),
            readable: places.readable.to_vec(),
            unprotected: sandbox.unprotect.clone(),
            repositories_above: roots.iter().filter_map(above).collect(),
        }
    }
}

/// Returns the places that lead nowhere, or through a root, which decides where. One that is in a root is seen anyway.
fn not_readable(named: &[PathBuf], roots: &[PathBuf]) -> Vec<UnreadablePath> {
    let why = |path: &PathBuf| match canonical_outside_roots(path, roots).err()? {
        OutsideError::Missing => Some("it is not there"),
        OutsideError::InRoot => {
            let place = path.canonicalize().ok();
            let is_in_root = place.is_some_and(|at| roots.iter().any(|root| at.starts_with(root)));
            (!is_in_root).then_some("the way there leads through a root")
        }
    };
    let entry = |path: &PathBuf| Some(UnreadablePath { why: why(path)?, path: path.clone() });
    named.iter().filter_map(entry).collect()
}

/// Returns the worktree that a root lies inside of, unless the root is one itself.
fn repository_above(root: &Path) -> Option<&Path> {
    let is_worktree = |directory: &&Path| directory.join(".git").symlink_metadata().is_ok();
    root.ancestors().find(is_worktree).filter(|worktree| *worktree != root)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_comes_to_nothing_is_listed() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for made in ["root/inside", "data"] {
            std::fs::create_dir_all(base.join(made)).unwrap();
        }
        symlink(base.join("data"), base.join("root/link")).unwrap();
        let named = ["data", "none", "root/inside", "root/link"].map(|path| base.join(path));
        let found = not_readable(&named, &[base.join("root")]);
        let expect =
            [("none", "it is not there"), ("root/link", "the way there leads through a root")];
        let expect = expect.map(|(path, why)| UnreadablePath { path: base.join(path), why });
        assert_eq!(found, expect);
    }

    #[test]
    fn only_a_repository_around_the_root_is_out_of_sight() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for made in ["one/.git", "one/packages/a", "one/nested"] {
            std::fs::create_dir_all(base.join(made)).unwrap();
        }
        std::fs::write(base.join("one/nested/.git"), "gitdir: /elsewhere\n").unwrap();
        let check = |root: &str, expect: Option<&str>| {
            let root = base.join(root);
            let expect = expect.map(|path| base.join(path));
            assert_eq!(repository_above(&root), expect.as_deref(), "for {}", root.display());
        };
        check("one", None);
        check("one/nested", None);
        check("one/packages/a", Some("one"));
    }
}
