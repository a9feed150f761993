//! Waiting for a command's end, and asking for it. The socket to the supervisor is the command's lifeline: while this
//! side of it is open the command may run. It deliberately has no thread and no task: all of it happens in the caller's
//! own waiting.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, pidfd_send_signal};
use tokio::time::Instant;

use super::error::WaitError;
use super::exit::{Exceeded, Exit};
use super::frames::Frames;
use super::protection::Protection;
use super::zygote::Zygote;
use crate::protect::{Survey, Undone};
use crate::tree;
use crate::wire::{Applied, Failure, Reply};

/// How often a helper that is waited for is told to go on, in case someone has stopped it.
pub(crate) const WAKE_MS: u64 = 500;

/// How long a supervisor has to kill a tree before it is killed itself; longer than it takes to give up by itself.
pub(crate) const KILL_MS_MAX: u64 = 10_000;

/// How long a supervisor that was killed has to end, and its zygote to say of what.
pub(crate) const BURY_MS_MAX: u64 = 5_000;

/// The controlling side of a command.
///
/// Dropping it kills the command and everything that the command started.
#[derive(Debug)]
pub struct Control {
    frames: Frames,
    zygote: Arc<Zygote>,
    supervisor: Option<Supervisor>,
    /// The command's process, where it is one that could outlive its supervisor.
    command: Option<Pid>,
    /// When the supervisor is no longer waited for; set by asking for the end.
    deadline: Option<Instant>,
    exceeded: Option<Exceeded>,
    ended: Option<Ended>,
    protection: Protection,
}

/// What became of a start.
#[derive(Debug)]
pub(super) enum Answer {
    /// The command runs; with what is in force, and the listening socket, if there is one.
    Started(Applied, Option<OwnedFd>),
    Failed(Failure),
    Lacking(Applied, Option<Failure>),
}

#[derive(Debug)]
struct Supervisor {
    pid: Pid,
    handle: OwnedFd,
}

/// What is known for good.
#[derive(Debug, Clone, Copy)]
enum Ended {
    Exit(Exit),
    Survivors(u32),
    HelperDied(Option<i32>),
}

impl Control {
    pub(super) fn new(frames: Frames, zygote: Arc<Zygote>) -> Control {
        Control {
            frames,
            zygote,
            supervisor: None,
            command: None,
            deadline: None,
            exceeded: None,
            ended: None,
            protection: Protection::default(),
        }
    }

    /// Tells the supervisor what to run and waits until it does, or for the reply that says why not.
    pub(super) async fn start(&mut self, spec: &[u8]) -> io::Result<Answer> {
        let sent = self.frames.send(spec).await;
        loop {
            match self.next_reply().await {
                Ok(Some((Reply::Supervising(pid), descriptors))) => {
                    let handle = descriptors.into_iter().next();
                    self.supervisor = Pid::from_raw(pid)
                        .zip(handle)
                        .map(|(pid, handle)| Supervisor { pid, handle });
                }
                Ok(Some((Reply::Forked(pid), _))) => self.command = Pid::from_raw(pid),
                Ok(Some((Reply::Started(applied), descriptors))) => {
                    return Ok(Answer::Started(applied, descriptors.into_iter().next()));
                }
                Ok(Some((Reply::Failed(failure), _))) => return Ok(Answer::Failed(failure)),
                Ok(Some((Reply::Lacking(applied, obstacle), _))) => {
                    return Ok(Answer::Lacking(applied, obstacle));
                }
                // The command runs already, unconfined, and has killed its supervisor; waiting will tell.
                Ok(Some((Reply::Orphaned(signal), _))) if self.command.is_some() => {
                    self.bury(Some(signal)).await.map_err(io::Error::other)?;
                    return Ok(Answer::Started(Applied::default(), None));
                }
                Ok(_) => return sent.and(Err(io::ErrorKind::UnexpectedEof.into())),
                Err(error) => return sent.and(Err(error)),
            }
        }
    }

    /// Gives it what is to be looked at after the command.
    pub(super) fn protect(&mut self, survey: Option<Survey>) {
        self.protection = Protection::new(survey);
    }

    /// Takes that back, for another attempt.
    pub(super) fn unprotect(&mut self) -> Option<Survey> {
        self.protection.take()
    }

    /// Tells whether there has been a supervisor.
    pub(super) fn is_supervised(&self) -> bool {
        self.supervisor.is_some()
    }

    /// Returns a handle on the supervisor's process.
    pub(super) fn supervisor_handle(&self) -> io::Result<OwnedFd> {
        let supervisor = self.supervisor.as_ref().ok_or(io::ErrorKind::NotFound)?;
        supervisor.handle.try_clone()
    }

