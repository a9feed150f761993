//! Sets up a process in new namespaces: the namespaces of a command, the user and host names, and
//! the working directory. The helper creates the process.

use std::ffi::c_int;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{FileType, fstat, stat};
use rustix::io::Errno;
use rustix::process::{chdir, getegid, geteuid};

use super::mounts::MountView;
use crate::confinement::Network;
use crate::wire::{StartFailure, StartStage};

/// The host name in a command's own namespace.
const HOST_NAME: &[u8] = b"haft";

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
}

/// Maps only the user's own number, and sets the host name.
pub(super) fn map_user(user: OuterUser) -> Result<(), StartFailure> {
    let failure = |error| {
        StartFailure::new(StartStage::Confine, "mapping the user into its namespace", &error)
    };
    let OuterUser { user, group } = user;
    // The kernel lets an ordinary user map a group only after `setgroups` is disabled, because that
    // call could drop groups.
    let write = |name: &str, text: String| fs::write(format!("/proc/self/{name}"), text);
    write("setgroups", "deny".to_owned()).map_err(failure)?;
    write("uid_map", format!("{user} {user} 1")).map_err(failure)?;
    write("gid_map", format!("{group} {group} 1")).map_err(failure)?;
    rustix::system::sethostname(HOST_NAME)
        .map_err(|errno| StartFailure::new(StartStage::Confine, "naming the host", &errno.into()))
}

/// Gives this process a private copy of the current mounts.
pub(super) fn unshare_mounts() -> Result<(), StartFailure> {
    #[expect(unsafe_code, reason = "no safe interface leaves namespaces")]
    // SAFETY: the call changes no state that this program relies on, and this process has one
    // thread.
    let answer = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    match answer {
        0 => Ok(()),
        _ => Err(StartFailure::new(
            StartStage::Confine,
            "making a mount namespace",
            &std::io::Error::last_os_error(),
        )),
    }
}

impl StartDirectory {
    /// Finds the path of an open directory, before the view is entered.
    pub(super) fn find(
        directory: &OwnedFd,
        view: &MountView,
    ) -> Result<StartDirectory, StartFailure> {
        let found = || {
            let stat = fstat(directory)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                return Err(Errno::NOTDIR.into());
            }
            let path = view.path_of(directory)?;
            Ok(StartDirectory { path, device: stat.st_dev, inode: stat.st_ino })
        };
        found()
            .map_err(|error: std::io::Error| StartFailure::new(StartStage::Directory, "", &error))
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
        enter().map_err(|errno| {
            StartFailure::new(
                StartStage::Directory,
                "it is not among what can be seen",
                &errno.into(),
            )
        })
    }
}
