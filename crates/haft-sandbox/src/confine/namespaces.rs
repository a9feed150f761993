//! Becoming someone in new namespaces: which there are, the names of users and of the host, and the working directory.
//! Making the process is the helper's part.

use std::ffi::c_int;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::fs::{FileType, fstat, stat};
use rustix::io::Errno;
use rustix::process::{chdir, getegid, geteuid};

use super::mounts::View;
use crate::confinement::Network;
use crate::wire::{Failure, Stage};

/// The name of the host in a command's own namespace.
const HOST_NAME: &[u8] = b"haft";

/// The numbers that a user and a group have outside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct User {
    user: u32,
    group: u32,
}

/// Where a command starts: a directory that was opened outside, by the path that it has there.
pub(super) struct Place {
    path: PathBuf,
    device: u64,
    inode: u64,
}

/// Returns the `CLONE_NEW…` flags of a command's namespaces, but for the one of mounts: see [`leave_mounts`].
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

impl User {
    /// Returns who this process runs as. To be asked before there are namespaces: in new ones nobody has a number.
    pub(crate) fn current() -> User {
        User { user: geteuid().as_raw(), group: getegid().as_raw() }
    }
}

/// Keeps the user's own number, knows no other user, and names the host.
pub(super) fn become_named(user: User) -> Result<(), Failure> {
    let failure =
        |error| Failure::new(Stage::Confine, "mapping the user into its namespace", &error);
    let User { user, group } = user;
    // The kernel lets an ordinary user map a group only after giving up the call that could drop groups.
    let write = |name: &str, text: String| fs::write(format!("/proc/self/{name}"), text);
    write("setgroups", "deny".to_owned()).map_err(failure)?;
    write("uid_map", format!("{user} {user} 1")).map_err(failure)?;
    write("gid_map", format!("{group} {group} 1")).map_err(failure)?;
    rustix::system::sethostname(HOST_NAME)
        .map_err(|errno| Failure::new(Stage::Confine, "naming the host", &errno.into()))
}

/// Makes what this process mounts its own business, from a copy of what is mounted now.
pub(super) fn leave_mounts() -> Result<(), Failure> {
    #[expect(unsafe_code, reason = "no safe interface leaves namespaces")]
    // SAFETY: the call changes nothing that this program could hold on to, and this process has one thread.
    let answer = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    match answer {
        0 => Ok(()),
        _ => Err(Failure::new(
            Stage::Confine,
            "making a mount namespace",
            &std::io::Error::last_os_error(),
        )),
    }
}

impl Place {
    /// Finds the place of an open directory, before the view is entered.
    pub(super) fn of(directory: &OwnedFd, view: &View) -> Result<Place, Failure> {
        let found = || {
            let stat = fstat(directory)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                return Err(Errno::NOTDIR.into());
            }
            let path = view.path_of(directory)?;
            Ok(Place { path, device: stat.st_dev, inode: stat.st_ino })
        };
        found().map_err(|error: std::io::Error| Failure::new(Stage::Directory, "", &error))
    }

    /// Enters it, if what has its path now is the same directory.
    pub(super) fn enter(&self) -> Result<(), Failure> {
        let enter = || {
            chdir(&self.path)?;
            let now = stat(".")?;
            // Another directory, or none, is what a place that cannot be seen inside looks like.
            if (now.st_dev, now.st_ino) == (self.device, self.inode) {
                Ok(())
            } else {
                Err(Errno::NOENT)
            }
        };
        enter().map_err(|errno| {
            Failure::new(Stage::Directory, "it is not among what can be seen", &errno.into())
        })
    }
}
