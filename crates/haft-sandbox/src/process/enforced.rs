//! What was enforced around a process, layer by layer. It is a value, so that it can travel to whoever has to know; it
//! deliberately says nothing of what was asked for.

#[cfg(target_os = "linux")]
use crate::confinement::Network;
#[cfg(target_os = "linux")]
use crate::wire::Applied;

/// How a layer was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// By the kernel: the process cannot get around it.
    Kernel,
    /// By this crate's own means, which hold for any process that does not work against them on purpose.
    Cooperative,
    /// Not at all.
    None,
}

/// What was enforced around one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Enforced {
    /// Which files can be reached.
    pub filesystem: Level,
    /// Which hosts can be reached.
    pub network: Level,
    /// That no process is left behind, and which others can be seen.
    pub processes: Level,
    /// Which system calls can be made.
    pub system_calls: Level,
    /// How much memory, time and space can be used.
    pub resources: Level,
}

impl Enforced {
    /// Returns whether the kernel holds every layer.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let layers =
            [self.filesystem, self.network, self.processes, self.system_calls, self.resources];
        layers.iter().all(|level| *level == Level::Kernel)
    }
}

#[cfg(target_os = "linux")]
impl Enforced {
    /// What a supervisor alone does: it keeps the process tree together.
    pub(super) const SUPERVISED: Enforced = Enforced {
        filesystem: Level::None,
        network: Level::None,
        processes: Level::Cooperative,
        system_calls: Level::None,
        resources: Level::None,
    };

    /// What the mechanisms in force around a command come to.
    pub(super) fn by(applied: Applied, network: Network) -> Enforced {
        let kernel_if = |holds: bool| if holds { Level::Kernel } else { Level::None };
        Enforced {
            // Landlock has no right for modes, owners, times and attributes: of files that were not granted, too, these
            // can be changed where nothing keeps them out of sight.
            filesystem: match (applied.namespaces, applied.landlock) {
                (true, _) => Level::Kernel,
                (false, true) => Level::Cooperative,
                (false, false) => Level::None,
            },
            network: match network {
                Network::Loopback | Network::Proxied => {
                    kernel_if(applied.namespaces || applied.seccomp)
                }
                Network::Host => Level::None,
            },
            processes: if applied.namespaces { Level::Kernel } else { Level::Cooperative },
            system_calls: kernel_if(applied.seccomp),
            // Without a file system of the command's own nothing bounds its temporary files, and without a bound in
            // its namespace nothing the number of root's processes.
            resources: match (applied.limits, applied.namespaces && applied.process_bound) {
                (true, true) => Level::Kernel,
                (true, false) => Level::Cooperative,
                (false, _) => Level::None,
            },
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
