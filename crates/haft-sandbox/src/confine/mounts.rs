//! Building the file system that a command sees: an empty one, into which what was granted is mounted. Sources and mount
//! points are opened once, through no symbolic link, and from then on used by descriptor, so that nothing can be
//! exchanged between looking and mounting. Needs the mount interface of Linux 5.12; older kernels count as having no
//! namespaces.

use std::ffi::OsString;
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

use super::attributes::{self, DEVICE, READ_ONLY, Reach, TAME};
use super::view::{self, Entry, Ground, HOME, Kind, TEMPORARY};
use crate::confinement::Resources;
use crate::wire::{Bounds, Failure, Stage};

/// How many bytes of temporary files there are for one file, roughly; it bounds their number.
pub(crate) const BYTES_PER_FILE: u64 = 4_096;

/// How many temporary files there may be however few bytes they have.
const FILES_MIN: u64 = 4_096;

/// Where the temporary file system is mounted while the view is built.
const BUILDING_SITE: &str = "/proc";

/// How many file systems may lie upon the machine's top.
pub(crate) const UPON_TOP_MAX: u32 = 16;

/// The name of the file in the temporary file system that stands for every hidden one.
const EMPTY_FILE: &str = "empty";

/// The name of the directory in the temporary file system that becomes the top of the view.
const TOP: &str = "top";

/// The links in `/dev` that every program expects.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
const NO_LINKS: ResolveFlags = ResolveFlags::NO_SYMLINKS.union(ResolveFlags::NO_MAGICLINKS);
const CLONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);

/// A view that is being built.
pub(super) struct View {
    /// The temporary file system that everything of the command's own is in.
    base: OwnedFd,
    device: u64,
    /// The top of the view.
    top: OwnedFd,
    /// Mounts that are writable until the end.
    open: Vec<OwnedFd>,
    hidden_count: usize,
    /// What this process's files were made with before.
    mask: Mode,
}

/// A view that is in place, and to be sealed when nothing more is to be changed in it.
pub(super) struct Entered {
    open: Vec<OwnedFd>,
}

impl Entered {
    /// Makes read-only what had to be written to until now.
    pub(super) fn seal(self) -> Result<(), Failure> {
        self.open
            .iter()
            .try_for_each(|mount| attributes::set(mount, READ_ONLY, Reach::This))
            .map_err(|error| Failure::new(Stage::Confine, "sealing the file system", &error))
    }
}

/// Takes for held what cannot be reached from here: another user's, who is not in this user namespace. The command has
/// the same user and fewer rights, so that it cannot reach it either.
fn unless_out_of_reach(fixed: io::Result<()>) -> io::Result<()> {
    match fixed {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        fixed => fixed,
    }
}

impl View {
    /// Begins a view, as far as that is the same for every command. This process's mounts must be its own.
    pub(super) fn begin() -> Result<View, Failure> {
        let mut view = View::bare().map_err(|error| {
            Failure::new(Stage::Confine, "mounting a temporary file system", &error)
        })?;
        view::beginning().try_for_each(|entry| view.add_or_fail(&entry))?;
        Ok(view)
    }

    /// The path of a descriptor of this process, which the machine's own `/proc` does not tell any more.
    pub(super) fn path_of(&self, descriptor: &OwnedFd) -> io::Result<PathBuf> {
        let link = format!("proc/self/fd/{}", descriptor.as_raw_fd());
        Ok(OsString::from_vec(readlinkat(&self.top, link, Vec::new())?.into_bytes()).into())
    }

    /// Leaves the machine's file system for a view of what the bounds allow.
    pub(super) fn enter(mut self, bounds: &Bounds) -> Result<Entered, Failure> {
        self.size(&bounds.resources)
            .map_err(|error| Failure::new(Stage::Confine, "bounding temporary files", &error))?;
        view::entries(bounds).iter().try_for_each(|entry| self.add_or_fail(entry))?;
        umask(self.mask);
        self.enter_top()
            .map_err(|error| Failure::new(Stage::Confine, "entering the new file system", &error))
    }

    fn bare() -> io::Result<View> {
        let mask = umask(Mode::empty());
        let base = new_file_system("tmpfs", &options(&Resources::default()))?;
        // It needs a place until there is a view, where nothing that is granted can lie beneath it.
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
        Ok(View { base, device, top, open: Vec::new(), hidden_count: 0, mask })
    }

    /// Bounds what the temporary file system holds.
    fn size(&self, resources: &Resources) -> io::Result<()> {
        let picked =
            fspick(&self.base, "", FsPickFlags::FSPICK_EMPTY_PATH | FsPickFlags::FSPICK_CLOEXEC)?;
        for (key, value) in options(resources) {
            fsconfig_set_string(&picked, key, value.as_str())?;
        }
        Ok(fsconfig_reconfigure(&picked)?)
    }

