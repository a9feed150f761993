//! The only way in which this crate opens a path: below a directory, without following any symbolic
//! link. Where the kernel has `openat2` it does so in one call. Elsewhere the path is walked by
//! descriptors, one component at a time, with the same result. Nothing is followed here: `resolve`
//! expands links, and a path that is exchanged after that causes an error here.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::{Errno, Result};

/// Attempts to repeat an open that the kernel interrupted.
///
/// `openat2` returns `EAGAIN` while a component is being renamed, which is rare and short.
pub(crate) const ATTEMPTS_MAX: u32 = 64;

/// Opens a name itself, whatever its kind, without touching the file behind it.
pub(super) const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

const STRICT: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// A directory below which canonical paths are opened.
#[derive(Debug)]
pub(super) struct BeneathDirectory {
    directory: OwnedFd,
    has_openat2: bool,
}

impl BeneathDirectory {
    /// Wraps a directory, and checks once whether the kernel has `openat2`.
    pub(super) fn new(directory: OwnedFd) -> BeneathDirectory {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        // A missing call returns ENOSYS; system call filters that do not know it return EPERM.
        let has_openat2 = openat2(&directory, ".", flags, Mode::empty(), STRICT).is_ok();
        BeneathDirectory { directory, has_openat2 }
    }

    /// Wraps a directory and always walks, as on a kernel without `openat2`.
    pub(super) fn walking(directory: OwnedFd) -> BeneathDirectory {
        BeneathDirectory { directory, has_openat2: false }
    }

    pub(super) fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    pub(super) fn has_openat2(&self) -> bool {
        self.has_openat2
    }

    /// Opens `canonical` for reading, like [`BeneathDirectory::open`], if the kernel has all its names in
    /// memory.
    pub(super) fn open_cached(&self, canonical: &Path) -> Option<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = STRICT.union(ResolveFlags::CACHED);
        // Opening alone can have effects on a pipe or a device, so the kind is checked before.
        let handle = self
            .has_openat2
            .then(|| openat2(&self.directory, canonical, HANDLE, Mode::empty(), resolve).ok())??;
        let is_file =
            FileType::from_raw_mode(fstat(&handle).ok()?.st_mode) == FileType::RegularFile;
        let open = || openat2(&self.directory, canonical, flags, Mode::empty(), resolve).ok();
        is_file.then(open)?
    }

    /// Opens `canonical`, which must be relative and free of `..`; a symbolic link anywhere in it
    /// is `ELOOP`.
    pub(super) fn open(&self, canonical: &Path, flags: OFlags) -> Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC;
        if self.has_openat2 {
            let path = if canonical.as_os_str().is_empty() { Path::new(".") } else { canonical };
            // With O_NOFOLLOW and O_PATH together the kernel would open a trailing link itself.
            let flags = flags.difference(OFlags::NOFOLLOW);
            for _ in 0..ATTEMPTS_MAX {
                match openat2(&self.directory, path, flags, Mode::empty(), STRICT) {
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    answer => return answer,
                }
            }
            return Err(Errno::AGAIN);
        }
        let mut components = canonical.components().peekable();
        let mut directory = None;
        while let Some(component) = components.next() {
            let at = directory.as_ref().unwrap_or(&self.directory);
            let name = component.as_os_str();
            // The name is checked before it is opened, to distinguish a link from a non-directory.
            // The open itself refuses a link that appeared in between.
            let entry = openat(at, name, HANDLE, Mode::empty())?;
            match FileType::from_raw_mode(fstat(&entry)?.st_mode) {
                FileType::Symlink => return Err(Errno::LOOP),
                FileType::Directory => {}
                _ if components.peek().is_some() => return Err(Errno::NOTDIR),
                _ => {}
            }
            if components.peek().is_none() {
                if flags.contains(OFlags::PATH) && !flags.contains(OFlags::DIRECTORY) {
                    return Ok(entry);
                }
                return openat(at, name, flags | OFlags::NOFOLLOW, Mode::empty());
            }
            directory = Some(entry);
        }
        openat(&self.directory, ".", flags, Mode::empty())
    }
}
