//! The handle of a root: opening it, and opening or inspecting files below it by canonical path. It
//! deliberately cannot write: `apply` does that, all or nothing.

use std::fs::File;
use std::io::IoSliceMut;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::{ReadWriteFlags, preadv2};

use super::beneath_directory::BeneathDirectory;
use super::error::RootError;
use super::file::{InodeKind, InodeStamp, OpenedRootFile, PathMetadata};

/// A directory that file access cannot leave.
///
/// Clones share the directory, and the lock that orders calls of [`Root::apply`].
#[derive(Debug, Clone)]
pub struct Root {
    pub(super) inner: Arc<RootInner>,
}

#[derive(Debug)]
pub(super) struct RootInner {
    pub(super) beneath: BeneathDirectory,
    /// The root's own path, without symbolic links.
    pub(super) path: PathBuf,
    /// The root's path as the user wrote it, made absolute, because users' links often use this
    /// spelling.
    pub(super) spelled: PathBuf,
    /// Whether the kernel may be asked to exchange two names, or to rename without replacing.
    pub(super) renames_specially: bool,
    /// Held while stamps are checked and files renamed, so that change sets do not interleave. A
    /// channel to a single writer would cost a thread.
    pub(super) changing: Mutex<()>,
}

impl Root {
    /// Opens the directory at `path`, following links.
    ///
    /// # Errors
    ///
    /// [`RootError`] if the directory does not exist or cannot be entered.
    pub fn open(path: &Path) -> Result<Root, RootError> {
        Root::open_with(path, BeneathDirectory::new, true)
    }

    /// Opens the directory at `path`, using only features of every kernel and file system.
    ///
    /// For tests of the fallbacks: [`Root::open`] detects the kernel's features.
    ///
    /// # Errors
    ///
    /// The same as for [`Root::open`].
    #[doc(hidden)]
    pub fn open_portably(path: &Path) -> Result<Root, RootError> {
        Root::open_with(path, BeneathDirectory::walking, false)
    }

    fn open_with(
        path: &Path,
        beneath: fn(OwnedFd) -> BeneathDirectory,
        renames_specially: bool,
    ) -> Result<Root, RootError> {
        let failed = |error| RootError::from_io(path, error);
        let canonical = path.canonicalize().map_err(failed)?;
        let spelled = std::path::absolute(path).map_err(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory =
            openat(CWD, &canonical, flags, Mode::empty()).map_err(RootError::at(path))?;
        let beneath = beneath(directory);
        let changing = Mutex::new(());
        let inner = RootInner { beneath, path: canonical, spelled, renames_specially, changing };
        Ok(Root { inner: Arc::new(inner) })
    }

    /// Returns the root's absolute path, without symbolic links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Opens the regular file at `canonical` for reading.
    ///
    /// Never blocks, and never opens other kinds of files: a pipe's writer is not woken and a
    /// device is not touched.
    ///
    /// # Errors
    ///
    /// [`RootError::NotRegular`] for directories, pipes, sockets and devices.
    pub fn open_file(&self, canonical: &Path) -> Result<OpenedRootFile, RootError> {
        // Opening alone can have effects (on a pipe's writer, on a device), so the kind is checked
        // before. It is checked again afterwards, because the name may refer to another file by
        // then.
        require_regular(canonical, self.metadata(canonical)?)?;
        self.open_checked_file(canonical)
    }

    /// Opens the file at `canonical` for reading, which a listing has just shown to be regular.
    ///
    /// Like [`Root::open_file`], but without the check before opening: for walks, whose listing has
    /// just returned the kind. A file of another kind that took its place since is still refused,
    /// without blocking; but it was opened.
    ///
    /// # Errors
    ///
    /// The same as for [`Root::open_file`].
    pub fn open_checked_file(&self, canonical: &Path) -> Result<OpenedRootFile, RootError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open_strictly(canonical, flags)?;
        let stat = fstat(&file).map_err(RootError::at(canonical))?;
        let metadata = PathMetadata::from(&stat);
        let stamp = require_regular(canonical, metadata)?;
        let has_other_names = metadata.has_other_names;
        Ok(OpenedRootFile { file: File::from(file), stamp, has_other_names })
    }

    /// Returns whether the kernel can open the regular file at `canonical` and read all of it without
    /// waiting for a device, and whether the file has at most `bytes_max` bytes.
    ///
    /// `false` where the kernel cannot tell: before Linux 5.12, and on file systems without such reads.
    #[must_use]
    pub fn is_cached(&self, canonical: &Path, bytes_max: u64) -> bool {
        if require_canonical(canonical).is_err() {
            return false;
        }
        let Some(file) = self.inner.beneath.open_cached(canonical) else { return false };
        let Ok(stat) = fstat(&file) else { return false };
        let Ok(stamp) = require_regular(canonical, PathMetadata::from(&stat)) else { return false };
        let Ok(size) = usize::try_from(stamp.size_bytes.min(bytes_max)) else { return false };
        if stamp.size_bytes > bytes_max {
            return false;
        }
        let mut contents = vec![0; size];
        let buffers = &mut [IoSliceMut::new(&mut contents)];
        let read = preadv2(&file, buffers, 0, ReadWriteFlags::NOWAIT);
        read.is_ok_and(|bytes| bytes == size)
    }

    /// Opens the directory at `canonical` as a handle in which a command can start.
    ///
    /// # Errors
    ///
    /// [`RootError::NotADirectory`] for anything else.
    pub fn open_dir(&self, canonical: &Path) -> Result<OwnedFd, RootError> {
        self.open_strictly(canonical, OFlags::PATH | OFlags::DIRECTORY)
    }

    /// Returns the metadata of `canonical`, without opening it.
    ///
    /// # Errors
    ///
    /// [`RootError::NotFound`] if nothing exists there.
    pub fn metadata(&self, canonical: &Path) -> Result<PathMetadata, RootError> {
        let handle = self.open_strictly(canonical, OFlags::PATH)?;
        let stat = fstat(handle).map_err(RootError::at(canonical))?;
        Ok(PathMetadata::from(&stat))
    }

    pub(super) fn open_strictly(
        &self,
        canonical: &Path,
        flags: OFlags,
    ) -> Result<OwnedFd, RootError> {
        require_canonical(canonical)?;
        self.inner.beneath.open(canonical, flags).map_err(RootError::at(canonical))
    }
}

fn require_regular(path: &Path, metadata: PathMetadata) -> Result<InodeStamp, RootError> {
    match metadata.kind {
        InodeKind::Regular => Ok(metadata.stamp),
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
