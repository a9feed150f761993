//! The objects themselves: files named after the hash of their bytes, written whole or not at all. An object is never changed;
//! one that does not hold what its name says is told apart when it is read, and replaced when it is written again. What the
//! bytes mean is not known here.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::StoreError;
use crate::id::ObjectId;
use crate::limits::{NAME_ATTEMPTS_MAX, SYNCED_EACH_MAX, SYNCED_LATER_EACH_MAX};
use crate::record::Lasting;

/// The directories of a store that hold objects, and files on their way to become some.
#[derive(Debug)]
pub(crate) struct Objects {
    directory: PathBuf,
    temporary: PathBuf,
    /// What was written and may be lost with the power. Threads that record add to it, and one that syncs takes it all; no
    /// channel would do, because whoever syncs comes and goes.
    unsynced: Mutex<Vec<ObjectId>>,
    /// Numbers the temporaries of this process; the process's own number tells those of several apart.
    next: AtomicU64,
}

impl Objects {
    pub(crate) fn open(store: &Path) -> Result<Objects, StoreError> {
        let (directory, temporary) = (store.join("objects"), store.join("tmp"));
        for path in [&directory, &temporary] {
            make_private_directory(path).map_err(StoreError::io("make its directories"))?;
        }
        Ok(Objects { directory, temporary, unsynced: Mutex::default(), next: AtomicU64::new(0) })
    }

    /// Reads an object of at most `bytes_max` bytes and makes sure that it is what its name says.
    pub(crate) fn get(&self, id: ObjectId, bytes_max: u64) -> Result<Vec<u8>, StoreError> {
        let file = match File::open(self.path(id)) {
            Ok(file) => file,
            Err(err) if err.kind() == ErrorKind::NotFound => {
                return Err(StoreError::Lost { id: id.to_string() });
            }
            Err(err) => return Err(StoreError::io("read an object")(err)),
        };
        let mut bytes = Vec::new();
        file.take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(StoreError::io("read an object"))?;
        if ObjectId::of(&bytes) == id {
            return Ok(bytes);
        }
        Err(StoreError::Corrupt { id: id.to_string() })
    }

    /// Begins to write objects.
    pub(crate) fn writing(&self, lasting: Lasting) -> Writing<'_> {
        Writing { objects: self, lasting, written: 0, written_bytes: 0 }
    }

    /// Makes everything that was written without being synced last through a loss of power.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
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
            StoreError::io("sync its objects")(err)
        })
    }

    fn note_unsynced(&self, id: ObjectId) {
        let mut unsynced = self.unsynced();
        // Of more it does not matter which they are.
        if unsynced.len() <= SYNCED_LATER_EACH_MAX {
            unsynced.push(id);
        }
    }

    fn unsynced(&self) -> MutexGuard<'_, Vec<ObjectId>> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes everything on the file system last, which costs whatever others wrote as well.
    fn sync_all(&self) -> Result<(), StoreError> {
        let synced = File::open(&self.directory)
            .and_then(|directory| rustix::fs::syncfs(directory).map_err(io::Error::from));
        synced.map_err(StoreError::io("sync its objects"))
    }

    /// Makes a new empty file for something that will be renamed into its place.
    pub(crate) fn temporary(&self) -> Result<(PathBuf, File), StoreError> {
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
            // A process that had this one's number died and left some.
            if !matches!(&outcome, Err(err) if err.kind() == ErrorKind::AlreadyExists) {
                break;
            }
        }
        outcome.map_err(StoreError::io("make a file"))
    }

    /// Removes what processes that died were writing. Only for who holds the store alone.
    pub(crate) fn remove_temporaries(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.temporary)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }

    pub(crate) fn remove(&self, id: ObjectId) -> io::Result<()> {
        fs::remove_file(self.path(id))
    }

    /// Calls `visit` with every object and its size, in no order.
    pub(crate) fn visit(&self, mut visit: impl FnMut(ObjectId, u64)) -> io::Result<()> {
        for first in fs::read_dir(&self.directory)? {
            let first = first?;
            for rest in fs::read_dir(first.path())? {
                let rest = rest?;
                let mut name = first.file_name();
                name.push(rest.file_name());
                // A name that is no object's is not this store's to judge.
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

/// Objects being written; unless it was asked for less, they last from [`finish`](Writing::finish) on.
#[derive(Debug)]
pub(crate) struct Writing<'a> {
    objects: &'a Objects,
    lasting: Lasting,
    /// How many objects were not there before.
    pub(crate) written: u64,
    /// How many bytes they have.
    pub(crate) written_bytes: u64,
}

impl Writing<'_> {
    /// Puts an object with these bytes into the store.
    ///
    /// One that is there already is compared, because a loss of power can leave it empty or cut short.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<ObjectId, StoreError> {
        let id = ObjectId::of(bytes);
        let path = self.objects.path(id);
        if holds(&path, bytes) {
            return Ok(id);
        }
        let (temporary, file) = self.objects.temporary()?;
        let placed = self.fill(file, bytes).and_then(|()| self.place(&temporary, &path));
        if let Err(err) = placed {
            // The first error is the one to tell; what stays is swept when the store is pruned.
            let _ = fs::remove_file(&temporary);
            return Err(StoreError::io("write an object")(err));
        }
        if self.lasting == Lasting::Later {
            self.objects.note_unsynced(id);
        }
        self.written += 1;
        self.written_bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(id)
    }

    /// Makes everything that was put last through a loss of power, if it is to do so at once.
    pub(crate) fn finish(&self) -> Result<(), StoreError> {
        match self.lasting {
            Lasting::AtOnce if self.written >= SYNCED_EACH_MAX => self.objects.sync_all(),
            Lasting::AtOnce | Lasting::Later => Ok(()),
        }
    }

    fn is_syncing_each(&self) -> bool {
        self.lasting == Lasting::AtOnce && self.written < SYNCED_EACH_MAX
    }

    fn fill(&self, mut file: File, bytes: &[u8]) -> io::Result<()> {
        file.write_all(bytes)?;
        if self.is_syncing_each() { file.sync_data() } else { Ok(()) }
    }

    fn place(&self, temporary: &Path, path: &Path) -> io::Result<()> {
        let directory = path.parent().unwrap_or(&self.objects.directory);
        let renamed = match fs::rename(temporary, path) {
            Err(err) if err.kind() == ErrorKind::NotFound => {
                make_private_directory(directory)?;
                if self.is_syncing_each() {
                    File::open(&self.objects.directory)?.sync_all()?;
                }
                fs::rename(temporary, path)
            }
            answer => answer,
        };
        renamed?;
        if self.is_syncing_each() { File::open(directory)?.sync_all() } else { Ok(()) }
    }
}

fn holds(path: &Path, bytes: &[u8]) -> bool {
    let Ok(mut file) = File::open(path) else { return false };
    let is_as_long = file
        .metadata()
        .is_ok_and(|metadata| u64::try_from(bytes.len()).is_ok_and(|len| len == metadata.len()));
    let mut found = Vec::new();
    is_as_long && file.read_to_end(&mut found).is_ok() && found == bytes
}

/// Opens a file of the store that only its owner may open, and makes it if it is not there.
pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Makes a directory that only its owner may enter, if it is not there.
pub(crate) fn make_private_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(err) if err.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        answer => answer,
    }
}
