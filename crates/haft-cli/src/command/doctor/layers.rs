//! What confinement comes to here, layer by layer: how far each can be enforced, and which mechanisms of the kernel it is
//! made of. It tries nothing by itself; what held a certain command is in that command's envelope.

use haft_sandbox::{Enforced, Kernel, Level, Mechanism};
use serde::Serialize;

/// How far a layer can be enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reach {
    /// By the kernel.
    Full,
    /// By haft watching over it, which a command that means to can get around.
    Partly,
    /// Not at all, because the settings say so.
    Open,
    /// Not at all, so that no command is run.
    Missing,
}

/// Who may use the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Networking {
    /// Commands, for hosts that are granted.
    Granted,
    /// Every command, as `allow_network` says.
    Open,
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Layer {
    pub(super) name: &'static str,
    pub(super) reach: Reach,
    /// The mechanisms that are used for it.
    pub(super) uses: Vec<&'static str>,
}

/// A layer, and the mechanisms that it is made of where they are offered.
type Recipe = (&'static str, &'static [Mechanism]);

const FILES: Recipe = (
    "files",
    &[
        Mechanism::UserNamespaces,
        Mechanism::MountNamespaces,
        Mechanism::MountDescriptors,
        Mechanism::Landlock,
    ],
);
const NETWORK: Recipe =
    ("network", &[Mechanism::UserNamespaces, Mechanism::NetworkNamespaces, Mechanism::Seccomp]);
const PROCESSES: Recipe =
    ("processes", &[Mechanism::UserNamespaces, Mechanism::ProcessNamespaces, Mechanism::Pidfd]);
const SYSTEM_CALLS: Recipe = ("system calls", &[Mechanism::Seccomp, Mechanism::NoNewPrivileges]);
const RESOURCES: Recipe = ("resources", &[Mechanism::MountNamespaces, Mechanism::MountDescriptors]);

/// Returns the layers.
pub(super) fn layers(enforced: &Enforced, networking: Networking, kernel: &Kernel) -> Vec<Layer> {
    let network = match networking {
        Networking::Open => Reach::Open,
        Networking::Granted => reach(enforced.network),
    };
    [
        (FILES, reach(enforced.filesystem)),
        (NETWORK, network),
        (PROCESSES, reach(enforced.processes)),
        (SYSTEM_CALLS, reach(enforced.system_calls)),
        (RESOURCES, reach(enforced.resources)),
    ]
    .map(|(recipe, reach)| layer(recipe, reach, kernel))
    .into()
}

fn reach(level: Level) -> Reach {
    match level {
        Level::Kernel => Reach::Full,
        Level::Cooperative => Reach::Partly,
        Level::None => Reach::Missing,
    }
}

fn layer((name, mechanisms): Recipe, reach: Reach, kernel: &Kernel) -> Layer {
    let is_used = |mechanism: &&Mechanism| match reach {
        Reach::Full | Reach::Partly => kernel.has(**mechanism),
        Reach::Open | Reach::Missing => false,
    };
    let uses = mechanisms.iter().filter(is_used).map(|mechanism| mechanism.name());
    Layer { name, reach, uses: uses.collect() }
}

#[cfg(test)]
mod tests {
    use haft_sandbox::{Availability, Offer};

    use super::*;

    #[test]
    fn only_what_is_offered_is_used() {
        let offers = Mechanism::ALL.map(|mechanism| Offer {
            mechanism,
            state: match mechanism {
                Mechanism::Landlock => {
                    Availability::Missing { why: String::new(), remedy: String::new() }
                }
                _ => Availability::Available(String::new()),
            },
        });
        let kernel = Kernel { offers: offers.into() };
        let full = ["user namespaces", "mount namespaces", "mounts by descriptor"];
        assert_eq!(layer(FILES, Reach::Full, &kernel).uses, full);
        assert_eq!(
            layer(RESOURCES, Reach::Partly, &kernel).uses,
            ["mount namespaces", "mounts by descriptor"]
        );
        assert!(layer(NETWORK, Reach::Open, &kernel).uses.is_empty());
        assert!(layer(SYSTEM_CALLS, Reach::Missing, &kernel).uses.is_empty());
    }
}
