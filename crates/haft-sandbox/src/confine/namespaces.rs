//! Sets up a process in new namespaces: the namespaces of a command, the user and host names, and
//! the working directory. The helper creates the process.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{FileType, fstat, stat};
use rustix::io::Errno;
use rustix::process::{chdir, getegid, geteuid};

use super::mounts::MountView;
use crate::confinement::Network;
use crate::wire::{StartFailure, StartStage};

/// The user's and group's numbers outside the namespace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OuterUser {
    user: u32,
    group: u32,
}

/// The start directory of a command: opened outside, with its path there.
pub(super) struct StartDirectory {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Returns the `CLONE_NEW…` flags of a command's namespaces, without the mount namespace: see
/// [`unshare_mounts`].
pub(crate) fn namespace_flags(network: Network) -> c_int {
    let flags = libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    match network {
        Network::Loopback | Network::Proxied => flags | libc::CLONE_NEWNET,
        Network::Host => flags,
    }
}

impl OuterUser {
    /// Returns the user of this process. Call it before entering namespaces, because a new user
    /// namespace has no users.
    pub(crate) fn current_user() -> OuterUser {
        OuterUser { user: geteuid().as_raw(), group: getegid().as_raw() }
    }

    /// Maps only the user's own number into this process's user namespace.
    pub(crate) fn map_into_namespace(self) -> io::Result<()> {
        let OuterUser { user, group } = self;
        // The kernel lets an ordinary user map a group only after `setgroups` is disabled, because
        // that call could drop groups.
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    }
}

/// Gives this process a private copy of the current mounts.
pub(super) fn unshare_mounts() -> Result<(), StartFailure> {
    #[expect(unsafe_code, reason = "no safe interface leaves namespaces")]
    // SAFETY: the call changes no state that this program relies on, and this process has one
    // thread.
    let answer = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    let made = if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    made.map_err(StartStage::Confine.at("making a mount namespace"))
}

impl StartDirectory {
    /// Finds the path of an open directory, before the view is entered.
    pub(super) fn find(
        directory: &OwnedFd,
        view: &MountView,
    ) -> Result<StartDirectory, StartFailure> {
        let found = || -> io::Result<StartDirectory> {
            let stat = fstat(directory)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                return Err(Errno::NOTDIR.into());
            }
            let path = view.path_of(directory)?;
            Ok(StartDirectory { path, device: stat.st_dev, inode: stat.st_ino })
        };
        found().map_err(StartStage::Directory.at(""))
    }

    /// Enters the directory if its path still refers to the same directory.
    pub(super) fn enter_directory(&self) -> Result<(), StartFailure> {
        let enter = || {
            chdir(&self.path)?;
            let now = stat(".")?;
            // If the start directory is not visible inside the view, its path leads to another
            // directory or to none.
            if (now.st_dev, now.st_ino) == (self.device, self.inode) {
                Ok(())
            } else {
                Err(Errno::NOENT)
            }
        };
        enter().map_err(StartStage::Directory.at("it is not among what can be seen"))
    }
}
