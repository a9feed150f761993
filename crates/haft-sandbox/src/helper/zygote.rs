//! The process that forks supervisors. It does nothing that takes long, so that calls do not wait for each other, and
//! keeps one supervisor with new namespaces ready. It deliberately takes no part in what they run: if it dies, running
//! calls go on and its launcher starts another.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, set_child_subreaper, wait,
};

use super::fork::{Side, exit, fork};
use super::probe::{self, Offer};
use super::supervisor::{self, Call};
use crate::tree;
use crate::wire::{self, Failure, Reply, Request, Stage};

/// How long a round of killing strays waits for the next.
const SWEEP: Duration = Duration::from_millis(5);

/// How long after a call a spare is made. Making one keeps the kernel so busy that a call which is just being started
/// would take longer.
const SPARE_DELAY_MICROS: u64 = 1_500;

/// How often strays of one dead supervisor are looked for.
pub(crate) const SWEEPS_MAX: u32 = 400;

/// What is written to the output, a file or nothing at all, when the last call has ended and the launcher is gone.
const ENDED_MARK: &[u8] = b"ended\n";

/// Forks a supervisor for each request until the launcher's side closes and every supervisor has ended.
pub(super) fn run(socket: OwnedFd) -> io::Result<()> {
    // What a dead supervisor leaves becomes this process's child, and can be found.
    set_child_subreaper(Some(getpid()))?;
    let offer = probe::offer();
    let ready = Reply::Ready(offer.applied, offer.obstacle.clone());
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
        zygote.turn()?;
    }
    if zygote.sweeps == 0 {
        // Nothing of any call is alive. When that was, the file's time tells; without the mark it is not known.
        let _ = rustix::io::write(rustix::stdio::stdout(), ENDED_MARK);
    }
    Ok(())
}

struct Zygote {
    /// The launcher's requests; none after the launcher has gone.
    socket: Option<OwnedFd>,
    offer: Offer,
    supervisors: Vec<Supervisor>,
    /// A supervisor with namespaces that no call has used. They take longest to make, and are made while nobody waits.
    spare: Option<Spare>,
    /// When there is to be another spare. There is none until the first call that could have used it.
    spare_due: Option<Instant>,
    /// How many rounds of looking for strays are left.
    sweeps: u32,
}

struct Supervisor {
    pid: Pid,
    /// Becomes readable when the process ends.
    handle: OwnedFd,
    /// The call's socket, if there is a call, kept to report a death that the supervisor cannot report.
    socket: Option<OwnedFd>,
}

struct Spare {
    pid: Pid,
    handle: OwnedFd,
    /// Where it waits for its call; it ends when this closes.
    calls: OwnedFd,
}

