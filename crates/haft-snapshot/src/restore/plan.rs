//! What a restore will do, decided before anything is changed: each path that differs between two records is compared with what
//! is there now, conflicts are collected, and the rest becomes steps in an order in which every step is possible. Nothing is
//! changed here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use haft_sandbox::{FileKind, Root};

use super::present::{self, Found, Present};
use super::{Conflict, ConflictReason, LeftAlone, LeftAloneReason, Overwrite, Restored};
use crate::compose::{Composed, Revision};
use crate::directory::{Look, parent_of};
use crate::error::{RestoreError, StoreError};
use crate::hidden::HiddenWithin;
use crate::state::{FileState, LeftOut, Reason, State};
use crate::store::Store;

/// What a restore will do.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// In the order in which they are made.
    pub(super) steps: Vec<Step>,
    /// The permission bits that directories have at the end.
    pub(super) closing: BTreeMap<PathBuf, u32>,
    /// Every path that differs; an earlier restore may have left something beside it.
    pub(super) paths: Vec<PathBuf>,
    /// What needs no step.
    pub(super) outcome: Restored,
    /// Directories that are to go, and will not be empty as far as can be seen.
    staying: BTreeSet<PathBuf>,
}

/// One change of the file system.
#[derive(Debug)]
pub(super) enum Step {
    /// Removes something that is no directory.
    Remove { path: PathBuf, expected: Expected },
    /// Removes an empty directory.
    RemoveDirectory { path: PathBuf, emptiness: Emptiness },
    /// Makes a directory that can be worked in.
    MakeDirectory { path: PathBuf, mode: u32 },
    /// Puts a file into place.
    Write { path: PathBuf, file: FileState, expected: Expected },
    /// Puts a link into place.
    Link { path: PathBuf, target: PathBuf, expected: Expected },
    /// Gives a file other permission bits.
    Mode { path: PathBuf, file: FileState, expected: Expected },
}

/// What a step expects to find.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    Absent,
    /// The very thing that was looked at.
    Unchanged(Look),
    /// Anything but a directory, because it could not be looked at.
    Anything,
}

/// What it means when a directory is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Emptiness {
    /// Something that is not to be restored keeps it.
    Hoped,
    /// Something was put into it a moment ago, in the place of something else.
    Needed,
}

/// A plan being made.
struct Planning<'a> {
    store: &'a Store,
    root: &'a Root,
    composed: &'a Composed,
    overwrite: Overwrite,
    hidden: HiddenWithin,
    removals: Vec<Step>,
    creations: Vec<Step>,
    /// The paths that will be gone.
    removed: BTreeSet<PathBuf>,
    /// The paths that will be directories.
    made: BTreeSet<PathBuf>,
    /// Directories that must be empty once everything that is planned is removed.
    emptied: Vec<PathBuf>,
    /// A path that is passed over with everything beneath it.
    passed_over: Option<PathBuf>,
    /// A directory that became too large to be recorded, and was recorded before.
    outgrown: Option<PathBuf>,
    conflicts: Vec<Conflict>,
    plan: Plan,
}

impl Plan {
    /// Decides what brings the paths that changed back to what they were before.
    pub(super) fn make(
        store: &Store,
        root: &Root,
        composed: &Composed,
        overwrite: Overwrite,
    ) -> Result<Plan, RestoreError> {
        let mut planning = Planning {
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
            passed_over: None,
            outgrown: None,
            conflicts: Vec::new(),
            plan: Plan::default(),
        };
        for (path, revision) in composed.revisions() {
            planning.take(path, revision)?;
        }
        planning.finish()
    }

    /// Returns what this does when it is carried out.
    pub(super) fn rehearsed(self) -> Restored {
        let mut outcome = self.outcome;
        for step in self.steps {
            let path = match step {
                Step::RemoveDirectory { path, .. } if self.staying.contains(&path) => {
                    let reason = LeftAloneReason::NotEmpty;
                    outcome.left_alone.push(LeftAlone { path, reason });
                    continue;
                }
                Step::Remove { path, .. } | Step::RemoveDirectory { path, .. } => {
                    outcome.removed += 1;
                    path
                }
                Step::MakeDirectory { path, .. } => {
                    outcome.made += 1;
                    path
                }
                Step::Write { path, .. } | Step::Link { path, .. } => {
                    outcome.written += 1;
                    path
                }
                Step::Mode { path, .. } => {
                    outcome.modes += 1;
                    path
                }
            };
            outcome.paths.insert(path);
        }
        // Those of a new directory belong to making it.
        let closed: Vec<PathBuf> =
            self.closing.into_keys().filter(|path| !outcome.paths.contains(path)).collect();
        outcome.modes += u64::try_from(closed.len()).unwrap_or(u64::MAX);
        outcome.paths.extend(closed);
        outcome
    }

