//! Turning a process into the command. The new process shares this one's memory until it executes the program, while
//! this one stands still: nothing is copied, and what went wrong is read from where the new process wrote it.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use rustix::process::{Pid, Signal, WaitOptions, setsid, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::inherited;
use crate::process::{CHANNEL_DESCRIPTOR, Channel};
use crate::wire::{Applied, Failure, Spec, Stage};

/// The stack of the new process until it executes the program.
const STACK_BYTES: usize = 512 * 1024;

/// What a stack must be aligned to.
const STACK_ALIGNMENT: usize = 16;

/// The status of a process that did not become the command. Nobody is told it.
const STATUS_FAILED: c_int = 127;

/// A program with its arguments and environment, as the kernel takes them.
pub(super) struct Image {
    program: CString,
    args: Vec<CString>,
    env: Vec<CString>,
}

/// What the program writes to and is spoken to through.
#[derive(Clone, Copy)]
pub(super) struct Streams<'a> {
    output: BorrowedFd<'a>,
    channel: Option<(Channel, BorrowedFd<'a>)>,
}

/// What the two processes share.
struct Launch<'a> {
    program: *const c_char,
    args: *const *const c_char,
    env: *const *const c_char,
    streams: Streams<'a>,
    prepare: &'a mut dyn FnMut() -> Result<Applied, Failure>,
    outcome: Result<Applied, Failure>,
}

impl Image {
    pub(super) fn new(program: &Path, spec: &Spec) -> Result<Image, Failure> {
        let text = |text: &OsStr| CString::new(text.as_bytes());
        let parts = || {
            let args = std::iter::once(&spec.program).chain(&spec.args);
            // Of a name given twice the last value counts.
            let env: BTreeMap<_, _> = spec.env.iter().map(|(name, value)| (name, value)).collect();
            let entry = |(name, value): (&std::ffi::OsString, &std::ffi::OsString)| {
                let mut entry = name.clone();
                entry.push("=");
                entry.push(value);
                text(&entry)
            };
            Ok(Image {
                program: text(program.as_os_str())?,
                args: args.map(|arg| text(arg)).collect::<Result<_, _>>()?,
                env: env.into_iter().map(entry).collect::<Result<_, _>>()?,
            })
        };
        parts().map_err(|error: std::ffi::NulError| {
            Failure::new(Stage::Execute, "", &io::Error::from(error))
        })
    }

    /// Starts the program in a session of its own, and returns its number.
    ///
    /// `prepare` is called in the new process just before it becomes the program; there it is alone, so that it may
    /// do what only concerns its own process, and must not change memory that outlives it.
    pub(super) fn launch(
        &self,
        streams: Streams<'_>,
        prepare: &mut dyn FnMut() -> Result<Applied, Failure>,
    ) -> Result<(Pid, Applied), Failure> {
        let pointers = |texts: &[CString]| -> Vec<*const c_char> {
            texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
        };
        let (args, env) = (pointers(&self.args), pointers(&self.env));
        let unknown = io::Error::from(rustix::io::Errno::CHILD);
        let mut launch = Launch {
            program: self.program.as_ptr(),
            args: args.as_ptr(),
            env: env.as_ptr(),
            streams,
            prepare,
            outcome: Err(Failure::new(Stage::Execute, "the process ended before", &unknown)),
        };
        let pid = start(&mut launch)?;
        match launch.outcome {
            Ok(applied) => Ok((pid, applied)),
            Err(failure) => {
                // It ends at once, and it is this process's own child.
                let _ = waitpid(Some(pid), WaitOptions::empty());
                Err(failure)
            }
        }
    }
}

impl<'a> Streams<'a> {
    /// Takes both outputs in one, and the channel as it is wanted; a channel that nobody asked for, or one that did not
    /// arrive, is refused.
    pub(super) fn new(
        output: &'a OwnedFd,
        channel: Option<&'a OwnedFd>,
        wanted: Option<Channel>,
    ) -> Result<Streams<'a>, Failure> {
        if channel.is_some() != wanted.is_some() {
            let error = io::Error::from(io::ErrorKind::InvalidData);
            return Err(Failure::new(Stage::Setup, "receiving the channel", &error));
        }
        let channel = wanted.zip(channel.map(AsFd::as_fd));
        Ok(Streams { output: output.as_fd(), channel })
    }
}