impl Zygote {
    /// Waits for one thing to happen, and deals with it.
    fn turn(&mut self) -> io::Result<()> {
        let has_request = self.wait()?;
        self.collect();
        if self.sweeps > 0 {
            self.sweep();
        }
        if !has_request && self.spare_due.is_some_and(|due| Instant::now() >= due) {
            self.make_spare();
        }
        if let (true, Some(socket)) = (has_request, &self.socket) {
            match Call::receive(socket.as_fd()) {
                Ok(Some((request, call))) => self.serve(request, call),
                Ok(None) => self.end(),
                // One request is lost, and the next one is not.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until something happens, or until it is time to do something unasked; tells whether it is a request.
    fn wait(&self) -> io::Result<bool> {
        let socket = self.socket.iter();
        let handles = self.supervisors.iter().map(|supervisor| &supervisor.handle);
        let spare = self.spare.iter().map(|spare| &spare.handle);
        let mut events: Vec<PollFd<'_>> = socket
            .chain(handles)
            .chain(spare)
            .map(|descriptor| PollFd::new(descriptor, PollFlags::IN))
            .collect();
        let until_spare = self.spare_due.map(|due| due.saturating_duration_since(Instant::now()));
        let until_sweep = (self.sweeps > 0).then_some(SWEEP);
        let timeout = until_spare.into_iter().chain(until_sweep).min();
        // A time that the kernel cannot count to is as good as none.
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        match poll(&mut events, timeout.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
        let is_first = events.first().is_some_and(|event| !event.revents().is_empty());
        Ok(is_first && self.socket.is_some())
    }

    /// Takes no more requests.
    fn end(&mut self) {
        self.socket = None;
        self.spare_due = None;
        // Its socket closes with this.
        self.retire_spare();
    }

    /// Makes the spare a supervisor like the others, and returns where it waits for its call.
    fn retire_spare(&mut self) -> Option<OwnedFd> {
        let Spare { pid, handle, calls } = self.spare.take()?;
        self.supervisors.push(Supervisor { pid, handle, socket: None });
        Some(calls)
    }

    /// Collects every child that has ended, and reports supervisors that could not do so themselves.
    fn collect(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if self.spare.as_ref().is_some_and(|spare| spare.pid == pid) {
                self.retire_spare();
            }
            let Some(place) = self.supervisors.iter().position(|known| known.pid == pid) else {
                continue;
            };
            let supervisor = self.supervisors.swap_remove(place);
            if status.exit_status() != Some(0) {
                self.sweeps = SWEEPS_MAX;
                let signal = status.terminating_signal().unwrap_or_default();
                let report = Reply::Orphaned(signal).encode();
                if let Some(socket) = &supervisor.socket {
                    // A launcher that does not listen any more has no use for it.
                    let _ = wire::send_all(socket, &report, &[]);
                }
            }
        }
    }

    /// Kills what dead supervisors left behind.
    fn sweep(&mut self) {
        let supervisors = self.supervisors.iter().map(|supervisor| supervisor.pid);
        let spare = self.spare.iter().map(|spare| spare.pid);
        let spared: Vec<Pid> = supervisors.chain(spare).collect();
        self.sweeps = match tree::kill_strays(getpid(), &spared) {
            Ok(0) => 0,
            Ok(_) | Err(_) => self.sweeps.saturating_sub(1),
        };
    }

    fn serve(&mut self, request: Request, call: Call) {
        match request {
            Request::Supervisor => self.fork_supervisor(call),
            Request::Isolated => {
                if self.offer.applied.namespaces {
                    let delay = Duration::from_micros(SPARE_DELAY_MICROS);
                    self.spare_due = Some(Instant::now() + delay);
                }
                match self.retire_spare() {
                    Some(calls) if call.pass_on(request, &calls).is_ok() => {
                        if let Some(supervisor) = self.supervisors.last_mut() {
                            supervisor.socket = Some(call.socket);
                        }
                    }
                    // Without a spare, or with one that has died, the call waits for new namespaces.
                    Some(_) | None => self.fork_supervisor(call),
                }
            }
        }
    }

    fn fork_supervisor(&mut self, call: Call) {
        match fork() {
            Ok(Side::Child) => {
                self.forget_others();
                exit(supervisor::run(call, &self.offer));
            }
            Ok(Side::Parent(pid)) => {
                // It has not been collected, so that the number is its own.
                match pidfd_open(pid, PidfdFlags::empty()) {
                    Ok(handle) => {
                        let socket = Some(call.socket);
                        self.supervisors.push(Supervisor { pid, handle, socket });
                    }
                    Err(errno) => refuse(&call, &errno.into()),
                }
            }
            Err(error) => refuse(&call, &error),
        }
    }

    /// Makes a spare. Without one calls only take longer.
    fn make_spare(&mut self) {
        self.spare_due = None;
        let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let Ok((calls, theirs)) = socketpair(AddressFamily::UNIX, kind, flags, None) else {
            return;
        };
        match fork() {
            Ok(Side::Child) => {
                self.forget_others();
                drop(calls);
                exit(supervisor::wait_and_run(&theirs, &self.offer));
            }
            Ok(Side::Parent(pid)) => {
                // Without a handle it ends at once, because its socket closes.
                if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) {
                    self.spare = Some(Spare { pid, handle, calls });
                }
            }
            Err(_) => {}
        }
    }

    /// Closes, in a new process, what belongs to the zygote and to other calls.
    fn forget_others(&mut self) {
        self.socket = None;
        self.supervisors.clear();
        self.spare = None;
    }
}

/// Answers a call that has no supervisor.
fn refuse(call: &Call, error: &io::Error) {
    let failure = Failure::new(Stage::Setup, "making a process for the call", error);
    let _ = wire::send_all(&call.socket, &Reply::Failed(failure).encode(), &[]);
}
