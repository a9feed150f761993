//! One call's process outside of whatever the command is confined to. It takes the specification, starts the command,
//! and reports; how the command's processes are held together is `realm`'s part where they have a process namespace of
//! their own, and `family`'s where they have not.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::{PidfdFlags, getpid, pidfd_open, set_child_subreaper, setsid};

use super::order::Order;
use super::probe::Offer;
use super::realm::Prepared;
use super::{family, realm};
use crate::confine;
use crate::confinement::Network;
use crate::wire::{self, Failure, REQUEST_DESCRIPTORS_MAX, Reply, Request, Stage};

/// The status of a supervisor that leaves something behind, for its zygote to see.
const STATUS_REMAINS: i32 = 1;

/// The name of a supervisor without a call.
const SPARE: &CStr = c"haft-spare";

/// What a request brings.
pub(super) struct Call {
    /// Where the specification comes from and the replies go to. The command may run while the other end is open.
    pub(super) socket: OwnedFd,
    /// Where the command's outputs go.
    pub(super) output: OwnedFd,
    /// Where the command starts.
    pub(super) cwd: OwnedFd,
    /// The command's end of its channel, if it has one.
    pub(super) channel: Option<OwnedFd>,
}

/// Runs one call to its end, and returns this process's exit status.
pub(super) fn run(call: Call, offer: &Offer) -> i32 {
    match prepare().and_then(|handle| take(&call, &handle)) {
        Ok(order) => supervise(call, &order, offer, None),
        Err(error) => fail(&call, &error),
    }
}

/// Makes namespaces, waits for a call to run in them, and returns this process's exit status.
pub(super) fn wait_and_run(calls: &OwnedFd, offer: &Offer) -> i32 {
    // The name is for people who look at processes.
    let _ = rustix::thread::set_name(SPARE);
    let handle = prepare();
    // A call that finds none here has its own made.
    let prepared = realm::prepare(Network::Loopback).ok();
    let Ok(Some((_, call))) = Call::receive(calls.as_fd()) else {
        // There will be no call any more.
        return 0;
    };
    let _ = rustix::thread::set_name(super::NAME);
    match handle.and_then(|handle| take(&call, &handle)) {
        Ok(order) => supervise(call, &order, offer, prepared),
        Err(error) => fail(&call, &error),
    }
}

/// Sends one reply; a launcher that is gone has no use for it.
pub(super) fn report(socket: impl AsFd, reply: &Reply) {
    let _ = wire::send_all(socket, &reply.encode(), &[]);
}

fn fail(call: &Call, error: &io::Error) -> i32 {
    let failure = Failure::new(Stage::Setup, "receiving the specification", error);
    report(&call.socket, &Reply::Failed(failure));
    0
}

/// Sets this process up, and returns a handle on it.
fn prepare() -> io::Result<OwnedFd> {
    // A signal to the group of one call's supervisor is none to the others.
    let _ = setsid();
    // From now on every orphan among the command's descendants becomes this process's child.
    set_child_subreaper(Some(getpid()))?;
    Ok(pidfd_open(getpid(), PidfdFlags::empty())?)
}

/// Says who supervises the call, and receives what is to be run.
fn take(call: &Call, handle: &OwnedFd) -> io::Result<Order> {
    let frame = Reply::Supervising(getpid().as_raw_pid()).encode();
    wire::send_all(&call.socket, &frame, &[handle.as_fd()])?;
    Order::receive(&call.socket)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn supervise(call: Call, order: &Order, offer: &Offer, prepared: Option<Prepared>) -> i32 {
    let spec = &order.spec;
    let Some(bounds) = &spec.bounds else {
        return family::run(call, spec, None);
    };
    let possible = confine::possible(bounds, offer.applied);
    if !confine::suffices(bounds, possible) {
        let obstacle = offer.obstacle.clone().filter(|_| bounds.mechanisms.namespaces);
        report(&call.socket, &Reply::Lacking(possible, obstacle));
        return 0;
    }
    if !possible.namespaces {
        return family::run(call, spec, Some(bounds));
    }
    let prepared = match prepared {
        Some(prepared) if prepared.is_good_for(bounds.network) => Ok(prepared),
        Some(_) | None => realm::prepare(bounds.network),
    };
    match prepared {
        Ok(prepared) => prepared.run(call, order, bounds),
        Err(error) => {
            let failure = Failure::new(Stage::Confine, "making namespaces", &error);
            report(&call.socket, &Reply::Failed(failure));
            0
        }
    }
}

/// The exit status that goes with the last reply.
pub(super) fn status(reply: &Reply) -> i32 {
    if matches!(reply, Reply::Survivors(_)) { STATUS_REMAINS } else { 0 }
}

impl Call {
    /// Receives a request and what comes with it; nothing when there will be no more.
    ///
    /// A request that is not whole, because this process has too many descriptors already, is an error that leaves the
    /// next one intact; its sender finds the call's socket closed.
    pub(super) fn receive(socket: BorrowedFd<'_>) -> io::Result<Option<(Request, Call)>> {
        let mut descriptors = Vec::with_capacity(REQUEST_DESCRIPTORS_MAX);
        let mut request = [0];
        if wire::receive(socket, &mut request, &mut descriptors)? == 0 {
            return Ok(None);
        }
        let [request] = request;
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next();
        match (Request::decode(request), next(), next(), next(), next()) {
            (Some(request), Some(socket), Some(output), Some(cwd), channel) => {
                Ok(Some((request, Call { socket, output, cwd, channel })))
            }
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// Passes it on to another process.
    pub(super) fn pass_on(&self, request: Request, socket: &OwnedFd) -> io::Result<()> {
        let always = [self.socket.as_fd(), self.output.as_fd(), self.cwd.as_fd()];
        let descriptors: Vec<BorrowedFd<'_>> =
            always.into_iter().chain(self.channel.iter().map(AsFd::as_fd)).collect();
        wire::send_all(socket, &[request.encode()], &descriptors)
    }
}
