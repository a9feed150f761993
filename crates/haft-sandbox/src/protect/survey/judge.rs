//! Whether something that is new under a protected name may stay. A repository that a command made or cloned is ordinary
//! work, so that what git itself puts there stays, where it is plain to see that it runs nothing. Everything else goes.
//! It deliberately moves nothing.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::directory::Kind;
use super::look::{Entry, Look, Scope, beneath};
use crate::protect::fold::fold;
use crate::protect::git_config::{self, CONFIG_BYTES_MAX};
use crate::protect::undo::read_small;
use crate::protect::worktree::{POINTER_BYTES_MAX, join_bytes, pointer_line};

/// What is to become of something new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It stays, with all that is in it.
    Keep,
    /// Each thing in it is judged by itself.
    Enter,
    /// It goes, with all that is in it.
    Undo,
}

/// What git uses a new thing for, where it has the name and the place of something that git makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Config,
    CommonDir,
    Hooks,
    Hook,
    Entry,
}

/// Judges what is new in one look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) scope: Scope<'a>,
    pub(super) look: &'a Look,
}

impl Judge<'_> {
    /// Says what is to become of an entry; `previous` is the content that a file at this place had before.
    pub(super) fn judge(&self, entry: &Entry, previous: Option<&[u8]>) -> Verdict {
        match (self.part(&entry.path), entry.state.kind) {
            // What is in a repository is protected by names of its own.
            (Some(Part::Entry), Kind::Directory) => Verdict::Keep,
            (Some(Part::Hooks), Kind::Directory) => Verdict::Enter,
            (Some(Part::Hook), Kind::File) if has_sample_name(&entry.path) => Verdict::Keep,
            (Some(Part::Config), Kind::File) => {
                keep_if(self.is_harmless_config(&entry.path, previous))
            }
            (Some(Part::CommonDir), Kind::File) => {
                keep_if(self.leads_to_repository(&entry.path, b""))
            }
            (Some(Part::Entry), Kind::File) => {
                keep_if(self.leads_to_repository(&entry.path, b"gitdir: "))
            }
            (_, Kind::Directory | Kind::File | Kind::Symlink | Kind::Other) => Verdict::Undo,
        }
    }

    fn part(&self, path: &Path) -> Option<Part> {
        let (parent, name) = (path.parent()?, fold(path.file_name()?.as_bytes()));
        if name == b".git" {
            return Some(Part::Entry);
        }
        if self.is_repository(parent) {
            return match name.as_slice() {
                b"config" | b"config.worktree" => Some(Part::Config),
                b"commondir" => Some(Part::CommonDir),
                b"hooks" => Some(Part::Hooks),
                _ => None,
            };
        }
        let is_in_hooks = fold(parent.file_name()?.as_bytes()) == b"hooks"
            && parent.parent().is_some_and(|directory| self.is_repository(directory));
        is_in_hooks.then_some(Part::Hook)
    }

    /// A directory named `.git` counts also while something is missing for git to accept it: it can be added later.
    fn is_repository(&self, directory: &Path) -> bool {
        let has_name = directory.file_name().is_some_and(|name| fold(name.as_bytes()) == b".git");
        has_name || self.look.repositories.contains(directory)
    }

    fn is_harmless_config(&self, path: &Path, previous: Option<&[u8]>) -> bool {
        let Some(text) = self.read(path, CONFIG_BYTES_MAX) else { return false };
        let directory = path.parent().unwrap_or(Path::new(""));
        git_config::is_harmless(&text, previous, |worktree| {
            self.is_writable(&directory.join(worktree))
        })
    }

    /// Tells whether a path, wherever links on it lead, is one that the command could write to anyway.
    fn is_writable(&self, path: &Path) -> bool {
        let canonical = path.canonicalize().ok();
        // What does not exist yet leads nowhere else only if what exists of it does not.
        canonical.is_some_and(|path| beneath(self.scope.roots, &path).is_some())
    }

    /// Tells whether a file holds the path of a repository that this look has found, so that what is in there was judged.
    fn leads_to_repository(&self, path: &Path, prefix: &[u8]) -> bool {
        let Some(text) = self.read(path, POINTER_BYTES_MAX) else { return false };
        let Some(target) = pointer_line(&text).and_then(|line| line.strip_prefix(prefix)) else {
            return false;
        };
        let directory = path.parent().unwrap_or(Path::new(""));
        let target = join_bytes(directory, target).canonicalize();
        target.is_ok_and(|target| self.look.repositories.contains(&target))
    }

    fn read(&self, path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
        let (root, relative) = beneath(self.scope.roots, path)?;
        let root = self.scope.roots.get(root)?;
        let (content, _) = read_small(root.directory.as_fd(), relative, bytes_max).ok()??;
        Some(content)
    }
}

fn keep_if(is_harmless: bool) -> Verdict {
    if is_harmless { Verdict::Keep } else { Verdict::Undo }
}

/// git runs no hook whose name has something added.
fn has_sample_name(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().ends_with(b".sample"))
}
