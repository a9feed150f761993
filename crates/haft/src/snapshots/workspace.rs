//! The built-in hook: records the state of the roots before and after each effect, in a store outside of them. For a
//! call that changes files only through haft, it records these files. For a command, it records each root twice. This
//! module does not show or undo changes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{BoxFuture, CallAddress};
use haft_journal::{Journal, SnapshotNote};
use haft_sandbox::{Launcher, Mechanisms, Root};
use haft_snapshot::RecordOptions;

use super::repositories::changed_repositories;
use super::root::{RootSnapshot, SnapshotRoot, SnapshotScope};
use super::{PendingEffect, SnapshotError, Snapshots};
use crate::clock::Clock;
use crate::roots::WorkspaceRoots;

/// How many calls that ran at the same time a note names; the others are counted.
pub(crate) const OVERLAPS_NAMED_MAX: usize = 8;

/// The note of a call until it is over.
const NOT_OVER: &str = "the state after it is not known: it is not over, or haft died in it";

/// Records the state of workspaces before and after each effect.
pub struct WorkspaceSnapshots {
    /// The roots, with their stores.
    roots: Vec<Arc<SnapshotRoot>>,
    /// The directories of git in the roots whose refs and index are recorded, too.
    repositories: Vec<Arc<SnapshotRoot>>,
    /// Records the notes about snapshots.
    journal: Arc<dyn Journal>,
    /// Gives the times of the notes.
    clock: Arc<dyn Clock>,
    /// Absolute paths that haft records with every effect, without the paths below them.
    included: Vec<PathBuf>,
    /// Starts the commands, with these mechanisms.
    commands: Option<(Launcher, Mechanisms)>,
    /// Written by each call when it begins and when it ends, to find out which ones run at the same time.
    active: Mutex<HashMap<CallAddress, ActiveEffect>>,
}

/// A call that is having its effect.
struct ActiveEffect {
    /// The parts of roots that the call may change.
    root_effects: Vec<RootEffect>,
    /// The calls that changed overlapping parts at the same time.
    overlaps: Vec<CallAddress>,
}

/// The part of one root that a call may change.
struct RootEffect {
    /// The root.
    root: Arc<SnapshotRoot>,
    /// The paths that the call may change.
    scope: SnapshotScope,
    /// The state before the effect, or why it is not known; `None` until it was recorded.
    before: Option<Result<RootSnapshot, String>>,
}

/// Removes a call from the calls with an effect in progress.
struct ActiveEffectGuard<'a> {
    /// The hook that lists the call.
    snapshots: &'a WorkspaceSnapshots,
    /// The call to remove.
    call: &'a CallAddress,
}

impl Drop for ActiveEffectGuard<'_> {
    fn drop(&mut self) {
        self.snapshots.active().remove(self.call);
    }
}

impl WorkspaceSnapshots {
    /// Returns a hook that records the roots in stores below `directory`. haft makes the directory with the first
    /// snapshot. It must be outside of the roots, so that no call can change it.
    pub fn new(
        directory: &Path,
        roots: &WorkspaceRoots,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        options: &RecordOptions,
    ) -> Self {
        let place = |root| Arc::new(SnapshotRoot::new(root, directory, options));
        Self {
            roots: roots.all().map(place).collect(),
            repositories: Vec::new(),
            journal,
            clock,
            included: Vec::new(),
            commands: None,
            active: Mutex::default(),
        }
    }

    /// Does not record these absolute paths and the paths below them, because no call can read them. Front ends pass
    /// [`Sandbox::hidden`](crate::Sandbox::hidden).
    #[must_use]
    pub fn hiding(mut self, places: &[PathBuf]) -> Self {
        let hide = |roots: &[Arc<SnapshotRoot>]| -> Vec<Arc<SnapshotRoot>> {
            roots.iter().map(|place| Arc::new(place.hiding(places))).collect()
        };
        (self.roots, self.repositories) = (hide(&self.roots), hide(&self.repositories));
        self
    }