impl Launch<'_> {
    /// Becomes the command; returns only if that fails.
    fn become_command(&mut self) {
        let prepared = self.enter_session().and_then(|()| (self.prepare)());
        let is_prepared = prepared.is_ok();
        // Set before, because there is no after.
        self.outcome = prepared;
        if is_prepared {
            // Nothing is opened or used any more, so that the number is free.
            let error = match self.place_channel() {
                Ok(()) => self.execute(),
                Err(error) => error,
            };
            self.outcome = Err(Failure::new(Stage::Execute, "", &error));
        }
    }

    fn enter_session(&self) -> Result<(), Failure> {
        let enter = || {
            setsid()?;
            dup2_stdout(self.streams.output)?;
            dup2_stderr(self.streams.output)?;
            if let Some((Channel::Stdio, channel)) = self.streams.channel {
                dup2_stdin(channel)?;
                dup2_stdout(channel)?;
            }
            close_on_execution()
        };
        enter().map_err(|error| Failure::new(Stage::Setup, "entering a session", &error))
    }

    /// Puts a channel that has a descriptor of its own where the program expects it. All others are closed when it is
    /// executed.
    fn place_channel(&self) -> io::Result<()> {
        let Some((Channel::Descriptor, channel)) = self.streams.channel else { return Ok(()) };
        if channel.as_raw_fd() == CHANNEL_DESCRIPTOR {
            rustix::io::fcntl_setfd(channel, rustix::io::FdFlags::empty())?;
            return Ok(());
        }
        #[expect(unsafe_code, reason = "the descriptor in its place is known by number only")]
        // SAFETY: this process has a table of descriptors of its own and only executes from here on, or ends, so that
        // whoever owns the number in the shared memory finds in its own process what it left there.
        let answer = unsafe { libc::dup2(channel.as_raw_fd(), CHANNEL_DESCRIPTOR) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn execute(&self) -> io::Error {
        inherited::restore_signal(Signal::PIPE.as_raw());
        #[expect(
            unsafe_code,
            reason = "the standard library cannot execute without forking on its own"
        )]
        // SAFETY: the three point to texts and to lists of texts that end with a null, and all of them are borrowed by
        // whoever made this value.
        unsafe {
            libc::execvpe(self.program, self.args, self.env);
        }
        io::Error::last_os_error()
    }
}

/// Makes the new process run until it has become the command or failed.
fn start(launch: &mut Launch<'_>) -> Result<Pid, Failure> {
    let mut stack = Vec::<u8>::with_capacity(STACK_BYTES);
    let space = stack.spare_capacity_mut();
    let used = STACK_BYTES - STACK_ALIGNMENT;
    #[expect(
        unsafe_code,
        reason = "sharing memory with a new process takes a call of the C library"
    )]
    // SAFETY: `used` is within the space. Rounding down keeps it there, because the space is larger than the alignment.
    // The stack grows down from there within the space, which lives until this process goes on, and it does so only
    // when the new process has left the memory, by executing or by ending; so does `launch`, which no one else touches
    // meanwhile.
    let answer = unsafe {
        let end = space.as_mut_ptr().add(used).cast::<c_void>();
        let end = end.sub(end.addr() % STACK_ALIGNMENT);
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        libc::clone(run, end, flags, ptr::from_mut(launch).cast::<c_void>())
    };
    match Pid::from_raw(answer) {
        Some(pid) if answer > 0 => Ok(pid),
        _ => Err(Failure::new(Stage::Setup, "forking", &io::Error::last_os_error())),
    }
}

/// Where the new process begins.
extern "C" fn run(launch: *mut c_void) -> c_int {
    #[expect(unsafe_code, reason = "the C library passes a pointer")]
    // SAFETY: it is the one that was given to the call in `start`, whose frame stands still meanwhile.
    let launch = unsafe { &mut *launch.cast::<Launch<'_>>() };
    launch.become_command();
    STATUS_FAILED
}

/// Marks every descriptor but the three standard ones to be closed when the program is executed.
fn close_on_execution() -> io::Result<()> {
    const FIRST: libc::c_uint = 3;
    #[expect(unsafe_code, reason = "no safe interface marks descriptors by range")]
    // SAFETY: marking closes nothing in this process.
    let answer = unsafe {
        libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    match answer {
        0 => Ok(()),
        // Kernels before 5.11 do not have it. All descriptors of a helper are marked when they are made; this is to
        // make sure of it.
        _ => match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => Ok(()),
            error => Err(error),
        },
    }
}
