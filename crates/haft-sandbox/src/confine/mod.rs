//! Confines processes by kernel mechanisms: namespaces with a private file system view, Landlock,
//! system call filters, and limits. Each mechanism has a file; this one defines their order and
//! which of them a confinement requires. It does not decide what is granted, and it starts no
//! process.

mod attributes;
mod capabilities;
pub(crate) mod landlock;
mod landlock_rules;
mod layers;
mod limits;
mod mounts;
mod namespaces;
mod network;
mod private_directory;
pub(crate) mod seccomp;
mod view_entries;

use std::os::fd::OwnedFd;

pub(crate) use layers::KernelConfinement;
pub(crate) use mounts::cover_paths;
pub(crate) use namespaces::{OuterUser, namespace_flags};
pub(crate) use private_directory::PrivateDirectory;

use mounts::MountView;
use namespaces::StartDirectory;

use crate::confinement::{Mechanisms, Network, ResourceLimits};
use crate::wire::{MechanismFlags, StartFailure, StartStage, WireConfinement};

/// The host name in a command's own namespace.
const HOST_NAME: &[u8] = b"haft";

/// A process in new namespaces, after the setup that is the same for every command.
pub(crate) struct NamespacedProcess {
    view: MountView,
}

impl NamespacedProcess {
    /// Sets up this process, the first one of its namespaces.
    pub(crate) fn new(
        user: OuterUser,
        network: Network,
    ) -> Result<NamespacedProcess, StartFailure> {
        user.map_into_namespace()
            .map_err(StartStage::Confine.at("mapping the user into its namespace"))?;
        rustix::system::sethostname(HOST_NAME)
            .map_err(StartStage::Confine.at("naming the host"))?;
        match network {
            Network::Loopback | Network::Proxied => network::raise_loopback()?,
            Network::Host => {}
        }
        namespaces::unshare_mounts()?;
        let at = "mounting a temporary file system";
        let mut view = MountView::new().map_err(StartStage::Confine.at(at))?;
        view.add_entries(view_entries::initial_entries())?;
        limits::bound_user_counts(|name| view.open_user_count(name))
            .map_err(StartStage::Confine.at("bounding what the user has"))?;
        Ok(NamespacedProcess { view })
    }

    /// Gives this process the view and the network of the confinement.
    ///
    /// Afterwards the process is in its working directory and has no capabilities. Returns the
    /// proxy's listening socket, if there is one, and whether the number of processes is limited.
    pub(crate) fn enter(
        self,
        bounds: &WireConfinement,
        cwd: &OwnedFd,
    ) -> Result<(Option<OwnedFd>, bool), StartFailure> {
        let place = StartDirectory::find(cwd, &self.view)?;
        let listener = match bounds.network {
            Network::Loopback | Network::Host => None,
            Network::Proxied => Some(network::listen()?),
        };
        let is_bound = self.enter_view(bounds)?;
        place.enter_directory()?;
        capabilities::drop_all().map_err(StartStage::Confine.at("dropping capabilities"))?;
        Ok((listener, is_bound))
    }

    /// Enters an empty view, to find out whether that is possible and whether processes can be
    /// limited in it.
    pub(crate) fn try_enter(self) -> Result<bool, StartFailure> {
        let bounds = WireConfinement {
            writable: Vec::new(),
            readable: Vec::new(),
            hidden: Vec::new(),
            mounts: Vec::new(),
            covers: Vec::new(),
            takes_covers: false,
            home: "/home".into(),
            network: Network::Loopback,
            resources: ResourceLimits::default(),
            mechanisms: Mechanisms::ALL,
            wants_group: false,
        };
        let is_bound = self.enter_view(&bounds)?;
        capabilities::drop_all().map_err(StartStage::Confine.at("dropping capabilities"))?;
        Ok(is_bound)
    }

    /// Enters the view, and limits the processes while the limit is still writable. Returns whether
    /// they are limited.
    fn enter_view(self, bounds: &WireConfinement) -> Result<bool, StartFailure> {
        let entered = self.view.enter(bounds)?;
        let is_bound = limits::bound_processes(bounds.resources.processes)
            .map_err(StartStage::Confine.at("bounding processes"))?;
        entered.seal()?;
        // For every user except root the per-user limit applies as well; in the command's own
        // namespace it is exact.
        Ok(is_bound || !rustix::process::getuid().is_root())
    }
}

/// Returns whether a kernel mechanism enforces every part of a confinement.
///
/// A part whose mechanisms were all disabled by the caller does not count.
pub(crate) fn is_sufficient(bounds: &WireConfinement, applied: MechanismFlags) -> bool {
    let requested = bounds.mechanisms;
    let is_met = |is_requested: bool, is_applied: bool| is_applied || !is_requested;
    let network = match bounds.network {
        Network::Loopback => {
            is_met(requested.namespaces || requested.seccomp, applied.namespaces || applied.seccomp)
        }
        // The proxied network is in a namespace.
        Network::Proxied => applied.namespaces,
        Network::Host => true,
    };
    network
        && is_met(
            requested.namespaces || requested.landlock,
            applied.namespaces || applied.landlock,
        )
        && is_met(requested.seccomp, applied.seccomp)
}
