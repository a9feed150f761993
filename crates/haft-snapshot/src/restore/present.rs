//! What is at a path now, and whether that is a recorded state. A file is read only where its size leaves the question open; no
//! link is followed. What follows from the answer is the plan's part.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_sandbox::{FileKind, Root, RootError};

use crate::directory::{Directory, Look, name_of, parent_of};
use crate::id::ContentId;
use crate::state::{FileState, State};

/// The bits without which a directory's owner cannot work in it. A restore may add them while it works.
pub(super) const WORKING_BITS: u32 = 0o700;

/// How much of a file is hashed at once.
const CHUNK_BYTES: usize = 128 * 1024;

/// What is at a path now.
#[derive(Debug)]
pub(super) enum Present {
    Absent,
    /// This path above it is no directory, so that nothing can be there.
    Beneath(PathBuf),
    /// It cannot be looked at.
    Unknown,
    Found(Found),
}

/// Something that is there.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) look: Look,
    /// Where it points to, if it is a link.
    target: OsString,
    /// The bytes of a file that has the size of one that it may be, if they can be read.
    pub(super) content: Option<ContentId>,
}

/// Looks at `path`, and reads what is there if it may be one of `files`.
pub(super) fn look(root: &Root, path: &Path, files: &[&FileState]) -> Result<Present, RootError> {
    let directory = match Directory::open(root, parent_of(path)) {
        Ok(directory) => directory,
        Err(RootError::NotFound { .. }) => return Ok(Present::Absent),
        Err(RootError::NotADirectory { .. } | RootError::Exchanged { .. }) => {
            return Ok(Present::Beneath(obstacle(root, path)));
        }
        Err(RootError::Denied { .. }) => return Ok(Present::Unknown),
        Err(err) => return Err(err),
    };
    let name = name_of(path);
    let failed =
        |errno: rustix::io::Errno| RootError::Io { path: path.to_path_buf(), source: errno.into() };
    let look = match directory.look(name) {
        Ok(Some(look)) => look,
        Ok(None) => return Ok(Present::Absent),
        Err(rustix::io::Errno::ACCESS) => return Ok(Present::Unknown),
        Err(errno) => return Err(failed(errno)),
    };
    let mut found = Found { look, target: OsString::new(), content: None };
    match look.metadata.kind {
        FileKind::Symlink => found.target = directory.read_link(name).map_err(failed)?,
        FileKind::Regular => {
            let size_bytes = look.metadata.stamp.size_bytes;
            if files.iter().any(|file| file.size_bytes == size_bytes) {
                found.content = hash(root, path)?;
            }
        }
        FileKind::Directory
        | FileKind::Fifo
        | FileKind::Socket
        | FileKind::CharDevice
        | FileKind::BlockDevice
        | FileKind::Unknown => {}
    }
    Ok(Present::Found(found))
}

impl Present {
    pub(super) fn is_directory(&self) -> bool {
        matches!(self, Present::Found(found) if found.is_directory())
    }
}

impl Found {
    /// Tells whether this is exactly what was recorded. What was left out never is: its bytes are not known.
    pub(super) fn is(&self, state: &State) -> bool {
        let mode = self.look.metadata.stamp.permissions();
        match state {
            State::File(file) => {
                self.holds(file)
                    && mode == file.mode
                    && file.owner.is_none_or(|owner| owner == self.look.owner)
            }
            State::Link { target } => {
                self.look.metadata.kind == FileKind::Symlink && self.target == target.as_os_str()
            }
            State::Directory { mode: recorded } => self.is_directory() && mode == *recorded,
            State::LeftOut(_) => false,
        }
    }

    /// Tells whether a restore that was interrupted may have left this on the way from or to what was recorded.
    pub(super) fn is_interim(&self, state: &State) -> bool {
        let mode = self.look.metadata.stamp.permissions();
        match state {
            State::Directory { mode: recorded } => {
                self.is_directory() && mode == recorded | WORKING_BITS
            }
            State::File(_) | State::Link { .. } | State::LeftOut(_) => false,
        }
    }

    /// Tells whether this is a file with the recorded bytes, whatever its permission bits.
    pub(super) fn holds(&self, file: &FileState) -> bool {
        self.look.metadata.kind == FileKind::Regular && self.content == Some(file.content)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.look.metadata.kind == FileKind::Directory
    }
}

/// Returns the first path on the way to `path` that is no directory.
fn obstacle(root: &Root, path: &Path) -> PathBuf {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    let found = above.iter().find(|path| root.open_dir(path).is_err());
    found.unwrap_or(&parent_of(path)).to_path_buf()
}

/// Returns the hash of a file's bytes; none if they cannot be read, which is then no state that is known.
fn hash(root: &Root, path: &Path) -> Result<Option<ContentId>, RootError> {
    let mut file = match root.open_seen_file(path) {
        Ok(open) => open.file,
        Err(
            RootError::Denied { .. }
            | RootError::NotFound { .. }
            | RootError::NotRegular { .. }
            | RootError::Exchanged { .. },
        ) => return Ok(None),
        Err(err) => return Err(err),
    };
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let count = file
            .read(&mut buffer)
            .map_err(|source| RootError::Io { path: path.to_path_buf(), source })?;
        match buffer.get(..count) {
            None | Some([]) => break,
            Some(chunk) => hasher.update(chunk),
        };
    }
    Ok(Some(ContentId(crate::id::ObjectId(*hasher.finalize().as_bytes()))))
}
