//! One directory of a workspace, open, and single names in it. It is reached beneath the root through no link, and no name is
//! followed from it, so that nothing swapped in on the way leads elsewhere. Which names are looked at is the caller's part.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::Path;

use haft_sandbox::{Metadata, Root, RootError};
use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, openat, readlinkat, statat};
use rustix::io::{self, Errno};

use crate::state::Owner;

/// An open directory.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) handle: OwnedFd,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    pub(crate) metadata: Metadata,
    pub(crate) owner: Owner,
}

impl Directory {
    /// Opens the directory at a canonical path.
    pub(crate) fn open(root: &Root, path: &Path) -> Result<Directory, RootError> {
        Ok(Directory { handle: root.open_dir(path)? })
    }

    /// Returns what `name` stands for, a link being itself, or nothing if nothing is there.
    pub(crate) fn look(&self, name: &OsStr) -> io::Result<Option<Look>> {
        match statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let owner = Owner { user: stat.st_uid, group: stat.st_gid };
                Ok(Some(Look { metadata: Metadata::from(&stat), owner }))
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

    /// Tells whether this process may change which names there are.
    pub(crate) fn is_writable(&self) -> bool {
        self.allows(Access::WRITE_OK | Access::EXEC_OK)
    }

    /// Tells whether this process may look at names.
    pub(crate) fn is_searchable(&self) -> bool {
        self.allows(Access::EXEC_OK)
    }

    fn allows(&self, access: Access) -> bool {
        accessat(&self.handle, ".", access, AtFlags::EACCESS).is_ok()
    }

    /// Makes the present names last through a loss of power.
    pub(crate) fn sync(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(&self.handle, ".", flags, Mode::empty()).and_then(rustix::fs::fsync) {
            // Some file systems keep no directories that could be synced; one that may not be read cannot be.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::ACCESS) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

/// Returns the directory that a canonical path lies in; the root's own path is empty.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Returns the last name of a canonical path.
pub(crate) fn name_of(path: &Path) -> &OsStr {
    path.file_name().unwrap_or(OsStr::new("."))
}
