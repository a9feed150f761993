//! What is under way, written down where a later process finds it: for each running command what existed under protected
//! names before it. A process that is killed cannot look any more, and so the next one does. Who is alive is told by locks
//! on files, which the kernel lets go of with whoever held them. What is in a note, and what follows from it, is the
//! survey's affair. Notes are not synced: they outlive a process, and perhaps not the machine.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::protect::{Moment, Undone, moment_of_end, settle};

/// How long helpers of a process that is gone have to kill what they hold, in milliseconds; longer than they take to give up.
pub(crate) const LEFT_WAIT_MS_MAX: u64 = 15_000;

/// Between two looks whether they have, in milliseconds.
const LEFT_PAUSE_MS: u64 = 5;

/// How many directories of one process number are tried; each is taken only if an earlier process left it.
pub(crate) const UNDERWAY_MAX: u32 = 10_000;

/// How much of one note is read, in bytes: the most that a survey keeps, and room for names.
pub(crate) const NOTE_BYTES_MAX: u64 = 64 * 1_024 * 1_024;

/// Locked for the moment in which a directory appears or is taken over.
const DOOR: &str = "door";
/// Locked by the process whose commands these are.
const OWNER: &str = "owner";
/// Locked by that process and by all of its helpers.
const HELPERS: &str = "helpers";

/// A directory for the notes of one helper's commands, which are under way as long as this lives.
#[derive(Debug)]
pub(super) struct Underway {
    directory: PathBuf,
    _owner: File,
    helpers: File,
    next: AtomicU64,
}

/// What is written down of one command.
#[derive(Debug)]
pub(crate) struct Note {
    path: PathBuf,
    /// The directory stays as long as there is a note in it.
    _underway: Arc<Underway>,
}

/// What was found of processes that are gone, and put right.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// What their commands had done to protected names, and what became of it.
    pub undone: Vec<Undone>,
    /// Why something could not be looked at; what is concerned is in each text.
    pub problems: Vec<String>,
}

impl Underway {
    /// Makes a directory beneath `top`.
    pub(super) fn begin(top: &Path) -> io::Result<Underway> {
        DirBuilder::new().recursive(true).mode(0o700).create(top)?;
        let _door = door(top)?;
        let process = std::process::id();
        for number in 1..=UNDERWAY_MAX {
            let directory = top.join(format!("{process}-{number}"));
            match DirBuilder::new().mode(0o700).create(&directory) {
                Ok(()) => {}
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(err) => return Err(err),
            }
            let owner = locked(&directory.join(OWNER))?;
            let helpers = locked(&directory.join(HELPERS))?;
            return Ok(Underway { directory, _owner: owner, helpers, next: AtomicU64::new(1) });
        }
        Err(io::Error::other(format!("{} holds too much that was left behind", top.display())))
    }

    /// Returns the file that helpers hold open, and whose lock is held with it.
    pub(super) fn for_helpers(&self) -> io::Result<File> {
        self.helpers.try_clone()
    }

    /// Writes one note down, whole or not at all.
    pub(super) fn note(self: &Arc<Self>, content: &[u8]) -> io::Result<Note> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (path, half) = (
            self.directory.join(number.to_string()),
            self.directory.join(format!("{number}.half")),
        );
        let mut options = OpenOptions::new();
        let written = options.write(true).create_new(true).mode(0o600).open(&half);
        let written = written.and_then(|mut file| file.write_all(content));
        written.and_then(|()| fs::rename(&half, &path)).inspect_err(|_| {
            // The first error is the one to tell.
            let _ = fs::remove_file(&half);
        })?;
        Ok(Note { path, _underway: Arc::clone(self) })
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        // A note that is left is for whoever comes next, with all that tells of whom it is.
        if notes(&self.directory).is_ok_and(|notes| notes.is_empty()) {
            remove(&self.directory);
        }
    }
}

impl Note {
    /// Removes it: the command has been looked after, or nothing ran.
    pub(crate) fn erase(&self) {
        // What cannot be removed is looked at once more by the next process.
        let _ = fs::remove_file(&self.path);
    }
}

