//! Plans a restore before anything is changed. Each path that differs between two records is
//! compared with its current state, conflicts are collected, and the rest becomes steps in an order
//! in which every step is possible.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use haft_sandbox::{InodeKind, Root};

use super::present::{self, PresentState};
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
pub(super) struct RestoreStep {
    pub(super) path: PathBuf,
    pub(super) action: RestoreAction,
}

/// The change of a path.
#[derive(Debug)]
pub(super) enum RestoreAction {
    /// Removes anything but a directory.
    Remove { expected: ExpectedEntry },
    /// Removes an empty directory.
    RemoveDirectory { emptiness: EmptinessRequirement },
    /// Creates a directory in which the owner can work.
    MakeDirectory { mode: u32 },
    /// Writes a file.
    Write { file: RecordedFile, expected: ExpectedEntry },
    /// Creates a link.
    Link { target: PathBuf, expected: ExpectedEntry },
    /// Changes a file's permission bits.
    Mode { file: RecordedFile, expected: ExpectedEntry },
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
        // If a directory is replaced, the plan must also remove everything in it.
        let mut pending = planning.emptied;
        while let Some(directory) = pending.pop() {
            for entry in root.list(&directory)? {
                let path = directory.join(&entry.name);
                if !planning.removed.contains(&path) {
                    let reason = RestoreConflictReason::Obstructed;
                    planning.conflicts.push(RestoreConflict { path, reason });
                } else if entry.kind == InodeKind::Directory {
                    pending.push(path);
                }
            }
        }
        let mut conflicts = planning.conflicts;
        if !conflicts.is_empty() {
            conflicts.sort_by(|a, b| a.path.cmp(&b.path));
            conflicts.dedup_by(|a, b| a.path == b.path);
            return Err(RestoreError::Conflicts { conflicts });
        }
        let mut plan = planning.plan;
        // An interrupted restore may have opened directories to work in them that are unchanged
        // between the records.
        let parents: BTreeSet<&Path> = plan.paths.iter().map(|path| parent_of(path)).collect();
        for parent in parents {
            if parent == Path::new("") || plan.final_modes.contains_key(parent) {
                continue;
            }
            let PresentState::Found(found) = present::inspect_path(root, parent, &[])? else {
                continue;
            };
            let Some(state) = composed.state_before(store, parent)? else { continue };
            if let PathState::Directory { mode } = state
                && found.is_interrupted_state(&state)
                && !found.matches_state(&state)
            {
                plan.final_modes.insert(parent.to_path_buf(), mode);
            }
        }
        // The contents of a directory are removed before it.
        planning.removals.reverse();
        for RestoreStep { path, action } in &planning.removals {
            let RestoreAction::RemoveDirectory { emptiness: EmptinessRequirement::Preferred } =
                action
            else {
                continue;
            };
            // An unreadable directory is noticed when it is removed.
            let Ok(entries) = root.list(path) else { continue };
            let is_kept = entries.iter().any(|entry| {
                let path = path.join(&entry.name);
                !planning.removed.contains(&path) || plan.kept_directories.contains(&path)
            });
            if is_kept {
                plan.kept_directories.insert(path.clone());
            }
        }
        plan.steps = planning.removals;
        plan.steps.append(&mut planning.creations);
        Ok(plan)
    }

    /// Returns the result that this plan would have.
    pub(super) fn into_preview(self) -> RestoreReport {
        let mut outcome = self.outcome;
        for RestoreStep { path, action } in self.steps {
            match action {
                RestoreAction::RemoveDirectory { .. } if self.kept_directories.contains(&path) => {
                    let reason = SkipReason::NotEmpty;
                    outcome.skipped.push(SkippedPath { path, reason });
                    continue;
                }
                RestoreAction::Remove { .. } | RestoreAction::RemoveDirectory { .. } => {
                    outcome.removed += 1;
                }
                RestoreAction::MakeDirectory { .. } => outcome.created_directories += 1,
                RestoreAction::Write { .. } | RestoreAction::Link { .. } => outcome.written += 1,
                RestoreAction::Mode { .. } => outcome.changed_modes += 1,
            }
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
        let is_overwriting = |step: &&RestoreStep| match &step.action {
            RestoreAction::Remove { .. } => true,
            RestoreAction::Write { expected, .. } | RestoreAction::Link { expected, .. } => {
                !matches!(expected, ExpectedEntry::Absent)
            }
            RestoreAction::RemoveDirectory { .. }
            | RestoreAction::MakeDirectory { .. }
            | RestoreAction::Mode { .. } => false,
        };
        self.steps.iter().filter(is_overwriting).map(|step| step.path.clone()).collect()
    }

    /// Verifies that all content to write is in the store.
    pub(super) fn verify(&self, store: &SnapshotStore) -> Result<(), SnapshotStoreError> {
        for step in &self.steps {
            if let RestoreAction::Write { file, .. } = &step.action {
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
        let mut files: Vec<&RecordedFile> = Vec::new();
        for state in revision.states() {
            if let Some(PathState::File(file)) = state {
                files.push(file);
            }
        }
        let present = present::inspect_path(self.root, &path, &files)?;
        if let Some(left_out) = self.left_out(&path, &present, revision) {
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
            return Ok(());
        }
        let is_done = match (&present, revision.first_state()) {
            (PresentState::Absent | PresentState::Beneath(_), None) => true,
            (PresentState::Found(found), Some(to)) => found.matches_state(to),
            (PresentState::Absent | PresentState::Beneath(_), Some(_))
            | (PresentState::Found(_), None)
            | (PresentState::Unknown, _) => false,
        };
        if is_done {
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
        if let Some(to) = revision.first_state() {
            return self.plan_change(path, present, to.clone());
        }
        self.removed.insert(path.clone());
        let expected = expected(&present);
        let action = match &present {
            // A path below a replaced one is already removed.
            PresentState::Absent | PresentState::Beneath(_) => return Ok(()),
            PresentState::Found(found) if found.is_directory() => {
                RestoreAction::RemoveDirectory { emptiness: EmptinessRequirement::Preferred }
            }
            PresentState::Found(_) | PresentState::Unknown => RestoreAction::Remove { expected },
        };
        self.removals.push(RestoreStep { path, action });
        Ok(())
    }

    /// Returns the omitted state of a path, if it means that the path is left alone. A path is restored
    /// although its last state is unknown if it was removed, or if it is, or is in, a directory that
    /// became too large. The earlier contents of such a directory are known.
    fn left_out(
        &mut self,
        path: &Path,
        present: &PresentState,
        revision: &PathHistory,
    ) -> Option<OmittedEntry> {
        let (from, to) = (revision.last_state(), revision.first_state());
        if let Some(PathState::Omitted(to)) = to {
            return Some(*to);
        }
        let Some(PathState::Omitted(from)) = from else { return None };
        let Some(to) = to else {
            let is_forced =
                self.overwrite == OverwritePolicy::Force && from.kind != InodeKind::Directory;
            return (from.reason.is_intentional() || !is_forced).then_some(*from);
        };
        if !from.reason.is_intentional() {
            return None;
        }
        let is_beneath = self.outgrown.as_ref().is_some_and(|above| path.starts_with(above));
        if from.reason == OmissionReason::Ignored
            && from.kind == InodeKind::Directory
            && matches!(to, PathState::Directory { .. })
        {
            if !is_beneath {
                self.outgrown = Some(path.to_path_buf());
                if present.is_directory() {
                    let reason = SkipReason::Outgrown;
                    let path = path.to_path_buf();
                    self.plan.outcome.skipped.push(SkippedPath { path, reason });
                }
            }
            return None;
        }
        let is_known = is_beneath || matches!(present, PresentState::Absent);
        (!is_known).then_some(*from)
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
        let is_directory = |state: &PathState| matches!(state, PathState::Directory { .. });
        let reason = match present {
            _ if revision.has_foreign_change => RestoreConflictReason::ChangedBetween,
            PresentState::Absent | PresentState::Beneath(_) => match from {
                None | Some(PathState::Omitted(_)) => return None,
                Some(_) if revision.states().any(|state| state.is_none()) => return None,
                // An interrupted restore had removed it to replace it with a directory, or the
                // reverse.
                Some(from) if to.is_some_and(|to| is_directory(from) != is_directory(to)) => {
                    return None;
                }
                Some(_) => RestoreConflictReason::ChangedSince,
            },
            PresentState::Unknown => RestoreConflictReason::Unreadable,
            PresentState::Found(found) => match from {
                _ if revision.states().flatten().any(|state| {
                    found.matches_state(state) || found.is_interrupted_state(state)
                }) =>
                {
                    return None;
                }
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

    fn plan_change(
        &mut self,
        path: PathBuf,
        present: PresentState,
        to: PathState,
    ) -> Result<(), RestoreError> {
        // Parents that are in both records but no longer exist are created again.
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
        let mut expected = expected(&present);
        if let PresentState::Found(found) = &present {
            match &to {
                PathState::Directory { mode } if found.is_directory() => {
                    self.plan.final_modes.insert(path.clone(), *mode);
                    self.made.insert(path);
                    return Ok(());
                }
                PathState::File(file) if found.has_content(file) => {
                    let action = RestoreAction::Mode { file: *file, expected };
                    self.creations.push(RestoreStep { path, action });
                    return Ok(());
                }
                PathState::File(_) | PathState::Link { .. } if found.is_directory() => {
                    self.emptied.push(path.clone());
                    let emptiness = EmptinessRequirement::Required;
                    let action = RestoreAction::RemoveDirectory { emptiness };
                    self.removals.push(RestoreStep { path: path.clone(), action });
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
                let action = RestoreAction::Write { file, expected };
                self.creations.push(RestoreStep { path, action });
            }
            PathState::Link { target } => {
                let action = RestoreAction::Link { target, expected };
                self.creations.push(RestoreStep { path, action });
            }
            PathState::Directory { mode } => {
                // The inaccessible entry may be this very directory.
                if matches!(expected, ExpectedEntry::Unchanged(_)) {
                    let action = RestoreAction::Remove { expected };
                    self.removals.push(RestoreStep { path: path.clone(), action });
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
            let action = RestoreAction::MakeDirectory { mode };
            self.creations.push(RestoreStep { path, action });
        }
    }
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
