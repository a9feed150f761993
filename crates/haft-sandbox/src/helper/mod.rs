//! The small process between a launcher and its command.
//!
//! It is this very program, executed again with a hidden argument, so that it starts with little memory and one thread
//! whatever the launcher's process holds. It takes one specification from its socket, starts the command, stays until
//! that has ended or the socket closes, and then ends everything that the command left behind. Confinement by the
//! kernel belongs here too, between receiving and starting; for now there is none.

mod search;
mod start;
mod supervise;

use std::io::{self, IoSliceMut, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{Pid, getpid, set_child_subreaper, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::wire::{HEADER_BYTES, HELPER_ARGUMENT, Reply, SPEC_BYTES_MAX, Spec, Stage};

/// The status of a helper that was started by something that is no launcher.
const STATUS_MISUSED: i32 = 70;

/// Becomes a launcher's helper if that is what this program was executed for; then it does not return.
///
/// Call it first in `main`, before anything is opened or any thread is started. It looks at the first argument only.
pub fn run_if_requested() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == HELPER_ARGUMENT) {
        std::process::exit(run());
    }
}

fn run() -> i32 {
    let Ok((mut socket, output)) = detach() else {
        return STATUS_MISUSED;
    };
    let reply = match receive_and_start(&mut socket, output) {
        Ok(command) => supervise::supervise(&mut socket, command),
        Err((stage, error)) => failed(stage, &error),
    };
    // Whoever should read it may be gone; then there is nothing left to say.
    let _ = supervise::send(&mut socket, reply);
    0
}

fn receive_and_start(socket: &mut UnixStream, output: OwnedFd) -> Result<Pid, (Stage, io::Error)> {
    let in_setup = |error| (Stage::Setup, error);
    let (spec, cwd) = receive(socket).map_err(in_setup)?;
    let announcing = socket.try_clone().map_err(in_setup)?;
    start::start(&spec, &cwd, output, announcing.into())
}

fn failed(stage: Stage, error: &io::Error) -> Reply {
    Reply::Failed(stage, error.raw_os_error().unwrap_or(rustix::io::Errno::INVAL.raw_os_error()))
}

/// Cuts every tie to whoever started this process but the socket and the output pipe.
fn detach() -> io::Result<(UnixStream, OwnedFd)> {
    start::close_inherited()?;
    start::restore_signals();
    // Keeps signals of a terminal away. It cannot fail in a child that leads no group; if it did, nothing but that
    // protection would be missing.
    let _ = setsid();
    // Told apart from the program that it is a copy of, so that `killall` of one spares the other.
    rustix::thread::set_name(c"haft-helper")?;
    // From now on every orphan among the command's descendants becomes this process's child.
    set_child_subreaper(Some(getpid()))?;

    let socket = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let output = fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    // This process must not hold the pipe open itself, nor write into the command's output.
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    Ok((UnixStream::from(socket), output))
}

fn receive(socket: &mut UnixStream) -> io::Result<(Spec, OwnedFd)> {
    let (length, cwd) = receive_header(socket)?;
    if length > SPEC_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body)?;
    Ok((Spec::decode(&body)?, cwd))
}

fn receive_header(socket: &UnixStream) -> io::Result<(usize, OwnedFd)> {
    let mut length = [0; HEADER_BYTES];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    // Sent in one piece of four bytes, which a socket does not split.
    let received = recvmsg(
        socket.as_fd(),
        &mut [IoSliceMut::new(&mut length)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL,
    )?;
    let cwd = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    match cwd {
        Some(cwd) if received.bytes == HEADER_BYTES => {
            let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
            Ok((length, cwd))
        }
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
