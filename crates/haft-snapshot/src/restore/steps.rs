//! Executes the steps of a plan. Each is one rename, removal or change of bits in an open directory
//! that was reached without following links. If the process is killed in between, every path is in
//! its old or new state. `replacement` replaces entries without losing concurrent changes. Nothing
//! is decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use haft_sandbox::{InodeKind, PathMetadata, Root, RootError};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, chmod, fchmod, fchown, fdatasync, fstat, mkdirat, openat,
    symlinkat, unlinkat,
};
use rustix::io::{self, Errno};

use super::plan::{EmptinessRequirement, ExpectedEntry, RestorePlan, RestoreStep};
use super::present::WORKING_BITS;
use super::replacement::{ReplacementTarget, temporary_name};
use super::{RestoreReport, SkipReason, SkippedPath};
use crate::directory::{EntryMetadata, OpenDirectory, name_of, parent_of};
use crate::error::RestoreError;
use crate::state::{FileOwner, RecordedFile};
use crate::store::SnapshotStore;
use crate::tree::SET_ID;

/// A restore in progress.
pub(super) struct RestoreExecutor<'a> {
    store: &'a SnapshotStore,
    root: &'a Root,
    outcome: RestoreReport,
    /// The final permission bits of directories.
    final_modes: BTreeMap<PathBuf, u32>,
    /// Directories in which names changed.
    touched: BTreeSet<PathBuf>,
}

