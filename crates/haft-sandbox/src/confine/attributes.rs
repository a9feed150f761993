//! Attributes of mounts, which the kernel sets by descriptor, for one mount or for all beneath it at once. They can be
//! made stricter only; this file offers nothing else.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// No file of the mount is changed, whoever asks.
pub(super) const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;

/// No file gives privileges, and no device file is one.
pub(super) const TAME: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// The attributes of a mount that holds one device.
pub(super) const DEVICE: u64 =
    libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NOEXEC;

/// How far a change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// To the mount itself.
    This,
    /// To the mount and all beneath it.
    Beneath,
}

/// What the kernel reads.
#[repr(C)]
struct Change {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Sets attributes of a mount, which also gets no news of other mounts any more.
pub(super) fn set(mount: impl AsFd, attributes: u64, reach: Reach) -> io::Result<()> {
    let change =
        Change { set: attributes, clear: 0, propagation: libc::MS_PRIVATE, user_namespace: 0 };
    let flags: c_int = match reach {
        Reach::This => libc::AT_EMPTY_PATH,
        Reach::Beneath => libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
    };
    #[expect(unsafe_code, reason = "no safe interface sets attributes of mounts")]
    // SAFETY: the path is empty and ends with a null; the kernel reads `change`, which lives through the call, and no
    // more of it than its size.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const change,
            size_of::<Change>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
