//! Plans a restore before anything is changed. Each path that differs between two records is
//! compared with its current state, conflicts are collected, and the rest becomes steps in an order
//! in which every step is possible.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use haft_sandbox::{InodeKind, Root};

use super::present::{self, PresentEntry, PresentState};
use super::{OverwritePolicy, RestoreReport, SkipReason, SkippedPath};
use crate::compose::{ComposedChanges, PathHistory};
use crate::conflict::{RestoreConflict, RestoreConflictReason};
use crate::directory::{EntryMetadata, parent_of};
use crate::error::{RestoreError, SnapshotStoreError};
use crate::hidden_paths::RootHiddenPaths;
use crate::state::{OmissionReason, OmittedEntry, PathState, RecordedFile};
use crate::store::SnapshotStore;

/// The plan of a restore.
#[derive(Debug, Default)]
pub(super) struct RestorePlan {
    /// The steps, in their order.
    pub(super) steps: Vec<RestoreStep>,
    /// The final permission bits of directories.
    pub(super) final_modes: BTreeMap<PathBuf, u32>,
    /// Every path that differs; an earlier restore may have left a temporary beside it.
    pub(super) paths: Vec<PathBuf>,
    /// The result for paths that need no step.
    pub(super) outcome: RestoreReport,
    /// Directories to remove that will not be empty, as far as known.
    kept_directories: BTreeSet<PathBuf>,
}

/// One change of the file system.
#[derive(Debug)]
pub(super) enum RestoreStep {
    /// Removes anything but a directory.
    Remove { path: PathBuf, expected: ExpectedEntry },
    /// Removes an empty directory.
    RemoveDirectory { path: PathBuf, emptiness: EmptinessRequirement },
    /// Creates a directory in which the owner can work.
    MakeDirectory { path: PathBuf, mode: u32 },
    /// Writes a file.
    Write { path: PathBuf, file: RecordedFile, expected: ExpectedEntry },
    /// Creates a link.
    Link { path: PathBuf, target: PathBuf, expected: ExpectedEntry },
    /// Changes a file's permission bits.
    Mode { path: PathBuf, file: RecordedFile, expected: ExpectedEntry },
}

/// The expected state before a step.
#[derive(Debug, Clone, Copy)]
pub(super) enum ExpectedEntry {
    Absent,
    /// The entry as it was inspected.
    Unchanged(EntryMetadata),
    /// Anything but a directory, because it could not be inspected.
    Anything,
}

/// The meaning of a directory that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmptinessRequirement {
    /// It stays, because it contains a path that is not to be restored.
    Preferred,
    /// An error: something was added to it a moment ago, and its place is needed.
    Required,
}

/// A plan under construction.
struct RestorePlanner<'a> {
    store: &'a SnapshotStore,
    root: &'a Root,
    composed: &'a ComposedChanges,
    overwrite: OverwritePolicy,
    hidden: RootHiddenPaths,
    removals: Vec<RestoreStep>,
    creations: Vec<RestoreStep>,
    /// The paths that will be removed.
    removed: BTreeSet<PathBuf>,
    /// The paths that will be directories.
    made: BTreeSet<PathBuf>,
    /// Directories that must be empty after all planned removals.
    emptied: Vec<PathBuf>,
    /// A path that is skipped with everything below it.
    skipped_path: Option<PathBuf>,
    /// A directory that was recorded before and then became too large.
    outgrown: Option<PathBuf>,
    conflicts: Vec<RestoreConflict>,
    plan: RestorePlan,
}

impl RestorePlan {
    /// Plans the steps that restore the changed paths to their earlier state.
    pub(super) fn plan_restore(
        store: &SnapshotStore,
        root: &Root,
        composed: &ComposedChanges,
        overwrite: OverwritePolicy,
    ) -> Result<RestorePlan, RestoreError> {
        let mut planning = RestorePlanner {
            store,
            root,
            composed,
            overwrite,
            hidden: store.hidden_within(root),
            removals: Vec::new(),
            creations: Vec::new(),
            removed: BTreeSet::new(),
            made: BTreeSet::new(),
            emptied: Vec::new(),
            skipped_path: None,
            outgrown: None,
            conflicts: Vec::new(),
            plan: RestorePlan::default(),
        };
        for (path, revision) in composed.histories() {
            planning.plan_path(path, revision)?;
        }
        planning.finish()
    }

