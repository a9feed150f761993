//! Builds the file system that a command sees: an empty one into which the granted paths are
//! mounted. Sources and mount points are opened once, without following links, and then used by
//! descriptor, so that they cannot be exchanged after they were checked. Needs the mount interface
//! of Linux 5.12; older kernels count as having no namespaces.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxFlags, fstat, mkdirat, openat,
    openat2, readlinkat, statx, symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, FsPickFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags,
    UnmountFlags, fsconfig_create, fsconfig_reconfigure, fsconfig_set_string, fsmount, fsopen,
    fspick, move_mount, open_tree, unmount,
};
use rustix::path::Arg;
use rustix::process::{chdir, fchdir, pivot_root, umask};

use super::attributes::{self, DEVICE, MountReach, READ_ONLY, TAME};
use super::view_entries::{self, HOME, TEMPORARY, ViewEntry, ViewEntryKind, ViewEntryParent};
use crate::confinement::ResourceLimits;
use crate::wire::{StartFailure, StartStage, WireConfinement, WireCover};

/// Average size of a temporary file, in bytes. It limits the number of temporary files.
pub(crate) const BYTES_PER_FILE: u64 = 4_096;

/// Minimum number of temporary files, however small their total size is.
const FILES_MIN: u64 = 4_096;

/// The mount point of the temporary file system while the view is built.
const BUILDING_SITE: &str = "/proc";

/// Maximum number of file systems stacked on the machine's top directory.
pub(crate) const UPON_TOP_MAX: u32 = 16;

/// The file in the temporary file system that covers every hidden file.
const EMPTY_FILE: &str = "empty";

/// The file in the temporary file system that covers every file that rules deny.
const DENIED_FILE: &str = "denied";

/// The directory in the temporary file system that becomes the top of the view.
const TOP: &str = "top";

/// The links in `/dev` that programs expect.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);

/// A view under construction.
pub(super) struct MountView {
    /// The temporary file system that contains everything private to the command.
    base: OwnedFd,
    device: u64,
    /// The top of the view.
    top: OwnedFd,
    /// Mounts that stay writable until the end.
    open: Vec<OwnedFd>,
    hidden_count: usize,
    /// The previous umask of this process.
    mask: Mode,
}

/// A view that is in place. It must be sealed once nothing in it changes any more.
pub(super) struct EnteredMountView {
    open: Vec<OwnedFd>,
}

impl EnteredMountView {
    /// Makes the mounts read-only that had to be writable until now.
    pub(super) fn seal(self) -> Result<(), StartFailure> {
        let mut open = self.open.iter();
        open.try_for_each(|mount| attributes::set(mount, READ_ONLY, MountReach::Mount))
            .map_err(StartStage::Confine.at("sealing the file system"))
    }
}

/// Treats an inaccessible path as protected: it belongs to another user, who is not in this user
/// namespace. The command has the same user with fewer rights, so it cannot reach the path either.
fn unless_out_of_reach(fixed: io::Result<()>) -> io::Result<()> {
    match fixed {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        fixed => fixed,
    }
}

impl MountView {
    /// Begins a view with the parts that are the same for every command. This process must have a
    /// private mount namespace.
    pub(super) fn new() -> io::Result<MountView> {
        let mask = umask(Mode::empty());
        let base = new_file_system("tmpfs", &options(&ResourceLimits::default()))?;
        // It needs a mount point until the view exists. No granted path can lie below this one.
        attach(&base, CWD, BUILDING_SITE)?;
        for (_, name) in TEMPORARY {
            mkdirat(&base, name, Mode::from_raw_mode(0o1777))?;
        }
        mkdirat(&base, HOME, Mode::RWXU)?;
        mkdirat(&base, TOP, Mode::from_raw_mode(0o755))?;
        let top = open_tree(&base, TOP, CLONE)?;
        attach(&top, &base, TOP)?;
        mkdirat(&top, "dev", Mode::from_raw_mode(0o755))?;
        for (name, target) in DEVICE_LINKS {
            symlinkat(target, &top, Path::new("dev").join(name))?;
        }
        let device = fstat(&base)?.st_dev;
        Ok(MountView { base, device, top, open: Vec::new(), hidden_count: 0, mask })
    }