impl<'a> RestoreExecutor<'a> {
    pub(super) fn new(store: &'a SnapshotStore, root: &'a Root) -> RestoreExecutor<'a> {
        let (outcome, closing, touched) =
            (RestoreReport::default(), BTreeMap::new(), BTreeSet::new());
        RestoreExecutor { store, root, outcome, final_modes: closing, touched }
    }

    /// Executes at most `steps_max` steps of the plan, in order.
    pub(super) fn run_plan(
        mut self,
        plan: RestorePlan,
        steps_max: usize,
    ) -> Result<RestoreReport, RestoreError> {
        self.outcome = plan.outcome;
        self.final_modes = plan.final_modes;
        let planned: BTreeSet<PathBuf> = self.final_modes.keys().cloned().collect();
        for path in &plan.paths {
            self.remove_temporary(path);
        }
        let is_cut = plan.steps.len() > steps_max;
        for step in plan.steps.into_iter().take(steps_max) {
            self.make_step(step)?;
        }
        if is_cut {
            return Ok(self.outcome);
        }
        self.sync()?;
        self.set_final_modes(&planned)?;
        Ok(self.outcome)
    }

    fn make_step(&mut self, step: RestoreStep) -> Result<(), RestoreError> {
        match step {
            RestoreStep::Remove { path, expected } => self.remove(&path, expected),
            RestoreStep::RemoveDirectory { path, emptiness } => {
                self.remove_directory(path, emptiness)
            }
            RestoreStep::MakeDirectory { path, mode } => self.make_directory(&path, mode),
            RestoreStep::Write { path, file, expected } => self.write(&path, &file, expected),
            RestoreStep::Link { path, target, expected } => self.link(&path, &target, expected),
            RestoreStep::Mode { path, file, expected } => self.set_mode(&path, &file, expected),
        }
    }

    fn remove(&mut self, path: &Path, expected: ExpectedEntry) -> Result<(), RestoreError> {
        let directory = self.open_for_changes(parent_of(path))?;
        if ReplacementTarget::of(&directory, path).remove(expected)? {
            self.outcome.paths.insert(path.to_path_buf());
            self.outcome.removed += 1;
        }
        Ok(())
    }

    fn remove_directory(
        &mut self,
        path: PathBuf,
        emptiness: EmptinessRequirement,
    ) -> Result<(), RestoreError> {
        let directory = self.open_for_changes(parent_of(&path))?;
        match unlinkat(&directory.handle, name_of(&path), AtFlags::REMOVEDIR) {
            Ok(()) => {
                self.outcome.removed += 1;
                self.outcome.paths.insert(path);
            }
            Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) if emptiness == EmptinessRequirement::Preferred => {
                let reason = SkipReason::NotEmpty;
                self.outcome.skipped.push(SkippedPath { path, reason });
            }
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {
                return Err(RestoreError::Changed { path });
            }
            Err(errno) => return Err(RestoreError::io(&path, errno)),
        }
        Ok(())
    }

    /// Creates a directory with its bits in one step, plus the bits to work in it, which are
    /// removed at the end.
    fn make_directory(&mut self, path: &Path, mode: u32) -> Result<(), RestoreError> {
        let directory = self.open_for_changes(parent_of(path))?;
        match directory
            .entry_metadata(name_of(path))
            .map_err(|errno| RestoreError::io(path, errno))?
        {
            None => {}
            Some(observed) if observed.metadata.kind == InodeKind::Directory => return Ok(()),
            Some(_) => return Err(RestoreError::Changed { path: path.to_path_buf() }),
        }
        let spot = ReplacementTarget::of(&directory, path);
        let bits = mode | WORKING_BITS;
        let made = mkdirat(&directory.handle, &spot.temporary, Mode::RWXU)
            .and_then(|()| set_bits(&directory, OsStr::new(&spot.temporary), bits));
        if let Err(errno) = made {
            let _ = unlinkat(&directory.handle, &spot.temporary, AtFlags::REMOVEDIR);
            return Err(RestoreError::io(path, errno));
        }
        spot.put_directory()?;
        self.outcome.paths.insert(path.to_path_buf());
        self.outcome.created_directories += 1;
        Ok(())
    }

    fn write(
        &mut self,
        path: &Path,
        file: &RecordedFile,
        expected: ExpectedEntry,
    ) -> Result<(), RestoreError> {
        let bytes = self.store.content(file.content, file.size_bytes)?;
        let directory = self.open_for_changes(parent_of(path))?;
        let spot = ReplacementTarget::of(&directory, path);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // A user who may not read the file must not read it while it is being written.
        let private = Mode::RUSR | Mode::WUSR;
        let new = openat(&directory.handle, &spot.temporary, flags, private)
            .map_err(|errno| RestoreError::io(path, errno))?;
        let bits = match fill(File::from(new), &bytes, file, expected.observed()) {
            Ok(bits) => bits,
            Err(source) => {
                let _ = unlinkat(&directory.handle, &spot.temporary, AtFlags::empty());
                return Err(RestoreError::Io { path: path.to_path_buf(), source });
            }
        };
        spot.put(expected)?;
        if bits != file.mode {
            self.outcome.weakened.push(path.to_path_buf());
        }
        self.outcome.paths.insert(path.to_path_buf());
        self.outcome.written += 1;
        Ok(())
    }

    fn link(
        &mut self,
        path: &Path,
        target: &Path,
        expected: ExpectedEntry,
    ) -> Result<(), RestoreError> {
        let directory = self.open_for_changes(parent_of(path))?;
        let spot = ReplacementTarget::of(&directory, path);
        symlinkat(target, &directory.handle, &spot.temporary)
            .map_err(|errno| RestoreError::io(path, errno))?;
        spot.put(expected)?;
        self.outcome.paths.insert(path.to_path_buf());
        self.outcome.written += 1;
        Ok(())
    }

    /// Sets a file's bits in place, so that its other names keep referring to the same file.
    fn set_mode(
        &mut self,
        path: &Path,
        file: &RecordedFile,
        expected: ExpectedEntry,
    ) -> Result<(), RestoreError> {
        let directory = self.open_for_changes(parent_of(path))?;
        ReplacementTarget::of(&directory, path).require(expected)?;
        let bits = match (file.owner, expected.observed()) {
            (Some(owner), Some(observed)) if observed.owner != owner => file.mode & !SET_ID,
            _ => file.mode,
        };
        set_bits(&directory, name_of(path), bits).map_err(|errno| RestoreError::io(path, errno))?;
        if bits != file.mode {
            self.outcome.weakened.push(path.to_path_buf());
        }
        self.outcome.paths.insert(path.to_path_buf());
        self.outcome.changed_modes += 1;
        Ok(())
    }

    /// Opens a directory to change names in it, and gives its owner missing bits for that.
    fn open_for_changes(&mut self, path: &Path) -> Result<OpenDirectory, RestoreError> {
        self.touched.insert(path.to_path_buf());
        match OpenDirectory::open(self.root, path) {
            Ok(directory) if directory.is_writable() => return Ok(directory),
            Ok(_) | Err(RootError::Denied { .. }) => {}
            Err(err) => return Err(err.into()),
        }
        let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|path| **path != *"").collect();
        above.reverse();
        for above in above {
            if !OpenDirectory::open(self.root, above)?.is_searchable() {
                self.add_owner_bits(above)?;
            }
        }
        if path != Path::new("") {
            self.add_owner_bits(path)?;
        }
        Ok(OpenDirectory::open(self.root, path)?)
    }

    fn add_owner_bits(&mut self, path: &Path) -> Result<(), RestoreError> {
        let parent = OpenDirectory::open(self.root, parent_of(path))?;
        let name = name_of(path);
        let observed =
            parent.entry_metadata(name).map_err(|errno| RestoreError::io(path, errno))?;
        let Some(observed) =
            observed.filter(|observed| observed.metadata.kind == InodeKind::Directory)
        else {
            return Err(RestoreError::Changed { path: path.to_path_buf() });
        };
        let mode = observed.metadata.stamp.permissions();
        if mode & WORKING_BITS != WORKING_BITS {
            set_bits(&parent, name, mode | WORKING_BITS)
                .map_err(|errno| RestoreError::io(path, errno))?;
            self.final_modes.entry(path.to_path_buf()).or_insert(mode);
        }
        Ok(())
    }

    /// Makes the names survive a loss of power.
    fn sync(&self) -> Result<(), RestoreError> {
        for path in &self.touched {
            match OpenDirectory::open(self.root, path) {
                Ok(directory) => directory.sync().map_err(|errno| RestoreError::io(path, errno))?,
                // It was removed as well.
                Err(err) if is_gone(&err) => {}
                Err(err) => return Err(err.into()),
            }
        }
        Ok(())
    }

    /// Sets the bits of directories, parents last.
    fn set_final_modes(&mut self, planned: &BTreeSet<PathBuf>) -> Result<(), RestoreError> {
        for (path, mode) in std::mem::take(&mut self.final_modes).into_iter().rev() {
            let parent = match OpenDirectory::open(self.root, parent_of(&path)) {
                Ok(parent) => parent,
                Err(err) if is_gone(&err) => continue,
                Err(err) => return Err(err.into()),
            };
            let name = name_of(&path);
            let observed =
                parent.entry_metadata(name).map_err(|errno| RestoreError::io(&path, errno))?;
            let Some(observed) =
                observed.filter(|observed| observed.metadata.kind == InodeKind::Directory)
            else {
                continue;
            };
            if observed.metadata.stamp.permissions() != mode {
                set_bits(&parent, name, mode).map_err(|errno| RestoreError::io(&path, errno))?;
                self.outcome.changed_modes += 1;
                // The others were opened to work in them, and are otherwise unchanged.
                if planned.contains(&path) {
                    self.outcome.paths.insert(path);
                }
            }
        }
        Ok(())
    }

    /// Removes a temporary that a killed restore left beside a path. A failure here occurs again,
    /// with its error, when the path is written.
    fn remove_temporary(&self, path: &Path) {
        let Ok(directory) = OpenDirectory::open(self.root, parent_of(path)) else { return };
        let temporary = temporary_name(path);
        if let Err(Errno::ISDIR) = unlinkat(&directory.handle, &temporary, AtFlags::empty()) {
            let _ = unlinkat(&directory.handle, &temporary, AtFlags::REMOVEDIR);
        }
    }
}

