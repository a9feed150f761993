//! Decides whether a new file under a protected name may stay. A repository that a command created
//! or cloned is ordinary work, so git's own files stay if they clearly run nothing. Everything else
//! is removed. The module deliberately moves nothing.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::directory::ScannedKind;
use super::result::{ProtectedEntry, ScanResult};
use super::traversal::{ScanScope, beneath};
use crate::protect::fold::fold;
use crate::protect::git_config::{self, CONFIG_BYTES_MAX};
use crate::protect::revert::read_small;
use crate::protect::worktree::{POINTER_BYTES_MAX, join_bytes, pointer_line};

/// Files in which rustup reads the toolchain of a directory.
const TOOLCHAIN_FILES: &[&[u8]] = &[b"rust-toolchain", b"rust-toolchain.toml"];
/// Longest such file that is read, in bytes.
pub(crate) const TOOLCHAIN_BYTES_MAX: u64 = 64 * 1_024;

/// The verdict on a new entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewEntryVerdict {
    /// It stays, with everything in it.
    Keep,
    /// Each entry in it is judged separately.
    Enter,
    /// It is removed, with everything in it.
    Undo,
}

/// The part of a git repository that a new entry forms, by its name and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GitPart {
    Config,
    CommonDir,
    Hooks,
    Hook,
    Entry,
}

/// Judges the new entries of one scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewEntryJudge<'a> {
    pub(super) scope: ScanScope<'a>,
    pub(super) look: &'a ScanResult,
}

impl NewEntryJudge<'_> {
    /// Returns the verdict on an entry. `previous` is the former content of a file at this path.
    pub(super) fn judge_entry(
        &self,
        entry: &ProtectedEntry,
        previous: Option<&[u8]>,
    ) -> NewEntryVerdict {
        let name = entry.path.file_name().map(|name| fold(name.as_bytes())).unwrap_or_default();
        if entry.state.kind == ScannedKind::File && TOOLCHAIN_FILES.contains(&name.as_slice()) {
            let text = self.read(&entry.path, TOOLCHAIN_BYTES_MAX);
            return keep_if(text.is_some_and(|text| names_no_path(&text)));
        }
        match (self.git_part(&entry.path), entry.state.kind) {
            // The contents of a repository are protected by their own patterns.
            (Some(GitPart::Entry), ScannedKind::Directory) => NewEntryVerdict::Keep,
            (Some(GitPart::Hooks), ScannedKind::Directory) => NewEntryVerdict::Enter,
            // git runs no hook whose name has a suffix.
            (Some(GitPart::Hook), ScannedKind::File)
                if entry
                    .path
                    .file_name()
                    .is_some_and(|name| name.as_bytes().ends_with(b".sample")) =>
            {
                NewEntryVerdict::Keep
            }
            (Some(GitPart::Config), ScannedKind::File) => {
                let directory = entry.path.parent().unwrap_or(Path::new(""));
                let text = self.read(&entry.path, CONFIG_BYTES_MAX);
                keep_if(text.is_some_and(|text| {
                    // A worktree may be where the command could write anyway, after links are
                    // resolved.
                    git_config::is_config_harmless(&text, previous, |worktree| {
                        let canonical = directory.join(worktree).canonicalize();
                        canonical.is_ok_and(|path| beneath(self.scope.roots, &path).is_some())
                    })
                }))
            }
            (Some(GitPart::CommonDir), ScannedKind::File) => {
                keep_if(self.leads_to_repository(&entry.path, b""))
            }
            (Some(GitPart::Entry), ScannedKind::File) => {
                keep_if(self.leads_to_repository(&entry.path, b"gitdir: "))
            }
            (
                _,
                ScannedKind::Directory
                | ScannedKind::File
                | ScannedKind::Symlink
                | ScannedKind::Other,
            ) => NewEntryVerdict::Undo,
        }
    }

    fn git_part(&self, path: &Path) -> Option<GitPart> {
        let (parent, name) = (path.parent()?, fold(path.file_name()?.as_bytes()));
        if name == b".git" {
            return Some(GitPart::Entry);
        }
        if self.is_repository(parent) {
            return match name.as_slice() {
                b"config" | b"config.worktree" => Some(GitPart::Config),
                b"commondir" => Some(GitPart::CommonDir),
                b"hooks" => Some(GitPart::Hooks),
                _ => None,
            };
        }
        let is_in_hooks = fold(parent.file_name()?.as_bytes()) == b"hooks"
            && parent.parent().is_some_and(|directory| self.is_repository(directory));
        is_in_hooks.then_some(GitPart::Hook)
    }

    /// A directory named `.git` counts even if git would not accept it yet, because missing parts
    /// can be added later.
    fn is_repository(&self, directory: &Path) -> bool {
        let has_name = directory.file_name().is_some_and(|name| fold(name.as_bytes()) == b".git");
        has_name || self.look.repositories.contains(directory)
    }

    /// Returns whether a file contains the path of a repository that this scan has found, so that
    /// its contents were judged.
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

/// Returns whether a toolchain file names a toolchain of rustup and no directory. With an escape, a key may have any name.
fn names_no_path(text: &[u8]) -> bool {
    let holds = |word: &[u8]| text.windows(word.len()).any(|part| part == word);
    !holds(b"path") && !holds(b"\\") && !holds(b"/")
}

fn keep_if(is_harmless: bool) -> NewEntryVerdict {
    if is_harmless { NewEntryVerdict::Keep } else { NewEntryVerdict::Undo }
}
