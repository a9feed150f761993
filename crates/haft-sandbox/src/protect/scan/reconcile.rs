//! Compares two scans and reverts the differences. It trusts only files that cannot have been
//! changed: a file that a mount protected, identified wherever it is now, or a file in exactly its
//! previous state.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::directory::{FileIdentity, InodeState, ScannedKind};
use super::new_entry::{NewEntryJudge, NewEntryVerdict};
use super::report::{ProtectionMode, RevertResult, RevertedChange, ScanError};
use super::result::{PatternPosition, ProtectedEntry, RuledEntry, ScanResult};
use super::traversal::{ScanExcess, beneath};
use super::{ProtectedPathScan, ruled_path};
use crate::protect::path_rules::RuledPath;
use crate::protect::pattern::ProtectionExtent;
use crate::protect::revert::{ChangeReverter, RemovalResult, read_small};

/// Scans again, and reverts new, changed and missing entries.
///
/// Returns the reverted changes, and the denied paths that appeared since the first scan.
pub(super) fn reconcile(scan: &ProtectedPathScan) -> (Vec<RevertedChange>, Vec<RuledPath>) {
    let before = &scan.before.entries;
    let links = before.iter().filter_map(|it| Some((it.path.as_path(), it.target.as_deref()?)));
    let links: HashMap<&Path, &CStr> = links.collect();
    let states: HashSet<InodeState> = before.iter().map(|entry| entry.state).collect();
    // A new link is reverted itself; its target is not at fault.
    let was_there = |entry: &ProtectedEntry| {
        states.contains(&entry.state)
            || links.get(entry.path.as_path()).copied() == entry.target.as_deref()
    };
    let mut undone = Vec::new();
    let mut scope = scan.scope();
    for look in 1..=LOOKS_MAX {
        let mut after = ScanResult::scan_roots(scope, &was_there);
        let problem = after.problem.take();
        let appeared = appeared_paths(scan, &after);
        let mut reconciliation = Reconciliation::new(scan, &after);
        reconciliation.revert_new_entries();
        reconciliation.remove_excess();
        let removed_any =
            reconciliation.undone.iter().any(|it| !matches!(it.result, RevertResult::Failed(_)));
        if problem.is_none() {
            // Only a complete scan shows what is missing.
            for entry in before {
                // Another process removed a file that a mount protected, which is allowed.
                let is_mounted_link = entry.place == PatternPosition::Inside;
                let could_go = !reconciliation.uses_mounts()
                    || (entry.state.kind == ScannedKind::Symlink && !is_mounted_link);
                if !could_go || entry.path.symlink_metadata().is_ok() {
                    continue;
                }
                // The file system does not record which names were removed from a directory after
                // the command had died. A missing file then counts as a person's choice.
                let is_choice = scan.ended_at.is_some_and(|ended| {
                    let around = entry.path.ancestors().skip(1).find_map(|directory| {
                        let (root, relative) = beneath(&scan.roots, directory)?;
                        let root = scan.roots.get(root)?;
                        let relative = CString::new(relative.as_os_str().as_bytes()).ok()?;
                        InodeState::at(root.directory.as_fd(), &relative).ok()
                    });
                    around.is_none_or(|state| state.changed > ended)
                });
                if !is_choice {
                    reconciliation.restore_entry(entry);
                }
            }
        }
        undone.append(&mut reconciliation.undone);
        match problem {
            // The obstacle to a complete scan may just have been removed.
            Some(_) if removed_any && look < LOOKS_MAX => {}
            // Before the command, everything was within the limits. So its own directories are the excess.
            Some(
                ScanError::Directories { .. } | ScanError::Entries { .. } | ScanError::Ruled { .. },
            ) if scope.excess == ScanExcess::Deep && look < LOOKS_MAX => {
                scope.excess = ScanExcess::New { since: scan.started_at, until: scan.ended_at };
            }
            Some(problem) => {
                // There may be more changes than were found. The next command in these roots is
                // refused until a scan is complete.
                let path = scan.roots.first().map(|root| root.path.clone()).unwrap_or_default();
                let result = RevertResult::Failed(problem.to_string());
                undone.push(RevertedChange { path, pattern: String::new(), result });
                return (undone, appeared);
            }
            None => return (undone, appeared),
        }
    }
    (undone, Vec::new())
}

/// Returns the denied paths that the first scan did not find, or found as other files.
fn appeared_paths(scan: &ProtectedPathScan, after: &ScanResult) -> Vec<RuledPath> {
    let denied = after.ruled.iter().filter(|entry| entry.access < entry.around);
    let is_new = |entry: &&RuledEntry| {
        // A file in place of a covered one was not covered.
        !scan.before.ruled.iter().any(|before| {
            (&before.path, before.state.identity) == (&entry.path, entry.state.identity)
        })
    };
    denied.filter(is_new).map(ruled_path).collect()
}

