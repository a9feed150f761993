//! Waiting for a command's end, and asking for it. The socket to the helper is the command's lifeline: while this side
//! of it is open the command may run. It deliberately has no thread and no task: all of it happens in the caller's own
//! waiting.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use rustix::net::Shutdown;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio::time::Instant;

use super::error::WaitError;
use super::exit::Exit;
use crate::tree;
use crate::wire::{REPLY_BYTES, Reply, Stage};

/// How often a helper that is waited for is told to go on, in case someone has stopped it.
const WAKE_MS: u64 = 500;

/// How long a helper has to kill a tree before it is killed itself; longer than it takes to give up by itself.
const KILL_MS_MAX: u64 = 10_000;

/// The controlling side of a command.
///
/// Dropping it kills the command and everything that the command started.
#[derive(Debug)]
pub struct Control {
    socket: UnixStream,
    helper: Child,
    command: Option<Pid>,
    /// The part of a reply that has arrived, kept here so that waiting can be cancelled.
    received: Vec<u8>,
    /// When the helper is no longer waited for; set by asking for the end.
    deadline: Option<Instant>,
    ended: Option<Ended>,
}

/// What is known for good.
#[derive(Debug, Clone, Copy)]
enum Ended {
    Exit(Exit),
    Survivors(u32),
    HelperDied(Option<i32>),
}

impl Control {
    pub(super) fn new(socket: UnixStream, helper: Child) -> io::Result<Control> {
        let received = Vec::with_capacity(REPLY_BYTES);
        Ok(Control { socket, helper, command: None, received, deadline: None, ended: None })
    }

    /// Tells the helper what to run and waits until it does, or for the reply that says why not.
    pub(super) async fn start(&mut self, spec: &[u8]) -> io::Result<Option<(Stage, i32)>> {
        let sent = self.socket.write_all(spec).await;
        loop {
            match self.next_reply().await {
                Ok(Some(Reply::Forked(pid))) => self.command = Pid::from_raw(pid),
                Ok(Some(Reply::Started)) => return Ok(None),
                Ok(Some(Reply::Failed(stage, errno))) => return Ok(Some((stage, errno))),
                // The command runs already, and has killed its helper; waiting will tell.
                _ if self.command.is_some() => return Ok(None),
                Ok(_) => return sent.and(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) => return sent.and(Err(error)),
            }
        }
    }

    /// Returns a handle on the helper's process.
    pub(super) fn helper_handle(&self) -> io::Result<OwnedFd> {
        // The child has not been waited for, so that its number is still its own.
        let pid = self.helper_pid().ok_or(io::ErrorKind::NotFound)?;
        Ok(pidfd_open(pid, PidfdFlags::empty())?)
    }

    /// Waits until the command has ended and nothing that it started is left.
    ///
    /// Can be cancelled and called again, also after it has answered.
    ///
    /// # Errors
    ///
    /// [`WaitError::HelperDied`] when the helper does not live to tell the end; the command is killed then.
    pub async fn wait(&mut self) -> Result<Exit, WaitError> {
        let ended = match self.ended {
            Some(ended) => ended,
            None => self.receive_end().await?,
        };
        // Collected even if an earlier call learned the end and was cancelled then.
        self.helper.wait().await?;
        match ended {
            Ended::Exit(exit) => Ok(exit),
            Ended::Survivors(count) => Err(WaitError::Survivors { count }),
            Ended::HelperDied(signal) => Err(WaitError::HelperDied { signal }),
        }
    }

    /// Asks for the command and everything that it started to be killed; [`Control::wait`] tells when that is done.
    pub fn kill(&mut self) {
        if self.deadline.is_none() && self.ended.is_none() {
            self.deadline = Some(Instant::now() + Duration::from_millis(KILL_MS_MAX));
            // The helper reads the end of its lifeline. An error means that it is gone, which waiting finds out.
            let _ = rustix::net::shutdown(&self.socket, Shutdown::Write);
            self.wake_helper();
        }
    }

    async fn receive_end(&mut self) -> Result<Ended, WaitError> {
        let deadline = self.deadline;
        let reply = tokio::select! {
            reply = self.next_reply() => reply,
            () = reached(deadline) => return self.bury_helper().await,
        };
        let ended = match reply {
            Ok(Some(Reply::Exited(code))) => Ended::Exit(Exit::Code(code)),
            Ok(Some(Reply::Signalled(signal))) => Ended::Exit(Exit::Signal(signal)),
            Ok(Some(Reply::Survivors(count))) => {
                Ended::Survivors(u32::try_from(count).unwrap_or_default())
            }
            // Anything else is not what a living helper says.
            Ok(Some(Reply::Forked(_) | Reply::Started | Reply::Failed(..)) | None) | Err(_) => {
                return self.bury_helper().await;
            }
        };
        self.ended = Some(ended);
        Ok(ended)
    }

    /// Ends a helper that is of no use any more, and kills what can still be found of the command.
    async fn bury_helper(&mut self) -> Result<Ended, WaitError> {
        if let Some(helper) = self.helper_pid() {
            // It may be alive, stopped or without its socket, and as long as it is, no descendant is out of reach.
            in_background(move || tree::kill_descendants(helper).map(drop)).await?;
        }
        // An error means that it has ended already.
        let _ = self.helper.start_kill();
        let status = self.helper.wait().await?;
        if let Some(command) = self.command {
            in_background(move || tree::kill_session(command)).await?;
        }
        let ended = Ended::HelperDied(status.signal());
        self.ended = Some(ended);
        Ok(ended)
    }

    /// Receives one reply as [`Control::reply`] does, however often the helper is stopped meanwhile.
    async fn next_reply(&mut self) -> io::Result<Option<Reply>> {
        loop {
            match tokio::time::timeout(Duration::from_millis(WAKE_MS), self.reply()).await {
                Ok(reply) => return reply,
                Err(_) => self.wake_helper(),
            }
        }
    }

    /// Receives one reply, or nothing if the helper has closed its side.
    async fn reply(&mut self) -> io::Result<Option<Reply>> {
        loop {
            if let Ok(bytes) = <[u8; REPLY_BYTES]>::try_from(self.received.as_slice()) {
                self.received.clear();
                return Reply::decode(bytes).map(Some);
            }
            self.socket.readable().await?;
            let mut bytes = [0; REPLY_BYTES];
            let missing = REPLY_BYTES.saturating_sub(self.received.len());
            let space = bytes.get_mut(..missing).unwrap_or_default();
            match self.socket.try_read(space) {
                Ok(0) => return Ok(None),
                Ok(count) => self.received.extend(bytes.iter().take(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Lets a helper run that was stopped, perhaps by the command.
    fn wake_helper(&self) {
        if let Some(pid) = self.helper_pid() {
            let _ = kill_process(pid, Signal::CONT);
        }
    }

    /// Returns the helper's number while it is certainly its own.
    fn helper_pid(&self) -> Option<Pid> {
        self.helper.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
    }
}

impl Drop for Control {
    /// Closing the socket, which follows, ends the command; the runtime collects the helper.
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.wake_helper();
        }
    }
}

async fn reached(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Reads `/proc` and signals on a thread that may block.
async fn in_background(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
