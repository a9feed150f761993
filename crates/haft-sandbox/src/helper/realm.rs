//! Holding a command's processes together by the process namespace that they live in: they all end with its first
//! process, and cannot leave, stop or kill it. This side watches from outside: the launcher's socket, the memory in use,
//! and what that first process reports.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};

use super::fork::{Side, exit, fork_into};
use super::inherited;
use super::init::{self, Links};
use super::memory::Bound;
use super::order::Order;
use super::supervisor::{Call, report, status};
use crate::confine::{self, User};
use crate::confinement::Network;
use crate::process::Exceeded;
use crate::wire::{self, Bounds, Failure, Reply, Stage};

/// How long the namespace has to end before survivors are reported.
pub(crate) const TEARDOWN_MS_MAX: u64 = 5_000;

/// How often the memory in use is looked at, and how late the end of that time is noticed at most.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The largest report; the frames of replies are smaller.
const REPORT_BYTES_MAX: usize = 2_048;

/// Namespaces that wait for a command.
pub(super) struct Prepared {
    init: Pid,
    network: Network,
    /// What the first process is told through.
    orders: OwnedFd,
    /// What it reports through.
    reports: OwnedFd,
    /// What is mounted on the machine, to be noticed when it changes.
    mounts: OwnedFd,
}

/// Makes namespaces in which nothing runs yet but their first process.
pub(super) fn prepare(network: Network) -> io::Result<Prepared> {
    let user = User::current();
    let pair = |kind| socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    // Opened before what is mounted is copied, so that no change is missed.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let mounts = openat(CWD, "/proc/self/mountinfo", flags, Mode::empty())?;
    let (orders, their_orders) = pair(SocketType::STREAM)?;
    let (reports, their_reports) = pair(SocketType::SEQPACKET)?;
    match fork_into(confine::namespace_flags(network))? {
        Side::Child => {
            // What this process held open would never be seen to end: its supervisor's ends, and the call's output.
            if inherited::keep_only([their_orders.as_fd(), their_reports.as_fd()]).is_err() {
                exit(init::STATUS_USELESS);
            }
            let links = Links { orders: their_orders, reports: their_reports };
            exit(init::run(links, user, network));
        }
        Side::Parent(init) => Ok(Prepared { init, network, orders, reports, mounts }),
    }
}

impl Prepared {
    /// Tells whether a command with this network finds here what it would find in new namespaces.
    pub(super) fn is_good_for(&self, network: Network) -> bool {
        // Both kinds of network of a command's own are made in the same way.
        let is_own = |network| matches!(network, Network::Loopback | Network::Proxied);
        is_own(network) == is_own(self.network) && self.is_fresh()
    }

    /// Tells whether nothing was mounted or taken off on the machine since these namespaces were made.
    fn is_fresh(&self) -> bool {
        let mut events = [PollFd::new(&self.mounts, PollFlags::PRI)];
        matches!(poll(&mut events, Some(&Timespec::default())), Ok(0))
    }

    /// Runs the one command that these namespaces are for, and returns the exit status of this process.
    pub(super) fn run(self, call: Call, order: &Order, bounds: &Bounds) -> i32 {
        let Call { socket, output, cwd, channel } = call;
        let Prepared { init, orders, reports, .. } = self;
        let bound = Bound::new(bounds);
        if let Err(failure) = bound.hold(init) {
            let reply = Reply::Failed(failure);
            report(&socket, &reply);
            return status(&reply);
        }
        let always = [output.as_fd(), cwd.as_fd()];
        let descriptors: Vec<BorrowedFd<'_>> =
            always.into_iter().chain(channel.iter().map(AsFd::as_fd)).collect();
        // A first process that is not there to be told has reported why, or is seen to be gone.
        let _ = order.pass_on(&orders, &descriptors);
        // Whoever holds the output or the channel open holds up its end.
        drop((orders, output, cwd, channel));
        let realm = Realm { init, reports, bound, has_started: false, deadline: None };
        status(&realm.supervise(&socket))
    }
}

/// What is known of namespaces with a command.
struct Realm {
    init: Pid,
    reports: OwnedFd,
    bound: Bound,
    has_started: bool,
    /// When what is left counts as survivors; set by the end, or by asking for it.
    deadline: Option<Instant>,
}

/// What one wait found out.
enum Event {
    /// The first process has reported something.
    Report(Reply, Vec<OwnedFd>),
    /// The first process is gone, and all others with it.
    Gone,
    /// The launcher has gone or asks for the end.
    Cut,
    /// It is time to look at the memory.
    Tick,
}