    /// Records the refs and the index of repositories with each command, too. `directories` are those that git keeps its own
    /// files in, such as `/project/.git`. One that cannot be opened is left out. Objects are not recorded: a command that adds
    /// some leaves them, and those that a command removes are lost.
    #[must_use]
    pub fn recording_repositories(
        mut self,
        stores: &Path,
        directories: &[PathBuf],
        options: &RecordOptions,
    ) -> Self {
        let opened = directories.iter().filter_map(|directory| Root::open(directory).ok());
        let place = |root: Root| Arc::new(SnapshotRoot::new(&root, stores, options));
        self.repositories = opened.map(place).collect();
        self
    }

    /// Records these absolute paths with every effect, even if the call does not declare them. Paths beneath them are
    /// not included.
    #[must_use]
    pub fn including(mut self, paths: Vec<PathBuf>) -> Self {
        self.included = paths;
        self
    }

    /// Lets a full snapshot cost only what changed since the last one, if this launcher confines every command by
    /// namespaces. Otherwise a command can link a file to a place outside of the roots and change it there, which only
    /// a walk of everything finds. Without this, each full snapshot walks everything.
    #[must_use]
    pub fn following(mut self, launcher: Launcher, mechanisms: Mechanisms) -> Self {
        self.commands = Some((launcher, mechanisms));
        self
    }

    /// Returns whether the kernel reports every change of the roots, so that a snapshot need not read all files.
    async fn are_changes_followed(&self) -> bool {
        match &self.commands {
            Some((launcher, mechanisms)) => launcher.isolates_mounts(*mechanisms).await,
            None => false,
        }
    }

    /// Returns whether everything that an executing call may change was recorded before. A tool can ask this before it
    /// overwrites the only copy of data.
    pub fn has_recorded_before(&self, call: &CallAddress) -> bool {
        let is_seen = |scene: &RootEffect| matches!(scene.before, Some(Ok(_)));
        self.active().get(call).is_some_and(|active| active.root_effects.iter().all(is_seen))
    }

    /// Locks the calls that have an effect in progress.
    fn active(&self) -> std::sync::MutexGuard<'_, HashMap<CallAddress, ActiveEffect>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a note, and returns its snapshots. Until the journal answers, pruning keeps these snapshots. This also
    /// holds after the caller gave up, because the note may still be recorded.
    async fn record_note<L: Send + 'static>(
        &self,
        note: SnapshotNote,
        looks: L,
    ) -> Result<L, SnapshotError> {
        let journal = Arc::clone(&self.journal);
        // The caller may drop this future. The task ends with the journal's answer.
        let recording = tokio::spawn(async move {
            let recorded = journal.note_snapshot(note).await;
            recorded.map(|()| looks).map_err(|err| SnapshotError::new(err.to_string()))
        });
        recording.await.unwrap_or_else(|err| Err(SnapshotError::new(err.to_string())))
    }

    /// Returns a note about a call and a root, without snapshots.
    fn note(&self, call: &CallAddress, place: &SnapshotRoot, note: String) -> SnapshotNote {
        SnapshotNote {
            call: call.clone(),
            root: place.root().to_string_lossy().into_owned(),
            before: None,
            after: None,
            note: Some(note),
            taken_at_ms: self.clock.now_ms(),
            repositories: Vec::new(),
        }
    }
}

