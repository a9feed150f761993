//! Supervises a command's processes through their process namespace: they all end with its first
//! process, and cannot leave it, stop it or kill it. This side watches from outside: the launcher's
//! socket, the memory in use, and the reports of the first process.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::SocketType;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};

use super::covering;
use super::inherited;
use super::init;
use super::limiter::CommandLimiter;
use super::order::SpawnOrder;
use super::spawn_descriptors::{SpawnDescriptors, receive_report, send_last_reply, send_reply};
use crate::confine::{self, OuterUser};
use crate::confinement::Network;
use crate::exit::ExceededLimit;
use crate::fork::{ForkSide, exit, fork_into};
use crate::wire::{self, HelperReply, StartFailure, StartStage, WireConfinement};

/// Time that the namespace has to end before survivors are reported, in milliseconds.
pub(crate) const TEARDOWN_MS_MAX: u64 = 5_000;

/// Interval of measuring memory. It is also the maximum delay of noticing the deadline.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Namespaces that wait for a command.
pub(super) struct PreparedNamespaces {
    init: Pid,
    network: Network,
    /// Sends orders to the first process.
    orders: OwnedFd,
    /// Receives its reports.
    reports: OwnedFd,
    /// The machine's mounts, watched for changes.
    mounts: OwnedFd,
}

/// Creates namespaces in which only the first process runs.
pub(super) fn prepare(network: Network) -> io::Result<PreparedNamespaces> {
    let user = OuterUser::current_user();
    // Opened before the mounts are copied, so that no change is missed.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let mounts = openat(CWD, "/proc/self/mountinfo", flags, Mode::empty())?;
    let (orders, their_orders) = wire::socket_pair(SocketType::STREAM)?;
    let (reports, their_reports) = wire::socket_pair(SocketType::SEQPACKET)?;
    match fork_into(confine::namespace_flags(network))? {
        ForkSide::Child => {
            // Other descriptors would never appear closed if this process held them: its
            // supervisor's ends, and the call's output.
            if inherited::keep_only([their_orders.as_fd(), their_reports.as_fd()]).is_err() {
                exit(init::STATUS_USELESS);
            }
            exit(init::run(their_orders, their_reports, user, network));
        }
        ForkSide::Parent(init) => Ok(PreparedNamespaces { init, network, orders, reports, mounts }),
    }
}

impl PreparedNamespaces {
    /// Returns whether these namespaces equal new ones for a command with this network.
    pub(super) fn is_usable_for(&self, network: Network) -> bool {
        // Both kinds of private network are created in the same way.
        let is_own = |network| matches!(network, Network::Loopback | Network::Proxied);
        // The machine's mounts must not have changed since these namespaces were created.
        let mut mounts = [PollFd::new(&self.mounts, PollFlags::PRI)];
        is_own(network) == is_own(self.network)
            && matches!(poll(&mut mounts, Some(&Timespec::default())), Ok(0))
    }

    /// Runs the one command of these namespaces, and returns the exit status of this process.
    pub(super) fn run(
        self,
        call: SpawnDescriptors,
        order: &SpawnOrder,
        bounds: &WireConfinement,
    ) -> i32 {
        let SpawnDescriptors { socket, output, cwd, channel } = call;
        let PreparedNamespaces { init, orders, reports, .. } = self;
        let bound = CommandLimiter::new(bounds);
        if let Err(failure) = bound.add_process(init) {
            return send_last_reply(&socket, &HelperReply::Failed(failure));
        }
        let always = [output.as_fd(), cwd.as_fd()];
        let descriptors: Vec<BorrowedFd<'_>> =
            always.into_iter().chain(channel.iter().map(AsFd::as_fd)).collect();
        // If the first process has died, it has reported why, or its end is noticed later.
        let _ = order.forward(&orders, &descriptors);
        // A process that holds the output or the channel open delays its end.
        drop((orders, output, cwd, channel));
        let mut namespace = PidNamespace {
            init,
            reports,
            bound,
            has_started: false,
            deadline: None,
            view: Vec::new(),
        };
        let reply = namespace.wait_for_end(&socket).unwrap_or_else(|error| {
            namespace.kill();
            HelperReply::Failed(StartFailure::new(
                StartStage::Setup,
                "waiting for the command",
                error,
            ))
        });
        if let Some(bound) = namespace.bound.exceeded_limit() {
            send_reply(&socket, &HelperReply::Exceeded(bound));
        }
        let status = send_last_reply(&socket, &reply);
        if !matches!(reply, HelperReply::Survivors(_)) {
            // No process of the command is left; this collects the first process.
            let _ = waitpid(Some(init), WaitOptions::empty());
        }
        status
    }
}