impl Realm {
    /// Waits for the end, whoever asks for it, reports and returns it.
    fn supervise(mut self, lifeline: &OwnedFd) -> Reply {
        let reply = match self.wait_for_end(lifeline) {
            Ok(reply) => reply,
            Err(error) => {
                self.kill();
                Reply::Failed(Failure::new(Stage::Setup, "waiting for the command", &error))
            }
        };
        if let Some(bound) = self.bound.exceeded() {
            report(lifeline, &Reply::Exceeded(bound));
        }
        report(lifeline, &reply);
        if !matches!(reply, Reply::Survivors(_)) {
            // Nothing of the command is left; this collects what made sure of it.
            let _ = waitpid(Some(self.init), WaitOptions::empty());
        }
        reply
    }

    fn wait_for_end(&mut self, lifeline: &OwnedFd) -> io::Result<Reply> {
        loop {
            match self.next(lifeline.as_fd())? {
                Event::Report(Reply::Clearing, _) => self.give_time(),
                Event::Report(reply @ (Reply::Exited(_) | Reply::Signalled(_)), _) => {
                    return Ok(reply);
                }
                Event::Report(reply @ Reply::Failed(_), _) => return Ok(reply),
                Event::Report(reply, descriptors) => {
                    self.has_started = true;
                    relay(lifeline, &reply, &descriptors);
                }
                Event::Gone => return self.last_end(),
                Event::Cut => self.kill(),
                Event::Tick if self.is_late() => {
                    self.kill();
                    return Ok(Reply::Survivors(1));
                }
                Event::Tick => {
                    if self.bound.is_memory_exceeded(self.init) {
                        report(lifeline, &Reply::Exceeded(Exceeded::Memory));
                        self.kill();
                    }
                }
            }
        }
    }

    fn next(&self, lifeline: BorrowedFd<'_>) -> io::Result<Event> {
        let mut events = [
            PollFd::new(&self.reports, PollFlags::IN),
            PollFd::from_borrowed_fd(lifeline, PollFlags::IN | PollFlags::RDHUP),
        ];
        let [reports, _] = &mut events;
        // After the end was asked for, the lifeline has nothing more to say.
        let watched = match self.deadline {
            None => events.as_mut_slice(),
            Some(_) => std::slice::from_mut(reports),
        };
        match poll(watched, Some(&LOOK)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Event::Tick),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [reports, _] = &events;
        if reports.revents().is_empty() {
            return Ok(Event::Cut);
        }
        let mut descriptors = Vec::new();
        let mut frame = [0; REPORT_BYTES_MAX];
        match wire::receive(&self.reports, &mut frame, &mut descriptors) {
            Ok(0) => Ok(Event::Gone),
            Ok(count) => {
                let reply = Reply::decode(frame.get(..count).unwrap_or_default())?;
                Ok(Event::Report(reply, descriptors))
            }
            // It ended with something unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(Event::Gone),
            Err(error) => Err(error),
        }
    }

    fn kill(&mut self) {
        // It has not been collected, so that the number is its own.
        let _ = kill_process(self.init, Signal::KILL);
        self.give_time();
    }

    fn give_time(&mut self) {
        self.deadline
            .get_or_insert_with(|| Instant::now() + Duration::from_millis(TEARDOWN_MS_MAX));
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Returns the end after the first process has gone without a word, once all others have gone too.
    fn last_end(&mut self) -> io::Result<Reply> {
        self.give_time();
        let handle = pidfd_open(self.init, PidfdFlags::empty())?;
        while !self.is_late() {
            let mut events = [PollFd::new(&handle, PollFlags::IN)];
            match poll(&mut events, Some(&LOOK)) {
                Ok(0) | Err(Errno::INTR) => {}
                // It counts as ended only when it is the last of its namespace. Only killing ends it so.
                Ok(_) if self.has_started => {
                    return Ok(Reply::Signalled(Signal::KILL.as_raw()));
                }
                Ok(_) => {
                    let error = io::Error::from(Errno::CHILD);
                    let at = "the first process of its namespace died";
                    return Ok(Reply::Failed(Failure::new(Stage::Confine, at, &error)));
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(Reply::Survivors(1))
    }
}

fn relay(lifeline: &OwnedFd, reply: &Reply, descriptors: &[OwnedFd]) {
    let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
    // A launcher that is gone shows at its lifeline.
    let _ = wire::send_all(lifeline, &reply.encode(), &borrowed);
}
