//! Holding a command's processes together by kinship, where they have no process namespace of their own. The supervisor
//! is the reaper of all the command's descendants, so having no child left means that nothing is left. Every wait here
//! is bounded; the command's own duration is the launcher's business.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, chdir, fchdir, getpid, getppid, kill_process,
    pidfd_open, set_parent_process_death_signal, wait,
};

use super::image::{Image, Streams};
use super::memory::Bound;
use super::search;
use super::supervisor::{Call, report, status};
use crate::confine::{Layers, PrivateDirectory};
use crate::process::Exceeded;
use crate::tree;
use crate::wire::{self, Applied, Bounds, Failure, Reply, Spec, Stage};

/// How long the supervisor tries to kill what is left before it reports survivors.
pub(crate) const TEARDOWN_MS_MAX: u64 = 5_000;

/// How long it waits between two tries at most.
const PAUSE_MS_MAX: u64 = 16;

/// How often orphans that ended by themselves are collected while the command runs.
const COLLECT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// How often the memory of a bounded command is looked at.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Runs a command, confined by what works without namespaces if there are bounds, and returns the exit status.
pub(super) fn run(call: Call, spec: &Spec, bounds: Option<&Bounds>) -> i32 {
    let reply = match bounds {
        None => run_free(call, spec),
        Some(bounds) => run_confined(call, spec, bounds),
    };
    status(&reply)
}

fn run_free(call: Call, spec: &Spec) -> Reply {
    match start(&call, spec, &mut || Ok(Applied::default())) {
        Ok(started) => supervise(call, started, None),
        Err(failure) => fail(&call, failure),
    }
}

fn run_confined(call: Call, spec: &Spec, bounds: &Bounds) -> Reply {
    let directory = match PrivateDirectory::create() {
        Ok(directory) => directory,
        Err(failure) => return fail(&call, failure),
    };
    let mut spec = spec.clone();
    // Of a name given twice the last value counts.
    spec.env.push(("TMPDIR".into(), directory.path().into()));
    let bound = Bound::new(bounds);
    let layers = Layers::without_namespaces(bounds, directory.path());
    let started = layers.and_then(|layers| {
        start(&call, &spec, &mut || {
            bound.hold(getpid())?;
            layers.apply()
        })
    });
    match started {
        Ok(started) => supervise(call, started, Some(Holding { bound, directory })),
        Err(failure) => fail(&call, failure),
    }
}

fn fail(call: &Call, failure: Failure) -> Reply {
    let reply = Reply::Failed(failure);
    report(&call.socket, &reply);
    reply
}

/// Starts the command; what it is confined by is applied in its own process.
fn start(
    call: &Call,
    spec: &Spec,
    confine: &mut dyn FnMut() -> Result<Applied, Failure>,
) -> Result<(Pid, Applied), Failure> {
    let in_directory = |errno: Errno| Failure::new(Stage::Directory, "", &errno.into());
    fchdir(&call.cwd).map_err(in_directory)?;
    let program = search::find(spec)?;
    let supervisor = getpid();
    let streams = Streams::new(&call.output, call.channel.as_ref(), spec.channel)?;
    let started = Image::new(&program, spec)?.launch(streams, &mut || {
        tie(supervisor, &call.socket)
            .map_err(|error| Failure::new(Stage::Setup, "tying it to its supervisor", &error))?;
        confine()
    });
    // The directory may be removed or its file system unmounted while the command runs elsewhere.
    let _ = chdir("/");
    started
}

/// Makes the command's process end with its supervisor, and known to the launcher.
fn tie(supervisor: Pid, socket: &OwnedFd) -> io::Result<()> {
    // The command does not outlive its supervisor, even if the launcher is killed at the same moment.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The supervisor may have died before that was set.
    if getppid() != Some(supervisor) {
        return Err(Errno::SRCH.into());
    }
    // From the next moment on the command may stop or kill its supervisor.
    let reply = Reply::Forked(getpid().as_raw_pid()).encode();
    wire::send(socket, &reply, &[], SendFlags::empty())?;
    Ok(())
}

/// What is held while a confined command runs.
struct Holding {
    bound: Bound,
    directory: PrivateDirectory,
}

