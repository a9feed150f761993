//! The objects: files named after the hash of their bytes, written completely or not at all. An
//! object never changes. A damaged object is detected when it is read, and replaced when it is
//! written again. The meaning of the bytes is defined elsewhere.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::SnapshotStoreError;
use crate::id::ObjectId;
use crate::limits::{NAME_ATTEMPTS_MAX, SYNCED_EACH_MAX, SYNCED_LATER_EACH_MAX};

/// The directories of a store that contain objects and their temporaries.
#[derive(Debug)]
pub(crate) struct ObjectStore {
    directory: PathBuf,
    temporary: PathBuf,
    /// Objects that were written but not synced. Recording threads add to it, and a syncing thread
    /// takes it all. A channel does not fit, because syncing threads come and go.
    unsynced: Mutex<Vec<ObjectId>>,
    /// Numbers the temporaries of this process; the process number distinguishes those of several
    /// processes.
    next: AtomicU64,
}

impl ObjectStore {
    pub(crate) fn open(store: &Path) -> Result<ObjectStore, SnapshotStoreError> {
        let (directory, temporary) = (store.join("objects"), store.join("tmp"));
        for path in [&directory, &temporary] {
            make_private_directory(path).map_err(SnapshotStoreError::io("make its directories"))?;
        }
        Ok(ObjectStore {
            directory,
            temporary,
            unsynced: Mutex::default(),
            next: AtomicU64::new(0),
        })
    }

    /// Reads an object of at most `bytes_max` bytes and verifies that it matches its name.
    pub(crate) fn get(&self, id: ObjectId, bytes_max: u64) -> Result<Vec<u8>, SnapshotStoreError> {
        let file = match File::open(self.path(id)) {
            Ok(file) => file,
            Err(err) if err.kind() == ErrorKind::NotFound => {
                return Err(SnapshotStoreError::Lost { id: id.to_string() });
            }
            Err(err) => return Err(SnapshotStoreError::io("read an object")(err)),
        };
        let mut bytes = Vec::new();
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(SnapshotStoreError::io("read an object"))?;
        if ObjectId::of(&bytes) == id {
            return Ok(bytes);
        }
        Err(SnapshotStoreError::Corrupt { id: id.to_string() })
    }

    /// Begins to write objects.
    pub(crate) fn begin_writing(&self, lasting: RecordDurability) -> ObjectWriter<'_> {
        ObjectWriter { objects: self, lasting, written: 0, written_bytes: 0 }
    }

    /// Makes all unsynced objects survive a loss of power.
    pub(crate) fn sync(&self) -> Result<(), SnapshotStoreError> {
        let unsynced = std::mem::take(&mut *self.unsynced());
        if unsynced.len() > SYNCED_LATER_EACH_MAX {
            return self.sync_all();
        }
        let mut directories = BTreeSet::new();
        let mut sync_each = || {
            for id in &unsynced {
                let path = self.path(*id);
                match File::open(&path) {
                    Ok(file) => file.sync_data()?,
                    // It was pruned.
                    Err(err) if err.kind() == ErrorKind::NotFound => continue,
                    Err(err) => return Err(err),
                }
                directories.extend(path.parent().map(Path::to_path_buf));
            }
            directories.insert(self.directory.clone());
            directories.iter().try_for_each(|directory| File::open(directory)?.sync_all())
        };
        if unsynced.is_empty() {
            return Ok(());
        }
        sync_each().map_err(|err| {
            self.unsynced().extend(&unsynced);
            SnapshotStoreError::io("sync its objects")(err)
        })
    }

    fn unsynced(&self) -> MutexGuard<'_, Vec<ObjectId>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs the whole file system, including the writes of other processes.
    fn sync_all(&self) -> Result<(), SnapshotStoreError> {
        let synced = File::open(&self.directory)
            .and_then(|directory| rustix::fs::syncfs(directory).map_err(io::Error::from));
        synced.map_err(SnapshotStoreError::io("sync its objects"))
    }

    /// Creates a new empty file that will be renamed into its place.
    pub(crate) fn temporary(&self) -> Result<(PathBuf, File), SnapshotStoreError> {
        let mut outcome = Err(io::Error::from(ErrorKind::AlreadyExists));
        for _ in 0..NAME_ATTEMPTS_MAX {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let path = self.temporary.join(format!("{}-{number}", std::process::id()));
            outcome = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)
                .map(|file| (path, file));
            // A dead process with the same number has left some.
            if !matches!(&outcome, Err(err) if err.kind() == ErrorKind::AlreadyExists) {
                break;
            }
        }
        outcome.map_err(SnapshotStoreError::io("make a file"))
    }

    /// Removes temporaries of dead processes. Requires exclusive access to the store.
    pub(crate) fn remove_temporaries(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.temporary)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }

    /// Calls `visit` with every object and its size, in no particular order.
    pub(crate) fn visit(&self, mut visit: impl FnMut(ObjectId, u64)) -> io::Result<()> {
        for first in fs::read_dir(&self.directory)? {
            let first = first?;
            for rest in fs::read_dir(first.path())? {
                let rest = rest?;
                let mut name = first.file_name();
                name.push(rest.file_name());
                // A file without an object's name does not belong to the store.
                let Some(id) = name.to_str().and_then(ObjectId::parse) else { continue };
                match rest.metadata() {
                    Ok(metadata) => visit(id, metadata.len()),
                    Err(err) if err.kind() == ErrorKind::NotFound => {}
                    Err(err) => return Err(err),
                }
            }
        }
        Ok(())
    }

    pub(crate) fn path(&self, id: ObjectId) -> PathBuf {
        let name = id.to_string();
        let (first, rest) = name.split_at(2);
        self.directory.join(first).join(rest)
    }
}

