//! The small helper processes between a launcher and its commands.
//!
//! They are this same program, executed again with a hidden argument. They start with little memory
//! and one thread, whatever the launcher's process contains. The *zygote* is the executed process:
//! it lives as long as its launcher and only forks. Each call gets a *supervisor* from it. The
//! supervisor receives one specification from the call's socket and starts the command. It stays
//! until the command has ended or the socket closes, and then kills every process that the command
//! left behind. A confined command has one more process around it: the *init* of a separate
//! process namespace.

mod covering;
mod image;
mod inherited;
mod init;
mod limiter;
mod order;
mod pid_namespace;
mod probe;
mod search;
mod spawn_descriptors;
mod subreaper;
mod supervisor;
mod zygote;

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::setsid;

use crate::kernel;
use crate::wire::HELPER_ARGUMENT;

/// Exit status of a helper that was not started by a launcher.
const STATUS_MISUSED: i32 = 70;

/// The process name of a helper.
const NAME: &CStr = c"haft-helper";

/// Runs this process as a launcher's helper if it was executed for that; then it does not return.
///
/// Call it first in `main`, before anything is opened or any thread is started. It checks only the
/// first argument.
pub fn run_if_requested() {
    let Some(argument) = std::env::args_os().nth(1) else { return };
    if argument == HELPER_ARGUMENT {
        let served = detach().and_then(zygote::run);
        std::process::exit(if served.is_ok() { 0 } else { STATUS_MISUSED });
    }
    if kernel::print_if_requested(&argument) {
        std::process::exit(0);
    }
}

/// Detaches this process from its parent, except for the socket.
fn detach() -> io::Result<OwnedFd> {
    inherited::close_descriptors()?;
    inherited::restore_signals();
    // Protects from terminal signals. It cannot fail in a child that leads no group; if it did,
    // only that protection would be missing.
    let _ = setsid();
    // A separate name, so that `killall` of the program spares the helper.
    rustix::thread::set_name(NAME)?;
    let socket = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    inherited::redirect_stdio_to_null()?;
    Ok(socket)
}
