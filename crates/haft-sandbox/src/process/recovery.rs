//! Reconciles the protected paths of commands whose process was killed, from the entries that it left
//! in its recovery log.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::protect::{RevertedChange, end_time, reconcile_interrupted};
use crate::recovery_log::{
    HELPERS_LOCK_FILE, OWNER_LOCK_FILE, list_entries, lock_logs, remove_log, try_lock,
};

/// Time that helpers of a dead process have to kill their commands, in milliseconds; longer than
/// they take to give up.
pub(crate) const LEFT_WAIT_MS_MAX: u64 = 15_000;

/// Pause between two checks of those helpers, in milliseconds.
const LEFT_PAUSE_MS: u64 = 5;

/// Maximum size of an entry that is read, in bytes: everything that a scan keeps, plus room for
/// names.
pub(crate) const NOTE_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// The result of recovering commands of processes that have died.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The commands' changes to protected paths, and how they were reverted.
    pub reverted: Vec<RevertedChange>,
    /// Reasons why something could not be checked; each text names the path.
    pub problems: Vec<String>,
}

/// Reverts changes to protected paths by commands of dead processes; blocks.
pub(super) fn reconcile_all(top: &Path, quarantine: Option<&Path>) -> RecoveryReport {
    let mut leftovers = RecoveryReport::default();
    let taken = match take_over_logs(top) {
        Ok(taken) => taken,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return leftovers,
        Err(err) => {
            leftovers.problems.push(format!("{} cannot be read: {err}", top.display()));
            return leftovers;
        }
    };
    for (directory, _owner) in taken {
        if let Err(problem) = reconcile_one(&directory, quarantine, &mut leftovers) {
            leftovers.problems.push(problem);
        }
    }
    leftovers
}

/// Returns the directories of dead processes, each with the lock that keeps other processes away.
fn take_over_logs(top: &Path) -> io::Result<Vec<(PathBuf, File)>> {
    let entries = fs::read_dir(top)?;
    let _door = lock_logs(top)?;
    let mut taken = Vec::new();
    for entry in entries {
        let directory = entry?.path();
        match File::open(directory.join(OWNER_LOCK_FILE)) {
            Ok(owner) if try_lock(&owner)? => taken.push((directory, owner)),
            Ok(_) => {}
            Err(_) => {
                // The process died right after it created the directory. A directory with content
                // stays, and so does the lock file.
                let _ = fs::remove_dir(&directory);
            }
        }
    }
    Ok(taken)
}

/// Waits until no process of the commands is alive, then reverts their changes.
fn reconcile_one(
    directory: &Path,
    quarantine: Option<&Path>,
    leftovers: &mut RecoveryReport,
) -> Result<(), String> {
    let failed = |err: io::Error| format!("{} cannot be read: {err}", directory.display());
    let notes = list_entries(directory).map_err(failed)?;
    if !notes.is_empty() {
        let helpers = File::open(directory.join(HELPERS_LOCK_FILE)).map_err(failed)?;
        let deadline = Instant::now() + Duration::from_millis(LEFT_WAIT_MS_MAX);
        while !try_lock(&helpers).map_err(failed)? {
            if Instant::now() >= deadline {
                let message = "a process of a command is still running, although its haft has died; end it, and start haft again";
                return Err(failed(io::Error::other(message)));
            }
            thread::sleep(Duration::from_millis(LEFT_PAUSE_MS));
        }
        let ended = end_time(helpers.as_fd()).map_err(failed)?;
        let contents: io::Result<Vec<Vec<u8>>> = notes.iter().map(|path| read(path)).collect();
        let (undone, problems) =
            reconcile_interrupted(&contents.map_err(failed)?, quarantine, ended);
        leftovers.reverted.extend(undone);
        leftovers.problems.extend(problems);
        for note in notes {
            let _ = fs::remove_file(note);
        }
    }
    remove_log(directory);
    Ok(())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let size = fs::metadata(path)?.len();
    if size > NOTE_BYTES_MAX {
        return Err(io::Error::other(format!("an entry of {size} bytes is too large")));
    }
    fs::read(path)
}
