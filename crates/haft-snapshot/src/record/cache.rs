//! The states of a root's files when they were last read, so that unchanged files are not read
//! again. The cache is only an optimisation: a missing, damaged or outdated cache counts as empty.
//! It is replaced as a whole.
//!
//! A file that was changed in the same clock tick in which it was read can change once more without
//! a visible difference. A cache therefore records its start time, by the clock that stamps files,
//! and ignores files that were changed then or later.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use haft_sandbox::{InodeStamp, PathMetadata};
use rustix::fs::{Timespec, Timestamps, UTIME_NOW, fstat, futimens};

use crate::bytes::{ByteReader, ByteWriter};
use crate::error::SnapshotStoreError;
use crate::id::{ContentId, ID_BYTES, ObjectId, TreeId};
use crate::limits::CACHE_BYTES_MAX;
use crate::objects::{ObjectStore, open_private};
use crate::store::CACHE_NAME;

const MAGIC: &[u8] = b"haft cache 1\n";

const CONTENT: u8 = b'c';
const OVERSIZED: u8 = b'h';

const SECOND_NS: i128 = 1_000_000_000;

/// The cached directories of a root.
#[derive(Debug, Default)]
pub(super) struct RecordCache {
    directories: HashMap<PathBuf, CachedDirectory>,
    entries: u64,
    taken_ns: i128,
}

/// A cache that is loaded when a walk first asks for a directory.
#[derive(Debug, Default)]
pub(super) struct LazyCache {
    /// The directory that contains it, and the fingerprint of the options; `None` for no cache.
    source: Option<(PathBuf, ObjectId)>,
    loaded: OnceCell<RecordCache>,
}

impl LazyCache {
    pub(super) fn new(directory: PathBuf, fingerprint: ObjectId) -> LazyCache {
        LazyCache { source: Some((directory, fingerprint)), loaded: OnceCell::new() }
    }
}

impl std::ops::Deref for LazyCache {
    type Target = RecordCache;

    fn deref(&self) -> &RecordCache {
        self.loaded.get_or_init(|| {
            let source = self.source.as_ref();
            source
                .and_then(|(directory, fingerprint)| RecordCache::load(directory, *fingerprint))
                .unwrap_or_default()
        })
    }
}

/// A cached directory.
#[derive(Debug)]
pub(super) struct CachedDirectory {
    /// The object that describes it.
    pub(super) tree: TreeId,
    /// Sorted by name.
    entries: Vec<CachedEntry>,
}

/// A cached name.
#[derive(Debug, Clone)]
pub(super) struct CachedEntry {
    pub(super) name: OsString,
    pub(super) stamp: InodeStamp,
    pub(super) known: CachedContent,
}

/// The result that reading would give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CachedContent {
    /// A file has this content, which is in the store.
    Content(ContentId),
    /// An ignored directory exceeds the limits of ignored directories.
    Oversized,
}

impl RecordCache {
    /// Loads the cache in `directory`, if it is undamaged and was written with the same limits.
    fn load(directory: &Path, fingerprint: ObjectId) -> Option<RecordCache> {
        let mut bytes = Vec::new();
        let file = File::open(directory.join(CACHE_NAME)).ok()?;
        file.take(CACHE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(ID_BYTES)?)?;
        if ObjectId::of(bytes).0.as_slice() != sum {
            return None;
        }
        let mut reader = ByteReader::new(bytes);
        if reader.raw(MAGIC.len())? != MAGIC || ObjectId(reader.array()?) != fingerprint {
            return None;
        }
        let mut cache = RecordCache { taken_ns: reader.i128()?, ..RecordCache::default() };
        while !reader.is_empty() {
            let path = PathBuf::from(OsString::from_vec(reader.string()?.to_vec()));
            let tree = TreeId(ObjectId(reader.array()?));
            let mut entries = Vec::new();
            for _ in 0..reader.u64()? {
                let name = OsString::from_vec(reader.string()?.to_vec());
                let stamp = InodeStamp {
                    device: reader.u64()?,
                    inode: reader.u64()?,
                    size_bytes: reader.u64()?,
                    modified_ns: reader.i128()?,
                    changed_ns: reader.i128()?,
                    mode: reader.u32()?,
                };
                let known = match reader.u8()? {
                    CONTENT => CachedContent::Content(ContentId(ObjectId(reader.array()?))),
                    OVERSIZED => CachedContent::Oversized,
                    _ => return None,
                };
                entries.push(CachedEntry { name, stamp, known });
            }
            cache.entries += u64::try_from(entries.len()).ok()?;
            cache.directories.insert(path, CachedDirectory { tree, entries });
        }
        Some(cache)
    }

    pub(super) fn directory(&self, path: &Path) -> Option<&CachedDirectory> {
        self.directories.get(path)
    }