impl Snapshots for WorkspaceSnapshots {
    fn before_effect<'a>(
        &'a self,
        effect: &'a PendingEffect,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        Box::pin(async move {
            let scope = |place: &Arc<SnapshotRoot>| {
                let beneath = |paths: &[PathBuf]| -> Vec<PathBuf> {
                    let beneath =
                        paths.iter().filter_map(|path| path.strip_prefix(place.root()).ok());
                    beneath.map(Path::to_path_buf).collect()
                };
                let (mut writes, included) = (beneath(&effect.writes), beneath(&self.included));
                let is_whole = effect.runs_commands || writes.iter().any(|path| *path == *"");
                let scope = match (writes.is_empty(), included.is_empty()) {
                    _ if is_whole => SnapshotScope::Everything,
                    (true, true) => return None,
                    (true, false) => SnapshotScope::Exactly(included),
                    (false, _) => {
                        writes.extend(included);
                        SnapshotScope::Paths(writes)
                    }
                };
                Some((Arc::clone(place), scope))
            };
            let of_repository = |place: &Arc<SnapshotRoot>| {
                let named = scope(place).map(|(_, scope)| scope);
                let scope = match named {
                    Some(SnapshotScope::Exactly(paths)) if !effect.runs_commands => {
                        SnapshotScope::Exactly(paths)
                    }
                    None => return None,
                    Some(_) => SnapshotScope::Paths(REPOSITORY_PATHS.map(PathBuf::from).to_vec()),
                };
                Some((Arc::clone(place), scope))
            };
            let of_roots = self.roots.iter().filter_map(scope);
            let of_repositories = self.repositories.iter().filter_map(of_repository);
            let scopes: Vec<_> = of_roots.chain(of_repositories).collect();
            if scopes.is_empty() {
                return Ok(());
            }
            let root_effect = |(root, scope): &(Arc<SnapshotRoot>, SnapshotScope)| RootEffect {
                root: Arc::clone(root),
                scope: scope.clone(),
                before: None,
            };
            let mut entering = ActiveEffect {
                root_effects: scopes.iter().map(root_effect).collect(),
                overlaps: Vec::new(),
            };
            {
                let mut active = self.active();
                for (other, running) in active.iter_mut() {
                    if running.overlaps(&entering) {
                        running.overlaps.push(effect.call_id.clone());
                        entering.overlaps.push(other.clone());
                    }
                }
                active.insert(effect.call_id.clone(), entering);
            }
            let is_followed = self.are_changes_followed().await;
            for (index, (root, scope)) in scopes.iter().enumerate() {
                let mut snapshot = root.take_snapshot(scope, is_followed).await;
                if *scope == SnapshotScope::Everything
                    && let Ok(seen) = snapshot
                {
                    // Commands take long and can be killed. This note shows their changes until then.
                    let mut note = self.note(&effect.call_id, root, NOT_OVER.to_owned());
                    note.before = Some(seen.tree.to_string());
                    snapshot = Ok(self.record_note(note, seen).await?);
                }
                if let Some(active) = self.active().get_mut(&effect.call_id)
                    && let Some(root_effect) = active.root_effects.get_mut(index)
                {
                    root_effect.before = Some(snapshot);
                }
            }
            Ok(())
        })
    }

    fn durability_snapshot<'a>(
        &'a self,
        _tool: &'a str,
        call: &'a CallAddress,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        Box::pin(async move {
            let scopes: Vec<(Arc<SnapshotRoot>, SnapshotScope)> = match self.active().get(call) {
                Some(active) => {
                    let effects = active.root_effects.iter();
                    effects.map(|effect| (Arc::clone(&effect.root), effect.scope.clone())).collect()
                }
                None => return Ok(()),
            };
            // The caller may drop this future; the guard then removes the call.
            let leaving = ActiveEffectGuard { snapshots: self, call };
            let is_followed = self.are_changes_followed().await;
            let mut snapshots = Vec::with_capacity(scopes.len());
            for (root, scope) in &scopes {
                snapshots.push(root.take_snapshot(scope, is_followed).await);
            }
            // Effects that begin from now on cannot show in these snapshots.
            let left = self.active().remove(call);
            drop(leaving);
            let Some(ActiveEffect { root_effects, overlaps }) = left else { return Ok(()) };
            let recorded = recorded_repositories(&root_effects, &snapshots);
            for (effect, after) in root_effects.into_iter().zip(snapshots) {
                let before =
                    effect.before.unwrap_or_else(|| Err("there was no time for it".to_owned()));
                // A snapshot of single files is useful only with a second one to compare.
                let is_kept = after.is_ok() || effect.scope == SnapshotScope::Everything;
                let mut remarks = Vec::new();
                remarks.extend(before.as_ref().err().map(|why| unknown_state_text("before", why)));
                remarks.extend(after.as_ref().err().map(|why| unknown_state_text("after", why)));
                remarks.extend(overlap_text(&overlaps));
                let repositories = match (&before, &after) {
                    (Ok(before), Ok(after)) => {
                        let stamps = (&*before.repositories, &*after.repositories);
                        let is_recorded =
                            |git: &Path| recorded.contains(&effect.root.root().join(git));
                        changed_repositories(stamps, is_recorded)
                    }
                    (Err(_), _) | (_, Err(_)) => Vec::new(),
                };
                let kept_before = before.as_ref().ok().filter(|_| is_kept);
                let note = SnapshotNote {
                    before: kept_before.map(|snapshot| snapshot.tree.to_string()),
                    after: after.as_ref().ok().map(|snapshot| snapshot.tree.to_string()),
                    note: (!remarks.is_empty()).then(|| remarks.join("; ")),
                    repositories,
                    ..self.note(call, &effect.root, String::new())
                };
                drop(self.record_note(note, (before, after)).await?);
            }
            Ok(())
        })
    }

    fn not_executed(&self, call_id: &CallAddress) {
        self.active().remove(call_id);
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            for place in self.roots.iter().chain(&self.repositories) {
                place.sync().await;
            }
        })
    }
}

