//! What files of a root looked like when they were last read, so that a file that looks the same is not read again. A cache is
//! only ever a saving: what is missing, damaged or of another version counts as empty. It is replaced as a whole, and
//! does not know what it is asked for.
//!
//! A file that was changed in the same tick of the clock in which it was read can be changed once more without looking any
//! different. A cache therefore notes when it was begun, by the clock that stamps files, and says nothing of files that were
//! changed then or later.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use haft_sandbox::{Metadata, Stamp};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, fstat, futimens};

use crate::bytes::{Reader, Writer};
use crate::error::StoreError;
use crate::id::{ContentId, ID_BYTES, ObjectId, TreeId};
use crate::limits::CACHE_BYTES_MAX;
use crate::objects::{Objects, open_private};
use crate::store::CACHE_NAME;

const MAGIC: &[u8] = b"haft cache 1\n";

const SECOND_NS: i128 = 1_000_000_000;

/// What is known of a root's directories.
#[derive(Debug, Default)]
pub(super) struct Cache {
    directories: HashMap<PathBuf, CachedDirectory>,
    entries: u64,
    taken_ns: i128,
}

/// What is known of one directory.
#[derive(Debug)]
pub(super) struct CachedDirectory {
    /// The object that it was recorded as.
    pub(super) tree: TreeId,
    /// Sorted by name.
    entries: Vec<Remembered>,
}

/// What is known of one name.
#[derive(Debug, Clone)]
pub(super) struct Remembered {
    pub(super) name: OsString,
    pub(super) stamp: Stamp,
    pub(super) known: Known,
}

/// What reading would find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// A file has this content, which is in the store.
    Content(ContentId),
    /// An ignored directory holds more than ignored directories may.
    Heavy,
}

impl Cache {
    /// Reads the cache in `directory`, if it was made with the same bounds.
    pub(super) fn load(directory: &Path, fingerprint: ObjectId) -> Cache {
        let mut bytes = Vec::new();
        let read = File::open(directory.join(CACHE_NAME))
            .and_then(|file| file.take(CACHE_BYTES_MAX).read_to_end(&mut bytes));
        if read.is_err() {
            return Cache::default();
        }
        decode(&bytes, fingerprint).unwrap_or_default()
    }

    pub(super) fn directory(&self, path: &Path) -> Option<&CachedDirectory> {
        self.directories.get(path)
    }

    /// Returns what is known of a name that looks like `stamp` now.
    pub(super) fn known(
        &self,
        directory: &CachedDirectory,
        name: &OsStr,
        stamp: &Stamp,
    ) -> Option<Known> {
        let entries = &directory.entries;
        let at =
            entries.binary_search_by(|entry| entry.name.as_bytes().cmp(name.as_bytes())).ok()?;
        let entry = entries.get(at)?;
        (entry.stamp == *stamp && is_settled(stamp, self.taken_ns)).then_some(entry.known)
    }
}

/// Tells whether a change after `taken_ns` would have left another time than the one that a file has.
fn is_settled(stamp: &Stamp, taken_ns: i128) -> bool {
    // Whole seconds are what file systems show that count no finer; the coarsest in use counts by two.
    let tick_ns = if stamp.changed_ns % SECOND_NS == 0 { 2 * SECOND_NS } else { 1 };
    stamp.changed_ns.saturating_add(tick_ns) <= taken_ns
}

/// A cache being written.
#[derive(Debug)]
pub(super) struct Fresh<'a> {
    objects: &'a Objects,
    path: PathBuf,
    writer: Writer,
    directories: u64,
    entries: u64,
    /// Whether it says anything that the former one does not.
    is_news: bool,
}

