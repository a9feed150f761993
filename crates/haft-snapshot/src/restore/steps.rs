//! Making the steps of a plan. Each is one rename, removal or change of bits, made in an open directory that was reached through no
//! link: whoever is killed in between leaves every path as it was or as it should be. How something is put in the place of
//! what is there without losing what came in between is `place`'s part. Nothing is decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use haft_sandbox::{FileKind, Metadata, Root, RootError};
use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Uid, chmod, fchmod, fchown, fdatasync, fstat, mkdirat, openat,
    symlinkat, unlinkat,
};
use rustix::io::{self, Errno};

use super::place::{Spot, temporary_name};
use super::plan::{Emptiness, Expected, Plan, Step};
use super::present::WORKING_BITS;
use super::{LeftAlone, LeftAloneReason, Restored};
use crate::directory::{Directory, Look, name_of, parent_of};
use crate::error::RestoreError;
use crate::state::{FileState, Owner};
use crate::store::Store;
use crate::tree::SET_ID;

/// A restore that is under way.
pub(super) struct Restoring<'a> {
    store: &'a Store,
    root: &'a Root,
    outcome: Restored,
    /// The permission bits that directories have at the end.
    closing: BTreeMap<PathBuf, u32>,
    /// Directories in which names changed.
    touched: BTreeSet<PathBuf>,
}

