//! Detects the available mechanisms by trying them in processes that are then discarded. Permission
//! to confine depends on the kernel, on its settings and on the confinement of this process, and no
//! file describes all of it.

use std::io;

use rustix::net::{SendFlags, SocketType};
use rustix::process::{WaitOptions, waitpid};

use super::spawn_descriptors::receive_report;
use crate::confine::{self, KernelConfinement, NamespacedProcess, OuterUser};
use crate::confinement::Network;
use crate::fork::{ForkSide, exit, fork, fork_into};
use crate::wire::{self, HelperReply, MechanismFlags, StartFailure, StartStage};

/// The available mechanisms.
#[derive(Debug, Clone, Default)]
pub(super) struct ProbedMechanisms {
    pub(super) applied: MechanismFlags,
    /// The reason why there are no namespaces, if there are none.
    pub(super) obstacle: Option<StartFailure>,
}

/// Tries every mechanism once.
pub(super) fn probe_mechanisms() -> ProbedMechanisms {
    let user = OuterUser::current_user();
    let namespaces = attempt(
        || fork_into(confine::namespace_flags(Network::Loopback)),
        || {
            NamespacedProcess::new(user, Network::Loopback)
                .and_then(NamespacedProcess::try_enter)
                .map(|process_bound| MechanismFlags {
                    namespaces: true,
                    process_bound,
                    ..MechanismFlags::default()
                })
        },
    );
    let layers = attempt(fork, || Ok(KernelConfinement::apply_available()));
    let applied = MechanismFlags {
        namespaces: namespaces.is_ok(),
        process_bound: namespaces.as_ref().is_ok_and(|applied| applied.process_bound),
        ..layers.unwrap_or_default()
    };
    ProbedMechanisms { applied, obstacle: namespaces.err() }
}

/// Runs a function in a separate process, and returns its report.
fn attempt(
    make: impl FnOnce() -> io::Result<ForkSide>,
    work: impl FnOnce() -> Result<MechanismFlags, StartFailure>,
) -> Result<MechanismFlags, StartFailure> {
    let failure = |error| StartFailure::new(StartStage::Confine, "making namespaces", error);
    let (ours, theirs) = wire::socket_pair(SocketType::SEQPACKET).map_err(failure)?;
    match make().map_err(failure)? {
        ForkSide::Child => {
            let reply = work().map_or_else(HelperReply::Failed, HelperReply::Started);
            let _ = wire::send(&theirs, &reply.encode(), &[], SendFlags::empty());
            exit(0)
        }
        ForkSide::Parent(pid) => {
            drop(theirs);
            let answer = receive_report(&ours, &mut Vec::new());
            let _ = waitpid(Some(pid), WaitOptions::empty());
            match answer.map_err(failure)? {
                Some(HelperReply::Started(applied)) => Ok(applied),
                Some(HelperReply::Failed(obstacle)) => Err(obstacle),
                _ => Err(failure(io::ErrorKind::InvalidData.into())),
            }
        }
    }
}
