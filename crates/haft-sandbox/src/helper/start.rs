//! Making the helper clean and starting the command from it. This is where the crate's unsafe code lives: closing
//! descriptors that no one owns, and calls between fork and exec.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::net::SendFlags;
use rustix::process::{
    Pid, Signal, chdir, fchdir, getpid, getppid, set_parent_process_death_signal, setsid,
};

use super::search;
use crate::wire::{Reply, Spec, Stage};

/// The highest signal number on Linux.
const SIGNAL_MAX: c_int = 64;

/// What `signal` calls default handling.
const SIG_DFL: usize = 0;

#[expect(unsafe_code, reason = "no safe interface sets signal handling or closes what no one owns")]
// SAFETY: the declarations are those of the C standard and of POSIX; a handler is as wide as a pointer.
unsafe extern "C" {
    fn signal(number: c_int, handler: usize) -> usize;
    fn close(descriptor: c_int) -> c_int;
}

/// Starts the command and returns its number.
pub(super) fn start(
    spec: &Spec,
    cwd: &OwnedFd,
    output: OwnedFd,
    socket: OwnedFd,
) -> Result<Pid, (Stage, io::Error)> {
    fchdir(cwd).map_err(|errno| (Stage::Directory, errno.into()))?;
    let program = search::find(spec)?;
    let mut command = Command::new(program);
    command
        .arg0(&spec.program)
        .args(&spec.args)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(|error| (Stage::Setup, error))?)
        .stderr(output);
    let helper = getpid();
    #[expect(
        unsafe_code,
        reason = "the session and the death signal are set between fork and exec"
    )]
    // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock.
    unsafe {
        command.pre_exec(move || enter_session(helper, &socket));
    }
    let child = command.spawn().map_err(|error| (Stage::Execute, error))?;
    // The directory may be removed or its file system unmounted while the command runs elsewhere.
    let _ = chdir("/");
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| (Stage::Setup, io::ErrorKind::InvalidData.into()))
}

/// Runs in the command's process before it becomes the command.
fn enter_session(helper: Pid, socket: &OwnedFd) -> io::Result<()> {
    setsid()?;
    // The command does not outlive its helper, even if the launcher is killed at the same moment.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The helper may have died before that was set.
    if getppid() != Some(helper) {
        return Err(rustix::io::Errno::SRCH.into());
    }
    // From the next moment on the command may stop or kill its helper.
    let reply = Reply::Forked(getpid().as_raw_pid()).encode();
    rustix::net::send(socket, &reply, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Closes every descriptor but the three standard ones.
pub(super) fn close_inherited() -> io::Result<()> {
    let mut inherited = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<c_int>().ok());
        inherited.extend(number.filter(|number| *number > 2));
    }
    for number in inherited {
        #[expect(unsafe_code, reason = "inherited descriptors are known by number only")]
        // SAFETY: this runs first in the program and on its only thread, so that nothing owns a descriptor yet. The
        // directory that was just read is in the list and closed already, which the kernel answers with EBADF.
        unsafe {
            close(number);
        }
    }
    Ok(())
}

/// Restores the default handling of every signal, which the command then starts with.
pub(super) fn restore_signals() {
    let broken_pipe = Signal::PIPE.as_raw();
    // A launcher that goes away must show as an error of writing here. The standard library restores this one signal
    // and the signal mask when it starts the command.
    for number in (1..=SIGNAL_MAX).filter(|number| *number != broken_pipe) {
        #[expect(unsafe_code, reason = "a call of the C library")]
        // SAFETY: default handling runs no code of this process. Numbers that may not be set are refused with an error,
        // which changes nothing.
        unsafe {
            signal(number, SIG_DFL);
        }
    }
}
