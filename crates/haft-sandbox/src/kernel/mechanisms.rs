//! One trial for each mechanism. Each trial does what confining a command would do, and leaves
//! nothing behind.

use std::io;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, OpenTreeFlags,
    fsconfig_create, fsmount, fsopen, mount_change, open_tree,
};
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use rustix::thread::{UnshareFlags, set_no_new_privs};

use super::{Availability, KernelMechanism, remedy, trial};
use crate::confine::seccomp::{SeccompFilter, SeccompOptions};
use crate::confine::{OuterUser, landlock};

pub(super) fn state(mechanism: KernelMechanism) -> Availability {
    match mechanism {
        KernelMechanism::UserNamespaces => namespaces(trial::run(become_other_user)),
        KernelMechanism::MountNamespaces => namespaces(trial::run(|| {
            unshare_as_other(UnshareFlags::NEWNS)?;
            mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
            make_file_system("tmpfs")
        })),
        KernelMechanism::ProcessNamespaces => match trial::run(|| {
            unshare_as_other(UnshareFlags::NEWNS | UnshareFlags::NEWPID)?;
            // Only the first process of a new namespace may mount that namespace's `/proc`.
            trial::run(|| make_file_system("proc"))
        }) {
            Ok(()) => Availability::Available("with its own /proc".to_owned()),
            // If these namespaces are missing altogether, the reason is different.
            Err(_) if trial::run(|| unshare_as_other(UnshareFlags::NEWPID)).is_ok() => {
                remedy::masked_proc()
            }
            Err(error) => remedy::namespaces(&error),
        },
        KernelMechanism::NetworkNamespaces => {
            namespaces(trial::run(|| unshare_as_other(UnshareFlags::NEWNET)))
        }
        KernelMechanism::MountDescriptors => {
            let opened = open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC);
            let usable = opened.map_err(io::Error::from).and_then(|_| {
                let nothing = std::ptr::null::<libc::c_void>();
                #[expect(unsafe_code, reason = "no safe interface changes mounts by descriptor")]
                // SAFETY: the size is zero, so the kernel refuses the call before it reads the
                // structure.
                let answer = unsafe {
                    libc::syscall(libc::SYS_mount_setattr, -1, c"".as_ptr(), 0, nothing, 0)
                };
                match (answer, io::Error::last_os_error()) {
                    // The kernel knows the newest of these calls and found nothing to do.
                    (-1, error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
                    (-1, error) => Err(error),
                    _ => Ok(()),
                }
            });
            since(usable, "5.12")
        }
        KernelMechanism::Landlock => match landlock::version() {
            Ok(version) => {
                let mut parts = vec![format!("version {version}")];
                parts.extend(landlock::gaps(version).into_iter().map(str::to_owned));
                Availability::Available(parts.join("; "))
            }
            Err(error) => remedy::landlock(&error),
        },
        KernelMechanism::Seccomp => match trial::run(|| {
            set_no_new_privs(true)?;
            SeccompFilter::build(SeccompOptions::LOOSE)?.install()
        }) {
            Ok(()) => Availability::Available(String::new()),
            Err(error) => Availability::missing(error.to_string(), remedy::SECCOMP),
        },
        KernelMechanism::NoNewPrivileges => {
            since(trial::run(|| Ok(set_no_new_privs(true)?)), "3.5")
        }
        KernelMechanism::ControlGroups => match crate::cgroup::description() {
            Some(description) => Availability::Available(description),
            None => remedy::control_groups(),
        },
        KernelMechanism::Openat2 => {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let opened = openat2(CWD, ".", flags, Mode::empty(), ResolveFlags::BENEATH);
            since(opened.map(drop).map_err(io::Error::from), "5.6")
        }
        KernelMechanism::Pidfd => since(
            pidfd_open(getpid(), PidfdFlags::empty()).map(drop).map_err(io::Error::from),
            "5.3",
        ),
    }
}

/// Enters a user namespace in which this user keeps its own number.
fn become_other_user() -> io::Result<()> {
    let user = OuterUser::current_user();
    unshare(UnshareFlags::NEWUSER)?;
    user.map_into_namespace()
}

/// A separate step, because some machines allow the first step but grant no rights in the new
/// namespace.
fn unshare_as_other(namespaces: UnshareFlags) -> io::Result<()> {
    become_other_user()?;
    unshare(namespaces)
}

fn make_file_system(kind: &str) -> io::Result<()> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    Ok(())
}

fn namespaces(result: io::Result<()>) -> Availability {
    match result {
        Ok(()) => Availability::Available(String::new()),
        Err(error) => remedy::namespaces(&error),
    }
}

/// For mechanisms that every kernel from a version on has.
fn since(result: io::Result<()>, version: &str) -> Availability {
    match result {
        Ok(()) => Availability::Available(String::new()),
        Err(error) => {
            let remedy = format!("use Linux {version} or later; {}", remedy::CONTAINER);
            Availability::missing(error.to_string(), &remedy)
        }
    }
}

fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    #[expect(unsafe_code, reason = "sharing less can surprise code that relies on what is shared")]
    // SAFETY: this runs in a process created for one trial, which has one thread and relies on no
    // shared state.
    unsafe {
        rustix::thread::unshare_unsafe(namespaces)?;
    }
    Ok(())
}
