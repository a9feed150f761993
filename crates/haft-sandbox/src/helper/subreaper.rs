//! Supervises a command's processes by descent, for commands without their own process namespace.
//! The supervisor is the reaper of all the command's descendants, so if it has no child left, none
//! of them is left. Every wait here has a limit; the launcher limits the command's own duration.

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

use super::image::{CommandStreams, ProgramImage};
use super::limiter::CommandLimiter;
use super::search;
use super::spawn_descriptors::{SpawnDescriptors, send_last_reply, send_reply};
use crate::confine::{KernelConfinement, PrivateDirectory};
use crate::exit::ExceededLimit;
use crate::process_tree;
use crate::wire::{
    self, HelperReply, MechanismFlags, StartFailure, StartStage, WireCommandSpec, WireConfinement,
};

/// Time that the supervisor tries to kill remaining processes before it reports survivors, in
/// milliseconds.
pub(crate) const TEARDOWN_MS_MAX: u64 = 5_000;

/// Maximum pause between two attempts, in milliseconds.
const PAUSE_MS_MAX: u64 = 16;

/// Interval of collecting orphans that have ended while the command runs.
const COLLECT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Interval of measuring the memory of a confined command.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// Runs a command, confined without namespaces if a confinement is given, and returns the exit
/// status.
pub(super) fn run(
    call: SpawnDescriptors,
    spec: &WireCommandSpec,
    bounds: Option<&WireConfinement>,
) -> i32 {
    let Some(bounds) = bounds else {
        let started = start(&call, spec, &mut || Ok(MechanismFlags::default()));
        return supervise(call, started, None);
    };
    let directory = match PrivateDirectory::create() {
        Ok(directory) => directory,
        Err(failure) => return supervise(call, Err(failure), None),
    };
    let mut spec = spec.clone();
    // If a name occurs twice, the last value counts.
    spec.env.push(("TMPDIR".into(), directory.path().into()));
    let bound = CommandLimiter::new(bounds);
    let layers = KernelConfinement::without_namespaces(bounds, directory.path());
    let started = layers.and_then(|layers| {
        start(&call, &spec, &mut || {
            bound.add_process(getpid())?;
            layers.apply()
        })
    });
    supervise(call, started, Some(SupervisedResources { bound, directory }))
}

/// Starts the command; its own process applies the confinement.
fn start(
    call: &SpawnDescriptors,
    spec: &WireCommandSpec,
    confine: &mut dyn FnMut() -> Result<MechanismFlags, StartFailure>,
) -> Result<(Pid, MechanismFlags), StartFailure> {
    fchdir(&call.cwd).map_err(StartStage::Directory.at(""))?;
    let program = search::find(spec)?;
    let supervisor = getpid();
    let streams = CommandStreams::new(&call.output, call.channel.as_ref(), spec.channel)?;
    let started = ProgramImage::new(&program, spec)?.launch(streams, &mut || {
        let at = "tying it to its supervisor";
        // The command does not outlive its supervisor, even if the launcher is killed at the same
        // moment.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(StartStage::Setup.at(at))?;
        // The supervisor may have died before that call.
        if getppid() != Some(supervisor) {
            return Err(StartFailure::new(StartStage::Setup, at, Errno::SRCH));
        }
        // From the next moment on the command may stop or kill its supervisor.
        let reply = HelperReply::Forked(getpid().as_raw_pid()).encode();
        wire::send(&call.socket, &reply, &[], SendFlags::empty())
            .map_err(StartStage::Setup.at(at))?;
        confine()
    });
    // The directory may be removed or its file system unmounted while the command runs elsewhere.
    let _ = chdir("/");
    started
}

/// The resources held while a confined command runs.
struct SupervisedResources {
    bound: CommandLimiter,
    directory: PrivateDirectory,
}

/// Reports the start, waits for the end of the command or of the launcher, reports the end, and
/// returns the exit status.
fn supervise(
    call: SpawnDescriptors,
    started: Result<(Pid, MechanismFlags), StartFailure>,
    resources: Option<SupervisedResources>,
) -> i32 {
    let SpawnDescriptors { socket, output, cwd, channel } = call;
    let (command, applied) = match started {
        Ok(started) => started,
        Err(failure) => return send_last_reply(&socket, &HelperReply::Failed(failure)),
    };
    // A process that holds the output or the channel open delays its end.
    drop((output, cwd, channel));
    let mut tree = SubreaperTree { command, resources: resources.as_ref(), status: None };
    send_reply(&socket, &HelperReply::Started(applied));
    let waited = tree.wait_for_end(&socket);
    // Kills until no child is left.
    let deadline = Instant::now() + Duration::from_millis(TEARDOWN_MS_MAX);
    let mut pause_ms = 1;
    let mut survivors = 1;
    let torn_down = loop {
        if !tree.collect() {
            break Ok(());
        }
        if Instant::now() >= deadline {
            break Err(survivors);
        }
        match process_tree::kill_descendants(getpid()) {
            Ok(count) => survivors = count,
            // The others cannot be listed. The command is not collected yet, so its number is still
            // valid.
            Err(_) if tree.status.is_none() => {
                let _ = kill_process(command, Signal::KILL);
            }
            Err(_) => {}
        }
        std::thread::sleep(Duration::from_millis(pause_ms));
        pause_ms = (pause_ms * 2).min(PAUSE_MS_MAX);
    };
    let exited = tree.status.and_then(WaitStatus::exit_status).map(HelperReply::Exited);
    let signalled =
        tree.status.and_then(WaitStatus::terminating_signal).map(HelperReply::Signalled);
    let failed =
        |at, error: io::Error| HelperReply::Failed(StartFailure::new(StartStage::Setup, at, error));
    let reply = match (torn_down, exited.or(signalled), waited) {
        (Err(survivors), ..) => {
            HelperReply::Survivors(i32::try_from(survivors).unwrap_or(i32::MAX))
        }
        (Ok(()), Some(end), _) => end,
        (Ok(()), None, Err(error)) => failed("waiting for the command", error),
        // If no child is left, the command was collected, and a collected child has ended.
        (Ok(()), None, Ok(())) => failed("collecting the command", Errno::CHILD.into()),
    };
    if let Some(bound) = resources.as_ref().and_then(|resources| resources.bound.exceeded_limit()) {
        send_reply(&socket, &HelperReply::Exceeded(bound));
    }
    if let Some(SupervisedResources { directory, .. }) = resources {
        // It is removed once no process can use it, and before the end is reported.
        drop(directory);
    }
    send_last_reply(&socket, &reply)
}

/// The command and all of its descendants.
struct SubreaperTree<'a> {
    command: Pid,
    /// The limits on all of them together, if the command is confined.
    resources: Option<&'a SupervisedResources>,
    /// The command's end, once it was collected.
    status: Option<WaitStatus>,
}

impl SubreaperTree<'_> {
    /// Returns when the command has ended, uses too much memory, or the launcher has closed its
    /// side.
    fn wait_for_end(&mut self, socket: &OwnedFd) -> io::Result<()> {
        // The command is not collected yet, so its number is valid even if it has ended.
        let command = pidfd_open(self.command, PidfdFlags::empty())?;
        let interval = self.resources.map_or(COLLECT, |_| LOOK);
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
            let resources = self.resources;
            if resources.is_some_and(|resources| resources.bound.is_memory_exceeded(getpid())) {
                send_reply(socket, &HelperReply::Exceeded(ExceededLimit::Memory));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Collects every child that has ended; returns whether any is left.
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
}
