//! The reasons why a mechanism is missing, as far as the machine reveals them, and what an operator
//! can do. Each remedy is an existing setting. If several reasons are possible, visible ones are
//! named before likely ones.

use std::fs;
use std::io;

use super::Availability;

/// The remedy where a container's own filter may be the cause.
pub(super) const CONTAINER: &str = "in a container, run it with --security-opt seccomp=unconfined or a profile that allows the call";

pub(super) const SECCOMP: &str = "use a kernel with CONFIG_SECCOMP_FILTER, on x86-64 or 64-bit ARM";

/// The setting with which AppArmor allows namespaces only to programs with a profile.
const APPARMOR: &str = "kernel/apparmor_restrict_unprivileged_userns";

/// A setting that forbids namespaces, the value that forbids them, and the remedy. No remedy weakens the machine for other
/// programs if there is one for this program alone.
const SETTINGS: [(&str, &str, &str); 3] = [
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (APPARMOR, "1", "give this program an AppArmor profile with the rule userns"),
];

impl Availability {
    pub(super) fn missing(why: impl Into<String>, remedy: &str) -> Availability {
        Availability::Missing { why: why.into(), remedy: remedy.to_owned() }
    }
}

/// Returns why namespaces are missing.
pub(super) fn namespaces(error: &io::Error) -> Availability {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    explain(error, setting, is_filtered(&status))
}

/// Returns whether AppArmor allows namespaces only to programs with a profile.
pub(super) fn apparmor_restricts(setting: impl Fn(&str) -> Option<String>) -> bool {
    setting(APPARMOR).is_some_and(|value| value.trim() == "1")
}

/// Returns the value of a setting of this kernel.
pub(super) fn setting(name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/{name}")).ok()
}

pub(super) fn masked_proc() -> Availability {
    Availability::missing(
        "parts of /proc are covered here, so that a fresh one may not be mounted",
        "in a container, run it with --security-opt systempaths=unconfined (Docker), \
         --security-opt unmask=ALL (Podman) or procMount: Unmasked (Kubernetes)",
    )
}

pub(super) fn landlock(error: &io::Error) -> Availability {
    let (why, remedy) = match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => (
            "it is switched off",
            "put landlock, in front of the list of the lsm= boot parameter (the list is in /sys/kernel/security/lsm)",
        ),
        Some(libc::ENOSYS) => {
            ("the kernel does not have it", "use Linux 6.2 or later with CONFIG_SECURITY_LANDLOCK")
        }
        _ => ("it is refused", CONTAINER),
    };
    Availability::missing(format!("{why}: {error}"), remedy)
}

pub(super) fn control_groups() -> Availability {
    Availability::missing(
        "no control group with memory and pids can be created below this process's own",
        "run haft as a systemd service or scope with Delegate=yes and DelegateSubgroup=haft; without one, memory \
         is watched and processes are limited by other means",
    )
}

fn explain(
    error: &io::Error,
    setting: impl Fn(&str) -> Option<String>,
    is_filtered: bool,
) -> Availability {
    let set = SETTINGS.iter().find(|(name, forbidding, _)| {
        setting(name).is_some_and(|value| value.trim() == *forbidding)
    });
    let (why, remedy) = match set {
        Some((name, value, remedy)) => (format!("{} is {value}", name.replace('/', ".")), *remedy),
        None if error.raw_os_error() == Some(libc::ENOSPC) => (
            "too many namespaces exist, or they are nested too deeply".to_owned(),
            "sysctl -w user.max_user_namespaces=15000",
        ),
        None if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => (
            "the kernel does not have them".to_owned(),
            "use a kernel with CONFIG_USER_NS, CONFIG_PID_NS and CONFIG_NET_NS",
        ),
        None if is_filtered => (
            "a system call filter is in force, as in a container".to_owned(),
            "run the container with --security-opt seccomp=unconfined, or with --cap-add SYS_ADMIN",
        ),
        None => (
            "a security module or a changed root directory may forbid it".to_owned(),
            "do not run haft in a chroot; look for a denial in the log of AppArmor or SELinux",
        ),
    };
    Availability::missing(format!("{error}; {why}"), remedy)
}

/// Returns whether `/proc/self/status` shows an active system call filter.
fn is_filtered(status: &str) -> bool {
    let mut lines = status.lines().filter_map(|line| line.strip_prefix("Seccomp:"));
    lines.next().is_some_and(|mode| mode.trim() == "2")
}

#[cfg(test)]
mod tests;
