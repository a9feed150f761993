//! Limits of one process and its children, and the process limit of a pid namespace. They work on
//! every kernel without privileges. They cannot limit the memory of a whole process tree; the
//! control group does that.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use crate::confinement::ResourceLimits;

/// Memory that one process may lock against swapping, in bytes: enough for secrets, but never much.
pub(crate) const LOCKED_BYTES_MAX: u64 = 64 * 1024;

/// Signals that may be queued for delivery. Each timer needs one, so a limit of zero would break
/// programs.
pub(crate) const PENDING_SIGNALS_MAX: u64 = 4_096;

/// Inotify instances of a command.
///
/// Limit (commands): the command cannot open another one.
pub(crate) const INOTIFY_INSTANCES_MAX: u32 = 16;

/// Files and directories that a command watches by inotify.
///
/// Limit (commands): the command cannot watch another one.
pub(crate) const INOTIFY_WATCHES_MAX: u32 = 16_384;

/// The kernel's objects that are counted for a user, and how many of them a command may have. The kernel counts them for the user
/// outside as well, so a command could use up those of the user's own programs. A command makes no namespaces. Those of mounts
/// are left out: newer kernels count the mounts that the view is built of among them.
const USER_COUNTS: &[(&str, u32)] = &[
    ("max_cgroup_namespaces", 0),
    ("max_fanotify_groups", INOTIFY_INSTANCES_MAX),
    ("max_fanotify_marks", INOTIFY_WATCHES_MAX),
    ("max_inotify_instances", INOTIFY_INSTANCES_MAX),
    ("max_inotify_watches", INOTIFY_WATCHES_MAX),
    ("max_ipc_namespaces", 0),
    ("max_net_namespaces", 0),
    ("max_pid_namespaces", 0),
    ("max_time_namespaces", 0),
    ("max_user_namespaces", 0),
    ("max_uts_namespaces", 0),
];

/// The file with the limit of the reader's own pid namespace.
const PID_MAX: &str = "/proc/sys/kernel/pid_max";

/// The kernel does not reuse process numbers below this one.
const PIDS_RESERVED: u32 = 300;

/// The first kernel version in which each pid namespace has its own limit.
const PID_MAX_SINCE: (u32, u32) = (6, 14);

/// Sets the limits of this process, which its children inherit. They cannot be raised again.
///
/// Memory is limited per process, by its private writable memory. Limiting the address space would
/// be simpler, but language runtimes reserve far more than they use.
///
/// Processes are counted for each user and user namespace. In the command's own namespace the limit
/// is exact, except for root, which the kernel exempts: see [`bound_processes`]. Without a
/// namespace, the user's other processes count too: see [`tasks_of_user`].
pub(crate) fn apply(resources: &ResourceLimits) -> io::Result<()> {
    let limits = [
        (Resource::Core, 0),
        (Resource::Data, resources.memory_bytes),
        (Resource::Fsize, resources.file_bytes),
        (Resource::Nofile, u64::from(resources.open_files)),
        (Resource::Nproc, u64::from(resources.processes)),
        (Resource::Memlock, LOCKED_BYTES_MAX),
        (Resource::Sigpending, PENDING_SIGNALS_MAX),
        (Resource::Msgqueue, 0),
        (Resource::Nice, 0),
        (Resource::Rtprio, 0),
    ];
    for (resource, most) in limits {
        // A lower hard limit stays.
        let hard = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) })?;
    }
    Ok(())
}

/// Limits the processes and threads in this process's pid namespace, and returns whether the limit
/// is in force.
///
/// Must be called by the first process of the command's pid namespace, while `/proc` is still
/// writable. The limit applies to root too. The kernel never reuses low process numbers. The limit
/// is raised by as many, so that a command which has started a few hundred processes can still
/// start more.
pub(crate) fn bound_processes(processes: u32) -> io::Result<bool> {
    // On an older kernel the same file limits the whole machine, and root could write it.
    if !is_since(&rustix::system::uname().release().to_string_lossy(), PID_MAX_SINCE) {
        return Ok(false);
    }
    // One more, because the limit itself is never used as a number.
    let bound = processes.saturating_add(PIDS_RESERVED + 1);
    // The kernel's own maximum then limits the command.
    let current: u32 = fs::read_to_string(PID_MAX)?.trim().parse().map_err(io::Error::other)?;
    if bound >= current {
        return Ok(true);
    }
    match fs::write(PID_MAX, bound.to_string()) {
        Ok(()) => Ok(true),
        // Only root or a process with the namespace's capabilities may write it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        Err(error) => Err(error),
    }
}

/// Limits what the user of this process has in its user namespace. `open` opens a file of `/proc/sys/user` for writing.
///
/// Must be called after the last namespace was made, while the process still has the capabilities of its namespace.
pub(super) fn bound_user_counts(open: impl Fn(&str) -> io::Result<File>) -> io::Result<()> {
    for (name, most) in USER_COUNTS {
        let written = open(name).and_then(|mut file| file.write_all(most.to_string().as_bytes()));
        match written {
            // Older kernels do not count this.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            written => written?,
        }
    }
    Ok(())
}

/// Returns how many processes and threads this process's user has. The kernel counts them together
/// with the command's own.
///
/// Inspects every process of the machine, which takes some microseconds each. Processes with a
/// hidden owner are not counted, which makes the limit slightly tighter.
pub(crate) fn tasks_of_user() -> io::Result<u32> {
    let user = getuid().as_raw();
    let mut tasks = 0_u32;
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let is_process = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        // Reading the directory's owner is cheap; the kernel generates the file on each read.
        if is_process
            && entry.metadata().is_ok_and(|metadata| metadata.uid() == user)
            && let Ok(status) = fs::read_to_string(entry.path().join("status"))
        {
            tasks = tasks.saturating_add(tasks_in(&status, user));
        }
    }
    Ok(tasks)
}

/// Returns the number of threads in `/proc/PID/status` if the real user matches, otherwise zero.
fn tasks_in(status: &str, user: u32) -> u32 {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_ascii_whitespace().next())
    };
    if field("Uid:").and_then(|uid| uid.parse().ok()) != Some(user) {
        return 0;
    }
    field("Threads:").and_then(|threads| threads.parse().ok()).unwrap_or(0)
}

/// Returns whether a kernel release, such as `6.18.2-generic`, is at least this version.
fn is_since(release: &str, (major, minor): (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|text| text.parse().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(release_major), Some(release_minor)) => {
            (release_major, release_minor) >= (major, minor)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
