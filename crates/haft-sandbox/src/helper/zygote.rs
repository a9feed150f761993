//! The process that forks supervisors. It does nothing slow, so that calls do not wait for each
//! other, and keeps one supervisor with new namespaces ready. It takes no part in the calls: if it
//! dies, running calls continue and its launcher starts another one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SocketType;
use rustix::process::{
    Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, set_child_subreaper, wait,
};

use super::probe::{self, ProbedMechanisms};
use super::spawn_descriptors::{SpawnDescriptors, send_reply};
use super::supervisor;
use crate::fork::{ForkSide, exit, fork};
use crate::process_tree;
use crate::wire::{self, HelperReply, StartFailure, StartStage, ZygoteRequest};

/// Pause between two rounds of killing strays.
const SWEEP: Duration = Duration::from_millis(5);

/// Delay before a spare is created after a call. Creating one keeps the kernel busy and would slow
/// down a call that is just being started.
const SPARE_DELAY_MICROS: u64 = 1_500;

/// Rounds of searching for strays of one dead supervisor.
pub(crate) const SWEEPS_MAX: u32 = 400;

/// Written to the output, a file or null, when the last call has ended and the launcher is gone.
const ENDED_MARK: &[u8] = b"ended\n";

/// Forks a supervisor for each request until the launcher's side closes and every supervisor has
/// ended.
pub(super) fn run(socket: OwnedFd) -> io::Result<()> {
    // Processes that a dead supervisor leaves behind become this process's children, and can be
    // found.
    set_child_subreaper(Some(getpid()))?;
    let offer = probe::probe_mechanisms();
    let ready = HelperReply::Ready(offer.applied, offer.obstacle.clone());
    wire::send_all(&socket, &ready.encode(), &[])?;
    let mut zygote = Zygote {
        socket: Some(socket),
        offer,
        supervisors: Vec::new(),
        spare: None,
        spare_due: None,
        sweeps: 0,
    };
    while zygote.socket.is_some() || !zygote.supervisors.is_empty() {
        let has_request = zygote.wait()?;
        zygote.collect();
        if zygote.sweeps > 0 {
            zygote.kill_strays();
        }
        if !has_request && zygote.spare_due.is_some_and(|due| Instant::now() >= due) {
            zygote.spare_due = None;
            // Without a spare, calls only take longer.
            if let Ok((calls, theirs)) = wire::socket_pair(SocketType::STREAM) {
                match fork() {
                    Ok(ForkSide::Child) => {
                        zygote.forget_others();
                        drop(calls);
                        exit(supervisor::run_spare(&theirs, &zygote.offer));
                    }
                    Ok(ForkSide::Parent(pid)) => {
                        // Without a handle it exits at once, because its socket closes.
                        if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) {
                            zygote.spare = Some((Supervisor { pid, handle, socket: None }, calls));
                        }
                    }
                    Err(_) => {}
                }
            }
        }
        if let (true, Some(socket)) = (has_request, &zygote.socket) {
            match SpawnDescriptors::receive(socket.as_fd()) {
                Ok(Some((ZygoteRequest::Supervisor, call))) => zygote.fork_supervisor(call),
                Ok(Some((ZygoteRequest::Isolated, call))) => {
                    if zygote.offer.applied.namespaces {
                        let delay = Duration::from_micros(SPARE_DELAY_MICROS);
                        zygote.spare_due = Some(Instant::now() + delay);
                    }
                    match zygote.retire_spare() {
                        Some(calls) if call.forward(&calls).is_ok() => {
                            if let Some(supervisor) = zygote.supervisors.last_mut() {
                                supervisor.socket = Some(call.socket);
                            }
                        }
                        // Without a spare, or if it has died, the call waits for new namespaces.
                        Some(_) | None => zygote.fork_supervisor(call),
                    }
                }
                Ok(None) => {
                    zygote.socket = None;
                    zygote.spare_due = None;
                    // This closes its socket.
                    zygote.retire_spare();
                }
                // Only this request is lost, not the next one.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(error) => return Err(error),
            }
        }
    }
    if zygote.sweeps == 0 {
        // No process of any call is alive. The file's modification time records when that was;
        // without the mark it is unknown.
        let _ = rustix::io::write(rustix::stdio::stdout(), ENDED_MARK);
    }
    Ok(())
}

