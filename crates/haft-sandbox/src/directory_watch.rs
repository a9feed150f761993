//! Follows the changes in directories through inotify, so that a second walk only visits what
//! changed. The kernel reports changes of a directory's inode, whatever mount or namespace they come
//! through. Once a process has ended, all events about its changes are queued. The caller chooses
//! the directories and walks them; this module reads no directory.
//!
//! inotify does not report two kinds of changes, which the caller must find in another way:
//!
//! - changes of a file's content through another name (hard link) in a directory that is not
//!   watched;
//! - changes through a shared mapping, until the last descriptor and mapping of the file are closed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::ops::Bound;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{fstat, fstatfs};
use rustix::io::Errno;

/// Maximum number of directories that one watch follows. If more are added, the watch is lost.
pub(crate) const WATCHED_DIRECTORIES_MAX: usize = 262_144;

/// Maximum number of changed paths between two reads. If there are more, the watch is lost.
pub(crate) const WATCHED_CHANGES_MAX: usize = 65_536;

/// Maximum number of events in one read, so that a busy writer cannot keep the reader forever. If
/// there are more, the watch is lost.
pub(crate) const WATCH_EVENTS_MAX: usize = 1_048_576;

/// Bytes of events that one system call returns.
const BUFFER_BYTES: usize = 64 * 1_024;

/// File systems on which every change passes the local kernel, by the number that `statfs` returns
/// (linux/magic.h).
const LOCAL_FILE_SYSTEMS: [i64; 9] = [
    0xEF53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0x0102_1994, // tmpfs
    0x794C_7630, // overlayfs
    0xF2F5_2010, // F2FS
    0x2FC1_2FC1, // ZFS
    0xCA45_1A4E, // bcachefs
    0x8584_58F6, // ramfs
];

/// The changes that a watch follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchedEvents {
    /// Names that appear or disappear, and attributes.
    Names,
    /// The same, and changes of contents.
    Contents,
}

/// Follows the changes in a set of directories.
#[derive(Debug)]
pub struct DirectoryWatch {
    inotify: OwnedFd,
    flags: WatchFlags,
    /// The path of each watched directory, by its watch descriptor.
    paths: HashMap<i32, Arc<Path>>,
    /// The reverse, in the order of the paths.
    descriptors: BTreeMap<Arc<Path>, i32>,
    /// The mounts of this process. A new one can cover a directory without an event.
    mounts: File,
    /// The last device whose file system is known to be local.
    local_device: Option<u64>,
    is_complete: bool,
}

/// The paths that changed between two reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchedChanges {
    /// Directories that appeared, moved or disappeared. Everything below them may differ.
    pub trees: BTreeSet<PathBuf>,
    /// Other names that changed.
    pub names: BTreeMap<PathBuf, NameChange>,
}

/// The last change of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameChange {
    /// The name appeared, or what it refers to changed.
    Changed,
    /// The name disappeared.
    Removed,
}

