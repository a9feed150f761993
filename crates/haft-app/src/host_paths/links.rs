//! Resolves paths that the workspace cannot redirect. A command that can write a root can put a link there. So a path with a
//! single step through a root may lead wherever an earlier command wanted. This module opens no file.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links on the way of one path, at most; the kernel gives up after as many.
pub const LINKS_MAX: usize = 40;

/// Why a path does not lead to something outside the roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideError {
    /// There is nothing, or it cannot be found out.
    Missing,
    /// A step of it lies in a root, or is one.
    InRoot,
}

/// One step of a path.
enum PathStep {
    /// The root directory.
    Root,
    /// The directory above.
    Up,
    /// An entry of the directory.
    Name(OsString),
}

/// Returns the canonical path of something that is there, if no step on the way to it lies in a root.
///
/// `path` must be absolute, the roots canonical.
///
/// # Errors
///
/// Fails if something on the way does not exist, or if a step of it lies in a root.
pub fn canonical_outside_roots(path: &Path, roots: &[PathBuf]) -> Result<PathBuf, OutsideError> {
    if path.is_relative() {
        return Err(OutsideError::Missing);
    }
    let mut steps: Vec<PathStep> = steps_reversed(path);
    let mut reached = PathBuf::from("/");
    let mut links = 0;
    while let Some(step) = steps.pop() {
        match step {
            PathStep::Root => reached = PathBuf::from("/"),
            PathStep::Up => {
                reached.pop();
            }
            PathStep::Name(name) => {
                let next = reached.join(name);
                if roots.iter().any(|root| next.starts_with(root)) {
                    return Err(OutsideError::InRoot);
                }
                if !next.symlink_metadata().map_err(|_| OutsideError::Missing)?.is_symlink() {
                    reached = next;
                    continue;
                }
                links += 1;
                if links > LINKS_MAX {
                    return Err(OutsideError::Missing);
                }
                let target = next.read_link().map_err(|_| OutsideError::Missing)?;
                steps.extend(steps_reversed(&target));
            }
        }
    }
    Ok(reached)
}

/// The way that a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTrail {
    /// The links on it that lie in a root, each where it lies. A changed link changes where the path leads.
    pub links: Vec<PathBuf>,
    /// The end of the path. If it does not exist yet, its missing part is appended as it is written.
    pub end: PathBuf,
}

/// Returns the way that an absolute path leads, whether there is anything at its end or not. The roots are canonical.
pub fn follow_links(path: &Path, roots: &[PathBuf]) -> LinkTrail {
    let mut steps: Vec<PathStep> = steps_reversed(path);
    let mut way = LinkTrail { links: Vec::new(), end: PathBuf::from("/") };
    let mut links = 0;
    while let Some(step) = steps.pop() {
        let next = match step {
            PathStep::Root => PathBuf::from("/"),
            PathStep::Up => way.end.parent().unwrap_or(&way.end).to_owned(),
            PathStep::Name(name) => way.end.join(name),
        };
        match next.read_link() {
            Ok(target) if links < LINKS_MAX => {
                links += 1;
                if roots.iter().any(|root| next.starts_with(root)) {
                    way.links.push(next);
                }
                steps.extend(steps_reversed(&target));
            }
            // One link too many leads nowhere, and is itself what decides that.
            Ok(_) | Err(_) => way.end = next,
        }
    }
    way
}

/// Returns the steps of a path, the last one first.
fn steps_reversed(path: &Path) -> Vec<PathStep> {
    let step = |component: Component<'_>| match component {
        Component::RootDir => Some(PathStep::Root),
        Component::ParentDir => Some(PathStep::Up),
        Component::Normal(name) => Some(PathStep::Name(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_step_counts() {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for made in ["root/dist", "tools/bin", "private"] {
            std::fs::create_dir_all(base.join(made)).unwrap();
        }
        for file in ["tools/bin/node", "private/s.txt"] {
            std::fs::write(base.join(file), "").unwrap();
        }
        let link = |target: &str, link: &str| symlink(target, base.join(link)).unwrap();
        link("tools/bin", "bin");
        link("../private/s.txt", "root/secret");
        link("root/secret", "through");
        link(base.join("through").to_str().unwrap(), "tools/bin/twice");
        link("loop", "loop");
        link("nothing", "dangling");
        let roots = [base.join("root")];
        let check = |path: &str, expect: Result<&str, OutsideError>| {
            let expect = expect.map(|path| base.join(path));
            assert_eq!(canonical_outside_roots(&base.join(path), &roots), expect, "for {path}");
        };
        check("bin/node", Ok("tools/bin/node"));
        check("tools/../bin/./node", Ok("tools/bin/node"));
        check("through", Err(OutsideError::InRoot));
        check("bin/twice", Err(OutsideError::InRoot));
        check("root", Err(OutsideError::InRoot));
        check("root/not/there/yet", Err(OutsideError::InRoot));
        check("root/../private/s.txt", Err(OutsideError::InRoot));
        check("loop", Err(OutsideError::Missing));
        check("dangling", Err(OutsideError::Missing));
        check("tools/bin/none", Err(OutsideError::Missing));
        assert_eq!(canonical_outside_roots(Path::new("tools"), &roots), Err(OutsideError::Missing));
    }
}
