//! Records running commands where a later process finds them: for each command, the protected paths
//! that existed before it. Locks on files show which processes are alive, because the kernel releases
//! the locks of a dead process. The scan defines the content and meaning of an entry. Entries are not
//! synced: they survive a process, but perhaps not a crash of the machine.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Maximum number of directories per process number; each is used only if an earlier process left
/// it.
pub(crate) const UNDERWAY_MAX: u32 = 10_000;

/// Locked while a directory is created or taken over.
const LOGS_LOCK_FILE: &str = "door";
/// Locked by the process that runs the commands.
pub(crate) const OWNER_LOCK_FILE: &str = "owner";
/// Locked by that process and by all of its helpers.
pub(crate) const HELPERS_LOCK_FILE: &str = "helpers";

/// A directory for the entries of one helper's commands. The commands count as running while this
/// value lives.
#[derive(Debug)]
pub(crate) struct RecoveryLog {
    directory: PathBuf,
    _owner: File,
    helpers: File,
    next: AtomicU64,
}

/// The record of one command.
#[derive(Debug)]
pub(crate) struct RecoveryEntry {
    path: PathBuf,
    /// The directory exists as long as it contains an entry.
    _underway: Arc<RecoveryLog>,
}

impl RecoveryLog {
    /// Creates a directory in `top`.
    pub(crate) fn create(top: &Path) -> io::Result<RecoveryLog> {
        DirBuilder::new().recursive(true).mode(0o700).create(top)?;
        let _door = lock_logs(top)?;
        let process = std::process::id();
        for number in 1..=UNDERWAY_MAX {
            let directory = top.join(format!("{process}-{number}"));
            match DirBuilder::new().mode(0o700).create(&directory) {
                Ok(()) => {}
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(err) => return Err(err),
            }
            let owner = create_locked(&directory.join(OWNER_LOCK_FILE))?;
            let helpers = create_locked(&directory.join(HELPERS_LOCK_FILE))?;
            return Ok(RecoveryLog { directory, _owner: owner, helpers, next: AtomicU64::new(1) });
        }
        Err(io::Error::other(format!(
            "{} contains too many directories of dead processes",
            top.display()
        )))
    }

    /// Returns the file that helpers keep open, which also keeps its lock.
    pub(crate) fn helper_lock(&self) -> io::Result<File> {
        self.helpers.try_clone()
    }

    /// Writes one entry, completely or not at all.
    pub(crate) fn write_entry(self: &Arc<Self>, content: &[u8]) -> io::Result<RecoveryEntry> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (path, half) = (
            self.directory.join(number.to_string()),
            self.directory.join(format!("{number}.half")),
        );
        let mut options = OpenOptions::new();
        let written = options.write(true).create_new(true).mode(0o600).open(&half);
        let written = written.and_then(|mut file| file.write_all(content));
        written.and_then(|()| fs::rename(&half, &path)).inspect_err(|_| {
            // The first error is the one to report.
            let _ = fs::remove_file(&half);
        })?;
        Ok(RecoveryEntry { path, _underway: Arc::clone(self) })
    }
}

impl Drop for RecoveryLog {
    fn drop(&mut self) {
        // A remaining entry is for the next process, together with the files that identify its
        // owner.
        if list_entries(&self.directory).is_ok_and(|notes| notes.is_empty()) {
            remove_log(&self.directory);
        }
    }
}

impl RecoveryEntry {
    /// Removes the entry: the command was reconciled, or it never ran.
    pub(crate) fn erase(&self) {
        // An entry that cannot be removed is checked once more by the next process.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the entries in a directory, oldest first.
pub(crate) fn list_entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers.into_iter().map(|number| directory.join(number.to_string())).collect())
}

/// Removes a directory that is no longer needed.
pub(crate) fn remove_log(directory: &Path) {
    // A file that cannot be removed is found by the next process, which tries again.
    let half = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in half.filter(|path| path.extension().is_some_and(|it| it == "half")) {
        let _ = fs::remove_file(path);
    }
    let _ = fs::remove_file(directory.join(HELPERS_LOCK_FILE));
    let _ = fs::remove_file(directory.join(OWNER_LOCK_FILE));
    let _ = fs::remove_dir(directory);
}

/// Prevents other processes from creating or taking over directories until the lock is dropped.
pub(crate) fn lock_logs(top: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let door = options
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(top.join(LOGS_LOCK_FILE))?;
    while let Err(errno) = flock(&door, FlockOperation::LockExclusive) {
        if errno != Errno::INTR {
            return Err(errno.into());
        }
    }
    Ok(door)
}

/// Creates a file and locks it.
fn create_locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
