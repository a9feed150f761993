//! The small processes between a launcher and its commands.
//!
//! They are this very program, executed again with a hidden argument, so that they start with little memory and one
//! thread whatever the launcher's process holds. What is executed is the *zygote*: it lives as long as its launcher and
//! only forks. Each call gets a *supervisor* from it, which takes one specification from the call's socket, starts the
//! command, stays until that has ended or the socket closes, and ends everything that the command left behind. Around a
//! confined command there is one process more, the *init* of its own process namespace.

mod family;
mod fork;
mod image;
mod inherited;
mod init;
mod memory;
mod order;
mod probe;
mod realm;
mod search;
mod supervisor;
mod zygote;

pub(crate) use family::TEARDOWN_MS_MAX as FAMILY_TEARDOWN_MS_MAX;
pub(crate) use realm::TEARDOWN_MS_MAX as REALM_TEARDOWN_MS_MAX;
pub(crate) use zygote::SWEEPS_MAX;

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::setsid;
use rustix::stdio::{dup2_stderr, dup2_stdin};

use crate::kernel;
use crate::wire::HELPER_ARGUMENT;

/// The status of a helper that was started by something that is no launcher.
const STATUS_MISUSED: i32 = 70;

/// The name of a helper's process.
const NAME: &CStr = c"haft-helper";

/// Becomes a launcher's helper if that is what this program was executed for; then it does not return.
///
/// Call it first in `main`, before anything is opened or any thread is started. It looks at the first argument only.
pub fn run_if_requested() {
    let Some(argument) = std::env::args_os().nth(1) else { return };
    if argument == HELPER_ARGUMENT {
        std::process::exit(run());
    }
    if kernel::answer_if_requested(&argument) {
        std::process::exit(0);
    }
}

fn run() -> i32 {
    match detach().and_then(zygote::run) {
        Ok(()) => 0,
        Err(_) => STATUS_MISUSED,
    }
}

/// Cuts every tie to whoever started this process but the socket.
fn detach() -> io::Result<OwnedFd> {
    inherited::close_descriptors()?;
    inherited::restore_signals();
    // Keeps signals of a terminal away. It cannot fail in a child that leads no group; if it did, nothing but that
    // protection would be missing.
    let _ = setsid();
    // Told apart from the program that it is a copy of, so that `killall` of one spares the other.
    rustix::thread::set_name(NAME)?;
    let socket = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    stand_on_null()?;
    Ok(socket)
}

/// Makes the standard descriptors empty and silent, but for the output: that is silent already, or the file whose lock tells
/// others that helpers live. Every process that is forked from here holds it; a command gets an output of its own.
fn stand_on_null() -> io::Result<()> {
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    dup2_stdin(&null)?;
    dup2_stderr(&null)?;
    Ok(())
}