    /// Returns the result that this plan would have.
    pub(super) fn into_preview(self) -> RestoreReport {
        let mut outcome = self.outcome;
        for step in self.steps {
            let path = match step {
                RestoreStep::RemoveDirectory { path, .. }
                    if self.kept_directories.contains(&path) =>
                {
                    let reason = SkipReason::NotEmpty;
                    outcome.skipped.push(SkippedPath { path, reason });
                    continue;
                }
                RestoreStep::Remove { path, .. } | RestoreStep::RemoveDirectory { path, .. } => {
                    outcome.removed += 1;
                    path
                }
                RestoreStep::MakeDirectory { path, .. } => {
                    outcome.created_directories += 1;
                    path
                }
                RestoreStep::Write { path, .. } | RestoreStep::Link { path, .. } => {
                    outcome.written += 1;
                    path
                }
                RestoreStep::Mode { path, .. } => {
                    outcome.changed_modes += 1;
                    path
                }
            };
            outcome.paths.insert(path);
        }
        // The bits of a new directory are set when it is created.
        let closed: Vec<PathBuf> =
            self.final_modes.into_keys().filter(|path| !outcome.paths.contains(path)).collect();
        outcome.changed_modes += u64::try_from(closed.len()).unwrap_or(u64::MAX);
        outcome.paths.extend(closed);
        outcome
    }

    /// Returns every path at which content will be overwritten or removed.
    pub(super) fn overwritten_paths(&self) -> Vec<PathBuf> {
        let overwritten = |step: &RestoreStep| match step {
            RestoreStep::Remove { path, .. } => Some(path.clone()),
            RestoreStep::Write { path, expected, .. }
            | RestoreStep::Link { path, expected, .. } => {
                (!matches!(expected, ExpectedEntry::Absent)).then(|| path.clone())
            }
            RestoreStep::RemoveDirectory { .. }
            | RestoreStep::MakeDirectory { .. }
            | RestoreStep::Mode { .. } => None,
        };
        self.steps.iter().filter_map(overwritten).collect()
    }

    /// Verifies that all content to write is in the store.
    pub(super) fn verify(&self, store: &SnapshotStore) -> Result<(), SnapshotStoreError> {
        for step in &self.steps {
            if let RestoreStep::Write { file, .. } = step {
                store.content(file.content, file.size_bytes)?;
            }
        }
        Ok(())
    }
}