/// When a record survives a loss of power.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordDurability {
    /// As soon as it is made.
    #[default]
    AtOnce,
    /// After [`SnapshotStore::sync`](crate::SnapshotStore::sync), or once the system has written
    /// it. It survives the death of processes at once.
    Later,
}

/// Writes objects; unless the caller chose otherwise, they survive a loss of power from
/// [`finish`](ObjectWriter::finish) on.
#[derive(Debug)]
pub(crate) struct ObjectWriter<'a> {
    objects: &'a ObjectStore,
    lasting: RecordDurability,
    /// The number of new objects.
    pub(crate) written: u64,
    /// Their total size in bytes.
    pub(crate) written_bytes: u64,
}

impl ObjectWriter<'_> {
    /// Writes an object with these bytes to the store.
    ///
    /// An existing object is compared, because a loss of power can leave it empty or truncated.
    pub(crate) fn put_object(&mut self, bytes: &[u8]) -> Result<ObjectId, SnapshotStoreError> {
        let id = ObjectId::of(bytes);
        let path = self.objects.path(id);
        let size_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if fs::metadata(&path).is_ok_and(|metadata| metadata.len() == size_bytes)
            && fs::read(&path).is_ok_and(|found| found == bytes)
        {
            return Ok(id);
        }
        let (temporary, mut file) = self.objects.temporary()?;
        let directory = path.parent().unwrap_or(&self.objects.directory);
        let is_syncing_each =
            self.lasting == RecordDurability::AtOnce && self.written < SYNCED_EACH_MAX;
        let placed = file
            .write_all(bytes)
            .and_then(|()| if is_syncing_each { file.sync_data() } else { Ok(()) })
            .and_then(|()| match fs::rename(&temporary, &path) {
                Err(err) if err.kind() == ErrorKind::NotFound => {
                    make_private_directory(directory)?;
                    if is_syncing_each {
                        File::open(&self.objects.directory)?.sync_all()?;
                    }
                    fs::rename(&temporary, &path)
                }
                answer => answer,
            })
            .and_then(
                |()| if is_syncing_each { File::open(directory)?.sync_all() } else { Ok(()) },
            );
        if let Err(err) = placed {
            // The first error is the one to report; a remaining temporary is removed when the store
            // is pruned.
            let _ = fs::remove_file(&temporary);
            return Err(SnapshotStoreError::io("write an object")(err));
        }
        if self.lasting == RecordDurability::Later {
            let mut unsynced = self.objects.unsynced();
            // Beyond the limit everything is synced, so the names do not matter.
            if unsynced.len() <= SYNCED_LATER_EACH_MAX {
                unsynced.push(id);
            }
        }
        self.written += 1;
        self.written_bytes += size_bytes;
        Ok(id)
    }

    /// Makes all written objects survive a loss of power, unless that is deferred.
    pub(crate) fn finish(&self) -> Result<(), SnapshotStoreError> {
        match self.lasting {
            RecordDurability::AtOnce if self.written >= SYNCED_EACH_MAX => self.objects.sync_all(),
            RecordDurability::AtOnce | RecordDurability::Later => Ok(()),
        }
    }
}

/// Opens a file of the store that only its owner may open; creates it if necessary.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Creates a directory that only its owner may enter, if it does not exist.
pub(crate) fn make_private_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(err) if err.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        answer => answer,
    }
}