impl DirectoryWatch {
    /// Returns a watch of no directories, or `None` if the system allows no further watches.
    #[must_use]
    pub fn new(events: WatchedEvents) -> Option<DirectoryWatch> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let mounts = File::open("/proc/self/mountinfo").ok()?;
        let names = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::ONLYDIR;
        // A mapping changes contents without an event, but keeps its file open until it ends.
        let contents = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE;
        Some(DirectoryWatch {
            inotify,
            flags: match events {
                WatchedEvents::Names => names,
                WatchedEvents::Contents => names | contents,
            },
            paths: HashMap::new(),
            descriptors: BTreeMap::new(),
            mounts,
            local_device: None,
            is_complete: true,
        })
    }

    /// Returns whether the directory at this path is followed, and no change is unknown so far.
    #[must_use]
    pub fn follows(&self, path: &Path) -> bool {
        self.is_complete && self.descriptors.contains_key(path)
    }

    /// Follows an open directory from now on. Call this before the directory is listed.
    ///
    /// If the directory cannot be followed, the watch is lost: [`take_changes`](Self::take_changes)
    /// returns `None` from then on.
    pub fn add_directory(&mut self, directory: BorrowedFd<'_>, path: &Path) {
        if self.is_complete {
            self.is_complete = self.try_add(directory, path).is_some();
        }
    }

    fn try_add(&mut self, directory: BorrowedFd<'_>, path: &Path) -> Option<()> {
        let device = fstat(directory).ok()?.st_dev;
        if self.local_device != Some(device) {
            #[expect(
                clippy::useless_conversion,
                reason = "the width differs between architectures"
            )]
            let kind = i64::from(fstatfs(directory).ok()?.f_type);
            LOCAL_FILE_SYSTEMS.contains(&kind).then_some(())?;
            self.local_device = Some(device);
        }
        let link = format!("/proc/self/fd/{}", directory.as_raw_fd());
        let descriptor = inotify::add_watch(&self.inotify, link, self.flags).ok()?;
        let path: Arc<Path> = Arc::from(path);
        match self.paths.insert(descriptor, Arc::clone(&path)) {
            // The directory has two paths, as a bind mount has, or it was moved in this moment.
            Some(other) if other != path => return None,
            Some(_) | None => {}
        }
        self.descriptors.insert(path, descriptor);
        (self.paths.len() <= WATCHED_DIRECTORIES_MAX).then_some(())
    }

    /// Returns the paths that changed since the last call, or `None` if some changes are unknown.
    /// Then only a walk of everything, with a new watch, finds out what changed.
    pub fn take_changes(&mut self) -> Option<WatchedChanges> {
        let mut changes = WatchedChanges::default();
        if self.is_complete {
            self.is_complete = self.read_events(&mut changes).is_some();
        }
        self.is_complete.then_some(changes)
    }

    fn read_events(&mut self, changes: &mut WatchedChanges) -> Option<()> {
        // The kernel reports an exceptional state once after each change of the mounts (proc_mounts(5)).
        let mut mounts = [PollFd::new(&self.mounts, PollFlags::PRI)];
        if poll(&mut mounts, Some(&Timespec::default())).ok()? > 0 {
            return None;
        }
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        let inotify = self.inotify.try_clone().ok()?;
        let mut reader = inotify::Reader::new(inotify.as_fd(), &mut buffer);
        for _ in 0..WATCH_EVENTS_MAX {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Some(()),
                Err(_) => return None,
            };
            let kind = event.events();
            if kind.contains(ReadFlags::QUEUE_OVERFLOW) {
                return None;
            }
            if kind.contains(ReadFlags::IGNORED) {
                if let Some(path) = self.paths.remove(&event.wd())
                    && self.descriptors.get(&path) == Some(&event.wd())
                {
                    self.descriptors.remove(&path);
                }
                continue;
            }
            let Some(directory) = self.paths.get(&event.wd()) else { continue };
            let Some(name) = event.file_name() else {
                // The directory itself; its parent reports that as well, but the root has none.
                if directory.as_os_str().is_empty() {
                    changes.names.insert(PathBuf::new(), NameChange::Changed);
                }
                continue;
            };
            let path = directory.join(OsStr::from_bytes(name.to_bytes()));
            let is_removal = kind.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM);
            let is_arrival = kind.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
            if kind.contains(ReadFlags::ISDIR) && (is_removal || is_arrival) {
                // Stops following it and everything below it. It may have moved, and then its paths
                // are wrong.
                let gone: Vec<(Arc<Path>, i32)> = self
                    .descriptors
                    .range::<Path, _>((Bound::Included(path.as_path()), Bound::Unbounded))
                    .take_while(|(below, _)| below.starts_with(&path))
                    .map(|(below, descriptor)| (Arc::clone(below), *descriptor))
                    .collect();
                for (path, descriptor) in gone {
                    // The kernel has already forgotten a directory that was deleted.
                    let _ = inotify::remove_watch(&self.inotify, descriptor);
                    self.descriptors.remove(&path);
                    self.paths.remove(&descriptor);
                }
                changes.names.remove(&path);
                changes.trees.insert(path);
            } else {
                let change = if is_removal { NameChange::Removed } else { NameChange::Changed };
                changes.names.insert(path, change);
            }
            if changes.trees.len() + changes.names.len() > WATCHED_CHANGES_MAX {
                return None;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
