//! Runs a trial in a process that is then discarded. The calling process must have one thread. A
//! trial reports only success or the operating system's error.

use std::ffi::c_int;
use std::io;

use rustix::process::{WaitOptions, waitpid};

use crate::fork::{ForkSide, exit, fork};

/// Exit status of a trial that failed without an operating system error.
const STATUS_UNKNOWN: c_int = 255;

/// Runs the trial in a new process and returns its result.
pub(crate) fn run(trial: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let pid = match fork()? {
        ForkSide::Parent(pid) => pid,
        ForkSide::Child => exit(match trial() {
            Ok(()) => 0,
            // The system's error numbers are below this one.
            Err(error) => error
                .raw_os_error()
                .filter(|number| *number < STATUS_UNKNOWN)
                .unwrap_or(STATUS_UNKNOWN),
        }),
    };
    let Some((_, status)) = waitpid(Some(pid), WaitOptions::empty())? else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    match (status.exit_status(), status.terminating_signal()) {
        (Some(0), _) => Ok(()),
        (Some(errno), _) if errno != STATUS_UNKNOWN => Err(io::Error::from_raw_os_error(errno)),
        // A system call filter may kill a process that creates one.
        (None, Some(signal)) => Err(io::Error::other(format!("ended by signal {signal}"))),
        _ => Err(io::Error::other("it did not say what went wrong")),
    }
}