impl RestorePlanner<'_> {
    /// Plans one path. A directory comes before its contents.
    fn plan_path(&mut self, path: &Path, revision: &PathHistory) -> Result<(), RestoreError> {
        if self.skipped_path.as_ref().is_some_and(|above| path.starts_with(above)) {
            return Ok(());
        }
        let path = path.to_path_buf();
        if self.hidden.contains_path(&path) {
            self.plan.outcome.skipped.push(SkippedPath { path, reason: SkipReason::Hidden });
            return Ok(());
        }
        self.plan.paths.push(path.clone());
        let files: Vec<&RecordedFile> = revision.states().filter_map(as_file).collect();
        let present = present::inspect_path(self.root, &path, &files)?;
        if let Some(left_out) = self.left_out(revision) {
            if !self.is_known_before(&path, &present, revision) {
                self.skip_path(path, &present, revision, left_out);
                return Ok(());
            }
            if present.is_directory() && self.outgrown.as_deref() == Some(path.as_path()) {
                let reason = SkipReason::Outgrown;
                self.plan.outcome.skipped.push(SkippedPath { path: path.clone(), reason });
            }
        }
        if is_done(&present, revision.first_state()) {
            self.plan.outcome.unchanged += 1;
            return Ok(());
        }
        if let Some(conflict) = self.conflict(&path, &present, revision) {
            // The contents of a changed directory may be in conflict as well; below other obstacles
            // nothing is known.
            if !matches!(
                conflict.reason,
                RestoreConflictReason::ChangedSince | RestoreConflictReason::ChangedBetween
            ) {
                self.skipped_path = Some(path);
            }
            self.conflicts.push(conflict);
            return Ok(());
        }
        match revision.first_state() {
            None => self.remove(path, present),
            Some(to) => self.plan_change(path, present, to.clone())?,
        }
        Ok(())
    }

    /// Returns the omitted state of a path, if it means that the path is left alone.
    fn left_out(&self, revision: &PathHistory) -> Option<OmittedEntry> {
        let (from, to) = (revision.last_state(), revision.first_state());
        if let Some(PathState::Omitted(to)) = to {
            return Some(*to);
        }
        let Some(PathState::Omitted(from)) = from else { return None };
        let is_forced =
            self.overwrite == OverwritePolicy::Force && from.kind != InodeKind::Directory;
        let stays = from.reason.is_intentional() || (to.is_none() && !is_forced);
        stays.then_some(*from)
    }

    /// Returns whether a path is restored although its last state is unknown: because it was
    /// removed, or because it is, or is in, a directory that became too large. The earlier contents
    /// of such a directory are known.
    fn is_known_before(
        &mut self,
        path: &Path,
        present: &PresentState,
        revision: &PathHistory,
    ) -> bool {
        let (from, to) = (revision.last_state(), revision.first_state());
        let (Some(PathState::Omitted(from)), Some(to)) = (from, to) else { return false };
        if matches!(to, PathState::Omitted(_)) {
            return false;
        }
        let is_beneath = self.outgrown.as_ref().is_some_and(|above| path.starts_with(above));
        let is_directory = matches!(to, PathState::Directory { .. });
        if from.reason == OmissionReason::Ignored
            && is_directory
            && from.kind == InodeKind::Directory
        {
            if !is_beneath {
                self.outgrown = Some(path.to_path_buf());
            }
            return true;
        }
        is_beneath || matches!(present, PresentState::Absent)
    }

    /// Skips a path of which too little is known.
    fn skip_path(
        &mut self,
        path: PathBuf,
        present: &PresentState,
        revision: &PathHistory,
        left_out: OmittedEntry,
    ) {
        let is_gone = matches!(present, PresentState::Absent | PresentState::Beneath(_));
        if is_gone && revision.first_state().is_none() {
            self.plan.outcome.unchanged += 1;
        } else {
            let reason = match is_gone {
                true => SkipReason::Gone(left_out.reason),
                false => SkipReason::NotRecorded(left_out.reason),
            };
            self.plan.outcome.skipped.push(SkippedPath { path: path.clone(), reason });
        }
        self.skipped_path = Some(path);
    }

    /// Returns why a path cannot change from its current to its new state.
    fn conflict(
        &self,
        path: &Path,
        present: &PresentState,
        revision: &PathHistory,
    ) -> Option<RestoreConflict> {
        let (from, to) = (revision.last_state(), revision.first_state());
        if let PresentState::Beneath(above) = present {
            // Nothing can be written there, unless this same restore turns the parent into a
            // directory.
            let is_cleared = self.made.contains(above);
            let conflict =
                RestoreConflict { path: above.clone(), reason: RestoreConflictReason::Obstructed };
            return (!is_cleared).then_some(conflict);
        }
        if self.overwrite == OverwritePolicy::Force {
            return None;
        }
        let reason = match present {
            _ if revision.has_foreign_change() => RestoreConflictReason::ChangedBetween,
            PresentState::Absent | PresentState::Beneath(_) => match from {
                None | Some(PathState::Omitted(_)) => return None,
                Some(_) if revision.states().any(|state| state.is_none()) => return None,
                // An interrupted restore had removed it to replace it with a directory, or the
                // reverse.
                Some(from) if to.is_some_and(|to| is_swap(from, to)) => return None,
                Some(_) => RestoreConflictReason::ChangedSince,
            },
            PresentState::Unknown => RestoreConflictReason::Unreadable,
            PresentState::Found(found) => match from {
                _ if revision.states().any(|state| is_known(found, state)) => return None,
                // It was in a directory that became too large, so it is unknown who changed it.
                Some(PathState::Omitted(left_out)) if left_out.reason.is_intentional() => {
                    return None;
                }
                Some(PathState::Omitted(left_out)) => {
                    RestoreConflictReason::NotRecorded(left_out.reason)
                }
                Some(_) | None => RestoreConflictReason::ChangedSince,
            },
        };
        Some(RestoreConflict { path: path.to_path_buf(), reason })
    }

    fn remove(&mut self, path: PathBuf, present: PresentState) {
        self.removed.insert(path.clone());
        let step = match &present {
            // A path below a replaced one is already removed.
            PresentState::Absent | PresentState::Beneath(_) => return,
            PresentState::Found(found) if found.is_directory() => {
                RestoreStep::RemoveDirectory { path, emptiness: EmptinessRequirement::Preferred }
            }
            PresentState::Found(_) | PresentState::Unknown => {
                RestoreStep::Remove { path, expected: expected(&present) }
            }
        };
        self.removals.push(step);
    }

    fn plan_change(
        &mut self,
        path: PathBuf,
        present: PresentState,
        to: PathState,
    ) -> Result<(), RestoreError> {
        self.require_parents(&path)?;
        let mut expected = expected(&present);
        if let PresentState::Found(found) = &present {
            match &to {
                PathState::Directory { mode } if found.is_directory() => {
                    self.plan.final_modes.insert(path.clone(), *mode);
                    self.made.insert(path);
                    return Ok(());
                }
                PathState::File(file) if found.has_content(file) => {
                    self.creations.push(RestoreStep::Mode { path, file: *file, expected });
                    return Ok(());
                }
                PathState::File(_) | PathState::Link { .. } if found.is_directory() => {
                    self.emptied.push(path.clone());
                    let emptiness = EmptinessRequirement::Required;
                    self.removals
                        .push(RestoreStep::RemoveDirectory { path: path.clone(), emptiness });
                    expected = ExpectedEntry::Absent;
                }
                PathState::File(_)
                | PathState::Link { .. }
                | PathState::Directory { .. }
                | PathState::Omitted(_) => {}
            }
        }
        match to {
            PathState::File(file) => {
                self.creations.push(RestoreStep::Write { path, file, expected })
            }
            PathState::Link { target } => {
                self.creations.push(RestoreStep::Link { path, target, expected })
            }
            PathState::Directory { mode } => {
                // The inaccessible entry may be this very directory.
                if matches!(expected, ExpectedEntry::Unchanged(_)) {
                    self.removals.push(RestoreStep::Remove { path: path.clone(), expected });
                }
                self.make_directory(path, mode);
            }
            // It was skipped before anything was inspected.
            PathState::Omitted(_) => {}
        }
        Ok(())
    }

    fn make_directory(&mut self, path: PathBuf, mode: u32) {
        if self.made.insert(path.clone()) {
            self.plan.final_modes.insert(path.clone(), mode);
            self.creations.push(RestoreStep::MakeDirectory { path, mode });
        }
    }

    /// Plans to create the parents of a path that are in both records but no longer exist.
    fn require_parents(&mut self, path: &Path) -> Result<(), RestoreError> {
        let mut missing = Vec::new();
        for above in path.ancestors().skip(1).take_while(|above| *above != Path::new("")) {
            if self.made.contains(above)
                || !matches!(present::inspect_path(self.root, above, &[])?, PresentState::Absent)
            {
                break;
            }
            missing.push(above);
        }
        for above in missing.into_iter().rev() {
            let state = self.composed.state_before(self.store, above)?;
            if let Some(PathState::Directory { mode }) = state {
                self.make_directory(above.to_path_buf(), mode);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<RestorePlan, RestoreError> {
        for path in std::mem::take(&mut self.emptied) {
            self.require_empty(&path)?;
        }
        if !self.conflicts.is_empty() {
            self.conflicts.sort_by(|a, b| a.path.cmp(&b.path));
            self.conflicts.dedup_by(|a, b| a.path == b.path);
            return Err(RestoreError::Conflicts { conflicts: self.conflicts });
        }
        self.close_interim()?;
        self.find_kept_directories();
        // The contents of a directory are removed before it.
        self.removals.reverse();
        self.plan.steps.append(&mut self.removals);
        self.plan.steps.append(&mut self.creations);
        Ok(self.plan)
    }

    /// Finds directories that cannot be removed because of a path in them that stays.
    fn find_kept_directories(&mut self) {
        // The contents of a directory come before it.
        for step in self.removals.iter().rev() {
            let RestoreStep::RemoveDirectory { path, emptiness: EmptinessRequirement::Preferred } =
                step
            else {
                continue;
            };
            let staying = &self.plan.kept_directories;
            let goes = |path: PathBuf| self.removed.contains(&path) && !staying.contains(&path);
            // An unreadable directory is noticed when it is removed.
            let Ok(entries) = self.root.list(path) else { continue };
            if !entries.iter().all(|entry| goes(path.join(&entry.name))) {
                self.plan.kept_directories.insert(path.clone());
            }
        }
    }

    /// Finds paths that would be lost if the directory at `path` were replaced.
    fn require_empty(&mut self, path: &Path) -> Result<(), RestoreError> {
        let mut pending = vec![path.to_path_buf()];
        while let Some(directory) = pending.pop() {
            for entry in self.root.list(&directory)? {
                let path = directory.join(&entry.name);
                if !self.removed.contains(&path) {
                    self.conflicts
                        .push(RestoreConflict { path, reason: RestoreConflictReason::Obstructed });
                } else if entry.kind == InodeKind::Directory {
                    pending.push(path);
                }
            }
        }
        Ok(())
    }

    /// Finds directories, unchanged between the records, that an interrupted restore has opened to
    /// work in them.
    fn close_interim(&mut self) -> Result<(), RestoreError> {
        let parents: BTreeSet<&Path> = self.plan.paths.iter().map(|path| parent_of(path)).collect();
        for parent in parents {
            if parent == Path::new("") || self.plan.final_modes.contains_key(parent) {
                continue;
            }
            let PresentState::Found(found) = present::inspect_path(self.root, parent, &[])? else {
                continue;
            };
            let Some(state) = self.composed.state_before(self.store, parent)? else { continue };
            if let PathState::Directory { mode } = state
                && found.is_interrupted_state(&state)
                && !found.matches_state(&state)
            {
                self.plan.final_modes.insert(parent.to_path_buf(), mode);
            }
        }
        Ok(())
    }
}

fn as_file(state: Option<&PathState>) -> Option<&RecordedFile> {
    match state {
        Some(PathState::File(file)) => Some(file),
        Some(PathState::Link { .. } | PathState::Directory { .. } | PathState::Omitted(_))
        | None => None,
    }
}

fn is_done(present: &PresentState, to: Option<&PathState>) -> bool {
    match (present, to) {
        (PresentState::Absent | PresentState::Beneath(_), None) => true,
        (PresentState::Found(found), Some(to)) => found.matches_state(to),
        (PresentState::Absent | PresentState::Beneath(_), Some(_))
        | (PresentState::Found(_), None)
        | (PresentState::Unknown, _) => false,
    }
}

fn is_known(found: &PresentEntry, state: Option<&PathState>) -> bool {
    state.is_some_and(|state| found.matches_state(state) || found.is_interrupted_state(state))
}

/// Returns whether a path changes between a directory and another kind, which takes two steps.
fn is_swap(from: &PathState, to: &PathState) -> bool {
    let is_directory = |state: &PathState| matches!(state, PathState::Directory { .. });
    is_directory(from) != is_directory(to)
}

fn expected(present: &PresentState) -> ExpectedEntry {
    match present {
        PresentState::Absent | PresentState::Beneath(_) => ExpectedEntry::Absent,
        PresentState::Unknown => ExpectedEntry::Anything,
        PresentState::Found(found) => ExpectedEntry::Unchanged(found.observed),
    }
}

impl ExpectedEntry {
    /// Returns the entry to replace, if it was inspected.
    pub(super) fn observed(&self) -> Option<&EntryMetadata> {
        match self {
            ExpectedEntry::Unchanged(observed) => Some(observed),
            ExpectedEntry::Absent | ExpectedEntry::Anything => None,
        }
    }
}