impl<'a> Fresh<'a> {
    /// Begins a cache; what is read from now on may be put into it.
    pub(super) fn begin(
        objects: &'a Objects,
        directory: &Path,
        fingerprint: ObjectId,
    ) -> Result<Fresh<'a>, StoreError> {
        let taken_ns = now_ns(&directory.join("clock")).map_err(StoreError::io("stamp a file"))?;
        let mut writer = Writer::default();
        writer.raw(MAGIC).raw(&fingerprint.0).i128(taken_ns);
        let path = directory.join(CACHE_NAME);
        Ok(Fresh { objects, path, writer, directories: 0, entries: 0, is_news: false })
    }

    /// Adds what is known of a directory; each directory once.
    pub(super) fn add(&mut self, path: &Path, tree: TreeId, entries: &[Remembered]) {
        self.directories += 1;
        let count = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        self.entries += count;
        self.writer.string(path.as_os_str().as_bytes()).raw(&tree.0.0).u64(count);
        for entry in entries {
            encode_entry(&mut self.writer, entry);
        }
    }

    /// Notes that something was found out that the former cache did not say.
    pub(super) fn note_news(&mut self) {
        self.is_news = true;
    }

    /// Puts the cache in place of the former one, if it says anything else.
    pub(super) fn finish(mut self, former: &Cache) -> Result<(), StoreError> {
        let directories = u64::try_from(former.directories.len()).unwrap_or(u64::MAX);
        let is_same_size = (directories, former.entries) == (self.directories, self.entries);
        if is_same_size && !self.is_news {
            return Ok(());
        }
        let sum = ObjectId::of(&self.writer.bytes);
        self.writer.raw(&sum.0);
        // It is not synced: one that a loss of power cut short is told by its sum.
        let (temporary, mut file) = self.objects.temporary()?;
        file.write_all(&self.writer.bytes)
            .and_then(|()| fs::rename(&temporary, &self.path))
            .map_err(StoreError::io("write its cache"))
    }
}

/// Returns the present, by the clock that stamps files: no other agrees with it exactly. The file at `path` is stamped for it, and
/// kept, because making and removing one each time is slow where a file system is careful with numbers of removed files.
fn now_ns(path: &Path) -> io::Result<i128> {
    let file = open_private(path)?;
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    futimens(&file, &Timestamps { last_access: now, last_modification: now })?;
    Ok(Metadata::from(&fstat(&file)?).stamp.modified_ns)
}

const CONTENT: u8 = b'c';
const HEAVY: u8 = b'h';

fn encode_entry(writer: &mut Writer, entry: &Remembered) {
    let Stamp { device, inode, size_bytes, modified_ns, changed_ns, mode } = entry.stamp;
    writer.string(entry.name.as_bytes());
    writer.u64(device).u64(inode).u64(size_bytes).i128(modified_ns).i128(changed_ns).u32(mode);
    match entry.known {
        Known::Content(content) => writer.u8(CONTENT).raw(&content.0.0),
        Known::Heavy => writer.u8(HEAVY),
    };
}

fn decode(bytes: &[u8], fingerprint: ObjectId) -> Option<Cache> {
    let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(ID_BYTES)?)?;
    if ObjectId::of(bytes).0.as_slice() != sum {
        return None;
    }
    let mut reader = Reader::new(bytes);
    if reader.raw(MAGIC.len())? != MAGIC || ObjectId(reader.array()?) != fingerprint {
        return None;
    }
    let mut cache = Cache { taken_ns: reader.i128()?, ..Cache::default() };
    while !reader.is_empty() {
        let path = PathBuf::from(OsString::from_vec(reader.string()?.to_vec()));
        let tree = TreeId(ObjectId(reader.array()?));
        let mut entries = Vec::new();
        for _ in 0..reader.u64()? {
            entries.push(decode_entry(&mut reader)?);
        }
        cache.entries += u64::try_from(entries.len()).ok()?;
        cache.directories.insert(path, CachedDirectory { tree, entries });
    }
    Some(cache)
}

fn decode_entry(reader: &mut Reader<'_>) -> Option<Remembered> {
    let name = OsString::from_vec(reader.string()?.to_vec());
    let stamp = Stamp {
        device: reader.u64()?,
        inode: reader.u64()?,
        size_bytes: reader.u64()?,
        modified_ns: reader.i128()?,
        changed_ns: reader.i128()?,
        mode: reader.u32()?,
    };
    let known = match reader.u8()? {
        CONTENT => Known::Content(ContentId(ObjectId(reader.array()?))),
        HEAVY => Known::Heavy,
        _ => return None,
    };
    Some(Remembered { name, stamp, known })
}

#[cfg(test)]
mod tests;
