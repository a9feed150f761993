//! Waits for a command's end, and requests it. The socket to the supervisor is the command's
//! lifeline: the command may run while this side is open. The module has no thread and no task:
//! everything happens while the caller waits.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, pidfd_send_signal};
use tokio::time::{Instant, sleep_until};

use super::error::WaitError;
use super::helper_socket::HelperSocket;
use super::pending_reconciliation::PendingReconciliation;
use super::zygote::ZygoteHandle;
use crate::exit::{ExceededLimit, ProcessExit};
use crate::process_tree;
use crate::protect::{RevertedChange, RuledPath};
use crate::wire::{HelperReply, MechanismFlags, StartFailure};

/// Interval of waking a helper during a wait, in milliseconds, in case it was stopped.
pub(crate) const WAKE_MS: u64 = 500;

/// Time that a supervisor has to kill a process tree before it is killed itself, in milliseconds.
/// It is longer than the supervisor's own limit.
pub(crate) const KILL_MS_MAX: u64 = 10_000;

/// Time that a killed supervisor has to end, and its zygote to report the signal, in milliseconds.
pub(crate) const BURY_MS_MAX: u64 = 5_000;

/// The controlling side of a command.
///
/// Dropping it kills the command and everything that the command started.
#[derive(Debug)]
pub struct ProcessControl {
    frames: HelperSocket,
    zygote: Arc<ZygoteHandle>,
    supervisor: Option<SupervisorHandle>,
    /// The command's process, if it could outlive its supervisor.
    command: Option<Pid>,
    /// When waiting for the supervisor ends; set when the end is requested.
    deadline: Option<Instant>,
    exceeded: Option<ExceededLimit>,
    ended: Option<CommandEnd>,
    pub(super) protection: PendingReconciliation,
}

/// The result of a start.
#[derive(Debug)]
pub(super) enum StartResult {
    /// The command runs. Carries the mechanisms in force, and the listening socket if there is one.
    Started(MechanismFlags, Option<OwnedFd>),
    Failed(StartFailure),
    Lacking(MechanismFlags, Option<StartFailure>),
}

#[derive(Debug)]
struct SupervisorHandle {
    pid: Pid,
    handle: OwnedFd,
}

/// A final result.
#[derive(Debug, Clone, Copy)]
enum CommandEnd {
    Exit(ProcessExit),
    Survivors(u32),
    HelperDied(Option<i32>),
}

impl ProcessControl {
    pub(super) fn new(frames: HelperSocket, zygote: Arc<ZygoteHandle>) -> ProcessControl {
        ProcessControl {
            frames,
            zygote,
            supervisor: None,
            command: None,
            deadline: None,
            exceeded: None,
            ended: None,
            protection: PendingReconciliation::default(),
        }
    }

    /// Sends the specification to the supervisor, and waits until the command runs or the start
    /// fails.
    pub(super) async fn start(&mut self, spec: &[u8]) -> io::Result<StartResult> {
        let sent = self.frames.send(spec).await;
        loop {
            match self.next_reply().await {
                Ok(Some((HelperReply::Supervising(pid), descriptors))) => {
                    let handle = descriptors.into_iter().next();
                    self.supervisor = Pid::from_raw(pid)
                        .zip(handle)
                        .map(|(pid, handle)| SupervisorHandle { pid, handle });
                }
                Ok(Some((HelperReply::Forked(pid), _))) => self.command = Pid::from_raw(pid),
                Ok(Some((HelperReply::Started(applied), descriptors))) => {
                    return Ok(StartResult::Started(applied, descriptors.into_iter().next()));
                }
                Ok(Some((HelperReply::Failed(failure), _))) => {
                    return Ok(StartResult::Failed(failure));
                }
                Ok(Some((HelperReply::Lacking(applied, obstacle), _))) => {
                    return Ok(StartResult::Lacking(applied, obstacle));
                }
                // The command already runs, unconfined, and has killed its supervisor. Waiting
                // reports it.
                Ok(Some((HelperReply::Orphaned(signal), _))) if self.command.is_some() => {
                    self.kill_supervisor(Some(signal)).await.map_err(io::Error::other)?;
                    return Ok(StartResult::Started(MechanismFlags::default(), None));
                }
                Ok(_) => return sent.and(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) => return sent.and(Err(error)),
            }
        }
    }

