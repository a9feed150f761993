//! Turns a process into the command. The new process shares this one's memory until it executes the
//! program, while this one is suspended. Nothing is copied, and an error is read from where the new
//! process wrote it.

use std::collections::BTreeMap;
use std::ffi::{CString, NulError, OsStr, OsString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitOptions, setsid, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::inherited;
use crate::channel::{CHANNEL_DESCRIPTOR, CommandChannel};
use crate::wire::{MechanismFlags, StartFailure, StartStage, WireCommandSpec};

/// Size of the new process's stack until it executes the program, in bytes.
const STACK_BYTES: usize = 512 * 1024;

/// Required alignment of a stack, in bytes.
const STACK_ALIGNMENT: usize = 16;

/// Exit status of a process that failed to become the command. It is not reported.
const STATUS_FAILED: c_int = 127;

/// A program with its arguments and environment in the kernel's format.
pub(super) struct ProgramImage {
    program: CString,
    args: Vec<CString>,
    env: Vec<CString>,
}

/// The program's output and channel.
#[derive(Clone, Copy)]
pub(super) struct CommandStreams<'a> {
    output: BorrowedFd<'a>,
    channel: Option<(CommandChannel, BorrowedFd<'a>)>,
}

/// The state that the two processes share.
struct ProgramLaunch<'a> {
    program: *const c_char,
    args: *const *const c_char,
    env: *const *const c_char,
    streams: CommandStreams<'a>,
    prepare: &'a mut dyn FnMut() -> Result<MechanismFlags, StartFailure>,
    outcome: Result<MechanismFlags, StartFailure>,
}

impl ProgramImage {
    pub(super) fn new(
        program: &Path,
        spec: &WireCommandSpec,
    ) -> Result<ProgramImage, StartFailure> {
        let text = |text: &OsStr| CString::new(text.as_bytes());
        let parts = || -> Result<ProgramImage, NulError> {
            let args = std::iter::once(&spec.program).chain(&spec.args);
            // If a name occurs twice, the last value counts.
            let env: BTreeMap<_, _> = spec.env.iter().map(|(name, value)| (name, value)).collect();
            let entry = |(name, value): (&OsString, &OsString)| {
                let mut entry = name.clone();
                entry.push("=");
                entry.push(value);
                text(&entry)
            };
            Ok(ProgramImage {
                program: text(program.as_os_str())?,
                args: args.map(|arg| text(arg)).collect::<Result<_, _>>()?,
                env: env.into_iter().map(entry).collect::<Result<_, _>>()?,
            })
        };
        parts().map_err(StartStage::Execute.at(""))
    }

    /// Starts the program in its own session, and returns its number.
    ///
    /// `prepare` is called in the new process just before it executes the program. It may change
    /// anything that belongs to the new process alone, but must not change memory that outlives it.
    pub(super) fn launch(
        &self,
        streams: CommandStreams<'_>,
        prepare: &mut dyn FnMut() -> Result<MechanismFlags, StartFailure>,
    ) -> Result<(Pid, MechanismFlags), StartFailure> {
        let pointers = |texts: &[CString]| -> Vec<*const c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        let (args, env) = (pointers(&self.args), pointers(&self.env));
        let mut launch = ProgramLaunch {
            program: self.program.as_ptr(),
            args: args.as_ptr(),
            env: env.as_ptr(),
            streams,
            prepare,
            outcome: Err(StartFailure::new(
                StartStage::Execute,
                "the process ended before",
                Errno::CHILD,
            )),
        };
        let mut stack = Vec::<u8>::with_capacity(STACK_BYTES);
        let space = stack.spare_capacity_mut();
        let used = STACK_BYTES - STACK_ALIGNMENT;
        #[expect(
            unsafe_code,
            reason = "sharing memory with a new process takes a call of the C library"
        )]
        // SAFETY: `used` is within the space. Rounding down keeps it there, because the space is
        // larger than the alignment. The stack grows down from there within the space. The space
        // and `launch` live until this process continues. It continues only when the new process
        // has left the memory, by executing or exiting, and no other code uses `launch` meanwhile.
        let answer = unsafe {
            let end = space.as_mut_ptr().add(used).cast::<c_void>();
            let end = end.sub(end.addr() % STACK_ALIGNMENT);
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            libc::clone(run, end, flags, ptr::from_mut(&mut launch).cast::<c_void>())
        };
        let Some(pid) = Pid::from_raw(answer).filter(|_| answer > 0) else {
            let error = io::Error::last_os_error();
            return Err(StartFailure::new(StartStage::Setup, "forking", error));
        };
        match launch.outcome {
            Ok(applied) => Ok((pid, applied)),
            Err(failure) => {
                // It exits at once, and it is this process's own child.
                let _ = waitpid(Some(pid), WaitOptions::empty());
                Err(failure)
            }
        }
    }
}

