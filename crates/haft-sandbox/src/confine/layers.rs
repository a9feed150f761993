//! The restrictions that a command's process applies to itself just before it executes the command:
//! limits, Landlock, and the system call filter last. They are prepared earlier, and the result
//! says which are in force. They cannot be undone.

use std::path::Path;

use rustix::io::Errno;

use super::landlock::{self, LandlockRule};
use super::limits;
use super::seccomp::{
    IpcAccess, MemfdAccess, NeighbourAccess, SeccompFilter, SeccompOptions, SocketAccess,
};
use super::{capabilities, is_sufficient, landlock_rules};
use crate::confinement::{Network, ResourceLimits};
use crate::wire::{MechanismFlags, StartFailure, StartStage, WireConfinement};

/// The layers of one command.
pub(crate) struct KernelConfinement {
    bounds: WireConfinement,
    has_namespaces: bool,
    rules: Option<Vec<LandlockRule>>,
    filters: Option<SeccompFilter>,
    resources: ResourceLimits,
}

impl KernelConfinement {
    /// For a process that already has a private view and no capabilities.
    pub(crate) fn within_namespaces(
        bounds: &WireConfinement,
    ) -> Result<KernelConfinement, StartFailure> {
        // Memory that no process has mapped is invisible when the memory of processes is measured.
        let options = SeccompOptions {
            memfd: MemfdAccess::Denied,
            ipc: IpcAccess::Small,
            ..SeccompOptions::LOOSE
        };
        Ok(KernelConfinement {
            bounds: bounds.clone(),
            has_namespaces: true,
            rules: bounds.mechanisms.landlock.then(|| landlock_rules::within_view(bounds)),
            filters: filters(bounds, options)?,
            resources: bounds.resources,
        })
    }

    /// For a process that sees the whole machine.
    pub(crate) fn without_namespaces(
        bounds: &WireConfinement,
        private: &Path,
    ) -> Result<KernelConfinement, StartFailure> {
        let sockets = match bounds.network {
            Network::Host => SocketAccess::All,
            Network::Loopback | Network::Proxied => SocketAccess::None,
        };
        let options = SeccompOptions {
            sockets,
            memfd: MemfdAccess::Denied,
            ipc: IpcAccess::Denied,
            neighbours: NeighbourAccess::Everyone,
        };
        let rules = if bounds.mechanisms.landlock {
            Some(landlock_rules::without_view(bounds, private)?)
        } else {
            None
        };
        // The limit counts every process of the user, so existing ones are added to the command's
        // own.
        let others =
            limits::tasks_of_user().map_err(StartStage::Confine.at("counting processes"))?;
        let processes = bounds.resources.processes.saturating_add(others);
        Ok(KernelConfinement {
            bounds: bounds.clone(),
            has_namespaces: false,
            rules,
            filters: filters(bounds, options)?,
            resources: ResourceLimits { processes, ..bounds.resources },
        })
    }

    /// Applies everything to this process permanently, and returns the mechanisms in force.
    ///
    /// After an error the command must not run, because this process is then less confined than
    /// requested.
    pub(crate) fn apply(&self) -> Result<MechanismFlags, StartFailure> {
        if !self.has_namespaces {
            capabilities::drop_all().map_err(StartStage::Confine.at("dropping capabilities"))?;
        }
        limits::apply(&self.resources).map_err(StartStage::Confine.at("setting limits"))?;
        let landlock = match &self.rules {
            Some(rules) => {
                landlock::restrict(rules).map_err(StartStage::Confine.at("restricting files"))?
            }
            None => false,
        };
        if let Some(filters) = &self.filters {
            filters.install().map_err(StartStage::Confine.at("filtering system calls"))?;
        }
        let applied = MechanismFlags {
            namespaces: self.has_namespaces,
            landlock,
            seccomp: self.filters.is_some(),
            limits: true,
            // The process that created the namespaces sets this.
            process_bound: false,
        };
        if is_sufficient(&self.bounds, applied) {
            return Ok(applied);
        }
        let at = "comparing the limits in force with the requested ones";
        Err(StartFailure::new(StartStage::Confine, at, Errno::OPNOTSUPP))
    }

    /// Applies every available mechanism to this process, and returns them.
    pub(crate) fn apply_available() -> MechanismFlags {
        // Both of the others need `no_new_privs`.
        let has_dropped = capabilities::drop_all().is_ok();
        let limits = limits::apply(&ResourceLimits::default()).is_ok();
        let landlock = has_dropped && landlock::restrict(&[]).unwrap_or(false);
        let filter = || SeccompFilter::build(SeccompOptions::LOOSE)?.install();
        MechanismFlags {
            landlock,
            seccomp: has_dropped && filter().is_ok(),
            limits,
            ..MechanismFlags::default()
        }
    }
}

fn filters(
    bounds: &WireConfinement,
    options: SeccompOptions,
) -> Result<Option<SeccompFilter>, StartFailure> {
    if !bounds.mechanisms.seccomp {
        return Ok(None);
    }
    let filter = SeccompFilter::build(options).map(Some);
    filter.map_err(StartStage::Confine.at("building system call filters"))
}
