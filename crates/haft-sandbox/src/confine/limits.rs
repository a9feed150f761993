//! Limits of one process and of what it starts, and the bound on processes of a pid namespace. They hold on every
//! kernel and need no privilege; what they cannot do is bound a whole tree's memory, which is the cgroup's business.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

use crate::confinement::Resources;

/// Memory that one process may keep from being swapped: enough for secrets, and never much.
pub(crate) const LOCKED_BYTES_MAX: u64 = 64 * 1024;

/// Signals that wait for delivery. Timers need one each, so that none at all would break programs.
pub(crate) const PENDING_SIGNALS_MAX: u64 = 4_096;

/// Where the kernel takes the bound of the reader's own pid namespace.
const PID_MAX: &str = "/proc/sys/kernel/pid_max";

/// Numbers below this one are not given out a second time.
const PIDS_RESERVED: u32 = 300;

/// The first kernel whose pid namespaces have bounds of their own.
const PID_MAX_SINCE: (u32, u32) = (6, 14);

/// Sets the limits of this process, which all that it starts inherit. None can be raised again.
///
/// Memory is bounded for each process, by its private writable memory. The size of the address space would be the
/// simpler measure, but language runtimes reserve many times what they use.
///
/// Processes are counted for each user and user namespace. In a namespace of the command's own the bound is exact,
/// unless the user is root, whom the kernel exempts: see [`bound_processes`]. Without one, what the user runs elsewhere
/// counts too: see [`tasks_of_user`].
pub(crate) fn apply(resources: &Resources) -> io::Result<()> {
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
    limits.into_iter().try_for_each(|(resource, most)| lower(resource, most))
}

/// Sets both limits to the value, or leaves a hard limit that is lower already.
fn lower(resource: Resource, most: u64) -> io::Result<()> {
    let hard = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) })?)
}

/// Bounds how many processes and threads can be in this process's pid namespace, and returns whether that is
/// so.
///
/// To be called by the first process of a namespace of its own, in which `/proc` can still be written to. It binds root
/// too. The kernel never gives out low numbers twice; the bound has so many on top, lest a command that has started a
/// few hundred processes be refused the next although hardly any runs.
pub(crate) fn bound_processes(processes: u32) -> io::Result<bool> {
    // On an older kernel the same file bounds the whole machine, and root could write it.
    if !is_since(&rustix::system::uname().release().to_string_lossy(), PID_MAX_SINCE) {
        return Ok(false);
    }
    // One more, because the bound itself is never given out.
    let bound = processes.saturating_add(PIDS_RESERVED + 1);
    // The kernel has a highest number of its own, which a command is then bound by.
    let current: u32 = fs::read_to_string(PID_MAX)?.trim().parse().map_err(io::Error::other)?;
    if bound >= current {
        return Ok(true);
    }
    match fs::write(PID_MAX, bound.to_string()) {
        Ok(()) => Ok(true),
        // Only who has the namespace's capabilities may, or its root.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns how many processes and threads this process's user has, to be added to a command's own where the kernel counts
/// them together.
///
/// It looks at every process of the machine, some microseconds each. What hides its owner is not counted, which makes
/// the bound a little tighter.
pub(crate) fn tasks_of_user() -> io::Result<u32> {
    let user = getuid().as_raw();
    let mut tasks = 0_u32;
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let is_process = entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit);
        // The owner of the directory is quickly had; the file is written by the kernel when it is read.
        if is_process
            && entry.metadata().is_ok_and(|metadata| metadata.uid() == user)
            && let Ok(status) = fs::read_to_string(entry.path().join("status"))
        {
            tasks = tasks.saturating_add(tasks_in(&status, user));
        }
    }
    Ok(tasks)
}

/// Returns the number of threads in `/proc/PID/status` if the real user is the one meant, else none.
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

/// Tells whether a kernel's release, such as `6.18.2-generic`, is this version or a later one.
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
