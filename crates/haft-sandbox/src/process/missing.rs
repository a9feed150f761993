//! Saying which parts of a confinement cannot be enforced, why, and how to get them. Whether they can was found out by
//! trying; this only puts it into words.

use super::error::{Layer, Missing};
use crate::confinement::{Confinement, Mechanisms, Network};
use crate::wire::{Applied, Failure};

const NAMESPACES: &str = "allow unprivileged user namespaces (sysctl user.max_user_namespaces, \
    kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0), or in a container run it with \
    a seccomp profile that allows unshare and mount and an unmasked /proc";
const LANDLOCK: &str =
    "enable Landlock (Linux 6.2 or later, with landlock in the lsm= boot parameter)";
const SECCOMP: &str = "use a kernel with CONFIG_SECCOMP_FILTER";

/// Names what is wanted and not had.
pub(super) fn missing(
    confinement: &Confinement,
    possible: Applied,
    obstacle: Option<&Failure>,
) -> Vec<Missing> {
    let Mechanisms { namespaces, landlock, seccomp } = confinement.mechanisms;
    let mut missing = Vec::new();
    if (namespaces || landlock) && !possible.namespaces && !possible.landlock {
        let without_landlock =
            if landlock { "there is no complete Landlock" } else { "Landlock was asked off" };
        missing.push(Missing {
            layer: Layer::Filesystem,
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
        missing.push(Missing {
            layer: Layer::Network,
            why: without_namespaces(namespaces, obstacle),
            remedy: NAMESPACES.to_owned(),
        });
    }
    if seccomp && !possible.seccomp {
        missing.push(Missing {
            layer: Layer::SystemCalls,
            why: "the kernel installs no system call filter".to_owned(),
            remedy: SECCOMP.to_owned(),
        });
    }
    missing
}

fn without_namespaces(are_wanted: bool, obstacle: Option<&Failure>) -> String {
    match obstacle {
        Some(failure) if are_wanted => {
            format!("namespaces are refused at {}: {}", failure.at, failure.source())
        }
        Some(_) | None if are_wanted => "there are no namespaces".to_owned(),
        Some(_) | None => "namespaces were asked off".to_owned(),
    }
}
