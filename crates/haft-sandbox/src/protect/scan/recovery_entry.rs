//! Encodes a scan in bytes, so that another process can reconcile it. The open descriptors are
//! lost, but file identities and small contents are kept. Nothing is guessed: an incomplete entry
//! is rejected.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::concurrent_scans::ConcurrentBaselines;
use super::directory::{FileIdentity, FileTime, InodeState, ScannedKind};
use super::listing::ListedNames;
use super::report::{ProtectionMode, RevertedChange, ScanOptions};
use super::result::{PatternPosition, ProtectedEntry, ScanResult, ScanRoot};
use super::traversal::ScanLimits;
use super::{ProtectedPathScan, ScanCache};
use crate::bytes::{WireReader, WireWriter};
use crate::protect::ProtectedPaths;
use crate::protect::path_rules::RuledPaths;
use crate::protect::pattern::ProtectionExtent;

/// The first byte of an entry. A different build may read it.
const FORMAT: u8 = 2;
/// The first byte of an entry without the time of the scan.
const FORMAT_WITHOUT_TIME: u8 = 1;

/// Reconciles scans of commands whose process has died, oldest first. `ended` is when the last of
/// their processes ended; later changes are not theirs. Returns the reverted changes, and the paths
/// that could not be checked.
pub(crate) fn reconcile_interrupted(
    notes: &[Vec<u8>],
    quarantine: Option<&Path>,
    ended: Option<FileTime>,
) -> (Vec<RevertedChange>, Vec<String>) {
    let cache = ScanCache::default();
    let (mut undone, mut problems) = (Vec::new(), Vec::new());
    let mut earlier_scans: Vec<ProtectedPathScan> = Vec::new();
    for note in notes {
        match reopen(note, &cache, quarantine, ended) {
            Ok(Some(mut scan)) => {
                let older = earlier_scans.iter().map(|earlier| (earlier.roots.as_slice(), &earlier.before));
                scan.concurrent = ConcurrentBaselines::from_entries(older, &scan.roots);
                undone.extend(scan.reconcile());
                earlier_scans.push(scan);
            }
            Ok(None) => {}
            Err(err) => problems.push(format!(
                "the changes of a command cannot be determined, because its haft was killed: {err}; check new files \
                 under protected names before you go on"
            )),
        }
    }
    (undone, problems)
}

/// Returns when the last helper marked the end of all commands in its file, if it did.
pub(crate) fn end_time(file: BorrowedFd<'_>) -> io::Result<Option<FileTime>> {
    let state = InodeState::of_open(file)?;
    Ok((state.size_bytes > 0).then_some(state.modified))
}

impl ProtectedPathScan {
    /// Returns the data that another process needs to reconcile this scan.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut note = WireWriter::default();
        note.byte(FORMAT);
        moment(&mut note, self.started_at);
        let roots = || self.roots.iter().filter(|root| root.is_protected);
        note.count(roots().count());
        for root in roots() {
            note.text(root.path.as_os_str());
            identity(&mut note, InodeState::of_open(root.directory.as_fd())?.identity);
        }
        note.count(self.names.patterns().count());
        self.names.patterns().for_each(|pattern| note.text(OsStr::new(pattern)));
        note.byte(match self.means.mode {
            ProtectionMode::ReadOnlyMounts => 0,
            ProtectionMode::Copies => 1,
        });
        note.count(self.before.entries.len());
        self.before.entries.iter().for_each(|it| entry(&mut note, it));
        note.count(self.copies.len());
        for (path, content) in &self.copies {
            note.text(path.as_os_str());
            note.text(OsStr::from_bytes(content));
        }
        Ok(note.finish())
    }
}

fn identity(note: &mut WireWriter, identity: FileIdentity) {
    note.number(identity.device);
    note.number(identity.inode);
}

fn moment(note: &mut WireWriter, moment: FileTime) {
    note.number(moment.seconds.cast_unsigned());
    note.number(moment.nanoseconds.cast_unsigned());
}

fn entry(note: &mut WireWriter, entry: &ProtectedEntry) {
    let ProtectedEntry { path, pattern, place, state, target } = entry;
    note.text(path.as_os_str());
    note.count(*pattern);
    note.byte(match place {
        PatternPosition::Inside => 0,
        PatternPosition::End { extent: ProtectionExtent::Tree, has_parent: false } => 1,
        PatternPosition::End { extent: ProtectionExtent::Tree, has_parent: true } => 2,
        PatternPosition::End { extent: ProtectionExtent::Name, has_parent: false } => 3,
        PatternPosition::End { extent: ProtectionExtent::Name, has_parent: true } => 4,
    });
    note.byte(match state.kind {
        ScannedKind::Directory => 0,
        ScannedKind::File => 1,
        ScannedKind::Symlink => 2,
        ScannedKind::Other => 3,
    });
    identity(note, state.identity);
    moment(note, state.modified);
    moment(note, state.changed);
    for number in [state.size_bytes, state.mode.into(), state.owner.into(), state.links] {
        note.number(number);
    }
    note.byte(target.is_some().into());
    if let Some(target) = target {
        note.text(OsStr::from_bytes(target.to_bytes()));
    }
}