impl<'a> CommandStreams<'a> {
    /// Creates the streams from the output and the channel. A channel that is unexpected or missing
    /// is refused.
    pub(super) fn new(
        output: &'a OwnedFd,
        channel: Option<&'a OwnedFd>,
        expected: Option<CommandChannel>,
    ) -> Result<CommandStreams<'a>, StartFailure> {
        if channel.is_some() != expected.is_some() {
            let error = io::ErrorKind::InvalidData;
            return Err(StartFailure::new(StartStage::Setup, "receiving the channel", error));
        }
        let channel = expected.zip(channel.map(AsFd::as_fd));
        Ok(CommandStreams { output: output.as_fd(), channel })
    }
}

/// The entry point of the new process: executes the command, or sets the failure and exits.
extern "C" fn run(launch: *mut c_void) -> c_int {
    /// The first descriptor after the three standard ones.
    const FIRST: libc::c_uint = 3;
    #[expect(unsafe_code, reason = "the C library passes a pointer")]
    // SAFETY: `ProgramImage::launch` passed this pointer, and its frame is suspended meanwhile.
    let launch = unsafe { &mut *launch.cast::<ProgramLaunch<'_>>() };
    let streams = launch.streams;
    let enter_session = || {
        setsid()?;
        dup2_stdout(streams.output)?;
        dup2_stderr(streams.output)?;
        if let Some((CommandChannel::Stdio, channel)) = streams.channel {
            dup2_stdin(channel)?;
            dup2_stdout(channel)?;
        }
        #[expect(unsafe_code, reason = "no safe interface marks descriptors by range")]
        // SAFETY: marking as close-on-exec closes no descriptor in this process.
        let answer = unsafe {
            let last = libc::c_uint::MAX;
            libc::syscall(libc::SYS_close_range, FIRST, last, libc::CLOSE_RANGE_CLOEXEC)
        };
        match io::Error::last_os_error() {
            _ if answer == 0 => Ok(()),
            // Kernels before 5.11 lack it. A helper's descriptors are already marked when they are
            // created; this is a second safeguard.
            error if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => Ok(()),
            error => Err(error),
        }
    };
    let prepared = enter_session().map_err(StartStage::Setup.at("entering a session"));
    let prepared = prepared.and_then(|()| (launch.prepare)());
    let is_prepared = prepared.is_ok();
    // Set first, because a successful execution does not return.
    launch.outcome = prepared;
    if is_prepared {
        // A separate channel has the number that the program expects. No descriptors are opened or
        // used any more, so the number is free. All others are closed on execution.
        let placed = match streams.channel {
            Some((CommandChannel::Descriptor, channel))
                if channel.as_raw_fd() == CHANNEL_DESCRIPTOR =>
            {
                fcntl_setfd(channel, FdFlags::empty()).map_err(io::Error::from)
            }
            Some((CommandChannel::Descriptor, channel)) => {
                #[expect(
                    unsafe_code,
                    reason = "the descriptor in its place is known by number only"
                )]
                // SAFETY: this process has its own descriptor table and from here on only executes
                // or exits. The owner of this number in the shared memory finds its descriptor
                // unchanged in its own process.
                let answer = unsafe { libc::dup2(channel.as_raw_fd(), CHANNEL_DESCRIPTOR) };
                if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
            }
            Some((CommandChannel::Stdio, _)) | None => Ok(()),
        };
        let error = match placed {
            Ok(()) => {
                inherited::restore_signal(Signal::PIPE.as_raw());
                #[expect(
                    unsafe_code,
                    reason = "the standard library cannot execute without forking on its own"
                )]
                // SAFETY: the three point to strings and to null-terminated lists of strings, which
                // `launch` borrows from their owner.
                unsafe {
                    libc::execvpe(launch.program, launch.args, launch.env);
                }
                io::Error::last_os_error()
            }
            Err(error) => error,
        };
        launch.outcome = Err(StartFailure::new(StartStage::Execute, "", error));
    }
    STATUS_FAILED
}
