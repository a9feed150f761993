//! Making processes that go on with this very program. All of it happens in helpers, which have one thread, so that the
//! new process finds everything in a state that it can work with.

use std::ffi::{c_int, c_long};
use std::io;

use rustix::process::Pid;

/// Which side of a fork this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The process that forked; with the number of the other.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Makes a copy of this process.
pub(super) fn fork() -> io::Result<Side> {
    #[expect(unsafe_code, reason = "no safe interface forks")]
    // SAFETY: this process has one thread, so that no lock is held by another and no state is half changed.
    let answer = unsafe { libc::fork() };
    side(c_long::from(answer))
}

/// Makes a copy of this process that lives in new namespaces, given as `CLONE_NEW…` flags.
pub(super) fn fork_into(namespaces: c_int) -> io::Result<Side> {
    let flags = c_long::from(namespaces | libc::SIGCHLD);
    #[expect(unsafe_code, reason = "no safe interface forks into namespaces")]
    // SAFETY: as above. Without a stack and without shared memory the call is a fork. The C library is not told, and so
    // takes the new process's number for the old one's; nothing in a helper asks it.
    let answer = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    side(answer)
}

/// Ends this process at once, without running what the program registered for its end.
pub(super) fn exit(status: c_int) -> ! {
    #[expect(
        unsafe_code,
        reason = "the standard library's exit runs handlers of the whole program"
    )]
    // SAFETY: the call does not return, and the kernel cleans up.
    unsafe {
        libc::_exit(status)
    }
}

fn side(answer: c_long) -> io::Result<Side> {
    match i32::try_from(answer) {
        Ok(0) => Ok(Side::Child),
        Ok(number) if number > 0 => {
            Pid::from_raw(number).map(Side::Parent).ok_or_else(|| io::ErrorKind::InvalidData.into())
        }
        _ => Err(io::Error::last_os_error()),
    }
}