/// Maximum number of scans, because reverted entries can obstruct a scan.
pub(crate) const LOOKS_MAX: usize = 8;

struct Reconciliation<'a> {
    scan: &'a ProtectedPathScan,
    after: &'a ScanResult,
    /// The entries before the command, by path.
    by_path: HashMap<&'a Path, &'a ProtectedEntry>,
    /// The same by identity. Names of one file share its state.
    by_identity: HashMap<FileIdentity, &'a ProtectedEntry>,
    /// The current states. A file can still be under a protected name because a directory around it
    /// was renamed.
    there: HashSet<InodeState>,
    undoer: ChangeReverter<'a>,
    undone: Vec<RevertedChange>,
}

/// How an entry compares with the earlier scan.
enum EntryStatus<'a> {
    /// It is unchanged, with everything in it.
    Unchanged,
    /// It is a directory that existed; its contents may have changed.
    ExistingDirectory,
    /// It is new, or replaced the given entry.
    New(Option<&'a ProtectedEntry>),
}

impl<'a> Reconciliation<'a> {
    fn new(scan: &'a ProtectedPathScan, after: &'a ScanResult) -> Reconciliation<'a> {
        let before = &scan.before.entries;
        Reconciliation {
            scan,
            after,
            by_path: before.iter().map(|entry| (entry.path.as_path(), entry)).collect(),
            by_identity: before.iter().map(|entry| (entry.state.identity, entry)).collect(),
            there: after.entries.iter().map(|entry| entry.state).collect(),
            undoer: ChangeReverter::new(scan.means.quarantine.as_deref()),
            undone: Vec::new(),
        }
    }

    /// Visits the current entries, directories before their contents.
    fn revert_new_entries(&mut self) {
        let judge = NewEntryJudge { scope: self.scan.scope(), look: self.after };
        let after = self.after;
        let mut settled: Option<&Path> = None;
        let mut mounted: Option<&Path> = None;
        for entry in &after.entries {
            let is_in =
                |directory: Option<&Path>| directory.is_some_and(|it| entry.path.starts_with(it));
            // A file that had several names may have been changed through another name although one
            // was mounted.
            let had_other_names = self.by_path.get(entry.path.as_path()).is_some_and(|before| {
                before.state.kind == ScannedKind::File && before.state.links > 1
            });
            if is_in(settled) || (is_in(mounted) && !had_other_names) {
                continue;
            }
            let previous = match self.entry_status(entry) {
                EntryStatus::Unchanged if entry.state.kind == ScannedKind::Directory => {
                    mounted = Some(&entry.path);
                    continue;
                }
                EntryStatus::Unchanged | EntryStatus::ExistingDirectory => continue,
                EntryStatus::New(_) if self.changed_after_end(&entry.state) => continue,
                EntryStatus::New(previous) => previous,
            };
            let content = previous.and_then(|previous| self.scan.copies.get(&previous.path));
            let verdict = match previous {
                // An entry must not be replaced by one of another kind.
                Some(previous) if previous.state.kind != entry.state.kind => NewEntryVerdict::Undo,
                Some(_) | None => judge.judge_entry(entry, content.map(|content| &**content)),
            };
            match verdict {
                // The directory stands for everything below it.
                NewEntryVerdict::Keep
                    if entry.state.kind == ScannedKind::Directory
                        && !matches!(
                            entry.place,
                            PatternPosition::End { extent: ProtectionExtent::Name, .. }
                        ) =>
                {
                    settled = Some(&entry.path);
                }
                NewEntryVerdict::Keep | NewEntryVerdict::Enter => {}
                NewEntryVerdict::Undo => {
                    settled = Some(&entry.path);
                    let how = match self.remove_path(&entry.path) {
                        Err(error) => RevertResult::Failed(error.to_string()),
                        Ok(RemovalResult::Quarantined(path)) => RevertResult::Quarantined(path),
                        Ok(RemovalResult::Removed) => RevertResult::Removed,
                    };
                    self.report_change(entry, how);
                    if let Some(previous) = previous {
                        self.restore_entry(previous);
                    }
                }
            }
        }
    }

    /// Removes what lies beyond the limits of the scan. Before the command, nothing did.
    fn remove_excess(&mut self) {
        let after = self.after;
        for path in &after.beyond {
            let result = match self.remove_path(path) {
                Ok(RemovalResult::Quarantined(path)) => RevertResult::Quarantined(path),
                Ok(RemovalResult::Removed) => RevertResult::Removed,
                // A directory around it was removed.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => RevertResult::Failed(error.to_string()),
            };
            let (path, pattern) = (path.clone(), String::new());
            self.undone.push(RevertedChange { path, pattern, result });
        }
    }

    /// Returns whether a file was changed after the command had died. No process can set this time
    /// directly.
    fn changed_after_end(&self, state: &InodeState) -> bool {
        self.scan.ended_at.is_some_and(|ended| state.changed > ended)
    }

    fn entry_status(&self, entry: &ProtectedEntry) -> EntryStatus<'a> {
        let same_place = self.by_path.get(entry.path.as_path()).copied();
        let same_file = self.by_identity.get(&entry.state.identity).copied();
        let same_file = same_file.filter(|before| before.state.kind == entry.state.kind);
        match entry.state.kind {
            ScannedKind::Directory => match same_file {
                Some(before) if self.uses_mounts() && is_tree_end(before) && is_tree_end(entry) => {
                    EntryStatus::Unchanged
                }
                Some(_) => EntryStatus::ExistingDirectory,
                // A restored directory is a different one.
                None if !self.uses_mounts()
                    && same_place.is_some_and(|it| it.state.kind == ScannedKind::Directory) =>
                {
                    EntryStatus::ExistingDirectory
                }
                None => EntryStatus::New(same_place),
            },
            ScannedKind::Symlink => {
                let is_alike = |before: &ProtectedEntry| before.target == entry.target;
                let is_there = same_file.is_some_and(is_alike)
                    || same_place.is_some_and(is_alike)
                    || self.scan.concurrent.is_restored_state(entry);
                if is_there { EntryStatus::Unchanged } else { EntryStatus::New(same_place) }
            }
            ScannedKind::File | ScannedKind::Other => match same_file {
                // A mount protected it in place. It may have been changed through another of its
                // names.
                Some(before)
                    if self.uses_mounts()
                        && before.path == entry.path
                        && before.state.links < 2 =>
                {
                    EntryStatus::Unchanged
                }
                Some(before) if before.state == entry.state => EntryStatus::Unchanged,
                Some(_) | None if self.has_same_content(entry, same_place) => {
                    EntryStatus::Unchanged
                }
                Some(_) | None => EntryStatus::New(same_place),
            },
        }
    }

    fn uses_mounts(&self) -> bool {
        self.scan.means.mode == ProtectionMode::ReadOnlyMounts
    }

    /// Returns whether the file at a path has the content that it had before.
    fn has_same_content(&self, entry: &ProtectedEntry, before: Option<&ProtectedEntry>) -> bool {
        let is_alike = |before: &&ProtectedEntry| {
            (before.state.mode, before.state.kind) == (entry.state.mode, ScannedKind::File)
        };
        let Some(before) =
            before.filter(is_alike).filter(|_| entry.state.kind == ScannedKind::File)
        else {
            return false;
        };
        let Some(copy) = self.scan.copies.get(&before.path) else { return false };
        let Some((root, relative)) = beneath(&self.scan.roots, &entry.path) else { return false };
        let Some(root) = self.scan.roots.get(root) else { return false };
        let read = read_small(root.directory.as_fd(), relative, before.state.size_bytes);
        matches!(read, Ok(Some((content, _))) if content == **copy)
    }

    fn remove_path(&mut self, path: &Path) -> std::io::Result<RemovalResult> {
        let Some((index, relative)) = beneath(&self.scan.roots, path) else {
            return Err(std::io::Error::from(std::io::ErrorKind::InvalidInput));
        };
        let scan = self.scan;
        let root = scan.roots.get(index).expect("the path was just found below this root");
        self.undoer.remove_path(root.directory.as_fd(), relative)
    }

    fn restore_entry(&mut self, before: &ProtectedEntry) {
        // A file that another command may have created is not restored, because that command's own
        // reconciliation removes it.
        if self.there.contains(&before.state) || !self.scan.concurrent.existed_before_all(before) {
            return;
        }
        let Some((index, relative)) = beneath(&self.scan.roots, &before.path) else { return };
        let scan = self.scan;
        let Some(root) = scan.roots.get(index) else { return };
        let root = root.directory.as_fd();
        let restored = match (&before.target, scan.copies.get(&before.path)) {
            (Some(target), _) => self.undoer.restore_link(root, relative, target),
            (None, Some(content)) => {
                self.undoer.restore_file(root, relative, (content, before.state.mode))
            }
            // Directories are restored with their contents. Of pipes and large files there is no
            // copy.
            (None, None) => return,
        };
        let how = match restored {
            Ok(()) => RevertResult::Restored,
            Err(error) => RevertResult::Failed(error.to_string()),
        };
        self.report_change(before, how);
    }

    fn report_change(&mut self, entry: &ProtectedEntry, how: RevertResult) {
        let pattern = self.scan.names.text(entry.pattern).to_owned();
        self.undone.push(RevertedChange { path: entry.path.clone(), pattern, result: how });
    }
}

fn is_tree_end(entry: &ProtectedEntry) -> bool {
    matches!(entry.place, PatternPosition::End { extent: ProtectionExtent::Tree, .. })
}

#[cfg(test)]
mod tests;
