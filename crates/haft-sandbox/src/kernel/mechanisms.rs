//! One trial for each mechanism. Each does what confining a command would do, and leaves nothing behind.

use std::fs;
use std::io;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, OpenTreeFlags,
    fsconfig_create, fsmount, fsopen, mount_change, open_tree,
};
use rustix::process::{PidfdFlags, getegid, geteuid, getpid, pidfd_open};
use rustix::thread::{UnshareFlags, set_no_new_privs};

use super::{Availability, Mechanism, remedy, trial};
use crate::confine::landlock;
use crate::confine::seccomp::{FilterOptions, Filters, Ipc, Memfd, Neighbours, Sockets};

pub(super) fn state(mechanism: Mechanism) -> Availability {
    match mechanism {
        Mechanism::UserNamespaces => namespaces(trial::run(become_other_user)),
        Mechanism::MountNamespaces => namespaces(trial::run(mount_something)),
        Mechanism::ProcessNamespaces => processes(trial::run(mount_processes)),
        Mechanism::NetworkNamespaces => {
            namespaces(trial::run(|| unshare_as_other(UnshareFlags::NEWNET)))
        }
        Mechanism::MountDescriptors => since(mount_by_descriptor(), "5.12"),
        Mechanism::Landlock => landlock_version(),
        Mechanism::Seccomp => match trial::run(filter_something) {
            Ok(()) => Availability::Available(String::new()),
            Err(error) => missing(&error, remedy::SECCOMP),
        },
        Mechanism::NoNewPrivileges => since(trial::run(|| Ok(set_no_new_privs(true)?)), "3.5"),
        Mechanism::ControlGroups => control_groups(),
        Mechanism::Openat2 => since(open_here(), "5.6"),
        Mechanism::Pidfd => since(
            pidfd_open(getpid(), PidfdFlags::empty()).map(drop).map_err(io::Error::from),
            "5.3",
        ),
    }
}

/// A user namespace in which this user has its own number.
fn become_other_user() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// In a second step, because there are machines on which the first is allowed and brings no right to go on.
fn unshare_as_other(namespaces: UnshareFlags) -> io::Result<()> {
    become_other_user()?;
    unshare(namespaces)
}

fn mount_something() -> io::Result<()> {
    unshare_as_other(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    make_file_system("tmpfs")
}

/// The first process of a new namespace mounts what shows that namespace.
fn mount_processes() -> io::Result<()> {
    unshare_as_other(UnshareFlags::NEWNS | UnshareFlags::NEWPID)?;
    trial::run(|| make_file_system("proc"))
}

fn make_file_system(kind: &str) -> io::Result<()> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    Ok(())
}

/// The calls that make and change mounts by descriptor are of several kernels; the last of them is looked for.
fn mount_by_descriptor() -> io::Result<()> {
    open_tree(CWD, "/", OpenTreeFlags::OPEN_TREE_CLOEXEC)?;
    let nothing = std::ptr::null::<libc::c_void>();
    #[expect(unsafe_code, reason = "no safe interface changes mounts by descriptor")]
    // SAFETY: the size is zero, so that the kernel refuses before it would read the structure.
    let answer = unsafe { libc::syscall(libc::SYS_mount_setattr, -1, c"".as_ptr(), 0, nothing, 0) };
    match (answer, io::Error::last_os_error()) {
        // It knows the call, and has seen that there is nothing to do.
        (-1, error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        (-1, error) => Err(error),
        _ => Ok(()),
    }
}

fn open_here() -> io::Result<()> {
    openat2(CWD, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::BENEATH)?;
    Ok(())
}

fn landlock_version() -> Availability {
    match landlock::version() {
        Ok(version) => {
            let mut parts = vec![format!("version {version}")];
            parts.extend(landlock::gaps(version).into_iter().map(str::to_owned));
            Availability::Available(parts.join("; "))
        }
        Err(error) => remedy::landlock(&error),
    }
}

fn filter_something() -> io::Result<()> {
    let options = FilterOptions {
        sockets: Sockets::All,
        memfd: Memfd::Allowed,
        ipc: Ipc::Allowed,
        neighbours: Neighbours::Own,
    };
    set_no_new_privs(true)?;
    Filters::build(options)?.install()
}

fn control_groups() -> Availability {
    match crate::cgroup::description() {
        Some(description) => Availability::Available(description),
        None => remedy::control_groups(),
    }
}

fn namespaces(result: io::Result<()>) -> Availability {
    match result {
        Ok(()) => Availability::Available(String::new()),
        Err(error) => remedy::namespaces(&error),
    }
}

fn processes(result: io::Result<()>) -> Availability {
    match result {
        Ok(()) => Availability::Available("with a /proc of its own".to_owned()),
        // Without these namespaces at all the reason is another.
        Err(_) if trial::run(|| unshare_as_other(UnshareFlags::NEWPID)).is_ok() => {
            remedy::masked_proc()
        }
        Err(error) => remedy::namespaces(&error),
    }
}

/// For what every kernel from a version on has.
fn since(result: io::Result<()>, version: &str) -> Availability {
    match result {
        Ok(()) => Availability::Available(String::new()),
        Err(error) => {
            missing(&error, &format!("use Linux {version} or later; {}", remedy::CONTAINER))
        }
    }
}

fn missing(error: &io::Error, remedy: &str) -> Availability {
    Availability::Missing { why: error.to_string(), remedy: remedy.to_owned() }
}

fn unshare(namespaces: UnshareFlags) -> io::Result<()> {
    #[expect(unsafe_code, reason = "sharing less can surprise code that relies on what is shared")]
    // SAFETY: this runs in a process made for one trial, which has one thread and relies on nothing shared.
    unsafe {
        rustix::thread::unshare_unsafe(namespaces)?;
    }
    Ok(())
}