    /// Returns every path at which something with a content will be overwritten or removed.
    pub(super) fn overwritten(&self) -> Vec<PathBuf> {
        let overwritten = |step: &Step| match step {
            Step::Remove { path, .. } => Some(path.clone()),
            Step::Write { path, expected, .. } | Step::Link { path, expected, .. } => {
                (!matches!(expected, Expected::Absent)).then(|| path.clone())
            }
            Step::RemoveDirectory { .. } | Step::MakeDirectory { .. } | Step::Mode { .. } => None,
        };
        self.steps.iter().filter_map(overwritten).collect()
    }

    /// Makes sure that everything which will be written is in the store.
    pub(super) fn verify(&self, store: &Store) -> Result<(), StoreError> {
        for step in &self.steps {
            if let Step::Write { file, .. } = step {
                store.content(file.content, file.size_bytes)?;
            }
        }
        Ok(())
    }
}

impl Planning<'_> {
    /// Decides about one path. A directory comes before what is in it.
    fn take(&mut self, path: &Path, revision: &Revision) -> Result<(), RestoreError> {
        if self.passed_over.as_ref().is_some_and(|above| path.starts_with(above)) {
            return Ok(());
        }
        let path = path.to_path_buf();
        if self.hidden.covers(&path) {
            self.plan.outcome.left_alone.push(LeftAlone { path, reason: LeftAloneReason::Hidden });
            return Ok(());
        }
        self.plan.paths.push(path.clone());
        let files: Vec<&FileState> = revision.states().filter_map(as_file).collect();
        let present = present::look(self.root, &path, &files)?;
        if let Some(left_out) = self.left_out(revision) {
            if !self.is_known_before(&path, &present, revision) {
                self.leave_alone(path, &present, revision, left_out);
                return Ok(());
            }
            if present.is_directory() && self.outgrown.as_deref() == Some(path.as_path()) {
                let reason = LeftAloneReason::Outgrown;
                self.plan.outcome.left_alone.push(LeftAlone { path: path.clone(), reason });
            }
        }
        if is_done(&present, revision.first()) {
            self.plan.outcome.already += 1;
            return Ok(());
        }
        if let Some(conflict) = self.conflict(&path, &present, revision) {
            // What is in a directory that changed may be in conflict as well; beneath other obstacles nothing can be said.
            if !matches!(
                conflict.reason,
                ConflictReason::ChangedSince | ConflictReason::ChangedBetween
            ) {
                self.passed_over = Some(path);
            }
            self.conflicts.push(conflict);
            return Ok(());
        }
        match revision.first() {
            None => self.remove(path, present),
            Some(to) => self.bring(path, present, to.clone())?,
        }
        Ok(())
    }

    /// Returns what of a path was not recorded, if that means that it stays as it is.
    fn left_out(&self, revision: &Revision) -> Option<LeftOut> {
        let (from, to) = (revision.last(), revision.first());
        if let Some(State::LeftOut(to)) = to {
            return Some(*to);
        }
        let Some(State::LeftOut(from)) = from else { return None };
        let is_forced = self.overwrite == Overwrite::Force && from.kind != FileKind::Directory;
        let stays = from.reason.is_wanted() || (to.is_none() && !is_forced);
        stays.then_some(*from)
    }

    /// Tells whether a path comes back although it is not known what it was at last: because it is gone, or because it is, or
    /// is in, a directory that became too large. What such a directory held before is known.
    fn is_known_before(&mut self, path: &Path, present: &Present, revision: &Revision) -> bool {
        let (from, to) = (revision.last(), revision.first());
        let (Some(State::LeftOut(from)), Some(to)) = (from, to) else { return false };
        if matches!(to, State::LeftOut(_)) {
            return false;
        }
        let is_beneath = self.outgrown.as_ref().is_some_and(|above| path.starts_with(above));
        let is_directory = matches!(to, State::Directory { .. });
        if from.reason == Reason::Ignored && is_directory && from.kind == FileKind::Directory {
            if !is_beneath {
                self.outgrown = Some(path.to_path_buf());
            }
            return true;
        }
        is_beneath || matches!(present, Present::Absent)
    }

    /// Passes over a path of which too little is known.
    fn leave_alone(
        &mut self,
        path: PathBuf,
        present: &Present,
        revision: &Revision,
        left_out: LeftOut,
    ) {
        let is_gone = matches!(present, Present::Absent | Present::Beneath(_));
        if is_gone && revision.first().is_none() {
            self.plan.outcome.already += 1;
        } else {
            let reason = match is_gone {
                true => LeftAloneReason::Gone(left_out.reason),
                false => LeftAloneReason::NotRecorded(left_out.reason),
            };
            self.plan.outcome.left_alone.push(LeftAlone { path: path.clone(), reason });
        }
        self.passed_over = Some(path);
    }

    /// Returns why a path is not brought from what is there to where it should be.
    fn conflict(&self, path: &Path, present: &Present, revision: &Revision) -> Option<Conflict> {
        let (from, to) = (revision.last(), revision.first());
        if let Present::Beneath(above) = present {
            // Nothing can be written there, unless what is above becomes a directory by this very restore.
            let is_cleared = self.made.contains(above);
            let conflict = Conflict { path: above.clone(), reason: ConflictReason::InTheWay };
            return (!is_cleared).then_some(conflict);
        }
        if self.overwrite == Overwrite::Force {
            return None;
        }
        let reason = match present {
            _ if revision.is_broken() => ConflictReason::ChangedBetween,
            Present::Absent | Present::Beneath(_) => match from {
                None | Some(State::LeftOut(_)) => return None,
                Some(_) if revision.states().any(|state| state.is_none()) => return None,
                // An interrupted restore had removed it to put a directory in its place, or the reverse.
                Some(from) if to.is_some_and(|to| is_swap(from, to)) => return None,
                Some(_) => ConflictReason::ChangedSince,
            },
            Present::Unknown => ConflictReason::Unreadable,
            Present::Found(found) => match from {
                _ if revision.states().any(|state| is_known(found, state)) => return None,
                // It was in a directory that became too large: nobody can tell who changed it.
                Some(State::LeftOut(left_out)) if left_out.reason.is_wanted() => return None,
                Some(State::LeftOut(left_out)) => ConflictReason::NotRecorded(left_out.reason),
                Some(_) | None => ConflictReason::ChangedSince,
            },
        };
        Some(Conflict { path: path.to_path_buf(), reason })
    }

    fn remove(&mut self, path: PathBuf, present: Present) {
        self.removed.insert(path.clone());
        let step = match &present {
            // What is beneath a path that will be replaced is gone already.
            Present::Absent | Present::Beneath(_) => return,
            Present::Found(found) if found.is_directory() => {
                Step::RemoveDirectory { path, emptiness: Emptiness::Hoped }
            }
            Present::Found(_) | Present::Unknown => {
                Step::Remove { path, expected: expected(&present) }
            }
        };
        self.removals.push(step);
    }

    fn bring(&mut self, path: PathBuf, present: Present, to: State) -> Result<(), RestoreError> {
        self.require_parents(&path)?;
        let mut expected = expected(&present);
        if let Present::Found(found) = &present {
            match &to {
                State::Directory { mode } if found.is_directory() => {
                    self.plan.closing.insert(path.clone(), *mode);
                    self.made.insert(path);
                    return Ok(());
                }
                State::File(file) if found.holds(file) => {
                    self.creations.push(Step::Mode { path, file: *file, expected });
                    return Ok(());
                }
                State::File(_) | State::Link { .. } if found.is_directory() => {
                    self.emptied.push(path.clone());
                    let emptiness = Emptiness::Needed;
                    self.removals.push(Step::RemoveDirectory { path: path.clone(), emptiness });
                    expected = Expected::Absent;
                }
                State::File(_)
                | State::Link { .. }
                | State::Directory { .. }
                | State::LeftOut(_) => {}
            }
        }
        match to {
            State::File(file) => self.creations.push(Step::Write { path, file, expected }),
            State::Link { target } => self.creations.push(Step::Link { path, target, expected }),
            State::Directory { mode } => {
                // What cannot be looked at may be this very directory.
                if matches!(expected, Expected::Unchanged(_)) {
                    self.removals.push(Step::Remove { path: path.clone(), expected });
                }
                self.make_directory(path, mode);
            }
            // It was left alone before anything was looked at.
            State::LeftOut(_) => {}
        }
        Ok(())
    }

    fn make_directory(&mut self, path: PathBuf, mode: u32) {
        if self.made.insert(path.clone()) {
            self.plan.closing.insert(path.clone(), mode);
            self.creations.push(Step::MakeDirectory { path, mode });
        }
    }

    /// Plans the directories above a path that are in both records and went away since.
    fn require_parents(&mut self, path: &Path) -> Result<(), RestoreError> {
        let mut missing = Vec::new();
        for above in path.ancestors().skip(1).take_while(|above| *above != Path::new("")) {
            if self.made.contains(above)
                || !matches!(present::look(self.root, above, &[])?, Present::Absent)
            {
                break;
            }
            missing.push(above);
        }
        for above in missing.into_iter().rev() {
            let state = self.composed.look_up(self.store, above)?;
            if let Some(State::Directory { mode }) = state {
                self.make_directory(above.to_path_buf(), mode);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Plan, RestoreError> {
        for path in std::mem::take(&mut self.emptied) {
            self.require_empty(&path)?;
        }
        if !self.conflicts.is_empty() {
            self.conflicts.sort_by(|a, b| a.path.cmp(&b.path));
            self.conflicts.dedup_by(|a, b| a.path == b.path);
            return Err(RestoreError::Conflicts { conflicts: self.conflicts });
        }
        self.close_interim()?;
        self.find_staying();
        // What is in a directory goes before it.
        self.removals.reverse();
        self.plan.steps.append(&mut self.removals);
        self.plan.steps.append(&mut self.creations);
        Ok(self.plan)
    }

    /// Finds directories that something which is not to go will keep from going.
    fn find_staying(&mut self) {
        // What is in a directory comes before it.
        for step in self.removals.iter().rev() {
            let Step::RemoveDirectory { path, emptiness: Emptiness::Hoped } = step else {
                continue;
            };
            let staying = &self.plan.staying;
            let goes = |path: PathBuf| self.removed.contains(&path) && !staying.contains(&path);
            // What cannot be listed is found out when it is removed.
            let Ok(entries) = self.root.list(path) else { continue };
            if !entries.iter().all(|entry| goes(path.join(&entry.name))) {
                self.plan.staying.insert(path.clone());
            }
        }
    }

    /// Finds what would be lost if the directory at `path` became something else.
    fn require_empty(&mut self, path: &Path) -> Result<(), RestoreError> {
        let mut pending = vec![path.to_path_buf()];
        while let Some(directory) = pending.pop() {
            for entry in self.root.list(&directory)? {
                let path = directory.join(&entry.name);
                if !self.removed.contains(&path) {
                    self.conflicts.push(Conflict { path, reason: ConflictReason::InTheWay });
                } else if entry.kind == FileKind::Directory {
                    pending.push(path);
                }
            }
        }
        Ok(())
    }

    /// Finds directories, the same in both records, that an interrupted restore opened to work in them.
    fn close_interim(&mut self) -> Result<(), RestoreError> {
        let parents: BTreeSet<&Path> = self.plan.paths.iter().map(|path| parent_of(path)).collect();
        for parent in parents {
            if parent == Path::new("") || self.plan.closing.contains_key(parent) {
                continue;
            }
            let Present::Found(found) = present::look(self.root, parent, &[])? else { continue };
            let Some(state) = self.composed.look_up(self.store, parent)? else { continue };
            if let State::Directory { mode } = state
                && found.is_interim(&state)
                && !found.is(&state)
            {
                self.plan.closing.insert(parent.to_path_buf(), mode);
            }
        }
        Ok(())
    }
}

fn as_file(state: Option<&State>) -> Option<&FileState> {
    match state {
        Some(State::File(file)) => Some(file),
        Some(State::Link { .. } | State::Directory { .. } | State::LeftOut(_)) | None => None,
    }
}

fn is_done(present: &Present, to: Option<&State>) -> bool {
    match (present, to) {
        (Present::Absent | Present::Beneath(_), None) => true,
        (Present::Found(found), Some(to)) => found.is(to),
        (Present::Absent | Present::Beneath(_), Some(_))
        | (Present::Found(_), None)
        | (Present::Unknown, _) => false,
    }
}

fn is_known(found: &Found, state: Option<&State>) -> bool {
    state.is_some_and(|state| found.is(state) || found.is_interim(state))
}

/// Tells whether a path goes from a directory to something else, or the reverse, which takes two steps.
fn is_swap(from: &State, to: &State) -> bool {
    let is_directory = |state: &State| matches!(state, State::Directory { .. });
    is_directory(from) != is_directory(to)
}

fn expected(present: &Present) -> Expected {
    match present {
        Present::Absent | Present::Beneath(_) => Expected::Absent,
        Present::Unknown => Expected::Anything,
        Present::Found(found) => Expected::Unchanged(found.look),
    }
}

impl Expected {
    /// Returns what is to be replaced, if it was looked at.
    pub(super) fn look(&self) -> Option<&Look> {
        match self {
            Expected::Unchanged(look) => Some(look),
            Expected::Absent | Expected::Anything => None,
        }
    }
}
