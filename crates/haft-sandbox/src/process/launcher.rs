//! Starting a command through a helper: two descriptors for the helper, one message, one answer. The program of this
//! process is never forked, however much memory it holds; the standard library's spawn shares it until the helper is
//! executed. Waiting and reading are `control` and `output`.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::UnixStream;

use super::command::Command;
use super::control::Control;
use super::enforced::Enforced;
use super::error::{SpawnError, WaitError};
use super::exit::Exit;
use super::output::Output;
use crate::wire::{HELPER_ARGUMENT, SPEC_BYTES_MAX, Spec, Stage};

/// How long a helper has to start a command. It usually needs two milliseconds.
const ANSWER_MS_MAX: u64 = 20_000;

/// Starts commands by means of one helper program.
#[derive(Debug, Clone)]
pub struct Launcher {
    helper: PathBuf,
}

/// A running command.
///
/// Dropping it kills the command and everything that the command started.
#[derive(Debug)]
pub struct Process {
    output: Output,
    control: Control,
}

impl Launcher {
    /// Takes the path of a program whose main function first calls [`helper::run_if_requested`].
    ///
    /// That can be the program that is running, or `haft-sandbox-helper`.
    ///
    /// [`helper::run_if_requested`]: crate::helper::run_if_requested
    #[must_use]
    pub fn new(helper: PathBuf) -> Launcher {
        Launcher { helper }
    }

    /// Starts a command.
    ///
    /// It runs in a session of its own, with no descriptors but an empty standard input and one pipe for both outputs,
    /// with default signal handling, and with exactly the environment that it names. Needs a tokio runtime with I/O
    /// and time. If the returned future is dropped before it is done, so is the command.
    ///
    /// # Errors
    ///
    /// [`SpawnError::NotFound`] and its siblings, each naming the program.
    pub async fn spawn(&self, command: Command) -> Result<Process, SpawnError> {
        command.check()?;
        let Command { program, args, cwd, env } = command;
        let spec = Spec { program: program.clone(), args, env }.encode();
        if spec.len() > SPEC_BYTES_MAX {
            return Err(SpawnError::TooLarge { bytes: spec.len(), bytes_max: SPEC_BYTES_MAX });
        }
        let failed = |source| SpawnError::Helper { helper: self.helper.clone(), source };
        let (mut control, output) = self.start_helper(&spec, cwd).map_err(failed)?;
        let wait = Duration::from_millis(ANSWER_MS_MAX);
        let answer = tokio::time::timeout(wait, control.start(&spec)).await.map_err(|_| {
            let helper = self.helper.clone();
            SpawnError::NoAnswer { helper, wait_ms: ANSWER_MS_MAX }
        })?;
        let Some((stage, errno)) = answer.map_err(failed)? else {
            return Ok(Process { output, control });
        };
        let source = io::Error::from_raw_os_error(errno);
        Err(match stage {
            Stage::Setup => failed(source),
            Stage::Directory => SpawnError::WorkingDirectory { program, source },
            Stage::Missing => SpawnError::NotFound { program },
            Stage::Denied => SpawnError::Denied { program },
            Stage::Execute => SpawnError::Execute { program, source },
        })
    }

    fn start_helper(&self, spec: &[u8], cwd: OwnedFd) -> io::Result<(Control, Output)> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        let child = tokio::process::Command::new(&self.helper)
            .arg(HELPER_ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(writer.try_clone()?))
            .stderr(Stdio::from(writer))
            .spawn()?;
        // The header is far smaller than a socket's buffer, so that this does not block.
        send_header(&ours, spec.len(), cwd)?;
        let socket = StdUnixStream::from(ours);
        socket.set_nonblocking(true)?;
        let control = Control::new(UnixStream::from_std(socket)?, child)?;
        let output = Output::new(reader, control.helper_handle()?)?;
        Ok((control, output))
    }
}

impl Process {
    /// Reads what the command writes, standard output and error in the order of arrival; 0 is the end.
    ///
    /// What is not read fills a pipe of bounded size, and then the command waits. Can be cancelled without loss.
    ///
    /// # Errors
    ///
    /// Only what reading a pipe can fail with.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.read(buffer).await
    }

    /// Waits until the command has ended and nothing that it started is left.
    ///
    /// Output can still be read afterwards. Can be cancelled and called again, also after it has answered.
    ///
    /// # Errors
    ///
    /// [`WaitError`] when the helper does not live to tell the end.
    pub async fn wait(&mut self) -> Result<Exit, WaitError> {
        self.control.wait().await
    }

    /// Asks for the command and everything that it started to be killed; [`Process::wait`] tells when that is done.
    pub fn kill(&mut self) {
        self.control.kill();
    }

    /// Returns what is enforced around the command.
    #[must_use]
    pub fn enforced(&self) -> Enforced {
        Enforced::SUPERVISED
    }

    /// Separates reading from waiting, so that both can go on at once.
    #[must_use]
    pub fn split(self) -> (Output, Control) {
        (self.output, self.control)
    }
}

/// Sends the length of the specification, and with it the working directory.
fn send_header(socket: &OwnedFd, length: usize, cwd: OwnedFd) -> io::Result<()> {
    let length = u32::try_from(length).map_err(io::Error::other)?.to_le_bytes();
    let descriptors = [cwd.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no space for one descriptor"));
    }
    sendmsg(socket, &[IoSlice::new(&length)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}
