//! An open directory of a workspace, and single names in it. It is opened below the root without
//! following links, and names in it are not followed either, so that a concurrent exchange cannot
//! redirect an access. The caller chooses the names.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use haft_sandbox::{PathMetadata, Root, RootError};
use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, openat, readlinkat, statat};
use rustix::io::{self, Errno};

use crate::state::FileOwner;

/// An open directory.
#[derive(Debug)]
pub(crate) struct OpenDirectory {
    pub(crate) handle: OwnedFd,
}

/// The metadata of a name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryMetadata {
    pub(crate) metadata: PathMetadata,
    pub(crate) owner: FileOwner,
}

impl OpenDirectory {
    /// Opens the directory at a canonical path.
    pub(crate) fn open(root: &Root, path: &Path) -> Result<OpenDirectory, RootError> {
        Ok(OpenDirectory { handle: root.open_dir(path)? })
    }

    /// Returns the metadata of `name` without following a link, or `None` if it does not exist.
    pub(crate) fn entry_metadata(&self, name: &OsStr) -> io::Result<Option<EntryMetadata>> {
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let owner = FileOwner { user: stat.st_uid, group: stat.st_gid };
                Ok(Some(EntryMetadata { metadata: PathMetadata::from(&stat), owner }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Returns the target of the link `name`, byte for byte.
    pub(crate) fn read_link(&self, name: &OsStr) -> io::Result<OsString> {
        let target = readlinkat(&self.handle, name, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()))
    }

    /// Returns whether this process may change the directory's names.
    pub(crate) fn is_writable(&self) -> bool {
        self.allows(Access::WRITE_OK | Access::EXEC_OK)
    }

    /// Returns whether this process may access the directory's names.
    pub(crate) fn is_searchable(&self) -> bool {
        self.allows(Access::EXEC_OK)
    }

    fn allows(&self, access: Access) -> bool {
        accessat(&self.handle, ".", access, AtFlags::EACCESS).is_ok()
    }

    /// Makes the current names survive a loss of power.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(&self.handle, ".", flags, Mode::empty()).and_then(rustix::fs::fsync) {
            // Some file systems cannot sync directories, and an unreadable directory cannot be
            // synced.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

/// Returns the parent directory of a canonical path; the root's own path is empty.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Returns the last name of a canonical path.
pub(crate) fn name_of(path: &Path) -> &OsStr {
    path.file_name().unwrap_or(OsStr::new("."))
}
