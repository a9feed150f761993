//! The current state of a path, and whether it matches a recorded state. A file is read only if its
//! size leaves the question open; links are not followed. The plan decides what follows.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use haft_sandbox::{InodeKind, Root, RootError};

use crate::directory::{EntryMetadata, OpenDirectory, name_of, parent_of};
use crate::id::{ContentId, ObjectId};
use crate::state::{PathState, RecordedFile};

/// The bits that a directory's owner needs to work in it. A restore may add them temporarily.
pub(super) const WORKING_BITS: u32 = 0o700;

/// The current state of a path.
#[derive(Debug)]
pub(super) enum PresentState {
    Absent,
    /// This parent of it is not a directory, so the path cannot exist.
    Beneath(PathBuf),
    /// It cannot be inspected.
    Unknown,
    Found(PresentEntry),
}

/// An existing entry.
#[derive(Debug)]
pub(super) struct PresentEntry {
    pub(super) observed: EntryMetadata,
    /// The target, if it is a link.
    target: OsString,
    /// The hash of a file whose size matches one of the candidates, if it can be read.
    pub(super) content: Option<ContentId>,
}

/// Inspects `path`, and reads it if it may be one of `files`.
pub(super) fn inspect_path(
    root: &Root,
    path: &Path,
    files: &[&RecordedFile],
) -> Result<PresentState, RootError> {
    let directory = match OpenDirectory::open(root, parent_of(path)) {
        Ok(directory) => directory,
        Err(RootError::NotFound { .. }) => return Ok(PresentState::Absent),
        Err(RootError::NotADirectory { .. } | RootError::Exchanged { .. }) => {
            let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
            above.reverse();
            let found = above.iter().find(|path| root.open_dir(path).is_err());
            return Ok(PresentState::Beneath(found.unwrap_or(&parent_of(path)).to_path_buf()));
        }
        Err(RootError::Denied { .. }) => return Ok(PresentState::Unknown),
        Err(err) => return Err(err),
    };
    let name = name_of(path);
    let failed =
        |errno: rustix::io::Errno| RootError::Io { path: path.to_path_buf(), source: errno.into() };
    let observed = match directory.entry_metadata(name) {
        Ok(Some(observed)) => observed,
        Ok(None) => return Ok(PresentState::Absent),
        Err(rustix::io::Errno::ACCESS) => return Ok(PresentState::Unknown),
        Err(errno) => return Err(failed(errno)),
    };
    let mut found = PresentEntry { observed, target: OsString::new(), content: None };
    match observed.metadata.kind {
        InodeKind::Symlink => found.target = directory.read_link(name).map_err(failed)?,
        InodeKind::Regular
            if files.iter().any(|file| file.size_bytes == observed.metadata.stamp.size_bytes) =>
        {
            match root.open_checked_file(path) {
                Ok(open) => {
                    let mut hasher = blake3::Hasher::new();
                    hasher
                        .update_reader(open.file)
                        .map_err(|source| RootError::Io { path: path.to_path_buf(), source })?;
                    found.content = Some(ContentId(ObjectId(*hasher.finalize().as_bytes())));
                }
                // A file that cannot be read matches no recorded state.
                Err(
                    RootError::Denied { .. }
                    | RootError::NotFound { .. }
                    | RootError::NotRegular { .. }
                    | RootError::Exchanged { .. },
                ) => {}
                Err(err) => return Err(err),
            }
        }
        InodeKind::Regular
        | InodeKind::Directory
        | InodeKind::Fifo
        | InodeKind::Socket
        | InodeKind::CharDevice
        | InodeKind::BlockDevice
        | InodeKind::Unknown => {}
    }
    Ok(PresentState::Found(found))
}

impl PresentState {
    pub(super) fn is_directory(&self) -> bool {
        matches!(self, PresentState::Found(found) if found.is_directory())
    }
}

impl PresentEntry {
    /// Returns whether this is exactly the recorded state. An omitted state never matches, because
    /// its bytes are unknown.
    pub(super) fn matches_state(&self, state: &PathState) -> bool {
        let mode = self.observed.metadata.stamp.permissions();
        match state {
            PathState::File(file) => {
                self.has_content(file)
                    && mode == file.mode
                    && file.owner.is_none_or(|owner| owner == self.observed.owner)
            }
            PathState::Link { target } => {
                self.observed.metadata.kind == InodeKind::Symlink
                    && self.target == target.as_os_str()
            }
            PathState::Directory { mode: recorded } => self.is_directory() && mode == *recorded,
            PathState::Omitted(_) => false,
        }
    }

    /// Returns whether an interrupted restore may have left this state on the way to or from the
    /// recorded state.
    pub(super) fn is_interrupted_state(&self, state: &PathState) -> bool {
        let mode = self.observed.metadata.stamp.permissions();
        match state {
            PathState::Directory { mode: recorded } => {
                self.is_directory() && mode == recorded | WORKING_BITS
            }
            PathState::File(_) | PathState::Link { .. } | PathState::Omitted(_) => false,
        }
    }

    /// Returns whether this is a file with the recorded bytes, whatever its permission bits.
    pub(super) fn has_content(&self, file: &RecordedFile) -> bool {
        self.observed.metadata.kind == InodeKind::Regular && self.content == Some(file.content)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.observed.metadata.kind == InodeKind::Directory
    }
}
