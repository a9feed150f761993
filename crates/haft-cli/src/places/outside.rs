//! Paths that the workspace has no say in. Whoever can write a root can put a link there, so that a path that leads
//! through a root, if only for one step, leads wherever a command of yesterday wanted it to. Nothing is opened here.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links on the way of one path, at most; the kernel gives up after as many.
pub(crate) const LINKS_MAX: usize = 40;

/// Why a path does not lead to something outside the roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Astray {
    /// There is nothing, or it cannot be found out.
    Missing,
    /// A step of it lies in a root, or is one.
    InRoot,
}

/// One step of a path.
enum Step {
    Root,
    Up,
    Name(OsString),
}

/// Returns the canonical path of something that is there, if no step on the way to it lies in a root.
///
/// `path` must be absolute, the roots canonical.
pub(crate) fn outside(path: &Path, roots: &[PathBuf]) -> Result<PathBuf, Astray> {
    if path.is_relative() {
        return Err(Astray::Missing);
    }
    let mut steps: Vec<Step> = steps_reversed(path);
    let mut reached = PathBuf::from("/");
    let mut links = 0;
    while let Some(step) = steps.pop() {
        match step {
            Step::Root => reached = PathBuf::from("/"),
            Step::Up => {
                reached.pop();
            }
            Step::Name(name) => {
                let next = reached.join(name);
                if roots.iter().any(|root| next.starts_with(root)) {
                    return Err(Astray::InRoot);
                }
                if !next.symlink_metadata().map_err(|_| Astray::Missing)?.is_symlink() {
                    reached = next;
                    continue;
                }
                links += 1;
                if links > LINKS_MAX {
                    return Err(Astray::Missing);
                }
                let target = next.read_link().map_err(|_| Astray::Missing)?;
                steps.extend(steps_reversed(&target));
            }
        }
    }
    Ok(reached)
}

/// The way that a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The links on it that lie in a root, each where it lies: whoever changes one changes where the path leads.
    pub(crate) links: Vec<PathBuf>,
    /// Where it leads. What is not there yet is named without links.
    pub(crate) end: PathBuf,
}

/// Returns the way that an absolute path leads, whether there is anything at its end or not. The roots are canonical.
pub(crate) fn way(path: &Path, roots: &[PathBuf]) -> Way {
    let mut steps: Vec<Step> = steps_reversed(path);
    let mut way = Way { links: Vec::new(), end: PathBuf::from("/") };
    let mut links = 0;
    while let Some(step) = steps.pop() {
        let next = match step {
            Step::Root => PathBuf::from("/"),
            Step::Up => way.end.parent().unwrap_or(&way.end).to_owned(),
            Step::Name(name) => way.end.join(name),
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
fn steps_reversed(path: &Path) -> Vec<Step> {
    let step = |component: Component<'_>| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Name(name.to_owned())),
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
        let check = |path: &str, expect: Result<&str, Astray>| {
            let expect = expect.map(|path| base.join(path));
            assert_eq!(outside(&base.join(path), &roots), expect, "for {path}");
        };
        check("bin/node", Ok("tools/bin/node"));
        check("tools/../bin/./node", Ok("tools/bin/node"));
        check("through", Err(Astray::InRoot));
        check("bin/twice", Err(Astray::InRoot));
        check("root", Err(Astray::InRoot));
        check("root/not/there/yet", Err(Astray::InRoot));
        check("root/../private/s.txt", Err(Astray::InRoot));
        check("loop", Err(Astray::Missing));
        check("dangling", Err(Astray::Missing));
        check("tools/bin/none", Err(Astray::Missing));
        assert_eq!(outside(Path::new("tools"), &roots), Err(Astray::Missing));
    }
}
