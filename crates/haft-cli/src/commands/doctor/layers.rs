//! The layers of confinement: how far each can be enforced here, and which mechanisms of the kernel it uses. Nothing is tried
//! out. The envelope of a command says how that command was confined.

use haft_sandbox::{Enforcement, EnforcementLevel, KernelMechanism, KernelSupport};
use serde::Serialize;

/// How far a layer can be enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LayerEnforcement {
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
pub(super) enum CommandNetworking {
    /// Commands, for hosts that are granted.
    Granted,
    /// Every command, as `allow_network` says.
    Open,
}

/// One layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct LayerReport {
    pub(super) name: &'static str,
    pub(super) reach: LayerEnforcement,
    /// The mechanisms that are used for it.
    pub(super) uses: Vec<&'static str>,
}

/// A layer, and the mechanisms that it is made of where they are offered.
type LayerMechanisms = (&'static str, &'static [KernelMechanism]);

const FILES: LayerMechanisms = (
    "files",
    &[
        KernelMechanism::UserNamespaces,
        KernelMechanism::MountNamespaces,
        KernelMechanism::MountDescriptors,
        KernelMechanism::Landlock,
    ],
);
const NETWORK: LayerMechanisms = (
    "network",
    &[
        KernelMechanism::UserNamespaces,
        KernelMechanism::NetworkNamespaces,
        KernelMechanism::Seccomp,
    ],
);
const PROCESSES: LayerMechanisms = (
    "processes",
    &[KernelMechanism::UserNamespaces, KernelMechanism::ProcessNamespaces, KernelMechanism::Pidfd],
);
const SYSTEM_CALLS: LayerMechanisms =
    ("system calls", &[KernelMechanism::Seccomp, KernelMechanism::NoNewPrivileges]);
const RESOURCES: LayerMechanisms =
    ("resources", &[KernelMechanism::MountNamespaces, KernelMechanism::MountDescriptors]);

/// Returns the layers.
pub(super) fn layers(
    enforced: &Enforcement,
    networking: CommandNetworking,
    kernel: &KernelSupport,
) -> Vec<LayerReport> {
    let network = match networking {
        CommandNetworking::Open => LayerEnforcement::Open,
        CommandNetworking::Granted => reach(enforced.network),
    };
    vec![
        layer(FILES, reach(enforced.filesystem), kernel),
        layer(NETWORK, network, kernel),
        layer(PROCESSES, reach(enforced.processes), kernel),
        layer(SYSTEM_CALLS, reach(enforced.system_calls), kernel),
        layer(RESOURCES, reach(enforced.resources), kernel),
    ]
}

fn reach(level: EnforcementLevel) -> LayerEnforcement {
    match level {
        EnforcementLevel::Kernel => LayerEnforcement::Full,
        EnforcementLevel::Cooperative => LayerEnforcement::Partly,
        EnforcementLevel::None => LayerEnforcement::Missing,
    }
}

fn layer(
    (name, mechanisms): LayerMechanisms,
    reach: LayerEnforcement,
    kernel: &KernelSupport,
) -> LayerReport {
    let is_used = |mechanism: &&KernelMechanism| match reach {
        LayerEnforcement::Full | LayerEnforcement::Partly => kernel.has(**mechanism),
        LayerEnforcement::Open | LayerEnforcement::Missing => false,
    };
    let uses = mechanisms.iter().filter(is_used).map(|mechanism| mechanism.name());
    LayerReport { name, reach, uses: uses.collect() }
}

#[cfg(test)]
mod tests {
    use haft_sandbox::{Availability, MechanismSupport};

    use super::*;

    #[test]
    fn only_what_is_offered_is_used() {
        let offers = KernelMechanism::ALL.map(|mechanism| MechanismSupport {
            mechanism,
            state: match mechanism {
                KernelMechanism::Landlock => {
                    Availability::Missing { why: String::new(), remedy: String::new() }
                }
                _ => Availability::Available(String::new()),
            },
        });
        let kernel = KernelSupport { mechanisms: offers.into() };
        let full = ["user namespaces", "mount namespaces", "mounts by descriptor"];
        assert_eq!(layer(FILES, LayerEnforcement::Full, &kernel).uses, full);
        assert_eq!(
            layer(RESOURCES, LayerEnforcement::Partly, &kernel).uses,
            ["mount namespaces", "mounts by descriptor"]
        );
        assert!(layer(NETWORK, LayerEnforcement::Open, &kernel).uses.is_empty());
        assert!(layer(SYSTEM_CALLS, LayerEnforcement::Missing, &kernel).uses.is_empty());
    }
}