    /// Returns the socket to the supervisor.
    pub(super) fn supervisor_socket(&self) -> BorrowedFd<'_> {
        self.frames.socket()
    }

    /// Returns whether a supervisor has answered.
    pub(super) fn is_supervised(&self) -> bool {
        self.supervisor.is_some()
    }

    /// Returns a handle on the supervisor's process.
    pub(super) fn supervisor_handle(&self) -> io::Result<OwnedFd> {
        let supervisor = self.supervisor.as_ref().ok_or(io::ErrorKind::NotFound)?;
        supervisor.handle.try_clone()
    }

    /// Waits until the command and every process that it started have ended.
    ///
    /// Output can still be read afterwards. Can be cancelled and called again, also after it has
    /// returned.
    ///
    /// # Errors
    ///
    /// [`WaitError::HelperDied`] if the supervisor dies before it reports the end; the command is
    /// killed then.
    pub async fn wait(&mut self) -> Result<ProcessExit, WaitError> {
        let ended = loop {
            if let Some(ended) = self.ended {
                break ended;
            }
            let deadline = self.deadline;
            let reply = tokio::select! {
                reply = self.next_reply() => reply,
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => Ok(None),
            };
            match reply {
                Ok(Some((HelperReply::Exceeded(bound), _))) => self.exceeded = Some(bound),
                Ok(Some((HelperReply::Exited(code), _))) => {
                    self.ended = Some(CommandEnd::Exit(ProcessExit::Code(code)));
                }
                Ok(Some((HelperReply::Signalled(signal), _))) => {
                    self.ended = Some(CommandEnd::Exit(ProcessExit::Signal(signal)));
                }
                Ok(Some((HelperReply::Survivors(count), _))) => {
                    let count = u32::try_from(count).unwrap_or_default();
                    self.ended = Some(CommandEnd::Survivors(count));
                }
                Ok(Some((HelperReply::Orphaned(signal), _))) => {
                    self.kill_supervisor(Some(signal)).await?;
                }
                // A living supervisor sends nothing else, and keeps to its deadline.
                Ok(_) | Err(_) => self.kill_supervisor(None).await?,
            }
        };
        self.protection.reconcile().await?;
        match ended {
            CommandEnd::Exit(exit) => Ok(exit),
            CommandEnd::Survivors(count) => Err(WaitError::Survivors { count }),
            CommandEnd::HelperDied(signal) => Err(WaitError::HelperDied { signal }),
        }
    }

    /// Returns the limit that the command reached; known after waiting.
    ///
    /// A command that reaches its memory limit is killed for it.
    #[must_use]
    pub fn exceeded_limit(&self) -> Option<ExceededLimit> {
        self.exceeded
    }

    /// Returns the command's changes to protected paths and how they were reverted; known after
    /// waiting.
    #[must_use]
    pub fn reverted_changes(&self) -> &[RevertedChange] {
        &self.protection.reverted
    }

    /// Returns the paths that rules deny and that appeared while the command ran, so that it may have read them; known
    /// after waiting.
    #[must_use]
    pub fn appeared_paths(&self) -> &[RuledPath] {
        &self.protection.appeared
    }

    /// Requests that the command and every process that it started are killed;
    /// [`ProcessControl::wait`] returns once that is done.
    pub fn kill(&mut self) {
        if self.deadline.is_none() && self.ended.is_none() {
            self.deadline = Some(Instant::now() + Duration::from_millis(KILL_MS_MAX));
            // The supervisor sees its lifeline close.
            self.frames.finish_sending();
            self.wake_helpers();
        }
    }

    /// Kills a supervisor that no longer works, and every process of the command that can still be
    /// found.
    async fn kill_supervisor(&mut self, mut signal: Option<i32>) -> Result<(), WaitError> {
        if let Some(SupervisorHandle { pid, handle }) = &self.supervisor {
            let (pid, handle) = (*pid, handle.try_clone()?);
            in_background(move || {
                // The supervisor may be alive, stopped or without its socket. While it is alive,
                // every descendant is within reach.
                process_tree::kill_descendants_of(pid, &handle)?;
                // An error means that it has already ended.
                let _ = pidfd_send_signal(&handle, Signal::KILL);
                process_tree::wait_for_end(&handle, Duration::from_millis(BURY_MS_MAX))
            })
            .await?;
        }
        if signal.is_none() {
            // The zygote reports the signal, if it is alive.
            let death = async {
                loop {
                    match self.next_reply().await {
                        Ok(Some((HelperReply::Orphaned(signal), _))) => return Some(signal),
                        Ok(Some(_)) => {}
                        Ok(None) | Err(_) => return None,
                    }
                }
            };
            let wait = Duration::from_millis(BURY_MS_MAX);
            signal = tokio::time::timeout(wait, death).await.ok().flatten();
        }
        if let Some(command) = self.command {
            in_background(move || process_tree::kill_session(command)).await?;
        }
        self.ended = Some(CommandEnd::HelperDied(signal.filter(|signal| *signal > 0)));
        Ok(())
    }

    /// Receives one reply, and wakes stopped helpers meanwhile.
    async fn next_reply(&mut self) -> io::Result<Option<(HelperReply, Vec<OwnedFd>)>> {
        loop {
            match tokio::time::timeout(Duration::from_millis(WAKE_MS), self.frames.next()).await {
                Ok(reply) => return reply,
                Err(_) => self.wake_helpers(),
            }
        }
    }

    /// Wakes helpers that were stopped, perhaps by the command.
    fn wake_helpers(&self) {
        self.zygote.wake();
        if let Some(supervisor) = &self.supervisor {
            let _ = pidfd_send_signal(&supervisor.handle, Signal::CONT);
        }
    }
}

impl Drop for ProcessControl {
    /// Closing this side of the socket ends the command.
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.frames.finish_sending();
            self.wake_helpers();
        }
        self.protection.reconcile_in_background(self.frames.socket());
    }
}

/// Reads `/proc` and signals on a thread that may block.
async fn in_background(work: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
