//! The first process of a command's namespaces. It may wait there for its one command; then it sets up what that sees,
//! starts it, collects whatever loses its
//! parent, and kills what is left at the end. It holds no capability when the command begins, and the kernel keeps
//! signals of its own namespace from it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, kill_process_group,
    set_dumpable_behavior, set_parent_process_death_signal, wait,
};

use super::image::{Image, Streams};
use super::order::Order;
use super::{search, stand_on_null};
use crate::confine::{Layers, Settled, User};
use crate::confinement::Network;
use crate::wire::{self, Applied, Failure, Reply, Spec, Stage};

/// The status of a process that was not needed any more. Nobody is told it.
pub(super) const STATUS_USELESS: i32 = 1;

/// What ties the first process to its supervisor.
pub(super) struct Links {
    /// Where it is told what to run.
    pub(super) orders: OwnedFd,
    /// Where it tells what happens.
    pub(super) reports: OwnedFd,
}

/// What is to be run.
struct Task {
    spec: Spec,
    output: OwnedFd,
    cwd: OwnedFd,
    channel: Option<OwnedFd>,
}

/// What runs, and the socket of its proxy.
struct Launched {
    command: Pid,
    applied: Applied,
    listener: Option<OwnedFd>,
}

/// Settles in the namespaces, runs the one command that is ordered to its end, and returns this process's exit status.
pub(super) fn run(links: Links, user: User, network: Network) -> i32 {
    let Links { orders, reports } = links;
    let settled = settle(user, network);
    let launched = match receive(orders) {
        // Nothing is to be run any more; the supervisor is going.
        Ok(None) => return 0,
        Ok(Some(task)) => settled.and_then(|settled| launch(settled, task)),
        Err(failure) => Err(failure),
    };
    // A supervisor that cannot be told anything is gone.
    let told = match launched {
        Ok(launched) => {
            let command = launched.command;
            tell(&reports, launched).and_then(|()| stay(command, &reports))
        }
        Err(failure) => send(&reports, &Reply::Failed(failure), &[]),
    };
    if told.is_ok() { 0 } else { STATUS_USELESS }
}

/// Does what is the same for every command.
fn settle(user: User, network: Network) -> Result<Settled, Failure> {
    let in_setup = |errno: Errno| Failure::new(Stage::Setup, "becoming an init", &errno.into());
    // If the supervisor died before this, there are no orders to be received.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(in_setup)?;
    rustix::thread::set_name(c"haft-init").map_err(in_setup)?;
    Settled::new(user, network)
}

/// Receives what is to be run, or nothing if nothing is.
fn receive(orders: OwnedFd) -> Result<Option<Task>, Failure> {
    let failed = |error| Failure::new(Stage::Setup, "receiving the specification", &error);
    let Some(Order { spec, descriptors, .. }) = Order::receive(&orders).map_err(failed)? else {
        return Ok(None);
    };
    let mut descriptors = descriptors.into_iter();
    match (descriptors.next(), descriptors.next(), descriptors.next()) {
        (Some(output), Some(cwd), channel) => Ok(Some(Task { spec, output, cwd, channel })),
        _ => Err(failed(io::ErrorKind::InvalidData.into())),
    }
}

/// Sets everything up and starts the command.
fn launch(settled: Settled, task: Task) -> Result<Launched, Failure> {
    let Task { spec, output, cwd, channel } = task;
    let Some(bounds) = &spec.bounds else {
        let error = io::Error::from(io::ErrorKind::InvalidData);
        return Err(Failure::new(Stage::Setup, "confining a command without bounds", &error));
    };
    let (listener, process_bound) = settled.enter(bounds, &cwd)?;
    stand_on_null().map_err(|error| Failure::new(Stage::Confine, "opening /dev/null", &error))?;
    let layers = Layers::within_namespaces(bounds)?;
    // Found as the command itself will find it: without capabilities.
    let image = Image::new(&search::find(&spec)?, &spec)?;
    // The command, which has the same user, can neither trace this process nor look into it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| Failure::new(Stage::Setup, "closing the init", &errno.into()))?;
    let streams = Streams::new(&output, channel.as_ref(), spec.channel)?;
    let (command, applied) = image.launch(streams, &mut || layers.apply())?;
    let applied = Applied { process_bound, ..applied };
    Ok(Launched { command, applied, listener })
}

/// Reports the start. The proxy's socket is the launcher's alone from then on.
fn tell(reports: &OwnedFd, launched: Launched) -> io::Result<()> {
    let listener: Vec<BorrowedFd<'_>> = launched.listener.iter().map(AsFd::as_fd).collect();
    send(reports, &Reply::Started(launched.applied), &listener)
}

/// Collects until the command has ended, then until nothing is left.
fn stay(command: Pid, reports: &OwnedFd) -> io::Result<()> {
    let end = loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => break end(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    };
    if has_others()? {
        // Told before, so that the supervisor does not wait for the others for ever.
        send(reports, &Reply::Clearing, &[])?;
        clear()?;
    }
    send(reports, &end, &[])
}

/// Tells whether anything else is left in the namespace.
fn has_others() -> io::Result<bool> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(None) => return Ok(true),
            // Collected; there may be more.
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Kills everything else in the namespace, and returns when nothing is left.
fn clear() -> io::Result<()> {
    // The group of number 1 stands for every process of the namespace but this one.
    loop {
        // What was forked meanwhile is met by the next round; that there is none to kill is what the wait finds out.
        let _ = kill_process_group(Pid::INIT, Signal::KILL);
        match wait(WaitOptions::empty()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn end(status: WaitStatus) -> Reply {
    match status.terminating_signal() {
        Some(signal) => Reply::Signalled(signal),
        None => Reply::Exited(status.exit_status().unwrap_or_default()),
    }
}

fn send(reports: &OwnedFd, reply: &Reply, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    wire::send(reports, &reply.encode(), descriptors, SendFlags::empty())?;
    Ok(())
}