    /// Returns the cached result for a name whose current state is `stamp`.
    pub(super) fn known(
        &self,
        directory: &CachedDirectory,
        name: &OsStr,
        stamp: &InodeStamp,
    ) -> Option<CachedContent> {
        let entries = &directory.entries;
        let at =
            entries.binary_search_by(|entry| entry.name.as_bytes().cmp(name.as_bytes())).ok()?;
        let entry = entries.get(at)?;
        (entry.stamp == *stamp && is_stable(stamp, self.taken_ns)).then_some(entry.known)
    }
}

/// Returns the state of the cache file of a root, which tells whether it was replaced or removed.
pub(super) fn cache_stamp(directory: &Path) -> Option<InodeStamp> {
    let stat = rustix::fs::stat(directory.join(CACHE_NAME)).ok()?;
    Some(PathMetadata::from(&stat).stamp)
}

/// Returns whether a change after `taken_ns` would have left a different time than the file has.
pub(super) fn is_stable(stamp: &InodeStamp, taken_ns: i128) -> bool {
    // Whole seconds come from file systems with coarse times; the coarsest in use counts by two.
    let tick_ns = if stamp.changed_ns % SECOND_NS == 0 { 2 * SECOND_NS } else { 1 };
    stamp.changed_ns.saturating_add(tick_ns) <= taken_ns
}

/// A cache being written.
#[derive(Debug)]
pub(super) struct RecordCacheWriter<'a> {
    objects: &'a ObjectStore,
    path: PathBuf,
    writer: ByteWriter,
    directories: u64,
    entries: u64,
    /// Whether it contains anything that the former cache does not.
    is_news: bool,
}

impl<'a> RecordCacheWriter<'a> {
    /// Begins a cache; results that are read from now on may be added to it.
    pub(super) fn begin_cache(
        objects: &'a ObjectStore,
        directory: &Path,
        fingerprint: ObjectId,
    ) -> Result<RecordCacheWriter<'a>, SnapshotStoreError> {
        let mut writer = ByteWriter::default();
        writer.raw(MAGIC).raw(&fingerprint.0).i128(now_ns(directory)?);
        let path = directory.join(CACHE_NAME);
        Ok(RecordCacheWriter { objects, path, writer, directories: 0, entries: 0, is_news: false })
    }

    /// Adds a directory; call it once per directory.
    pub(super) fn add(&mut self, path: &Path, tree: TreeId, entries: &[CachedEntry]) {
        self.directories += 1;
        let count = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        self.entries += count;
        self.writer.string(path.as_os_str().as_bytes()).raw(&tree.0.0).u64(count);
        for entry in entries {
            let InodeStamp { device, inode, size_bytes, modified_ns, changed_ns, mode } =
                entry.stamp;
            self.writer.string(entry.name.as_bytes()).u64(device).u64(inode).u64(size_bytes);
            self.writer.i128(modified_ns).i128(changed_ns).u32(mode);
            match entry.known {
                CachedContent::Content(content) => self.writer.u8(CONTENT).raw(&content.0.0),
                CachedContent::Oversized => self.writer.u8(OVERSIZED),
            };
        }
    }

    /// Records that something new was found.
    pub(super) fn mark_changed(&mut self) {
        self.is_news = true;
    }

    /// Replaces the former cache, if anything differs.
    pub(super) fn finish(mut self, former: &RecordCache) -> Result<(), SnapshotStoreError> {
        let directories = u64::try_from(former.directories.len()).unwrap_or(u64::MAX);
        let is_same_size = (directories, former.entries) == (self.directories, self.entries);
        if is_same_size && !self.is_news {
            return Ok(());
        }
        let sum = ObjectId::of(&self.writer.bytes);
        self.writer.raw(&sum.0);
        // It is not synced: its checksum detects a cache that a loss of power truncated.
        let (temporary, mut file) = self.objects.temporary()?;
        file.write_all(&self.writer.bytes)
            .and_then(|()| fs::rename(&temporary, &self.path))
            .map_err(SnapshotStoreError::io("write its cache"))
    }
}

/// Returns the current time by the clock that stamps files, because no other clock agrees with it
/// exactly. A file in `directory` is stamped for this and kept: creating and removing one each time
/// is slow on some file systems.
pub(super) fn now_ns(directory: &Path) -> Result<i128, SnapshotStoreError> {
    let file =
        open_private(&directory.join("clock")).map_err(SnapshotStoreError::io("stamp a file"))?;
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let stat = futimens(&file, &Timestamps { last_access: now, last_modification: now })
        .and_then(|()| fstat(&file))
        .map_err(SnapshotStoreError::io("stamp a file"))?;
    Ok(PathMetadata::from(&stat).stamp.modified_ns)
}

#[cfg(test)]
mod tests;
