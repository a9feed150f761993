//! Mount attributes, which are set by descriptor for one mount or for a whole subtree. This module
//! can only make them stricter.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Files of the mount cannot be changed by anyone.
pub(super) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;

/// Files grant no privileges, and device files do not work.
pub(super) const TAME: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// The attributes of a mount that contains one device.
pub(super) const DEVICE: u64 =
    libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// The reach of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MountReach {
    /// Only the mount itself.
    Mount,
    /// The mount and all mounts below it.
    Subtree,
}

/// The structure that the kernel reads.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Sets attributes of a mount, and stops propagation of mounts into it.
pub(super) fn set(mount: impl AsFd, attributes: u64, reach: MountReach) -> io::Result<()> {
    let change =
        MountAttr { set: attributes, clear: 0, propagation: libc::MS_PRIVATE, user_namespace: 0 };
    let flags: c_int = match reach {
        MountReach::Mount => libc::AT_EMPTY_PATH,
        MountReach::Subtree => libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
    };
    #[expect(unsafe_code, reason = "no safe interface sets attributes of mounts")]
    // SAFETY: the path is empty and ends with a NUL. The kernel reads only the given size of
    // `change`, which lives through the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const change,
            size_of::<MountAttr>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
