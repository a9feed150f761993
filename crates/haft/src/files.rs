//! Files as a call reaches them: beneath the roots, as far as its grant goes, and for reading the session's sidecars and
//! the directories of skills that were loaded.

pub(crate) mod links;
mod repository;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_contract::{
    DirectoryEntry, Effect, ErrorCode, FileChange, FileChangeError, FilePath, FileStamp, Fs,
    FsEntryKind, OpenRegularFile, Precondition, ToolError,
};
use haft_journal::Intent;
use haft_policy::{Grant, PathSubject};
use haft_sandbox::{
    ChangeSetError, ChangeTag, ExpectedFile, InodeStamp, OpenedRootFile, PathAccess, Root,
    RootError, RootFileChange,
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::effects::FileEffects;
use crate::granted_places::GrantedPlaces;
use crate::roots::{WorkspaceRoots, file_kind, path_error};
use crate::sandbox::{DeniedPaths, Sandbox};
use crate::shared::RuntimeShared;
use crate::sidecar::Sidecars;
use crate::skills::ConnectionSkills;

/// The index of the sidecar directory in a [`FilePath`], after every workspace root.
const SIDECAR_ROOT: usize = usize::MAX;
/// The index of the first skill's directory in a [`FilePath`]; there are never so many workspace roots.
const SKILL_ROOTS: usize = usize::MAX / 2;
/// The index of the first granted place outside the roots in a [`FilePath`].
const GRANTED_ROOTS: usize = usize::MAX / 4;

/// Where the paths of a session can lead.
#[derive(Clone)]
pub(crate) struct PathResolver {
    pub(crate) roots: WorkspaceRoots,
    /// The sidecars of the connection, which its calls can read.
    sidecars: Arc<Sidecars>,
    /// The directory of the sidecars, opened with the first path in it.
    sidecar_root: Arc<OnceLock<Root>>,
    /// The loaded skills, whose files calls can read.
    skills: Arc<ConnectionSkills>,
    /// The places outside the roots that requirements name.
    pub(crate) granted: GrantedPlaces,
}

impl PathResolver {
    /// Returns a resolver for a connection. It opens the directory of the sidecars when a path first needs it.
    pub(crate) fn new(
        roots: WorkspaceRoots,
        sidecars: Arc<Sidecars>,
        skills: Arc<ConnectionSkills>,
        granted: GrantedPlaces,
    ) -> Self {
        Self { roots, sidecars, sidecar_root: Arc::default(), skills, granted }
    }

    /// Resolves a path from a tool's input, and expands all symlinks.
    pub(crate) fn resolve(&self, path: &str) -> Result<(FilePath, Option<FsEntryKind>), ToolError> {
        let (index, root, relative) = match self.locate_read_only(path) {
            Some(located) => located,
            None => match self.roots.resolve(path) {
                Err(err) if err.code == ErrorCode::PathEscape => {
                    self.locate_granted(path).ok_or(err)?
                }
                resolved => return resolved,
            },
        };
        let resolved = root.resolve(&relative).map_err(|err| path_error(path, &err))?;
        let display = root.path().join(&resolved.path).to_string_lossy().into_owned();
        Ok((FilePath::new(index, resolved.path, display), resolved.kind.map(file_kind)))
    }

    /// Returns the place that a path names by its spelling, which must hold no `..`.
    pub(crate) fn unresolved_path(&self, path: &str) -> Result<FilePath, ToolError> {
        self.roots.unresolved_path(path).or_else(|err| {
            let (index, _, relative) = self.locate_granted(path).ok_or(err)?;
            Ok(FilePath::new(index, relative, path.to_owned()))
        })
    }

    fn locate_granted(&self, path: &str) -> Option<(usize, &Root, PathBuf)> {
        let (index, root, relative) = self.granted.locate(Path::new(path))?;
        Some((GRANTED_ROOTS + index, root, relative))
    }

    /// Returns each place through which a path leads, if it starts beneath a root; see [`WorkspaceRoots::spellings`].
    pub(crate) fn spellings(&self, path: &str) -> Vec<PathSubject> {
        if self.locate_read_only(path).is_some() {
            return Vec::new();
        }
        self.roots.spellings(path)
    }

    /// Returns the path that rules judge, or `None` for a sidecar or a file of a skill. The connection's own outputs
    /// and the skills that it loaded need no permission.
    pub(crate) fn subject(&self, path: &FilePath) -> Option<PathSubject> {
        match path.root() {
            index if index < GRANTED_ROOTS => Some(self.roots.subject(path)),
            index if index < SKILL_ROOTS => {
                let index = index - GRANTED_ROOTS;
                Some(self.granted.subject(index, path.relative(), &self.roots))
            }
            _ => None,
        }
    }

    /// Returns the root that a place lies beneath.
    pub(crate) fn root_of(&self, path: &FilePath) -> Result<&Root, ToolError> {
        let root = match path.root() {
            SIDECAR_ROOT => self.sidecar_root.get(),
            index if index < GRANTED_ROOTS => self.roots.root(index),
            index if index < SKILL_ROOTS => self.granted.root(index - GRANTED_ROOTS),
            index => self.skills.loaded_root(index - SKILL_ROOTS),
        };
        root.ok_or_else(|| {
            ToolError::new(
                ErrorCode::PathInvalid,
                format!("path {:?} belongs to no root of this call", path.display()),
            )
        })
    }

    /// Returns the place of a read-only path that no rule judges. Rules judge each path beneath a root, even if it is
    /// part of a skill.
    fn locate_read_only(&self, path: &str) -> Option<(usize, &Root, PathBuf)> {
        let adopted = self.sidecars.adopted_copy(Path::new(path));
        let path = adopted.as_deref().unwrap_or(Path::new(path));
        if let Some(directory) = self.sidecars.directory()
            && let Ok(relative) = path.strip_prefix(directory)
        {
            let opened = match self.sidecar_root.get() {
                Some(root) => Some(root),
                None => {
                    let root = Root::open(directory).ok();
                    root.map(|root| self.sidecar_root.get_or_init(|| root))
                }
            };
            if let Some(root) = opened {
                return Some((SIDECAR_ROOT, root, relative.to_path_buf()));
            }
        }
        if self.roots.all().any(|root| path.starts_with(root.path())) {
            return None;
        }
        let mut skills = self.skills.loaded_roots();
        skills.find_map(|(place, root)| {
            let relative = path.strip_prefix(root.path()).ok()?.to_path_buf();
            Some((SKILL_ROOTS + place, root, relative))
        })
    }
}

/// The files that one call may touch.
pub(crate) struct GrantedFs {
    /// Resolves the paths of the call.
    pub(crate) paths: PathResolver,
    /// The files that the call may read and change.
    pub(crate) grant: Arc<Grant>,
    /// The places that the call declared it would change, and that were judged; nothing else is changed.
    pub(crate) declared_changes: Vec<PathBuf>,
    /// Whether the tool reads files at all, and so may read the session's sidecars and skills.
    pub(crate) reads_sidecars: bool,
    /// Cancelled when the call is to stop; from then on nothing is changed.
    pub(crate) stop: CancellationToken,
    /// The state of the runtime, with the places that the sandbox hides from every call.
    pub(crate) shared: Arc<RuntimeShared>,
    /// The intent that records each change before it is made. Without an intent, no file is changed.
    pub(crate) intent: Option<Arc<OpenIntent>>,
    /// Marks the temporaries of this call.
    pub(crate) tag: ChangeTag,
    /// The paths that rules keep from every process, and from this call by any of their names.
    pub(crate) denied: Option<Arc<DeniedPaths>>,
    /// The denied names, once a file with several names was opened.
    pub(crate) denied_names: OnceLock<HashSet<PathBuf>>,
    /// How many entries were left out of lists.
    pub(crate) unlisted: AtomicUsize,
}

/// The intent of a call while the call executes. A change of files locks it to add details. Settling the call takes the
/// intent out, so that no details are added afterwards.
pub(crate) struct OpenIntent {
    /// The intent until the call is settled.
    intent: Mutex<Option<Intent>>,
    /// Whether a call does more to the world than one set of changes, as far as its tool says.
    has_other_effects: bool,
    /// How many sets of changes were announced and not given up since.
    announced_changes: AtomicU32,
}

impl OpenIntent {
    /// Opens an intent. A tool that only changes files has no effect beyond its changes.
    pub(crate) fn new(intent: Intent, only_changes_files: bool) -> Self {
        let announced = AtomicU32::new(0);
        Self {
            intent: Mutex::new(Some(intent)),
            has_other_effects: !only_changes_files,
            announced_changes: announced,
        }
    }

    /// Ends the time in which something can be added to it.
    pub(crate) fn take(&self) -> Option<Intent> {
        self.intent.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl GrantedFs {
    fn sandbox(&self) -> &Sandbox {
        &self.shared.parts.sandbox
    }

    /// Returns whether the call may read the file: a granted file of a root, a sidecar, or a file of a loaded skill.
    fn may_read(&self, path: &FilePath) -> bool {
        match self.paths.subject(path) {
            Some(subject) => self.grant.permits_read(&subject) && !self.shared.is_hidden(&subject),
            None => {
                // Loading a skill does not let a call read hidden files or files that a rule denies.
                let skill = path.root().checked_sub(SKILL_ROOTS);
                let skill = skill.filter(|_| path.root() != SIDECAR_ROOT);
                let root = skill.and_then(|skill| self.paths.skills.loaded_root(skill));
                let is_kept_back = root.is_some_and(|root| {
                    let file = PathSubject::outside_roots(root.path().join(path.relative()));
                    self.shared.is_hidden(&file) || self.grant.denies_read(&file)
                });
                self.reads_sidecars && !is_kept_back
            }
        }
    }

    /// Returns whether the call may change the file. It must have declared the change, and the file must not be
    /// protected.
    fn may_write(&self, path: &FilePath) -> bool {
        self.paths.subject(path).is_some_and(|subject| {
            let declared = |place: &PathBuf| subject.absolute.starts_with(place);
            self.declared_changes.iter().any(declared)
                && self.grant.permits_write(&subject)
                && self.sandbox().check_write(&subject).is_ok()
        })
    }

    /// Records the changes that are about to happen. If the process dies, a later process can then tell whether they
    /// did.
    fn record_intended_changes(
        &self,
        root: &Root,
        changes: &[RootFileChange],
        answer: &Value,
    ) -> Result<(), ToolError> {
        let open = self.intent.as_ref();
        let slot = open.map(|open| open.intent.lock().unwrap_or_else(PoisonError::into_inner));
        let Some((open, intent)) = open.zip(slot.as_ref().and_then(|slot| slot.as_ref())) else {
            let message =
                "the call is over, or was only a question whether it happened: nothing was changed";
            return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
        };
        if intent.call().effect == Effect::Read {
            // Its row comes when it is over; what a tool does that says it only reads is not undone.
            return Ok(());
        }
        let shown = root.path().to_string_lossy();
        let effects = FileEffects::from_changes(root, self.tag, changes, answer)
            .map_err(|err| path_error(&shown, &err))?;
        // Names that no text can hold leave it at the fact that something was about to change.
        let is_part =
            open.announced_changes.fetch_add(1, Ordering::Relaxed) > 0 || open.has_other_effects;
        let details = effects
            .map_or_else(|| "{}".to_owned(), |effects| effects.with_is_part(is_part).to_json());
        let recorded = block_on_journal(self.shared.parts.journal.amend(intent, details));
        recorded.map_err(|err| {
            let message = format!("nothing was changed, because it could not be recorded: {err}");
            ToolError::new(ErrorCode::ToolFailed, message)
        })
    }

    /// Opens a file that the call may read, and that is not another name of a hidden one.
    fn open_with(
        &self,
        path: &FilePath,
        open: impl FnOnce(&Root, &Path) -> Result<OpenedRootFile, RootError>,
    ) -> Result<OpenRegularFile, ToolError> {
        self.check_access(self.may_read(path), "reading", path)?;
        let opened = open(self.paths.root_of(path)?, path.relative());
        let opened = opened.map_err(|err| path_error(path.display(), &err))?;
        self.sandbox().check_links(&opened)?;
        if opened.has_other_names && self.is_denied_elsewhere(path)? {
            let message =
                format!("{:?} is another name of a file that a rule denies", path.display());
            return Err(ToolError::new(ErrorCode::CapabilityDenied, message));
        }
        let OpenedRootFile { file, stamp, .. } = opened;
        let stamp = FileStamp {
            device: stamp.device,
            inode: stamp.inode,
            size: stamp.size_bytes,
            modified_ns: stamp.modified_ns,
            changed_ns: stamp.changed_ns,
            mode: stamp.mode,
        };
        Ok(OpenRegularFile { file, stamp })
    }

    /// Returns whether a file with several names has one that a rule denies.
    fn is_denied_elsewhere(&self, path: &FilePath) -> Result<bool, ToolError> {
        let (Some(denied), Some(subject)) = (&self.denied, self.paths.subject(path)) else {
            return Ok(false);
        };
        if self.denied_names.get().is_none() {
            // One search serves the whole call, because a walk can meet many such files.
            let found = self.shared.parts.launcher.find_ruled_paths(denied.ruled_paths());
            let found = found.map_err(|err| {
                let message = format!(
                    "{:?} has several names, and could not be compared with what rules deny: {err}",
                    path.display()
                );
                ToolError::new(ErrorCode::CapabilityDenied, message)
            })?;
            let unreadable = found.into_iter().filter(|it| it.access == PathAccess::Nothing);
            let _ = self.denied_names.set(unreadable.map(|it| it.path).collect());
        }
        Ok(self.denied_names.get().is_some_and(|names| names.contains(&subject.absolute)))
    }

    /// Refuses a file that is not allowed. `verb` says in the message what the call wanted to do.
    fn check_access(&self, allowed: bool, verb: &str, path: &FilePath) -> Result<(), ToolError> {
        if allowed {
            return Ok(());
        }
        let message = format!("{verb} {:?} is outside what this call was granted", path.display());
        Err(ToolError::new(ErrorCode::CapabilityDenied, message))
    }
}

impl Fs for GrantedFs {
    fn resolve(&self, path: &str) -> Result<(FilePath, Option<FsEntryKind>), ToolError> {
        let (place, kind) = self.paths.resolve(path)?;
        let may_write = self.may_write(&place);
        if self.denied.is_some() {
            // A file behind a link with a denied name is denied, whatever its other name is.
            let spellings = self.paths.spellings(path);
            let is_denied = spellings.iter().any(|spelling| self.grant.denies_read(spelling));
            self.check_access(!is_denied, "reaching", &place)?;
        }
        self.check_access(self.may_read(&place) || may_write, "reaching", &place)?;
        if may_write {
            // A path that the call may change under one name can be protected under the name that this call uses.
            let spellings = self.paths.spellings(path);
            spellings.iter().try_for_each(|spelling| self.sandbox().check_write(spelling))?;
        }
        Ok((place, kind))
    }

    fn open(&self, path: &FilePath) -> Result<OpenRegularFile, ToolError> {
        self.open_with(path, Root::open_file)
    }

    fn open_regular(&self, path: &FilePath) -> Result<OpenRegularFile, ToolError> {
        self.open_with(path, Root::open_checked_file)
    }

    fn is_cached(&self, path: &str, bytes_max: u64) -> bool {
        // Reading nothing of a file that the call may not read tells nothing about it.
        let Ok((place, Some(FsEntryKind::Regular))) = self.paths.resolve(path) else {
            return false;
        };
        let root = self.paths.root_of(&place);
        self.may_read(&place) && root.is_ok_and(|root| root.is_cached(place.relative(), bytes_max))
    }

    fn list(&self, path: &FilePath) -> Result<Vec<DirectoryEntry>, ToolError> {
        self.check_access(self.may_read(path), "listing", path)?;
        let root = self.paths.root_of(path)?;
        let entries = root.list(path.relative()).map_err(|err| path_error(path.display(), &err))?;
        let all = entries.len();
        let visible = entries.into_iter().filter(|entry| self.may_read(&path.join(&entry.name)));
        let visible: Vec<DirectoryEntry> = visible
            .map(|entry| DirectoryEntry { kind: file_kind(entry.kind), name: entry.name })
            .collect();
        self.unlisted.fetch_add(all - visible.len(), Ordering::Relaxed);
        Ok(visible)
    }

    fn unlisted(&self) -> usize {
        self.unlisted.load(Ordering::Relaxed)
    }

    fn apply(&self, changes: Vec<FileChange>) -> Result<(), FileChangeError> {
        self.apply_with_answer(changes, &Value::Null)
    }

    fn apply_with_answer(
        &self,
        changes: Vec<FileChange>,
        answer: &Value,
    ) -> Result<(), FileChangeError> {
        let Some(first) = changes.first() else { return Ok(()) };
        if self.stop.is_cancelled() {
            let message = "the call was told to stop, so nothing was changed";
            return Err(ToolError::new(ErrorCode::ProcessAborted, message).into());
        }
        let root = self.paths.root_of(path_of(first))?.clone();
        for change in &changes {
            let path = path_of(change);
            self.check_access(self.may_write(path), "writing", path)?;
            if path.root() != path_of(first).root() {
                let message = format!(
                    "{:?} and {:?} lie in different roots, where changes cannot be made all or none: change them in \
                     separate calls",
                    path_of(first).display(),
                    path.display()
                );
                return Err(ToolError::new(ErrorCode::PathInvalid, message).into());
            }
        }
        // Held until the changes are made, or two calls could each add what the other one was judged without. Nearly all
        // changes have nothing to do with that, and wait for no other.
        let _changing =
            repository::may_affect_repository(&changes).then(|| self.paths.roots.lock_changes());
        repository::check(&root, &self.sandbox().protected, &changes)?;
        links::check(&root, &self.sandbox().protected_in(root.path()), &changes)?;
        let sandbox_change = |change| match change {
            FileChange::Write { path, contents, mode, precondition } => RootFileChange::Write {
                path: path.relative().to_path_buf(),
                contents,
                mode,
                expected: expected(precondition),
            },
            FileChange::Remove { path, precondition } => RootFileChange::Remove {
                path: path.relative().to_path_buf(),
                expected: expected(precondition),
            },
        };
        let changes: Vec<RootFileChange> = changes.into_iter().map(sandbox_change).collect();
        self.record_intended_changes(&root, &changes, answer)?;
        let applied = root.apply_tagged(self.tag, changes);
        if let (Err(_), Some(open)) = (&applied, &self.intent) {
            open.announced_changes.fetch_sub(1, Ordering::Relaxed);
        }
        applied.map_err(|err| {
            let code = match &err {
                ChangeSetError::Path(RootError::Full { .. }) => {
                    let message =
                        format!("{err}: free some space on that disk, then make the call again");
                    let err = ToolError::new(ErrorCode::ToolFailed, message);
                    return FileChangeError::Failed(err);
                }
                ChangeSetError::Changed { path } => {
                    return FileChangeError::Changed { path: path.to_string_lossy().into_owned() };
                }
                ChangeSetError::Path(RootError::Outside { .. } | RootError::Escape { .. }) => {
                    ErrorCode::PathEscape
                }
                _ => ErrorCode::PathInvalid,
            };
            FileChangeError::Failed(ToolError::new(code, err.to_string()))
        })
    }
}

/// Waits for a journal on the thread of a tool that blocks.
fn block_on_journal<T>(answer: impl Future<Output = T>) -> T {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::task::Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = std::task::Context::from_waker(&waker);
    let mut answer = std::pin::pin!(answer);
    loop {
        if let std::task::Poll::Ready(answer) = answer.as_mut().poll(&mut context) {
            return answer;
        }
        std::thread::park();
    }
}

/// Returns the file that a change is about.
fn path_of(change: &FileChange) -> &FilePath {
    match change {
        FileChange::Write { path, .. } | FileChange::Remove { path, .. } => path,
    }
}

/// Returns the precondition of a change as the sandbox checks it.
fn expected(precondition: Precondition) -> ExpectedFile {
    match precondition {
        Precondition::Any => ExpectedFile::Any,
        Precondition::Absent => ExpectedFile::Absent,
        Precondition::Unchanged(stamp) => ExpectedFile::Unchanged(InodeStamp {
            device: stamp.device,
            inode: stamp.inode,
            size_bytes: stamp.size,
            modified_ns: stamp.modified_ns,
            changed_ns: stamp.changed_ns,
            mode: stamp.mode,
        }),
    }
}