/// Namespaces with a running command.
struct PidNamespace {
    init: Pid,
    reports: OwnedFd,
    bound: CommandLimiter,
    has_started: bool,
    /// When remaining processes count as survivors; set by the end, or by a request for it.
    deadline: Option<Instant>,
    /// Handles on the command's user namespace and mounts, if more may have to be covered.
    view: Vec<OwnedFd>,
}

impl PidNamespace {
    /// Waits for the end, whatever causes it.
    fn wait_for_end(&mut self, lifeline: &OwnedFd) -> io::Result<HelperReply> {
        loop {
            let mut events = [
                PollFd::new(&self.reports, PollFlags::IN),
                PollFd::new(lifeline, PollFlags::IN | PollFlags::RDHUP),
            ];
            let [reports, _] = &mut events;
            // Once the end was requested, the lifeline has no further messages.
            let watched = match self.deadline {
                None => events.as_mut_slice(),
                Some(_) => std::slice::from_mut(reports),
            };
            let count = match poll(watched, Some(&LOOK)) {
                Err(Errno::INTR) => 0,
                count => count?,
            };
            let [reports, _] = &events;
            let has_report = !reports.revents().is_empty();
            if count == 0 {
                if self.is_late() {
                    self.kill();
                    return Ok(HelperReply::Survivors(1));
                }
                if self.bound.is_memory_exceeded(self.init) {
                    send_reply(lifeline, &HelperReply::Exceeded(ExceededLimit::Memory));
                    self.kill();
                }
                continue;
            }
            if !has_report {
                // Without a whole request, the launcher has closed its side or requests the end.
                if !matches!(covering::serve(lifeline, &self.view), Ok(true)) {
                    self.kill();
                }
                continue;
            }
            let mut descriptors = Vec::new();
            let report = match receive_report(&self.reports, &mut descriptors) {
                // It ended with unread data.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => None,
                report => report?,
            };
            match report {
                None => break,
                Some(HelperReply::Clearing) => self.start_deadline(),
                Some(HelperReply::View) => self.view = descriptors,
                Some(
                    reply @ (HelperReply::Exited(_)
                    | HelperReply::Signalled(_)
                    | HelperReply::Failed(_)),
                ) => return Ok(reply),
                Some(reply) => {
                    self.has_started = true;
                    let borrowed: Vec<BorrowedFd<'_>> =
                        descriptors.iter().map(AsFd::as_fd).collect();
                    // A closed launcher appears at its lifeline.
                    let _ = wire::send_all(lifeline, &reply.encode(), &borrowed);
                }
            }
        }
        // The first process has ended without a report. All others end with it.
        self.start_deadline();
        let handle = pidfd_open(self.init, PidfdFlags::empty())?;
        while !self.is_late() {
            let mut events = [PollFd::new(&handle, PollFlags::IN)];
            match poll(&mut events, Some(&LOOK)) {
                Ok(0) | Err(Errno::INTR) => {}
                // It counts as ended only when it is the last process of its namespace. Only a kill
                // ends it like this.
                Ok(_) if self.has_started => {
                    return Ok(HelperReply::Signalled(Signal::KILL.as_raw()));
                }
                Ok(_) => {
                    let at = "the first process of its namespace died";
                    let failure = StartFailure::new(StartStage::Confine, at, Errno::CHILD);
                    return Ok(HelperReply::Failed(failure));
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(HelperReply::Survivors(1))
    }

    fn kill(&mut self) {
        // It has not been collected, so its number cannot have been reused.
        let _ = kill_process(self.init, Signal::KILL);
        self.start_deadline();
    }

    fn start_deadline(&mut self) {
        self.deadline
            .get_or_insert_with(|| Instant::now() + Duration::from_millis(TEARDOWN_MS_MAX));
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}
