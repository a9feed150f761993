//! The process of one call, outside of the command's confinement. It receives the specification,
//! starts the command, and reports. `pid_namespace` supervises commands with their own process
//! namespace, `subreaper` all others.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{PidfdFlags, getpid, pidfd_open, set_child_subreaper, setsid};

use super::order::SpawnOrder;
use super::pid_namespace::PreparedNamespaces;
use super::probe::ProbedMechanisms;
use super::spawn_descriptors::{SpawnDescriptors, send_last_reply};
use super::{pid_namespace, subreaper};
use crate::confine;
use crate::confinement::Network;
use crate::wire::{self, HelperReply, StartFailure, StartStage};

/// The process name of a supervisor without a call.
const SPARE: &CStr = c"haft-spare";

/// Runs one call to its end, and returns this process's exit status.
pub(super) fn run(call: SpawnDescriptors, offer: &ProbedMechanisms) -> i32 {
    supervise(call, prepare(), offer, None)
}

/// Creates namespaces, waits for a call to run in them, and returns this process's exit status.
pub(super) fn run_spare(calls: &OwnedFd, offer: &ProbedMechanisms) -> i32 {
    // The name is for people who list processes.
    let _ = rustix::thread::set_name(SPARE);
    let handle = prepare();
    // If this fails, the call creates its own namespaces.
    let prepared = pid_namespace::prepare(Network::Loopback).ok();
    let Ok(Some((_, call))) = SpawnDescriptors::receive(calls.as_fd()) else {
        // The zygote closed, so no call will come.
        return 0;
    };
    let _ = rustix::thread::set_name(super::NAME);
    supervise(call, handle, offer, prepared)
}

/// Sets this process up, and returns a handle on it.
fn prepare() -> io::Result<OwnedFd> {
    // A signal to the group of one supervisor must not reach the others.
    let _ = setsid();
    // From now on every orphan among the command's descendants becomes this process's child.
    set_child_subreaper(Some(getpid()))?;
    Ok(pidfd_open(getpid(), PidfdFlags::empty())?)
}

/// Reports this process, whose handle is given, as the call's supervisor, and runs the ordered
/// command.
fn supervise(
    call: SpawnDescriptors,
    handle: io::Result<OwnedFd>,
    offer: &ProbedMechanisms,
    prepared: Option<PreparedNamespaces>,
) -> i32 {
    let order = handle.and_then(|handle| {
        let frame = HelperReply::Supervising(getpid().as_raw_pid()).encode();
        wire::send_all(&call.socket, &frame, &[handle.as_fd()])?;
        SpawnOrder::receive_order(&call.socket)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    });
    let order = match order {
        Ok(order) => order,
        Err(error) => {
            let at = "receiving the specification";
            let failure = StartFailure::new(StartStage::Setup, at, error);
            return send_last_reply(&call.socket, &HelperReply::Failed(failure));
        }
    };
    let spec = &order.spec;
    let Some(bounds) = &spec.bounds else {
        return subreaper::run(call, spec, None);
    };
    let possible = offer.applied.restricted_to(bounds.mechanisms);
    if !confine::is_sufficient(bounds, possible) {
        let obstacle = offer.obstacle.clone().filter(|_| bounds.mechanisms.namespaces);
        return send_last_reply(&call.socket, &HelperReply::Lacking(possible, obstacle));
    }
    if !possible.namespaces {
        return subreaper::run(call, spec, Some(bounds));
    }
    let prepared = match prepared {
        Some(prepared) if prepared.is_usable_for(bounds.network) => Ok(prepared),
        Some(_) | None => pid_namespace::prepare(bounds.network),
    };
    match prepared {
        Ok(prepared) => prepared.run(call, &order, bounds),
        Err(error) => {
            let failure = StartFailure::new(StartStage::Confine, "making namespaces", error);
            send_last_reply(&call.socket, &HelperReply::Failed(failure))
        }
    }
}