/// Reports the start, waits for the end of the command or of the launcher, and reports and returns the end.
fn supervise(call: Call, (command, applied): (Pid, Applied), holding: Option<Holding>) -> Reply {
    let Call { socket, output, cwd, channel } = call;
    // Whoever holds the output or the channel open holds up its end.
    drop((output, cwd, channel));
    let mut family = Family { command, holding: holding.as_ref(), status: None };
    report(&socket, &Reply::Started(applied));
    let waited = family.wait_for_end(&socket);
    let reply = match (family.tear_down(), waited) {
        (Err(survivors), _) => Reply::Survivors(i32::try_from(survivors).unwrap_or(i32::MAX)),
        (Ok(()), Err(error)) if family.status.is_none() => {
            Reply::Failed(Failure::new(Stage::Setup, "waiting for the command", &error))
        }
        (Ok(()), _) => family.end(),
    };
    if let Some(bound) = holding.as_ref().and_then(|holding| holding.bound.exceeded()) {
        report(&socket, &Reply::Exceeded(bound));
    }
    if let Some(Holding { directory, .. }) = holding {
        // It goes when nothing is left that could use it, and before anyone is told.
        drop(directory);
    }
    report(&socket, &reply);
    reply
}

/// The command and everything that descends from it.
struct Family<'a> {
    command: Pid,
    /// What bounds all of it together, if it is confined.
    holding: Option<&'a Holding>,
    /// How the command ended, once it was collected.
    status: Option<WaitStatus>,
}

impl Family<'_> {
    /// Returns when the command has ended, when it uses too much, or when the launcher has closed its side.
    fn wait_for_end(&mut self, socket: &OwnedFd) -> io::Result<()> {
        // The command is not collected yet, so that the number is its own even if it has ended.
        let command = pidfd_open(self.command, PidfdFlags::empty())?;
        let interval = self.holding.map_or(COLLECT, |_| LOOK);
        while self.status.is_none() {
            let mut events = [
                PollFd::new(socket, PollFlags::IN | PollFlags::RDHUP),
                PollFd::new(&command, PollFlags::IN),
            ];
            match poll(&mut events, Some(&interval)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [lifeline, _] = &events;
            if !lifeline.revents().is_empty() {
                return Ok(());
            }
            self.collect();
            if self.uses_too_much() {
                report(socket, &Reply::Exceeded(Exceeded::Memory));
                return Ok(());
            }
        }
        Ok(())
    }

    fn uses_too_much(&self) -> bool {
        self.holding.is_some_and(|holding| holding.bound.is_memory_exceeded(getpid()))
    }

    /// Collects every child that has ended; tells whether any is left.
    fn collect(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.command => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                // No child is left.
                Err(_) => return false,
            }
        }
    }

    /// Kills until no child is left; fails with the number of those that withstand.
    fn tear_down(&mut self) -> Result<(), usize> {
        let deadline = Instant::now() + Duration::from_millis(TEARDOWN_MS_MAX);
        let mut pause_ms = 1;
        let mut survivors = 1;
        while self.collect() {
            if Instant::now() >= deadline {
                return Err(survivors);
            }
            match tree::kill_descendants(getpid()) {
                Ok(count) => survivors = count,
                Err(_) => self.kill_blindly(),
            }
            std::thread::sleep(Duration::from_millis(pause_ms));
            pause_ms = (pause_ms * 2).min(PAUSE_MS_MAX);
        }
        Ok(())
    }

    /// Kills the one child whose number is certain, for want of a view of the others.
    fn kill_blindly(&self) {
        if self.status.is_none() {
            // It is not collected yet, so that the number is still its own.
            let _ = kill_process(self.command, Signal::KILL);
        }
    }

    fn end(&self) -> Reply {
        let exited = self.status.and_then(WaitStatus::exit_status).map(Reply::Exited);
        let signalled = self.status.and_then(WaitStatus::terminating_signal).map(Reply::Signalled);
        // Having no child left implies that the command was collected, and collected children have ended.
        exited.or(signalled).unwrap_or(Reply::Failed(Failure::new(
            Stage::Setup,
            "collecting the command",
            &Errno::CHILD.into(),
        )))
    }
}