/// Writes a file that is not in place yet, and returns the bits that it got.
fn fill(
    mut new: File,
    bytes: &[u8],
    file: &RecordedFile,
    replaced: Option<&EntryMetadata>,
) -> std::io::Result<u32> {
    new.write_all(bytes)?;
    let bits = match (file.owner, replaced) {
        (Some(owner), _) if set_owner(&new, owner).is_err() => file.mode & !SET_ID,
        (Some(_), _) => file.mode,
        (None, replaced) => {
            // A file keeps its owner, as far as this process may set it.
            let _ = replaced.map(|observed| set_owner(&new, observed.owner));
            file.mode
        }
    };
    fchmod(&new, Mode::from_raw_mode(bits))?;
    fdatasync(&new)?;
    Ok(bits)
}

fn set_owner(file: &File, owner: FileOwner) -> io::Result<()> {
    let stat = fstat(file)?;
    if (FileOwner { user: stat.st_uid, group: stat.st_gid }) == owner {
        return Ok(());
    }
    fchown(file, Some(Uid::from_raw(owner.user)), Some(Gid::from_raw(owner.group)))
}

/// Changes the permission bits of a file or directory itself, not of a link's target.
///
/// It is first opened as a handle, which neither follows a link nor needs any of its bits. Before
/// Linux 6.6, such a handle's bits can only be changed by its name in `/proc`.
fn set_bits(directory: &OpenDirectory, name: &OsStr, mode: u32) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(&directory.handle, name, flags, Mode::empty())?;
    match PathMetadata::from(&fstat(&handle)?).kind {
        InodeKind::Regular | InodeKind::Directory => {}
        InodeKind::Symlink
        | InodeKind::Fifo
        | InodeKind::Socket
        | InodeKind::CharDevice
        | InodeKind::BlockDevice
        | InodeKind::Unknown => return Err(Errno::LOOP),
    }
    chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::from_raw_mode(mode))
}

/// Returns whether there is no longer a directory at a path, whatever exists there instead.
fn is_gone(err: &RootError) -> bool {
    matches!(
        err,
        RootError::NotFound { .. } | RootError::NotADirectory { .. } | RootError::Exchanged { .. }
    )
}
