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

use super::plan::{EmptinessRequirement, RestoreAction, RestorePlan, RestoreStep};
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
    /// Executes at most `steps_max` steps of the plan, in order.
    pub(super) fn run_plan(
        store: &'a SnapshotStore,
        root: &'a Root,
        plan: RestorePlan,
        steps_max: usize,
    ) -> Result<RestoreReport, RestoreError> {
        let planned: BTreeSet<PathBuf> = plan.final_modes.keys().cloned().collect();
        // A killed restore may have left a temporary beside a path. A failure here occurs again,
        // with its error, when the path is written.
        for path in &plan.paths {
            let Ok(directory) = OpenDirectory::open(root, parent_of(path)) else { continue };
            let temporary = temporary_name(path);
            if let Err(Errno::ISDIR) = unlinkat(&directory.handle, &temporary, AtFlags::empty()) {
                let _ = unlinkat(&directory.handle, &temporary, AtFlags::REMOVEDIR);
            }
        }
        let RestorePlan { outcome, final_modes, .. } = plan;
        let mut executor =
            RestoreExecutor { store, root, outcome, final_modes, touched: BTreeSet::new() };
        let is_cut = plan.steps.len() > steps_max;
        for step in plan.steps.into_iter().take(steps_max) {
            executor.make_step(step)?;
        }
        if is_cut {
            return Ok(executor.outcome);
        }
        // The names must survive a loss of power.
        for path in &executor.touched {
            match OpenDirectory::open(root, path) {
                Ok(directory) => directory.sync().map_err(|errno| RestoreError::io(path, errno))?,
                // It was removed as well.
                Err(err) if is_gone(&err) => {}
                Err(err) => return Err(err.into()),
            }
        }
        // A parent gets its bits after its contents.
        for (path, mode) in executor.final_modes.into_iter().rev() {
            let parent = match OpenDirectory::open(root, parent_of(&path)) {
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
                executor.outcome.changed_modes += 1;
                // The others were opened to work in them, and are otherwise unchanged.
                if planned.contains(&path) {
                    executor.outcome.paths.insert(path);
                }
            }
        }
        Ok(executor.outcome)
    }

    fn make_step(&mut self, step: RestoreStep) -> Result<(), RestoreError> {
        let RestoreStep { path, action } = step;
        let failed = |errno| RestoreError::io(&path, errno);
        let bytes = if let RestoreAction::Write { file, .. } = &action {
            self.store.content(file.content, file.size_bytes)?
        } else {
            Vec::new()
        };
        let directory = self.open_for_changes(parent_of(&path))?;
        let replacement = ReplacementTarget::of(&directory, &path);
        match action {
            RestoreAction::Remove { expected } => {
                if !replacement.remove(expected)? {
                    return Ok(());
                }
                self.outcome.removed += 1;
            }
            RestoreAction::RemoveDirectory { emptiness } => {
                match unlinkat(&directory.handle, name_of(&path), AtFlags::REMOVEDIR) {
                    Ok(()) => self.outcome.removed += 1,
                    Err(Errno::NOENT) => return Ok(()),
                    Err(Errno::NOTEMPTY | Errno::EXIST)
                        if emptiness == EmptinessRequirement::Preferred =>
                    {
                        let reason = SkipReason::NotEmpty;
                        self.outcome.skipped.push(SkippedPath { path, reason });
                        return Ok(());
                    }
                    Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {
                        return Err(RestoreError::Changed { path });
                    }
                    Err(errno) => return Err(failed(errno)),
                }
            }
            // The directory gets its bits before it appears, and the bits to work in it. The latter
            // are removed at the end.
            RestoreAction::MakeDirectory { mode } => {
                match directory.entry_metadata(name_of(&path)).map_err(failed)? {
                    None => {}
                    Some(observed) if observed.metadata.kind == InodeKind::Directory => {
                        return Ok(());
                    }
                    Some(_) => return Err(RestoreError::Changed { path }),
                }
                let temporary = OsStr::new(&replacement.temporary);
                let made = mkdirat(&directory.handle, temporary, Mode::RWXU)
                    .and_then(|()| set_bits(&directory, temporary, mode | WORKING_BITS));
                if let Err(errno) = made {
                    let _ = unlinkat(&directory.handle, temporary, AtFlags::REMOVEDIR);
                    return Err(failed(errno));
                }
                replacement.put_directory()?;
                self.outcome.created_directories += 1;
            }
            RestoreAction::Write { file, expected } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
                let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                // A user who may not read the file must not read it while it is being written.
                let private = Mode::RUSR | Mode::WUSR;
                let new: File = openat(&directory.handle, &replacement.temporary, flags, private)
                    .map_err(failed)?
                    .into();
                let bits = match fill(new, &bytes, &file, expected.observed()) {
                    Ok(bits) => bits,
                    Err(source) => {
                        let temporary = &replacement.temporary;
                        let _ = unlinkat(&directory.handle, temporary, AtFlags::empty());
                        return Err(RestoreError::Io { path, source });
                    }
                };
                replacement.put(expected)?;
                if bits != file.mode {
                    self.outcome.weakened.push(path.clone());
                }
                self.outcome.written += 1;
            }
            RestoreAction::Link { target, expected } => {
                symlinkat(target, &directory.handle, &replacement.temporary).map_err(failed)?;
                replacement.put(expected)?;
                self.outcome.written += 1;
            }
            // The bits change in place, so that the file's other names keep referring to it.
            RestoreAction::Mode { file, expected } => {
                replacement.require(expected)?;
                let bits = match (file.owner, expected.observed()) {
                    (Some(owner), Some(observed)) if observed.owner != owner => file.mode & !SET_ID,
                    _ => file.mode,
                };
                set_bits(&directory, name_of(&path), bits).map_err(failed)?;
                if bits != file.mode {
                    self.outcome.weakened.push(path.clone());
                }
                self.outcome.changed_modes += 1;
            }
        }
        self.outcome.paths.insert(path);
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
}

/// Writes a file that is not in place yet, and returns the bits that it got.
fn fill(
    mut new: File,
    bytes: &[u8],
    file: &RecordedFile,
    replaced: Option<&EntryMetadata>,
) -> std::io::Result<u32> {
    new.write_all(bytes)?;
    let mut bits = file.mode;
    if let Some(owner) = file.owner {
        if set_owner(&new, owner).is_err() {
            bits &= !SET_ID;
        }
    } else if let Some(observed) = replaced {
        // A file keeps its owner, as far as this process may set it.
        let _ = set_owner(&new, observed.owner);
    }
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