impl<'a> Restoring<'a> {
    pub(super) fn new(store: &'a Store, root: &'a Root) -> Restoring<'a> {
        let (outcome, closing, touched) = (Restored::default(), BTreeMap::new(), BTreeSet::new());
        Restoring { store, root, outcome, closing, touched }
    }

    /// Makes at most `steps_max` steps of the plan, in their order.
    pub(super) fn run(mut self, plan: Plan, steps_max: usize) -> Result<Restored, RestoreError> {
        self.outcome = plan.outcome;
        self.closing = plan.closing;
        let planned: BTreeSet<PathBuf> = self.closing.keys().cloned().collect();
        for path in &plan.paths {
            self.sweep(path);
        }
        let is_cut = plan.steps.len() > steps_max;
        for step in plan.steps.into_iter().take(steps_max) {
            self.make(step)?;
        }
        if is_cut {
            return Ok(self.outcome);
        }
        self.sync()?;
        self.close(&planned)?;
        Ok(self.outcome)
    }

    fn make(&mut self, step: Step) -> Result<(), RestoreError> {
        match step {
            Step::Remove { path, expected } => self.remove(&path, expected),
            Step::RemoveDirectory { path, emptiness } => self.remove_directory(path, emptiness),
            Step::MakeDirectory { path, mode } => self.make_directory(&path, mode),
            Step::Write { path, file, expected } => self.write(&path, &file, expected),
            Step::Link { path, target, expected } => self.link(&path, &target, expected),
            Step::Mode { path, file, expected } => self.set_mode(&path, &file, expected),
        }
    }

    fn remove(&mut self, path: &Path, expected: Expected) -> Result<(), RestoreError> {
        let directory = self.reach(parent_of(path))?;
        if Spot::of(&directory, path).remove(expected)? {
            self.outcome.paths.insert(path.to_path_buf());
            self.outcome.removed += 1;
        }
        Ok(())
    }

    fn remove_directory(
        &mut self,
        path: PathBuf,
        emptiness: Emptiness,
    ) -> Result<(), RestoreError> {
        let directory = self.reach(parent_of(&path))?;
        match unlinkat(&directory.handle, name_of(&path), AtFlags::REMOVEDIR) {
            Ok(()) => {
                self.outcome.removed += 1;
                self.outcome.paths.insert(path);
            }
            Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST) if emptiness == Emptiness::Hoped => {
                let reason = LeftAloneReason::NotEmpty;
                self.outcome.left_alone.push(LeftAlone { path, reason });
            }
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {
                return Err(RestoreError::Changed { path });
            }
            Err(errno) => return Err(failed(&path, errno)),
        }
        Ok(())
    }

    /// Makes a directory with its bits in one step, and those to work in it, which go when everything is done.
    fn make_directory(&mut self, path: &Path, mode: u32) -> Result<(), RestoreError> {
        let directory = self.reach(parent_of(path))?;
        match directory.look(name_of(path)).map_err(|errno| failed(path, errno))? {
            None => {}
            Some(look) if look.metadata.kind == FileKind::Directory => return Ok(()),
            Some(_) => return Err(RestoreError::Changed { path: path.to_path_buf() }),
        }
        let spot = Spot::of(&directory, path);
        let bits = mode | WORKING_BITS;
        let made = mkdirat(&directory.handle, &spot.temporary, Mode::RWXU)
            .and_then(|()| set_bits(&directory, OsStr::new(&spot.temporary), bits));
        if let Err(errno) = made {
            let _ = unlinkat(&directory.handle, &spot.temporary, AtFlags::REMOVEDIR);
            return Err(failed(path, errno));
        }
        spot.put_directory()?;
        self.outcome.paths.insert(path.to_path_buf());
        self.outcome.made += 1;
        Ok(())
    }

    fn write(
        &mut self,
        path: &Path,
        file: &FileState,
        expected: Expected,
    ) -> Result<(), RestoreError> {
        let bytes = self.store.content(file.content, file.size_bytes)?;
        let directory = self.reach(parent_of(path))?;
        let spot = Spot::of(&directory, path);
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Nobody who may not read the file shall read it while it is being written.
        let private = Mode::RUSR | Mode::WUSR;
        let new = openat(&directory.handle, &spot.temporary, flags, private)
            .map_err(|errno| failed(path, errno))?;
        let bits = match fill(File::from(new), &bytes, file, expected.look()) {
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

    fn link(&mut self, path: &Path, target: &Path, expected: Expected) -> Result<(), RestoreError> {
        let directory = self.reach(parent_of(path))?;
        let spot = Spot::of(&directory, path);
        symlinkat(target, &directory.handle, &spot.temporary)
            .map_err(|errno| failed(path, errno))?;
        spot.put(expected)?;
        self.outcome.paths.insert(path.to_path_buf());
        self.outcome.written += 1;
        Ok(())
    }

    /// Gives a file its bits where it is, so that its other names keep being the same file.
    fn set_mode(
        &mut self,
        path: &Path,
        file: &FileState,
        expected: Expected,
    ) -> Result<(), RestoreError> {
        let directory = self.reach(parent_of(path))?;
        Spot::of(&directory, path).require(expected)?;
        let bits = match (file.owner, expected.look()) {
            (Some(owner), Some(look)) if look.owner != owner => file.mode & !SET_ID,
            _ => file.mode,
        };
        set_bits(&directory, name_of(path), bits).map_err(|errno| failed(path, errno))?;
        if bits != file.mode {
            self.outcome.weakened.push(path.to_path_buf());
        }
        self.outcome.paths.insert(path.to_path_buf());
        self.outcome.modes += 1;
        Ok(())
    }

    /// Opens a directory to change names in it, and gives its owner the bits to do so where they are missing.
    fn reach(&mut self, path: &Path) -> Result<Directory, RestoreError> {
        self.touched.insert(path.to_path_buf());
        match Directory::open(self.root, path) {
            Ok(directory) if directory.is_writable() => return Ok(directory),
            Ok(_) | Err(RootError::Denied { .. }) => {}
            Err(err) => return Err(err.into()),
        }
        let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|path| **path != *"").collect();
        above.reverse();
        for above in above {
            if !Directory::open(self.root, above)?.is_searchable() {
                self.open_up(above)?;
            }
        }
        if path != Path::new("") {
            self.open_up(path)?;
        }
        Ok(Directory::open(self.root, path)?)
    }

    fn open_up(&mut self, path: &Path) -> Result<(), RestoreError> {
        let parent = Directory::open(self.root, parent_of(path))?;
        let name = name_of(path);
        let look = parent.look(name).map_err(|errno| failed(path, errno))?;
        let Some(look) = look.filter(|look| look.metadata.kind == FileKind::Directory) else {
            return Err(RestoreError::Changed { path: path.to_path_buf() });
        };
        let mode = look.metadata.stamp.permissions();
        if mode & WORKING_BITS != WORKING_BITS {
            set_bits(&parent, name, mode | WORKING_BITS).map_err(|errno| failed(path, errno))?;
            self.closing.entry(path.to_path_buf()).or_insert(mode);
        }
        Ok(())
    }

    /// Makes the names last through a loss of power.
    fn sync(&self) -> Result<(), RestoreError> {
        for path in &self.touched {
            match Directory::open(self.root, path) {
                Ok(directory) => directory.sync().map_err(|errno| failed(path, errno))?,
                // It was removed as well.
                Err(err) if is_gone(&err) => {}
                Err(err) => return Err(err.into()),
            }
        }
        Ok(())
    }

    /// Gives directories their bits, those that hold others last.
    fn close(&mut self, planned: &BTreeSet<PathBuf>) -> Result<(), RestoreError> {
        for (path, mode) in std::mem::take(&mut self.closing).into_iter().rev() {
            let parent = match Directory::open(self.root, parent_of(&path)) {
                Ok(parent) => parent,
                Err(err) if is_gone(&err) => continue,
                Err(err) => return Err(err.into()),
            };
            let name = name_of(&path);
            let look = parent.look(name).map_err(|errno| failed(&path, errno))?;
            let Some(look) = look.filter(|look| look.metadata.kind == FileKind::Directory) else {
                continue;
            };
            if look.metadata.stamp.permissions() != mode {
                set_bits(&parent, name, mode).map_err(|errno| failed(&path, errno))?;
                self.outcome.modes += 1;
                // Others were opened to work in them, and are as they were.
                if planned.contains(&path) {
                    self.outcome.paths.insert(path);
                }
            }
        }
        Ok(())
    }

    /// Removes what a restore that was killed left beside a path. Whatever fails here fails again, with its error, when the path is
    /// written.
    fn sweep(&self, path: &Path) {
        let Ok(directory) = Directory::open(self.root, parent_of(path)) else { return };
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
    file: &FileState,
    replaced: Option<&Look>,
) -> std::io::Result<u32> {
    new.write_all(bytes)?;
    let bits = match (file.owner, replaced) {
        (Some(owner), _) if give(&new, owner).is_err() => file.mode & !SET_ID,
        (Some(_), _) => file.mode,
        (None, replaced) => {
            // A file stays whose it is, as far as this process may decide that.
            let _ = replaced.map(|look| give(&new, look.owner));
            file.mode
        }
    };
    fchmod(&new, Mode::from_raw_mode(bits))?;
    fdatasync(&new)?;
    Ok(bits)
}

fn give(file: &File, owner: Owner) -> io::Result<()> {
    let stat = fstat(file)?;
    if (Owner { user: stat.st_uid, group: stat.st_gid }) == owner {
        return Ok(());
    }
    fchown(file, Some(Uid::from_raw(owner.user)), Some(Gid::from_raw(owner.group)))
}

/// Changes the permission bits of a file or directory itself.
///
/// It is opened as a handle first, which neither follows a link nor needs any bit of it. Such a handle's bits can be changed by its
/// name in `/proc` alone until Linux 6.6.
fn set_bits(directory: &Directory, name: &OsStr, mode: u32) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(&directory.handle, name, flags, Mode::empty())?;
    match Metadata::from(&fstat(&handle)?).kind {
        FileKind::Regular | FileKind::Directory => {}
        FileKind::Symlink
        | FileKind::Fifo
        | FileKind::Socket
        | FileKind::CharDevice
        | FileKind::BlockDevice
        | FileKind::Unknown => return Err(Errno::LOOP),
    }
    chmod(format!("/proc/self/fd/{}", handle.as_raw_fd()), Mode::from_raw_mode(mode))
}

/// Tells whether there is no directory at a path any more, whatever is there instead.
fn is_gone(err: &RootError) -> bool {
    matches!(
        err,
        RootError::NotFound { .. } | RootError::NotADirectory { .. } | RootError::Exchanged { .. }
    )
}

pub(super) fn failed(path: &Path, errno: Errno) -> RestoreError {
    RestoreError::Io { path: path.to_path_buf(), source: errno.into() }
}