    fn add_or_fail(&mut self, entry: &Entry) -> Result<(), Failure> {
        self.add(entry).map_err(|error| {
            Failure::new(Stage::Confine, format!("mounting {}", entry.path.display()), &error)
        })
    }

    fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let path = entry.path.as_path();
        match entry.kind {
            Kind::Temporary(name) => {
                // It has the attributes of the whole, which is tame.
                let mount = open_tree(&self.base, name, CLONE)?;
                self.place(&mount, entry, FileType::Directory)
            }
            Kind::Readable => match self.source(path)? {
                // What does not exist is left out.
                None => Ok(()),
                Some((link, FileType::Symlink)) => self.link(entry, &link),
                Some((handle, file_type)) => {
                    self.bind(&handle, entry, (file_type, READ_ONLY | TAME))
                }
            },
            Kind::Writable => match self.source(path)? {
                None => Err(Errno::NOENT.into()),
                Some((_, FileType::Symlink)) => Err(Errno::LOOP.into()),
                Some((handle, file_type)) => self.bind(&handle, entry, (file_type, TAME)),
            },
            // What leads through a link is kept at the place that it has without one.
            Kind::Anchored if self.find_without_links(path)?.is_none() => Ok(()),
            Kind::Anchored => unless_out_of_reach(self.fix(path, TAME)),
            Kind::Pinned => unless_out_of_reach(self.fix(path, READ_ONLY | TAME)),
            Kind::Hidden => self.hide(path),
            Kind::Device => {
                let handle = openat2(CWD, path, HANDLE, Mode::empty(), NO_LINKS)?;
                if kind_of(&handle)? != FileType::CharacterDevice {
                    return Err(Errno::NODEV.into());
                }
                let mount = open_tree(&handle, "", CLONE | OpenTreeFlags::AT_EMPTY_PATH)?;
                attributes::set(&mount, DEVICE, Reach::This)?;
                self.place(&mount, entry, FileType::RegularFile)
            }
            Kind::Processes => {
                let mount = new_file_system("proc", &[])?;
                self.place(&mount, entry, FileType::Directory)?;
                // The number of processes is bounded through it.
                self.open.push(mount);
                Ok(())
            }
        }
    }

    /// Opens what is granted, where it is on the machine.
    fn source(&self, path: &Path) -> io::Result<Option<(OwnedFd, FileType)>> {
        if path == Path::new("/") {
            // Granting everything would cover the view, devices and processes included.
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

    /// Mounts what is on the machine at the same path of the view.
    fn bind(
        &self,
        handle: &OwnedFd,
        entry: &Entry,
        (file_type, attributes): (FileType, u64),
    ) -> io::Result<()> {
        self.place(&clone_whole(handle.as_fd(), attributes)?, entry, file_type)
    }

    /// Makes the link that is on the machine in the view, unless a parent has brought it.
    fn link(&self, entry: &Entry, link: &OwnedFd) -> io::Result<()> {
        match entry.ground {
            Ground::Granted => Ok(()),
            Ground::Own => {
                let target = readlinkat(link, "", Vec::new())?;
                let make = |place: &Path| symlinkat(target.as_c_str(), &self.top, place);
                match self.make(&entry.path, make) {
                    // Something of the command's own goes before.
                    Err(Errno::EXIST) => Ok(()),
                    made => Ok(made?),
                }
            }
        }
    }

    /// Mounts what a parent brought onto itself, so that it can be neither moved nor replaced.
    fn fix(&self, path: &Path, attributes: u64) -> io::Result<()> {
        match self.find(path)? {
            // It was removed meanwhile, or is not in the view.
            None => Ok(()),
            Some(place) => {
                attach_at(&clone_whole(place.as_fd(), attributes)?, &place)?;
                Ok(())
            }
        }
    }

    /// Mounts nothing over what a parent brought. Of a link there is nothing to hide but where it leads, which is
    /// hidden under its own path.
    fn hide(&mut self, path: &Path) -> io::Result<()> {
        let Some(place) = self.find_without_links(path)? else { return Ok(()) };
        if kind_of(&place)? != FileType::Directory {
            match make_file(&self.base, Path::new(EMPTY_FILE)) {
                // One stands for all.
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
            let mount = open_tree(&self.base, EMPTY_FILE, CLONE)?;
            attributes::set(&mount, READ_ONLY | TAME, Reach::This)?;
            return Ok(attach_at(&mount, &place)?);
        }
        // Each has one of its own, because what is granted inside of it needs a place there.
        let name = format!("hidden-{}", self.hidden_count);
        self.hidden_count += 1;
        mkdirat(&self.base, &name, Mode::from_raw_mode(0o755))?;
        let mount = open_tree(&self.base, &name, CLONE)?;
        attach_at(&mount, &place)?;
        self.open.push(mount);
        Ok(())
    }

    /// Mounts something at its place in the view, which is made if it may be.
    fn place(&self, mount: &OwnedFd, entry: &Entry, file_type: FileType) -> io::Result<()> {
        match entry.ground {
            Ground::Granted => {
                let place = self.mount_point(&entry.path, file_type)?;
                Ok(attach_at(mount, &place)?)
            }
            Ground::Own => {
                let make = |place: &Path| match file_type {
                    FileType::Directory => mkdirat(&self.top, place, Mode::from_raw_mode(0o755)),
                    _ => make_file(&self.top, place),
                };
                match self.make(&entry.path, make) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(errno) => return Err(errno.into()),
                }
                // No link is on the way: nothing but this process has made anything here, and what lies beneath a link
                // that it made counts as granted.
                Ok(attach(mount, &self.top, within(&entry.path)?)?)
            }
        }
    }

    /// Makes something in the command's own file system, and the directories on the way to it if they are missing.
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

    /// Opens a path in the view, and makes it there if it is missing.
    fn mount_point(&self, path: &Path, file_type: FileType) -> io::Result<OwnedFd> {
        if let Some(found) = self.find(path)? {
            return Ok(found);
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        let parent = self.mount_point(parent, FileType::Directory)?;
        self.check_own(&parent)?;
        if file_type == FileType::Directory {
            mkdirat(&parent, name, Mode::from_raw_mode(0o755))?;
        } else {
            make_file(&parent, Path::new(name))?;
        }
        Ok(openat(&parent, name, HANDLE, Mode::empty())?)
    }

    /// Refuses a directory that is not of the view's own: nothing is ever made in the machine's.
    fn check_own(&self, directory: &OwnedFd) -> io::Result<()> {
        if fstat(directory)?.st_dev == self.device { Ok(()) } else { Err(Errno::NOENT.into()) }
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

    /// The same, but what is a link or behind one is not there.
    fn find_without_links(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        match self.find(path) {
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Ok(None),
            Ok(Some(place)) if kind_of(&place)? == FileType::Symlink => Ok(None),
            found => found,
        }
    }

    /// Makes the view the whole file system of this process.
    fn enter_top(mut self) -> io::Result<Entered> {
        fchdir(&self.top)?;
        // The old file system comes to lie upon the new one, and is taken off from there.
        pivot_root(".", ".")?;
        take_off_all(&self.top)?;
        chdir("/")?;
        self.open.push(self.top);
        Ok(Entered { open: self.open })
    }
}

/// Takes everything off the top of the view that lies upon it.
///
/// That is more than one file system where the machine's own top had something upon it. What stayed would be found by
/// whoever goes up from the top.
fn take_off_all(top: &OwnedFd) -> io::Result<()> {
    let identity = |directory: BorrowedFd<'_>, path: &str| -> io::Result<(u64, u64)> {
        let wanted = StatxFlags::INO | StatxFlags::MNT_ID;
        let stat = statx(directory, path, AtFlags::EMPTY_PATH, wanted)?;
        // Without the mount's identity nothing could be told.
        if stat.stx_mask & StatxFlags::MNT_ID.bits() == 0 {
            return Err(Errno::NOSYS.into());
        }
        Ok((stat.stx_mnt_id, stat.stx_ino))
    };
    let own = identity(top.as_fd(), "")?;
    for _ in 0..UPON_TOP_MAX {
        unmount(".", UnmountFlags::DETACH)?;
        if identity(CWD, "/..")? == own {
            return Ok(());
        }
    }
    Err(Errno::BUSY.into())
}

/// Makes a file system that is not mounted anywhere yet.
fn new_file_system(name: &str, options: &[(&str, String)]) -> io::Result<OwnedFd> {
    let file_system = fsopen(name, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(&file_system, *key, value.as_str())?;
    }
    fsconfig_create(&file_system)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&file_system, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

fn options(resources: &Resources) -> [(&'static str, String); 2] {
    let files = (resources.temp_bytes / BYTES_PER_FILE).max(FILES_MIN);
    [("size", resources.temp_bytes.to_string()), ("nr_inodes", files.to_string())]
}

/// Copies a mount with all beneath it, and gives the copies attributes.
fn clone_whole(handle: BorrowedFd<'_>, attributes: u64) -> io::Result<OwnedFd> {
    let flags = CLONE | OpenTreeFlags::AT_RECURSIVE | OpenTreeFlags::AT_EMPTY_PATH;
    let mount = open_tree(handle, "", flags)?;
    attributes::set(&mount, attributes, Reach::Beneath)?;
    Ok(mount)
}

/// Returns a path relative to the top. The top itself is no place.
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