/// Puts right what commands of processes that are gone left under protected names; blocks.
pub(super) fn settle_all(top: &Path, quarantine: Option<&Path>) -> Leftovers {
    let mut leftovers = Leftovers::default();
    let taken = match take_over(top) {
        Ok(taken) => taken,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return leftovers,
        Err(err) => {
            leftovers.problems.push(format!("{} cannot be looked through: {err}", top.display()));
            return leftovers;
        }
    };
    for (directory, _owner) in taken {
        if let Err(problem) = settle_one(&directory, quarantine, &mut leftovers) {
            leftovers.problems.push(problem);
        }
    }
    leftovers
}

/// Returns the directories of processes that are gone, each with the lock that keeps others away from it.
fn take_over(top: &Path) -> io::Result<Vec<(PathBuf, File)>> {
    let entries = fs::read_dir(top)?;
    let _door = door(top)?;
    let mut taken = Vec::new();
    for entry in entries {
        let directory = entry?.path();
        match File::open(directory.join(OWNER)) {
            Ok(owner) if try_lock(&owner)? => taken.push((directory, owner)),
            Ok(_) => {}
            Err(_) => {
                // Its process died when it had just made it. A directory with anything in it stays, and the door.
                let _ = fs::remove_dir(&directory);
            }
        }
    }
    Ok(taken)
}

fn settle_one(
    directory: &Path,
    quarantine: Option<&Path>,
    leftovers: &mut Leftovers,
) -> Result<(), String> {
    let failed = |err: io::Error| format!("{} cannot be read: {err}", directory.display());
    let notes = notes(directory).map_err(failed)?;
    if !notes.is_empty() {
        let ended = await_helpers(directory).map_err(failed)?;
        let contents: io::Result<Vec<Vec<u8>>> = notes.iter().map(|path| read(path)).collect();
        let (undone, problems) = settle(&contents.map_err(failed)?, quarantine, ended);
        leftovers.undone.extend(undone);
        leftovers.problems.extend(problems);
        for note in notes {
            let _ = fs::remove_file(note);
        }
    }
    remove(directory);
    Ok(())
}

/// Waits until nothing of the commands is alive, and returns since when, if that is known.
fn await_helpers(directory: &Path) -> io::Result<Option<Moment>> {
    let helpers = File::open(directory.join(HELPERS))?;
    let deadline = Instant::now() + Duration::from_millis(LEFT_WAIT_MS_MAX);
    while !try_lock(&helpers)? {
        if Instant::now() >= deadline {
            let message = "something of a command still lives, although its haft is gone; end it, and start haft again";
            return Err(io::Error::other(message));
        }
        thread::sleep(Duration::from_millis(LEFT_PAUSE_MS));
    }
    moment_of_end(helpers.as_fd())
}

/// Returns the notes in a directory, the oldest first.
fn notes(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<u64>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers.into_iter().map(|number| directory.join(number.to_string())).collect())
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let size = fs::metadata(path)?.len();
    if size > NOTE_BYTES_MAX {
        return Err(io::Error::other(format!("a note of {size} bytes is no note")));
    }
    fs::read(path)
}

/// Removes a directory that is of no use any more.
fn remove(directory: &Path) {
    // What cannot be removed is found by the next process, which tries again.
    let half = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in half.filter(|path| path.extension().is_some_and(|it| it == "half")) {
        let _ = fs::remove_file(path);
    }
    let _ = fs::remove_file(directory.join(HELPERS));
    let _ = fs::remove_file(directory.join(OWNER));
    let _ = fs::remove_dir(directory);
}

/// Keeps everybody else from making or taking over directories, until it is dropped.
fn door(top: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let door = options.write(true).create(true).truncate(false).mode(0o600).open(top.join(DOOR))?;
    while let Err(errno) = flock(&door, FlockOperation::LockExclusive) {
        if errno != Errno::INTR {
            return Err(errno.into());
        }
    }
    Ok(door)
}

/// Makes a file and locks it.
fn locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}