    /// Adds entries, parents before children.
    pub(super) fn add_entries(
        &mut self,
        entries: impl IntoIterator<Item = ViewEntry>,
    ) -> Result<(), StartFailure> {
        for entry in entries {
            self.add(&entry).map_err(|error| {
                let at = format!("mounting {}", entry.path.display());
                StartFailure::new(StartStage::Confine, at, error)
            })?;
        }
        Ok(())
    }

    /// Returns the path of a descriptor of this process, which the machine's own `/proc` no longer
    /// shows.
    pub(super) fn path_of(&self, descriptor: &OwnedFd) -> io::Result<PathBuf> {
        let link = format!("proc/self/fd/{}", descriptor.as_raw_fd());
        Ok(OsString::from_vec(readlinkat(&self.top, link, Vec::new())?.into_bytes()).into())
    }

    /// Opens a limit of this process's user namespace for writing.
    pub(super) fn open_user_count(&self, name: &str) -> io::Result<File> {
        let path = format!("proc/sys/user/{name}");
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.top, path, flags, Mode::empty())?))
    }

    /// Leaves the machine's file system and enters a view of the confinement.
    pub(super) fn enter(
        mut self,
        bounds: &WireConfinement,
    ) -> Result<EnteredMountView, StartFailure> {
        let limit_size = || -> io::Result<()> {
            let flags = FsPickFlags::FSPICK_EMPTY_PATH | FsPickFlags::FSPICK_CLOEXEC;
            let picked = fspick(&self.base, "", flags)?;
            for (key, value) in options(&bounds.resources) {
                fsconfig_set_string(&picked, key, value.as_str())?;
            }
            Ok(fsconfig_reconfigure(&picked)?)
        };
        limit_size().map_err(StartStage::Confine.at("bounding temporary files"))?;
        self.add_entries(view_entries::granted_entries(bounds))?;
        umask(self.mask);
        self.enter_top().map_err(StartStage::Confine.at("entering the new file system"))
    }

    fn add(&mut self, entry: &ViewEntry) -> io::Result<()> {
        let path = entry.path.as_path();
        match entry.kind {
            ViewEntryKind::Temporary(name) => {
                // It inherits the restrictive attributes of the whole.
                let mount = open_tree(&self.base, name, CLONE)?;
                self.place(&mount, entry, FileType::Directory)
            }
            ViewEntryKind::Readable => match self.source(path)? {
                // A path that does not exist is ignored.
                None => Ok(()),
                Some((link, FileType::Symlink)) => self.link(entry, &link),
                Some((handle, file_type)) => {
                    self.bind(&handle, entry, (file_type, READ_ONLY | TAME))
                }
            },
            ViewEntryKind::Writable => match self.source(path)? {
                None => Err(Errno::NOENT.into()),
                Some((_, FileType::Symlink)) => Err(Errno::LOOP.into()),
                Some((handle, file_type)) => self.bind(&handle, entry, (file_type, TAME)),
            },
            // A path that leads through a link is protected at its link-free location.
            ViewEntryKind::Anchored if self.find_without_links(path)?.is_none() => Ok(()),
            ViewEntryKind::Anchored => unless_out_of_reach(self.bind_in_place(path, TAME)),
            ViewEntryKind::ReadOnly => {
                unless_out_of_reach(self.bind_in_place(path, READ_ONLY | TAME))
            }
            // A link needs no cover: its target is hidden under its own path.
            ViewEntryKind::Hidden => {
                let Some(place) = self.find_without_links(path)? else { return Ok(()) };
                if kind_of(&place)? != FileType::Directory {
                    match make_file(&self.base, Path::new(EMPTY_FILE)) {
                        // One file covers them all.
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                    let mount = open_tree(&self.base, EMPTY_FILE, CLONE)?;
                    attributes::set(&mount, READ_ONLY | TAME, MountReach::Mount)?;
                    return Ok(attach_at(&mount, &place)?);
                }
                // Each needs a separate directory, because granted paths inside it need mount
                // points there.
                let name = format!("hidden-{}", self.hidden_count);
                self.hidden_count += 1;
                mkdirat(&self.base, &name, Mode::from_raw_mode(0o755))?;
                let mount = open_tree(&self.base, &name, CLONE)?;
                attach_at(&mount, &place)?;
                self.open.push(mount);
                Ok(())
            }
            ViewEntryKind::Denied { is_passed } => unless_out_of_reach(self.deny(path, is_passed)),
            ViewEntryKind::Device => {
                let handle = openat2(CWD, path, HANDLE, Mode::empty(), NO_LINKS)?;
                if kind_of(&handle)? != FileType::CharacterDevice {
                    return Err(Errno::NODEV.into());
                }
                let mount = open_tree(&handle, "", CLONE | OpenTreeFlags::AT_EMPTY_PATH)?;
                attributes::set(&mount, DEVICE, MountReach::Mount)?;
                self.place(&mount, entry, FileType::RegularFile)
            }
            ViewEntryKind::Processes => {
                let mount = new_file_system("proc", &[])?;
                self.place(&mount, entry, FileType::Directory)?;
                // The number of processes is limited through it.
                self.open.push(mount);
                Ok(())
            }
        }
    }

    /// Covers a path with a file or a directory that cannot be opened.
    fn deny(&mut self, path: &Path, is_passed: bool) -> io::Result<()> {
        // A link needs no cover, because its target has one.
        let Some(place) = self.find_without_links(path)? else { return Ok(()) };
        if kind_of(&place)? != FileType::Directory {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            match openat(&self.base, DENIED_FILE, flags, Mode::empty()) {
                // One file covers them all.
                Ok(_) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let mount = open_tree(&self.base, DENIED_FILE, CLONE)?;
            attributes::set(&mount, READ_ONLY | TAME, MountReach::Mount)?;
            return Ok(attach_at(&mount, &place)?);
        }
        // The root user of the view has no capability that passes these permissions.
        let mode = if is_passed { Mode::from_raw_mode(0o111) } else { Mode::empty() };
        let name = format!("denied-{}", self.hidden_count);
        self.hidden_count += 1;
        mkdirat(&self.base, &name, mode)?;
        let mount = open_tree(&self.base, &name, CLONE)?;
        attach_at(&mount, &place)?;
        self.open.push(mount);
        Ok(())
    }

    /// Opens a granted path on the machine.
    fn source(&self, path: &Path) -> io::Result<Option<(OwnedFd, FileType)>> {
        if path == Path::new("/") {
            // Granting the top directory would cover the view, including devices and processes.
            return Err(Errno::INVAL.into());
        }
        match openat2(CWD, path, HANDLE, Mode::empty(), NO_LINKS) {
            Ok(handle) => {
                let file_type = kind_of(&handle)?;
                Ok(Some((handle, file_type)))
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Mounts a path of the machine at the same path of the view.
    fn bind(
        &self,
        handle: &OwnedFd,
        entry: &ViewEntry,
        (file_type, attributes): (FileType, u64),
    ) -> io::Result<()> {
        self.place(&clone_tree(handle.as_fd(), attributes)?, entry, file_type)
    }

    /// Creates the machine's link in the view, unless a parent mount already contains it.
    fn link(&self, entry: &ViewEntry, link: &OwnedFd) -> io::Result<()> {
        match entry.ground {
            ViewEntryParent::Granted => Ok(()),
            ViewEntryParent::Own => {
                let target = readlinkat(link, "", Vec::new())?;
                let make = |place: &Path| symlinkat(target.as_c_str(), &self.top, place);
                match self.make(&entry.path, make) {
                    // The command's own entry takes precedence.
                    Err(Errno::EXIST) => Ok(()),
                    made => Ok(made?),
                }
            }
        }
    }

    /// Mounts a path of a parent mount onto itself, so that it can be neither moved nor replaced.
    fn bind_in_place(&self, path: &Path, attributes: u64) -> io::Result<()> {
        match self.find(path)? {
            // It was removed meanwhile, or is not in the view.
            None => Ok(()),
            Some(place) => {
                attach_at(&clone_tree(place.as_fd(), attributes)?, &place)?;
                Ok(())
            }
        }
    }

    /// Mounts something at its place in the view, and creates the mount point if possible.
    fn place(&self, mount: &OwnedFd, entry: &ViewEntry, file_type: FileType) -> io::Result<()> {
        match entry.ground {
            ViewEntryParent::Granted => {
                let place = self.mount_point(&entry.path, file_type)?;
                Ok(attach_at(mount, &place)?)
            }
            ViewEntryParent::Own => {
                let make = |place: &Path| match file_type {
                    FileType::Directory => mkdirat(&self.top, place, Mode::from_raw_mode(0o755)),
                    _ => make_file(&self.top, place),
                };
                match self.make(&entry.path, make) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno.into()),
                }
                // No link can be in the way: only this process has created entries here, and a path
                // below a link that it created counts as granted.
                Ok(attach(mount, &self.top, within(&entry.path)?)?)
            }
        }
    }

    /// Creates an entry in the command's own file system, with its missing parents.
    fn make(
        &self,
        path: &Path,
        make: impl Fn(&Path) -> rustix::io::Result<()>,
    ) -> rustix::io::Result<()> {
        let place = within(path)?;
        match make(place) {
            Err(Errno::NOENT) => {}
            made => return made,
        }
        let mut parents: Vec<&Path> = place.ancestors().skip(1).collect();
        // The last one is the top.
        parents.pop();
        for parent in parents.into_iter().rev() {
            match mkdirat(&self.top, parent, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        make(place)
    }

    /// Opens a path in the view, and creates it if it is missing.
    fn mount_point(&self, path: &Path, file_type: FileType) -> io::Result<OwnedFd> {
        if let Some(found) = self.find(path)? {
            return Ok(found);
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        let parent = self.mount_point(parent, FileType::Directory)?;
        // Nothing is ever created in the machine's file systems.
        if fstat(&parent)?.st_dev != self.device {
            return Err(Errno::NOENT.into());
        }
        if file_type == FileType::Directory {
            mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
        } else {
            make_file(&parent, Path::new(name))?;
        }
        Ok(openat(&parent, name, HANDLE, Mode::empty())?)
    }

    fn find(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        let relative = within(path)?;
        let resolve = NO_LINKS | ResolveFlags::BENEATH;
        match openat2(&self.top, relative, HANDLE, Mode::empty(), resolve) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Opens a path in the view; a link, or a path behind one, counts as missing.
    fn find_without_links(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        match self.find(path) {
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(None),
            Ok(Some(place)) if kind_of(&place)? == FileType::Symlink => Ok(None),
            found => found,
        }
    }

    /// Makes the view the root file system of this process.
    fn enter_top(mut self) -> io::Result<EnteredMountView> {
        fchdir(&self.top)?;
        // The old root is now stacked on the new one, and is unmounted from there.
        pivot_root(".", ".")?;
        // There are several file systems if some were stacked on the machine's own top directory. A
        // remaining one could be reached through `..` from the top.
        let identity = |directory: BorrowedFd<'_>, path: &str| -> io::Result<(u64, u64)> {
            let mask = StatxFlags::INO | StatxFlags::MNT_ID;
            let stat = statx(directory, path, AtFlags::EMPTY_PATH, mask)?;
            // Without the mount's identity the loop could not detect the end.
            if stat.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
                return Err(Errno::NOSYS.into());
            }
            Ok((stat.stx_mnt_id, stat.stx_ino))
        };
        let own = identity(self.top.as_fd(), "")?;
        for _ in 0..UPON_TOP_MAX {
            unmount(".", UnmountFlags::DETACH)?;
            if identity(CWD, "/..")? == own {
                chdir("/")?;
                self.open.push(self.top);
                return Ok(EnteredMountView { open: self.open });
            }
        }
        Err(Errno::BUSY.into())
    }
}

/// Covers paths of a view that a command already has. This process must have entered the command's user and mount
/// namespaces. A path that is not there is ignored.
///
/// A file is covered by a device that the mount does not let anyone open: the view has no other file
/// that could be mounted.
pub(crate) fn cover_paths(covers: &[WireCover]) -> io::Result<()> {
    let top = openat(CWD, "/", HANDLE | OFlags::DIRECTORY, Mode::empty())?;
    let resolve = NO_LINKS | ResolveFlags::BENEATH;
    for cover in covers {
        let place = match openat2(&top, within(&cover.path)?, HANDLE, Mode::empty(), resolve) {
            Ok(place) => place,
            // It is gone again, or a link, whose target has its own cover.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            Err(errno) => return Err(errno.into()),
        };
        let mount = match kind_of(&place)? {
            FileType::Symlink => continue,
            _ if cover.is_readable => clone_tree(place.as_fd(), READ_ONLY | TAME)?,
            FileType::Directory => {
                let options = [("mode", "0".to_owned()), ("nr_inodes", "1".to_owned())];
                let mount = new_file_system("tmpfs", &options)?;
                attributes::set(&mount, READ_ONLY | TAME, MountReach::Mount)?;
                mount
            }
            _ => {
                let null = openat2(&top, "dev/null", HANDLE, Mode::empty(), resolve)?;
                if kind_of(&null)? != FileType::CharacterDevice {
                    return Err(Errno::NODEV.into());
                }
                clone_tree(null.as_fd(), READ_ONLY | TAME)?
            }
        };
        attach_at(&mount, &place)?;
    }
    Ok(())
}

/// Creates a file system that is not mounted yet.
fn new_file_system(name: &str, options: &[(&str, String)]) -> io::Result<OwnedFd> {
    let file_system = fsopen(name, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(&file_system, *key, value.as_str())?;
    }
    fsconfig_create(&file_system)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&file_system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

fn options(resources: &ResourceLimits) -> [(&'static str, String); 2] {
    let files = (resources.temp_bytes / BYTES_PER_FILE).max(FILES_MIN);
    [("size", resources.temp_bytes.to_string()), ("nr_inodes", files.to_string())]
}

/// Clones a mount with everything below it, and sets the attributes of the clones.
fn clone_tree(handle: BorrowedFd<'_>, attributes: u64) -> io::Result<OwnedFd> {
    let flags = CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::AT_EMPTY_PATH;
    let mount = open_tree(handle, "", flags)?;
    attributes::set(&mount, attributes, MountReach::Subtree)?;
    Ok(mount)
}

/// Returns a path relative to the top. The top itself is not a valid mount point.
fn within(path: &Path) -> rustix::io::Result<&Path> {
    match path.strip_prefix("/") {
        Ok(relative) if !relative.as_os_str().is_empty() => Ok(relative),
        Ok(_) | Err(_) => Err(Errno::INVAL),
    }
}

fn make_file(directory: &OwnedFd, path: &Path) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    openat(directory, path, flags, Mode::from_raw_mode(0o444)).map(drop)
}

fn attach(mount: &OwnedFd, directory: impl AsFd, path: impl Arg) -> rustix::io::Result<()> {
    move_mount(mount, "", directory, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

fn attach_at(mount: &OwnedFd, place: &OwnedFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", place, "", flags)
}

fn kind_of(handle: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(handle)?.st_mode))
}
