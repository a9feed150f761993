//! Finding out what the kernel grants, by trying it in processes that are thrown away: permission to confine depends
//! on the kernel, on its settings and on whatever confines this process already, and no file tells all of it.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::SendFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{WaitOptions, waitpid};

use super::fork::{Side, exit, fork, fork_into};
use crate::confine::{self, Layers, Settled, User};
use crate::confinement::Network;
use crate::wire::{self, Applied, Failure, Reply, Stage};

/// The largest report; the frames of replies are smaller.
const REPORT_BYTES_MAX: usize = 2_048;

/// What can be had here.
#[derive(Debug, Clone, Default)]
pub(super) struct Offer {
    pub(super) applied: Applied,
    /// What stands against namespaces, if there are none.
    pub(super) obstacle: Option<Failure>,
}

/// Tries everything once.
pub(super) fn offer() -> Offer {
    let user = User::current();
    let namespaces = attempt(
        || fork_into(confine::namespace_flags(Network::Loopback)),
        || {
            Settled::new(user, Network::Loopback).and_then(Settled::enter_on_trial).map(
                |process_bound| Applied { namespaces: true, process_bound, ..Applied::default() },
            )
        },
    );
    let layers = attempt(fork, || Ok(Layers::try_out()));
    let applied = Applied {
        namespaces: namespaces.is_ok(),
        process_bound: namespaces.as_ref().is_ok_and(|applied| applied.process_bound),
        ..layers.unwrap_or_default()
    };
    Offer { applied, obstacle: namespaces.err() }
}

/// Does something in a process of its own, and returns what it reports.
fn attempt(
    make: impl FnOnce() -> io::Result<Side>,
    work: impl FnOnce() -> Result<Applied, Failure>,
) -> Result<Applied, Failure> {
    let failure = |error| Failure::new(Stage::Confine, "making namespaces", &error);
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(|errno| failure(errno.into()))?;
    match make().map_err(failure)? {
        Side::Child => {
            let reply = work().map_or_else(Reply::Failed, Reply::Started);
            let _ = wire::send(&theirs, &reply.encode(), &[], SendFlags::empty());
            exit(0)
        }
        Side::Parent(pid) => {
            drop(theirs);
            let answer = receive(&ours);
            let _ = waitpid(Some(pid), WaitOptions::empty());
            match answer.map_err(failure)? {
                Reply::Started(applied) => Ok(applied),
                Reply::Failed(obstacle) => Err(obstacle),
                _ => Err(failure(io::ErrorKind::InvalidData.into())),
            }
        }
    }
}

fn receive(socket: &OwnedFd) -> io::Result<Reply> {
    let mut frame = [0; REPORT_BYTES_MAX];
    let count = wire::receive(socket, &mut frame, &mut Vec::new())?;
    Reply::decode(frame.get(..count).unwrap_or_default())
}