/// Decodes a scan, and opens the roots that still exist. A root that was replaced as a whole was
/// replaced by another process, because a command cannot do that.
fn reopen(
    note: &[u8],
    cache: &ScanCache,
    quarantine: Option<&Path>,
    ended: Option<FileTime>,
) -> io::Result<Option<ProtectedPathScan>> {
    let mut reader = WireReader::new(note);
    let started_at = match reader.byte()? {
        FORMAT => read_moment(&mut reader)?,
        // Nothing is as new as that.
        FORMAT_WITHOUT_TIME => FileTime { seconds: i64::MAX, nanoseconds: 0 },
        _ => return Err(malformed()),
    };
    let former_roots: Vec<(PathBuf, FileIdentity)> = (0..reader.count()?)
        .map(|_| Ok((PathBuf::from(reader.text()?), read_identity(&mut reader)?)))
        .collect::<io::Result<_>>()?;
    let patterns: Vec<String> = (0..reader.count()?)
        .map(|_| reader.text()?.into_string().map_err(|_| malformed()))
        .collect::<io::Result<_>>()?;
    let names = ProtectedPaths::new(patterns).map_err(io::Error::other)?;
    let mode =
        if reader.is_set()? { ProtectionMode::Copies } else { ProtectionMode::ReadOnlyMounts };
    let entries =
        (0..reader.count()?).map(|_| read_entry(&mut reader)).collect::<io::Result<_>>()?;
    let copies = (0..reader.count()?)
        .map(|_| {
            let path = PathBuf::from(reader.text()?);
            Ok((path, Arc::from(reader.text()?.into_vec())))
        })
        .collect::<io::Result<_>>()?;
    if !reader.is_empty() {
        return Err(malformed());
    }
    let mut roots = Vec::new();
    for (path, identity) in former_roots {
        let Ok(directory) = File::open(&path) else { continue };
        if InodeState::of_open(directory.as_fd())?.identity == identity {
            let directory = OwnedFd::from(directory);
            roots.push(ScanRoot { path, directory, is_protected: true });
        }
    }
    if roots.is_empty() {
        return Ok(None);
    }
    let quarantine = quarantine.map(Path::to_path_buf);
    let ruled = RuledPaths::default();
    let listed = ListedNames::new(&names, None);
    Ok(Some(ProtectedPathScan {
        roots,
        names,
        listed,
        cache: cache.clone(),
        means: ScanOptions { mode, hidden: Vec::new(), quarantine, ruled },
        bounds: ScanLimits::DEFAULT,
        started_at,
        before: Arc::new(ScanResult { entries, ..ScanResult::default() }),
        concurrent: ConcurrentBaselines::default(),
        copies,
        mounts: Vec::new(),
        recovery_entry: None,
        ended_at: ended,
    }))
}

fn read_moment(reader: &mut WireReader<'_>) -> io::Result<FileTime> {
    let seconds = reader.number()?.cast_signed();
    Ok(FileTime { seconds, nanoseconds: reader.number()?.cast_signed() })
}

fn read_identity(reader: &mut WireReader<'_>) -> io::Result<FileIdentity> {
    Ok(FileIdentity { device: reader.number()?, inode: reader.number()? })
}

fn read_entry(reader: &mut WireReader<'_>) -> io::Result<ProtectedEntry> {
    let path = PathBuf::from(reader.text()?);
    let pattern = usize::try_from(reader.count()?).map_err(|_| malformed())?;
    let place = match reader.byte()? {
        0 => PatternPosition::Inside,
        1 => PatternPosition::End { extent: ProtectionExtent::Tree, has_parent: false },
        2 => PatternPosition::End { extent: ProtectionExtent::Tree, has_parent: true },
        3 => PatternPosition::End { extent: ProtectionExtent::Name, has_parent: false },
        4 => PatternPosition::End { extent: ProtectionExtent::Name, has_parent: true },
        _ => return Err(malformed()),
    };
    let kind = match reader.byte()? {
        0 => ScannedKind::Directory,
        1 => ScannedKind::File,
        2 => ScannedKind::Symlink,
        3 => ScannedKind::Other,
        _ => return Err(malformed()),
    };
    let identity = read_identity(reader)?;
    let (modified, changed) = (read_moment(reader)?, read_moment(reader)?);
    let size_bytes = reader.number()?;
    let (mode, owner) = (reader.small_number()?, reader.small_number()?);
    let links = reader.number()?;
    let state = InodeState { identity, kind, modified, changed, size_bytes, mode, owner, links };
    let target = if reader.is_set()? {
        Some(CString::new(reader.text()?.into_vec()).map_err(|_| malformed())?)
    } else {
        None
    };
    Ok(ProtectedEntry { path, pattern, place, state, target })
}

fn malformed() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "its entry is incomplete, or from another build of haft",
    )
}
