//! The first process of a command's namespaces. It may wait there for its one command. Then it sets
//! up the command's view, starts the command, collects orphans, and kills all remaining processes
//! at the end. It has no capabilities once the command begins, and the kernel blocks signals from
//! its own namespace.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, kill_process_group, set_dumpable_behavior,
    set_parent_process_death_signal, wait,
};

use super::image::{CommandStreams, ProgramImage};
use super::order::SpawnOrder;
use super::{inherited, search};
use crate::confine::{KernelConfinement, NamespacedProcess, OuterUser};
use crate::confinement::Network;
use crate::wire::{self, HelperReply, MechanismFlags, StartFailure, StartStage};

/// The step that fails if no whole order arrives.
const RECEIVING: &str = "receiving the specification";

/// Exit status of a process that is no longer needed. It is not reported.
pub(super) const STATUS_USELESS: i32 = 1;

/// Sets up the namespaces, runs the one ordered command to its end, and returns this process's exit
/// status.
///
/// The order comes from `orders`; the reports go to `reports`.
pub(super) fn run(orders: OwnedFd, reports: OwnedFd, user: OuterUser, network: Network) -> i32 {
    // If the supervisor died before this call, receiving the order fails.
    let settled = set_parent_process_death_signal(Some(Signal::KILL))
        .and_then(|()| rustix::thread::set_name(c"haft-init"))
        .map_err(StartStage::Setup.at("becoming an init"))
        .and_then(|()| NamespacedProcess::new(user, network));
    let received = SpawnOrder::receive_order(&orders);
    drop(orders);
    let launched = match received {
        // The supervisor closed without an order.
        Ok(None) => return 0,
        Ok(Some(order)) => settled.and_then(|settled| launch(settled, order)),
        Err(error) => Err(StartFailure::new(StartStage::Setup, RECEIVING, error)),
    };
    // If the supervisor cannot be notified, it is gone.
    let sent = match launched {
        Ok(Launched { command, applied, listener, view }) => {
            let handles: Vec<BorrowedFd<'_>> = view.iter().map(AsFd::as_fd).collect();
            let shown = if handles.is_empty() {
                Ok(())
            } else {
                send(&reports, &HelperReply::View, &handles)
            };
            drop(view);
            let sockets: Vec<BorrowedFd<'_>> = listener.iter().map(AsFd::as_fd).collect();
            let started = send(&reports, &HelperReply::Started(applied), &sockets);
            // From now on only the launcher holds the proxy's socket.
            drop(listener);
            shown.and(started).and_then(|()| reap_all(command, &reports))
        }
        Err(failure) => send(&reports, &HelperReply::Failed(failure), &[]),
    };
    if sent.is_ok() { 0 } else { STATUS_USELESS }
}

/// A command that runs.
struct Launched {
    command: Pid,
    applied: MechanismFlags,
    /// The socket of its proxy.
    listener: Option<OwnedFd>,
    /// Handles on the user namespace and the mounts, if more may have to be covered.
    view: Vec<OwnedFd>,
}

/// Sets up the confinement and starts the command.
fn launch(settled: NamespacedProcess, order: SpawnOrder) -> Result<Launched, StartFailure> {
    let SpawnOrder { spec, descriptors, .. } = order;
    let failed = |at| StartFailure::new(StartStage::Setup, at, io::ErrorKind::InvalidData);
    let mut descriptors = descriptors.into_iter();
    let (Some(output), Some(cwd), channel) =
        (descriptors.next(), descriptors.next(), descriptors.next())
    else {
        return Err(failed(RECEIVING));
    };
    let Some(bounds) = &spec.bounds else {
        return Err(failed("confining a command without bounds"));
    };
    let (listener, process_bound) = settled.enter(bounds, &cwd)?;
    inherited::redirect_stdio_to_null().map_err(StartStage::Confine.at("opening /dev/null"))?;
    let view = if bounds.takes_covers {
        let open = |path| openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let handles = ["/proc/self/ns/user", "/proc/self/ns/mnt"].map(open).into_iter();
        let handles = handles.collect::<Result<_, _>>();
        handles.map_err(StartStage::Confine.at("opening the command's namespaces"))?
    } else {
        Vec::new()
    };
    let layers = KernelConfinement::within_namespaces(bounds)?;
    // Searched with the command's own rights: without capabilities.
    let image = ProgramImage::new(&search::find(&spec)?, &spec)?;
    // The command has the same user, but can neither trace this process nor inspect it.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(StartStage::Setup.at("closing the init"))?;
    let streams = CommandStreams::new(&output, channel.as_ref(), spec.channel)?;
    let (command, applied) = image.launch(streams, &mut || layers.apply())?;
    let applied = MechanismFlags { process_bound, ..applied };
    Ok(Launched { command, applied, listener, view })
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