impl ActiveEffect {
    /// Returns whether both calls may change the same files.
    fn overlaps(&self, other: &ActiveEffect) -> bool {
        self.root_effects.iter().any(|ours| {
            let is_same = |theirs: &&RootEffect| Arc::ptr_eq(&ours.root, &theirs.root);
            other
                .root_effects
                .iter()
                .filter(is_same)
                .any(|theirs| ours.scope.overlaps(&theirs.scope))
        })
    }
}

/// The files of a repository that say what is checked out, what branches and tags are, and what is staged.
const REPOSITORY_PATHS: [&str; 5] = ["HEAD", "ORIG_HEAD", "index", "packed-refs", "refs"];

/// Returns the directories of git whose refs and index were recorded before and after the effect.
fn recorded_repositories(
    effects: &[RootEffect],
    after: &[Result<RootSnapshot, String>],
) -> Vec<PathBuf> {
    let both = effects.iter().zip(after).filter(|(effect, after)| {
        matches!(effect.before, Some(Ok(_))) && after.is_ok() && is_repository(effect.root.root())
    });
    both.map(|(effect, _)| effect.root.root().to_path_buf()).collect()
}

/// Returns whether a root of snapshots is a directory of git.
pub(super) fn is_repository(root: &Path) -> bool {
    root.file_name().is_some_and(|name| name == ".git")
}

/// Returns the remark about a state that could not be recorded.
fn unknown_state_text(when: &str, why: &str) -> String {
    format!("the state {when} it is not known: {why}")
}

/// Names the calls that ran at the same time. A change of one of them may appear as a change of the other.
fn overlap_text(calls: &[CallAddress]) -> Option<String> {
    let (named, more) = calls.split_at(calls.len().min(OVERLAPS_NAMED_MAX));
    let names: Vec<String> = named.iter().map(CallAddress::to_string).collect();
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    (!calls.is_empty()).then(|| format!("overlaps with {}{more}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use haft_contract::{AttemptAddress, RunId};

    use super::*;

    #[test]
    fn so_many_calls_that_ran_at_the_same_time_are_named() {
        let text = |calls: u32| {
            let scope = AttemptAddress::first_of_run(RunId::parse("r").unwrap());
            let calls: Vec<CallAddress> =
                (1..=calls).map(|seq| CallAddress { scope: scope.clone(), seq }).collect();
            overlap_text(&calls).unwrap_or_default()
        };
        let most = u32::try_from(OVERLAPS_NAMED_MAX).unwrap();
        assert_eq!(text(0), "");
        assert_eq!(text(1), "overlaps with r/main/0/1/1");
        assert!(text(most).ends_with(&format!("r/main/0/1/{most}")), "{}", text(most));
        assert!(text(most + 2).ends_with(&format!("r/main/0/1/{most} and 2 more")));
    }
}
