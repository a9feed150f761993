//! The handle itself: opening a root, and opening or looking at what is beneath it by canonical path. It deliberately
//! offers no way to write: that is `apply`'s, all or nothing.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};

use super::beneath::Beneath;
use super::error::RootError;
use super::file::{FileKind, Metadata, OpenFile, Stamp};

/// A directory that every access stays beneath.
///
/// Clones share the directory, and the lock that orders what [`Root::apply`] does.
#[derive(Debug, Clone)]
pub struct Root {
    pub(super) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) beneath: Beneath,
    /// The root's own path without any link in it.
    pub(super) path: PathBuf,
    /// The root's path as the user wrote it, made absolute: links that users make often spell it so.
    pub(super) spelled: PathBuf,
    /// Whether the kernel may be asked to exchange two names, or not to replace one, in one step.
    pub(super) renames_specially: bool,
    /// Held by whoever checks stamps and renames, so that no two sets of changes interleave. A channel to one writer
    /// would do the same at the cost of a thread.
    pub(super) changing: Mutex<()>,
}

impl Root {
    /// Opens the directory at `path`, following links.
    ///
    /// # Errors
    ///
    /// [`RootError`] when there is no such directory or it may not be entered.
    pub fn open(path: &Path) -> Result<Root, RootError> {
        Root::open_with(path, Beneath::new, true)
    }

    /// Opens the directory at `path`, using only what every kernel and file system has.
    ///
    /// For tests of the fallbacks: [`Root::open`] finds out by itself what the kernel offers.
    ///
    /// # Errors
    ///
    /// As [`Root::open`].
    #[doc(hidden)]
    pub fn open_portably(path: &Path) -> Result<Root, RootError> {
        Root::open_with(path, Beneath::walking, false)
    }

    fn open_with(
        path: &Path,
        beneath: fn(OwnedFd) -> Beneath,
        renames_specially: bool,
    ) -> Result<Root, RootError> {
        let failed = |error| RootError::from_io(path, error);
        let canonical = path.canonicalize().map_err(failed)?;
        let spelled = std::path::absolute(path).map_err(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(CWD, &canonical, flags, Mode::empty())
            .map_err(|errno| RootError::from_errno(path, errno))?;
        let beneath = beneath(directory);
        let changing = Mutex::new(());
        let inner = Inner { beneath, path: canonical, spelled, renames_specially, changing };
        Ok(Root { inner: Arc::new(inner) })
    }

    /// Returns the root's absolute path, without any link in it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Opens the regular file at `canonical` for reading.
    ///
    /// Never waits, and never opens what is not a regular file: a pipe's writer is not woken, a device not touched.
    ///
    /// # Errors
    ///
    /// [`RootError::NotRegular`] for directories, pipes, sockets and devices.
    pub fn open_file(&self, canonical: &Path) -> Result<OpenFile, RootError> {
        // Opening alone can have effects (on a pipe's writer, on a device), so the kind is known before. It is looked
        // at again afterwards, because the name may stand for something else by then.
        require_regular(canonical, self.metadata(canonical)?)?;
        self.open_seen_file(canonical)
    }

    /// Opens the file at `canonical` for reading, which was just seen to be a regular one.
    ///
    /// As [`Root::open_file`], but without the look before: for walks, whose listing has just told the kind. What
    /// took the file's place since is refused all the same, and not waited for; but it was opened.
    ///
    /// # Errors
    ///
    /// As [`Root::open_file`].
    pub fn open_seen_file(&self, canonical: &Path) -> Result<OpenFile, RootError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open_strictly(canonical, flags)?;
        let stat = fstat(&file).map_err(|errno| RootError::from_errno(canonical, errno))?;
        let metadata = Metadata::from(&stat);
        let stamp = require_regular(canonical, metadata)?;
        let has_other_names = metadata.has_other_names;
        Ok(OpenFile { file: File::from(file), stamp, has_other_names })
    }

    /// Opens the directory at `canonical` as a handle that a command can start in.
    ///
    /// # Errors
    ///
    /// [`RootError::NotADirectory`] for anything else.
    pub fn open_dir(&self, canonical: &Path) -> Result<OwnedFd, RootError> {
        self.open_strictly(canonical, OFlags::PATH | OFlags::DIRECTORY)
    }

    /// Returns what is at `canonical`, without opening it.
    ///
    /// # Errors
    ///
    /// [`RootError::NotFound`] if nothing is there.
    pub fn metadata(&self, canonical: &Path) -> Result<Metadata, RootError> {
        let handle = self.open_strictly(canonical, OFlags::PATH)?;
        let stat = fstat(handle).map_err(|errno| RootError::from_errno(canonical, errno))?;
        Ok(Metadata::from(&stat))
    }

    pub(super) fn open_strictly(
        &self,
        canonical: &Path,
        flags: OFlags,
    ) -> Result<OwnedFd, RootError> {
        require_canonical(canonical)?;
        self.inner
            .beneath
            .open(canonical, flags)
            .map_err(|errno| RootError::from_errno(canonical, errno))
    }
}

fn require_regular(path: &Path, metadata: Metadata) -> Result<Stamp, RootError> {
    match metadata.kind {
        FileKind::Regular => Ok(metadata.stamp),
        kind => Err(RootError::NotRegular { path: path.to_path_buf(), kind }),
    }
}

pub(super) fn require_canonical(path: &Path) -> Result<(), RootError> {
    let is_plain = path.components().all(|component| matches!(component, Component::Normal(_)));
    if is_plain {
        return Ok(());
    }
    let reason = "it is not canonical; resolve it first";
    Err(RootError::Invalid { path: path.to_path_buf(), reason })
}
