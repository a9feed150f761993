//! The enforcement around a process, layer by layer, as a value. It deliberately does not say what
//! was requested.

use crate::confinement::Network;
use crate::wire::MechanismFlags;

/// The level at which a layer was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EnforcementLevel {
    /// Enforced by the kernel: the process cannot bypass it.
    Kernel,
    /// Enforced by this crate: it holds for any process that does not work against it on purpose.
    Cooperative,
    /// Not enforced.
    None,
}

/// The enforcement around one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Enforcement {
    /// Access to files.
    pub filesystem: EnforcementLevel,
    /// Access to hosts.
    pub network: EnforcementLevel,
    /// Processes: the command leaves no process behind, and sees only its own.
    pub processes: EnforcementLevel,
    /// System calls.
    pub system_calls: EnforcementLevel,
    /// Memory, time and space.
    pub resources: EnforcementLevel,
}

impl Enforcement {
    /// Returns whether the kernel enforces every layer.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let layers =
            [self.filesystem, self.network, self.processes, self.system_calls, self.resources];
        layers.iter().all(|level| *level == EnforcementLevel::Kernel)
    }

    /// The enforcement by a supervisor alone: it keeps the process tree together.
    pub(super) const SUPERVISED: Enforcement = Enforcement {
        filesystem: EnforcementLevel::None,
        network: EnforcementLevel::None,
        processes: EnforcementLevel::Cooperative,
        system_calls: EnforcementLevel::None,
        resources: EnforcementLevel::None,
    };

    /// Returns the enforcement that results from the mechanisms in force around a command.
    pub(super) fn from_mechanisms(applied: MechanismFlags, network: Network) -> Enforcement {
        let kernel_if =
            |holds: bool| if holds { EnforcementLevel::Kernel } else { EnforcementLevel::None };
        Enforcement {
            // Landlock does not control modes, owners, times and attributes. Without namespaces
            // that hide them, these can be changed for files that were not granted, too.
            filesystem: match (applied.namespaces, applied.landlock) {
                (true, _) => EnforcementLevel::Kernel,
                (false, true) => EnforcementLevel::Cooperative,
                (false, false) => EnforcementLevel::None,
            },
            network: match network {
                Network::Loopback | Network::Proxied => {
                    kernel_if(applied.namespaces || applied.seccomp)
                }
                Network::Host => EnforcementLevel::None,
            },
            processes: if applied.namespaces {
                EnforcementLevel::Kernel
            } else {
                EnforcementLevel::Cooperative
            },
            system_calls: kernel_if(applied.seccomp),
            // Temporary files are limited only in the command's own file system. The number of
            // root's processes is limited only in its own namespace.
            resources: match (applied.limits, applied.namespaces && applied.process_bound) {
                (true, true) => EnforcementLevel::Kernel,
                (true, false) => EnforcementLevel::Cooperative,
                (false, _) => EnforcementLevel::None,
            },
        }
    }
}

#[cfg(test)]
mod tests;
