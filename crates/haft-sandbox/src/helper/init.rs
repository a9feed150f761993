//! The first process of a command's namespaces. It may wait there for its one command. Then it sets
//! up the command's view, starts the command, collects orphans, and kills all remaining processes
//! at the end. It has no capabilities once the command begins, and the kernel blocks signals from
//! its own namespace.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, kill_process_group, set_dumpable_behavior,
    set_parent_process_death_signal, wait,
};

use super::image::{CommandStreams, ProgramImage};
use super::order::SpawnOrder;
use super::{redirect_stdio_to_null, search};
use crate::confine::{KernelConfinement, NamespacedProcess, OuterUser};
use crate::confinement::Network;
use crate::wire::{self, HelperReply, MechanismFlags, StartFailure, StartStage, WireCommandSpec};

/// Exit status of a process that is no longer needed. It is not reported.
pub(super) const STATUS_USELESS: i32 = 1;

/// The connection of the first process to its supervisor.
pub(super) struct InitPipes {
    /// Receives the order.
    pub(super) orders: OwnedFd,
    /// Sends the reports.
    pub(super) reports: OwnedFd,
}

/// The command to run.
struct InitTask {
    spec: WireCommandSpec,
    output: OwnedFd,
    cwd: OwnedFd,
    channel: Option<OwnedFd>,
}

/// The running command, and the socket of its proxy.
struct LaunchedCommand {
    command: Pid,
    applied: MechanismFlags,
    listener: Option<OwnedFd>,
}

/// Sets up the namespaces, runs the one ordered command to its end, and returns this process's exit
/// status.
pub(super) fn run(links: InitPipes, user: OuterUser, network: Network) -> i32 {
    let InitPipes { orders, reports } = links;
    let settled = enter_namespaces(user, network);
    let launched = match receive(orders) {
        // The supervisor closed without an order.
        Ok(None) => return 0,
        Ok(Some(task)) => settled.and_then(|settled| launch(settled, task)),
        Err(failure) => Err(failure),
    };
    // If the supervisor cannot be notified, it is gone.
    let sent = match launched {
        Ok(launched) => {
            let LaunchedCommand { command, applied, listener } = launched;
            let sockets: Vec<BorrowedFd<'_>> = listener.iter().map(AsFd::as_fd).collect();
            let started = send(&reports, &HelperReply::Started(applied), &sockets);
            // From now on only the launcher holds the proxy's socket.
            drop(listener);
            started.and_then(|()| reap_all(command, &reports))
        }
        Err(failure) => send(&reports, &HelperReply::Failed(failure), &[]),
    };
    if sent.is_ok() { 0 } else { STATUS_USELESS }
}

/// Performs the setup that is the same for every command.
fn enter_namespaces(user: OuterUser, network: Network) -> Result<NamespacedProcess, StartFailure> {
    let in_setup =
        |errno: Errno| StartFailure::new(StartStage::Setup, "becoming an init", &errno.into());
    // If the supervisor died before this call, receiving the order fails.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(in_setup)?;
    rustix::thread::set_name(c"haft-init").map_err(in_setup)?;
    NamespacedProcess::new(user, network)
}

/// Receives the order, or `None` if the supervisor closed without one.
fn receive(orders: OwnedFd) -> Result<Option<InitTask>, StartFailure> {
    let failed =
        |error| StartFailure::new(StartStage::Setup, "receiving the specification", &error);
    let Some(SpawnOrder { spec, descriptors, .. }) =
        SpawnOrder::receive_order(&orders).map_err(failed)?
    else {
        return Ok(None);
    };
    let mut descriptors = descriptors.into_iter();
    match (descriptors.next(), descriptors.next(), descriptors.next()) {
        (Some(output), Some(cwd), channel) => Ok(Some(InitTask { spec, output, cwd, channel })),
        _ => Err(failed(io::ErrorKind::InvalidData.into())),
    }
}

/// Sets up the confinement and starts the command.
fn launch(settled: NamespacedProcess, task: InitTask) -> Result<LaunchedCommand, StartFailure> {
    let InitTask { spec, output, cwd, channel } = task;
    let Some(bounds) = &spec.bounds else {
        let error = io::Error::from(io::ErrorKind::InvalidData);
        return Err(StartFailure::new(
            StartStage::Setup,
            "confining a command without bounds",
            &error,
        ));
    };
    let (listener, process_bound) = settled.enter(bounds, &cwd)?;
    redirect_stdio_to_null()
        .map_err(|error| StartFailure::new(StartStage::Confine, "opening /dev/null", &error))?;
    let layers = KernelConfinement::within_namespaces(bounds)?;
    // Searched with the command's own rights: without capabilities.
    let image = ProgramImage::new(&search::find(&spec)?, &spec)?;
    // The command has the same user, but can neither trace this process nor inspect it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|errno| StartFailure::new(StartStage::Setup, "closing the init", &errno.into()))?;
    let streams = CommandStreams::new(&output, channel.as_ref(), spec.channel)?;
    let (command, applied) = image.launch(streams, &mut || layers.apply())?;
    let applied = MechanismFlags { process_bound, ..applied };
    Ok(LaunchedCommand { command, applied, listener })
}

/// Collects children until the command has ended, then kills and collects the others.
fn reap_all(command: Pid, reports: &OwnedFd) -> io::Result<()> {
    let status = loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => break status,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    };
    let has_others = loop {
        match wait(WaitOptions::NOHANG) {
            Ok(None) => break true,
            // Collected; there may be more.
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(Errno::CHILD) => break false,
            Err(errno) => return Err(errno.into()),
        }
    };
    if has_others {
        // Reported first, so that the supervisor does not wait for the others forever.
        send(reports, &HelperReply::Clearing, &[])?;
        loop {
            // The group of number 1 stands for every process of the namespace except this one. The
            // next round kills processes that were forked meanwhile. The wait notices if there was
            // none to kill.
            let _ = kill_process_group(Pid::INIT, Signal::KILL);
            match wait(WaitOptions::empty()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::CHILD) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
    }
    let end = match status.terminating_signal() {
        Some(signal) => HelperReply::Signalled(signal),
        None => HelperReply::Exited(status.exit_status().unwrap_or_default()),
    };
    send(reports, &end, &[])
}

fn send(reports: &OwnedFd, reply: &HelperReply, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    wire::send(reports, &reply.encode(), descriptors, SendFlags::empty())?;
    Ok(())
}