struct Zygote {
    /// The launcher's requests; `None` after the launcher has gone.
    socket: Option<OwnedFd>,
    offer: ProbedMechanisms,
    supervisors: Vec<Supervisor>,
    /// A supervisor with unused namespaces. They take longest to create, and are created while no
    /// call waits.
    ///
    /// The socket passes a call to it; it exits when the socket closes.
    spare: Option<(Supervisor, OwnedFd)>,
    /// When to create another spare. There is none until the first call that could have used it.
    spare_due: Option<Instant>,
    /// The remaining rounds of searching for strays.
    sweeps: u32,
}

struct Supervisor {
    pid: Pid,
    /// Becomes readable when the process ends.
    handle: OwnedFd,
    /// The call's socket, if there is a call. It is kept to report a death that the supervisor
    /// cannot report.
    socket: Option<OwnedFd>,
}

impl Zygote {
    /// Waits for a request, an event or the next due time; returns whether it is a request.
    fn wait(&self) -> io::Result<bool> {
        let socket = self.socket.iter();
        let handles = self.supervisors.iter().map(|supervisor| &supervisor.handle);
        let spare = self.spare.iter().map(|(spare, _)| &spare.handle);
        let mut events: Vec<PollFd<'_>> = socket
            .chain(handles)
            .chain(spare)
            .map(|descriptor| PollFd::new(descriptor, PollFlags::IN))
            .collect();
        let until_spare = self.spare_due.map(|due| due.saturating_duration_since(Instant::now()));
        let until_sweep = (self.sweeps > 0).then_some(SWEEP);
        let timeout = until_spare.into_iter().chain(until_sweep).min();
        // A time that the kernel cannot represent is treated as none.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut events, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
        let is_first = events.first().is_some_and(|event| !event.revents().is_empty());
        Ok(is_first && self.socket.is_some())
    }

    /// Turns the spare into an ordinary supervisor, and returns the socket for its call.
    fn retire_spare(&mut self) -> Option<OwnedFd> {
        let (supervisor, calls) = self.spare.take()?;
        self.supervisors.push(supervisor);
        Some(calls)
    }

    /// Collects every child that has ended, and reports the ends that supervisors could not report
    /// themselves.
    fn collect(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if self.spare.as_ref().is_some_and(|(spare, _)| spare.pid == pid) {
                self.retire_spare();
            }
            let Some(place) = self.supervisors.iter().position(|known| known.pid == pid) else {
                continue;
            };
            let supervisor = self.supervisors.swap_remove(place);
            if status.exit_status() != Some(0) {
                self.sweeps = SWEEPS_MAX;
                let signal = status.terminating_signal().unwrap_or_default();
                if let Some(socket) = &supervisor.socket {
                    send_reply(socket, &HelperReply::Orphaned(signal));
                }
            }
        }
    }

    /// Kills the processes that dead supervisors left behind.
    fn kill_strays(&mut self) {
        let supervisors = self.supervisors.iter().map(|supervisor| supervisor.pid);
        let spare = self.spare.iter().map(|(spare, _)| spare.pid);
        let spared: Vec<Pid> = supervisors.chain(spare).collect();
        self.sweeps = match process_tree::kill_strays(getpid(), &spared) {
            Ok(0) => 0,
            Ok(_) | Err(_) => self.sweeps.saturating_sub(1),
        };
    }

    fn fork_supervisor(&mut self, call: SpawnDescriptors) {
        match fork() {
            Ok(ForkSide::Child) => {
                self.forget_others();
                exit(supervisor::run(call, &self.offer));
            }
            Ok(ForkSide::Parent(pid)) => {
                // It has not been collected, so its number cannot have been reused.
                match pidfd_open(pid, PidfdFlags::empty()) {
                    Ok(handle) => {
                        let socket = Some(call.socket);
                        self.supervisors.push(Supervisor { pid, handle, socket });
                    }
                    Err(errno) => refuse_request(&call, errno.into()),
                }
            }
            Err(error) => refuse_request(&call, error),
        }
    }

    /// Closes, in a new process, the descriptors of the zygote and of other calls.
    fn forget_others(&mut self) {
        self.socket = None;
        self.supervisors.clear();
        self.spare = None;
    }
}

/// Reports an error to a call that has no supervisor.
fn refuse_request(call: &SpawnDescriptors, error: io::Error) {
    let failure = StartFailure::new(StartStage::Setup, "making a process for the call", error);
    send_reply(&call.socket, &HelperReply::Failed(failure));
}
