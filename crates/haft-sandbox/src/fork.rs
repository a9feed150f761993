//! Creates processes that continue with this program. Only helpers and trials do this. They have
//! one thread, so the new process finds all state usable.

use std::ffi::{c_int, c_long};
use std::io;

use rustix::process::Pid;

/// The side of a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForkSide {
    /// The forking process, with the number of the new one.
    Parent(Pid),
    /// The new process.
    Child,
}

/// Forks this process.
pub(crate) fn fork() -> io::Result<ForkSide> {
    #[expect(unsafe_code, reason = "no safe interface forks")]
    // SAFETY: this process has one thread, so no other thread holds a lock or has state half
    // changed. Tests of trials have several threads. Their trials allocate and make system calls,
    // and the C library keeps its allocator working across a fork.
    let answer = unsafe { libc::fork() };
    side(c_long::from(answer))
}

/// Forks this process into new namespaces, given as `CLONE_NEW…` flags.
pub(crate) fn fork_into(namespaces: c_int) -> io::Result<ForkSide> {
    let flags = c_long::from(namespaces | libc::SIGCHLD);
    #[expect(unsafe_code, reason = "no safe interface forks into namespaces")]
    // SAFETY: as above. Without a stack and shared memory the call is a fork. The C library does
    // not notice it and caches the old process number; nothing in a helper asks for that number.
    let answer = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    side(answer)
}

/// Ends this process at once, without running the program's exit handlers.
pub(crate) fn exit(status: c_int) -> ! {
    #[expect(
        unsafe_code,
        reason = "the standard library's exit runs handlers of the whole program"
    )]
    // SAFETY: the call does not return, and the kernel releases everything.
    unsafe {
        libc::_exit(status)
    }
}

fn side(answer: c_long) -> io::Result<ForkSide> {
    match i32::try_from(answer) {
        Ok(0) => Ok(ForkSide::Child),
        Ok(number) if number > 0 => Pid::from_raw(number)
            .map(ForkSide::Parent)
            .ok_or_else(|| io::ErrorKind::InvalidData.into()),
        _ => Err(io::Error::last_os_error()),
    }
}
