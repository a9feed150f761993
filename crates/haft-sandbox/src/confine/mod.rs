//! Confining processes by the kernel: namespaces with a file system view of their own, Landlock, system call filters,
//! limits. Each mechanism is a file; this one says in which order they go and which of them a confinement cannot do
//! without. It deliberately decides nothing about what is granted, and it starts no process.

mod attributes;
mod capabilities;
pub(crate) mod landlock;
mod layers;
mod limits;
mod mounts;
mod namespaces;
mod network;
mod private;
mod rules;
pub(crate) mod seccomp;
mod view;

use std::os::fd::OwnedFd;

pub(crate) use layers::Layers;
pub(crate) use limits::{LOCKED_BYTES_MAX, PENDING_SIGNALS_MAX};
pub(crate) use mounts::{BYTES_PER_FILE, UPON_TOP_MAX};
pub(crate) use namespaces::{User, namespace_flags};
pub(crate) use private::{NAMES_MAX, PrivateDirectory};
pub(crate) use rules::NEIGHBOURS_MAX;

use mounts::View;
use namespaces::Place;

use crate::confinement::{Mechanisms, Network, Resources};
use crate::wire::{Applied, Bounds, Failure, Stage};

/// A process that has settled in new namespaces, as far as that is the same for every command.
pub(crate) struct Settled {
    view: View,
}

impl Settled {
    /// Settles this process, the first of its namespaces.
    pub(crate) fn new(user: User, network: Network) -> Result<Settled, Failure> {
        namespaces::become_named(user)?;
        match network {
            Network::Loopback | Network::Proxied => network::raise_loopback()?,
            Network::Host => {}
        }
        namespaces::leave_mounts()?;
        Ok(Settled { view: View::begin()? })
    }

    /// Gives this process the view and the network that the bounds allow.
    ///
    /// It ends in the working directory, without capabilities. Returns the listening socket of the proxy, if there is
    /// one, and whether the number of processes is bounded.
    pub(crate) fn enter(
        self,
        bounds: &Bounds,
        cwd: &OwnedFd,
    ) -> Result<(Option<OwnedFd>, bool), Failure> {
        let place = Place::of(cwd, &self.view)?;
        let listener = match bounds.network {
            Network::Loopback | Network::Host => None,
            Network::Proxied => Some(network::listen()?),
        };
        let is_bound = self.enter_view(bounds)?;
        place.enter()?;
        drop_capabilities()?;
        Ok((listener, is_bound))
    }

    /// Enters a view of nothing, to find out whether that is possible, and whether processes can be bounded in it.
    pub(crate) fn enter_on_trial(self) -> Result<bool, Failure> {
        let bounds = Bounds {
            writable: Vec::new(),
            readable: Vec::new(),
            hidden: Vec::new(),
            pinned: Vec::new(),
            home: "/home".into(),
            network: Network::Loopback,
            resources: Resources::default(),
            mechanisms: Mechanisms::ALL,
            wants_group: false,
        };
        let is_bound = self.enter_view(&bounds)?;
        drop_capabilities()?;
        Ok(is_bound)
    }

    /// Moves into the view, and bounds the processes while that can still be written; returns whether they are bounded.
    fn enter_view(self, bounds: &Bounds) -> Result<bool, Failure> {
        let entered = self.view.enter(bounds)?;
        let is_bound = limits::bound_processes(bounds.resources.processes)
            .map_err(|error| Failure::new(Stage::Confine, "bounding processes", &error))?;
        entered.seal()?;
        // Of everyone but root the limit of each user is a bound as well, in a namespace of its own an exact one.
        Ok(is_bound || !rustix::process::getuid().is_root())
    }
}

/// Returns what of that which can be had is also wanted.
pub(crate) fn possible(bounds: &Bounds, offer: Applied) -> Applied {
    let Mechanisms { namespaces, landlock, seccomp } = bounds.mechanisms;
    Applied {
        namespaces: offer.namespaces && namespaces,
        landlock: offer.landlock && landlock,
        seccomp: offer.seccomp && seccomp,
        limits: offer.limits,
        process_bound: offer.process_bound && namespaces,
    }
}

/// Tells whether every part of a confinement has a mechanism of the kernel behind it.
///
/// A part whose mechanisms were all asked off is no part of it.
pub(crate) fn suffices(bounds: &Bounds, applied: Applied) -> bool {
    let wanted = bounds.mechanisms;
    let is_met = |is_wanted: bool, is_applied: bool| is_applied || !is_wanted;
    let network = match bounds.network {
        Network::Loopback => {
            is_met(wanted.namespaces || wanted.seccomp, applied.namespaces || applied.seccomp)
        }
        // The proxy's own network is in a namespace.
        Network::Proxied => applied.namespaces,
        Network::Host => true,
    };
    network
        && is_met(wanted.namespaces || wanted.landlock, applied.namespaces || applied.landlock)
        && is_met(wanted.seccomp, applied.seccomp)
}

fn drop_capabilities() -> Result<(), Failure> {
    capabilities::drop_all()
        .map_err(|error| Failure::new(Stage::Confine, "dropping capabilities", &error))
}