    /// Waits until the command has ended and nothing that it started is left.
    ///
    /// Can be cancelled and called again, also after it has answered.
    ///
    /// # Errors
    ///
    /// [`WaitError::HelperDied`] when the supervisor does not live to tell the end; the command is killed then.
    pub async fn wait(&mut self) -> Result<Exit, WaitError> {
        let ended = match self.ended {
            Some(ended) => ended,
            None => self.receive_end().await?,
        };
        self.protection.conclude().await?;
        match ended {
            Ended::Exit(exit) => Ok(exit),
            Ended::Survivors(count) => Err(WaitError::Survivors { count }),
            Ended::HelperDied(signal) => Err(WaitError::HelperDied { signal }),
        }
    }

    /// Returns the bound that the command met; known once it was waited for.
    ///
    /// One that meets the bound of its memory is ended for it.
    #[must_use]
    pub fn ended_by(&self) -> Option<Exceeded> {
        self.exceeded
    }

    /// Returns what the command did to protected names and what became of it; known once it was waited for.
    #[must_use]
    pub fn undone(&self) -> &[Undone] {
        self.protection.undone()
    }

    /// Asks for the command and everything that it started to be killed; [`Control::wait`] tells when that is done.
    pub fn kill(&mut self) {
        if self.deadline.is_none() && self.ended.is_none() {
            self.deadline = Some(Instant::now() + Duration::from_millis(KILL_MS_MAX));
            // The supervisor reads the end of its lifeline.
            self.frames.finish_sending();
            self.wake_helpers();
        }
    }

    async fn receive_end(&mut self) -> Result<Ended, WaitError> {
        loop {
            let deadline = self.deadline;
            let reply = tokio::select! {
                reply = self.next_reply() => reply,
                () = reached(deadline) => return self.bury(None).await,
            };
            let ended = match reply {
                Ok(Some((Reply::Exceeded(bound), _))) => {
                    self.exceeded = Some(bound);
                    continue;
                }
                Ok(Some((Reply::Exited(code), _))) => Ended::Exit(Exit::Code(code)),
                Ok(Some((Reply::Signalled(signal), _))) => Ended::Exit(Exit::Signal(signal)),
                Ok(Some((Reply::Survivors(count), _))) => {
                    Ended::Survivors(u32::try_from(count).unwrap_or_default())
                }
                Ok(Some((Reply::Orphaned(signal), _))) => return self.bury(Some(signal)).await,
                // Anything else is not what a living supervisor says.
                Ok(_) | Err(_) => return self.bury(None).await,
            };
            self.ended = Some(ended);
            return Ok(ended);
        }
    }

    /// Ends a supervisor that is of no use any more, and kills what can still be found of the command.
    async fn bury(&mut self, mut signal: Option<i32>) -> Result<Ended, WaitError> {
        if let Some(Supervisor { pid, handle }) = &self.supervisor {
            let (pid, handle) = (*pid, handle.try_clone()?);
            in_background(move || {
                // It may be alive, stopped or without its socket, and as long as it is, no descendant is out of reach.
                tree::kill_descendants_of(pid, &handle)?;
                // An error means that it has ended already.
                let _ = pidfd_send_signal(&handle, Signal::KILL);
                tree::await_end(&handle, Duration::from_millis(BURY_MS_MAX))
            })
            .await?;
        }
        if signal.is_none() {
            signal = self.receive_death().await;
        }
        if let Some(command) = self.command {
            in_background(move || tree::kill_session(command)).await?;
        }
        let ended = Ended::HelperDied(signal.filter(|signal| *signal > 0));
        self.ended = Some(ended);
        Ok(ended)
    }

    /// Hears of what the supervisor died, if the zygote lives to say so.
    async fn receive_death(&mut self) -> Option<i32> {
        let death = async {
            loop {
                match self.next_reply().await {
                    Ok(Some((Reply::Orphaned(signal), _))) => return Some(signal),
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => return None,
                }
            }
        };
        tokio::time::timeout(Duration::from_millis(BURY_MS_MAX), death).await.ok().flatten()
    }

    /// Receives one reply, however often the helpers are stopped meanwhile.
    async fn next_reply(&mut self) -> io::Result<Option<(Reply, Vec<OwnedFd>)>> {
        loop {
            match tokio::time::timeout(Duration::from_millis(WAKE_MS), self.frames.next()).await {
                Ok(reply) => return reply,
                Err(_) => self.wake_helpers(),
            }
        }
    }

    /// Lets helpers run that were stopped, perhaps by the command.
    fn wake_helpers(&self) {
        self.zygote.wake();
        if let Some(supervisor) = &self.supervisor {
            let _ = pidfd_send_signal(&supervisor.handle, Signal::CONT);
        }
    }
}

impl Drop for Control {
    /// Closing one way of the socket ends the command.
    fn drop(&mut self) {
        if self.ended.is_none() {
            self.frames.finish_sending();
            self.wake_helpers();
        }
        self.protection.conclude_alone(self.frames.socket());
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
