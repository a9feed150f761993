//! Describes which parts of a confinement cannot be enforced, why, and how to get them. Detection
//! by trial happens elsewhere; this module only words the result.

use super::error::{MissingLayer, SandboxLayer};
use crate::confinement::{Confinement, Mechanisms, Network};
use crate::wire::{MechanismFlags, StartFailure};

const NAMESPACES: &str = "allow unprivileged user namespaces (sysctl user.max_user_namespaces, \
    kernel.unprivileged_userns_clone=1; under AppArmor, a profile for this program with the rule userns), or in a container \
    run it with a seccomp profile that allows unshare and mount and an unmasked /proc";
const LANDLOCK: &str =
    "enable Landlock (Linux 6.2 or later, with landlock in the lsm= boot parameter)";
const SECCOMP: &str = "use a kernel with CONFIG_SECCOMP_FILTER";

/// Returns the layers that are requested but not available.
pub(super) fn missing_layers(
    confinement: &Confinement,
    possible: MechanismFlags,
    obstacle: Option<&StartFailure>,
) -> Vec<MissingLayer> {
    let Mechanisms { namespaces, landlock, seccomp } = confinement.mechanisms;
    let mut missing = Vec::new();
    if (namespaces || landlock) && !possible.namespaces && !possible.landlock {
        let without_landlock = if landlock {
            "there is no complete Landlock"
        } else {
            "Landlock is disabled by the caller"
        };
        missing.push(MissingLayer {
            layer: SandboxLayer::Filesystem,
            why: format!("{}, and {without_landlock}", without_namespaces(namespaces, obstacle)),
            remedy: if landlock {
                format!("{LANDLOCK}, or {NAMESPACES}")
            } else {
                NAMESPACES.to_owned()
            },
        });
    }
    let needs_namespaces = match confinement.network {
        Network::Loopback => (namespaces || seccomp) && !possible.seccomp,
        Network::Proxied => true,
        Network::Host => false,
    };
    if needs_namespaces && !possible.namespaces {
        missing.push(MissingLayer {
            layer: SandboxLayer::Network,
            why: without_namespaces(namespaces, obstacle),
            remedy: NAMESPACES.to_owned(),
        });
    }
    if seccomp && !possible.seccomp {
        missing.push(MissingLayer {
            layer: SandboxLayer::SystemCalls,
            why: "the kernel installs no system call filter".to_owned(),
            remedy: SECCOMP.to_owned(),
        });
    }
    missing
}

fn without_namespaces(are_requested: bool, obstacle: Option<&StartFailure>) -> String {
    match obstacle {
        Some(failure) if are_requested => {
            format!("namespaces are refused at {}: {}", failure.at, failure.source())
        }
        Some(_) | None if are_requested => "there are no namespaces".to_owned(),
        Some(_) | None => "namespaces are disabled by the caller".to_owned(),
    }
}
