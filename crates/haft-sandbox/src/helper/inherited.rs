//! Resets inherited state: foreign and standard descriptors, and signal handling.

use std::ffi::{c_int, c_uint};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::Signal;
use rustix::stdio::{dup2_stderr, dup2_stdin};

/// The highest signal number on Linux.
const SIGNAL_MAX: c_int = 64;

/// Closes every descriptor except the three standard ones.
pub(super) fn close_descriptors() -> io::Result<()> {
    let mut inherited = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<c_int>().ok());
        inherited.extend(number.filter(|number| *number > 2));
    }
    for number in inherited {
        #[expect(unsafe_code, reason = "inherited descriptors are known by number only")]
        // SAFETY: this runs first in the program and on its only thread, so no descriptor has an
        // owner yet. The directory that was just read is in the list but already closed; the kernel
        // returns EBADF for it.
        unsafe {
            libc::close(number);
        }
    }
    Ok(())
}

/// Closes every descriptor except the three standard ones and the kept ones. The process must exit
/// without returning to code that owns any other descriptor.
pub(super) fn keep_only(mut kept: [BorrowedFd<'_>; 2]) -> io::Result<()> {
    kept.sort_by_key(AsRawFd::as_raw_fd);
    let mut first = 3;
    for descriptor in kept {
        let number = c_uint::try_from(descriptor.as_raw_fd()).map_err(io::Error::other)?;
        close_range(first, number.saturating_sub(1))?;
        first = number.saturating_add(1);
    }
    close_range(first, c_uint::MAX)
}

fn close_range(first: c_uint, last: c_uint) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    #[expect(unsafe_code, reason = "descriptors of other owners are known by number only")]
    // SAFETY: the caller ensures that no owner uses these again in this process.
    let answer = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Redirects the standard descriptors to null, except for the output: it is already null, or the
/// file whose lock shows that helpers are alive. Every process forked from here holds that lock; a
/// command gets a different output.
pub(super) fn redirect_stdio_to_null() -> io::Result<()> {
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    dup2_stdin(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}

/// Restores the default handling of every signal, which commands inherit, and unblocks all signals.
pub(super) fn restore_signals() {
    let broken_pipe = Signal::PIPE.as_raw();
    // A closed launcher must appear as a write error here. Commands get this signal's default back
    // just before they are executed.
    for number in (1..=SIGNAL_MAX).filter(|number| *number != broken_pipe) {
        restore_signal(number);
    }
    #[expect(unsafe_code, reason = "no safe interface sets the signal mask")]
    // SAFETY: the set is initialised by the call that empties it, and lives through both calls.
    unsafe {
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

/// Restores the default handling of one signal.
pub(super) fn restore_signal(number: c_int) {
    #[expect(unsafe_code, reason = "no safe interface sets signal handling")]
    // SAFETY: default handling runs no code of this process. The kernel refuses numbers that may
    // not be set, which changes nothing.
    unsafe {
        libc::signal(number, libc::SIG_DFL);
    }
}
