//! Finds and kills processes by their parents, as `/proc` shows them. A process is signalled only
//! through a handle that was verified to be the intended process, so that a reused number never
//! hits another process. The module keeps no state: the caller repeats until no process is left.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Rounds of searching for remaining processes of a session.
pub(crate) const ROUNDS_MAX: u32 = 400;

/// Pause of one round, in milliseconds, for the kernel to carry out the kills.
const ROUND_MS: u64 = 5;

/// One process at one point in time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TreeProcess {
    pid: i32,
    parent: i32,
    group: i32,
    session: i32,
    /// Start time in kernel ticks. Together with the number, it identifies the process.
    started: u64,
    /// Whether it has ended and waits to be collected.
    is_zombie: bool,
}

/// Kills every living descendant of a process once, and returns their number.
pub(crate) fn kill_descendants(ancestor: Pid) -> io::Result<usize> {
    let members = snapshot()?;
    let mut count = 0;
    for member in descendants(&members, ancestor.as_raw_pid()) {
        if !member.is_zombie {
            count += 1;
            kill(member);
        }
    }
    Ok(count)
}

/// Kills every living descendant of a process once, if the handle shows that the process is alive.
pub(crate) fn kill_descendants_of(ancestor: Pid, handle: impl AsFd) -> io::Result<()> {
    let members = snapshot()?;
    // A process that is alive after the snapshot had its number throughout the snapshot.
    if has_ended(handle)? {
        return Ok(());
    }
    descendants(&members, ancestor.as_raw_pid()).into_iter().for_each(kill);
    Ok(())
}

/// Returns whether the process of a handle has ended.
pub(crate) fn has_ended(handle: impl AsFd) -> io::Result<bool> {
    let mut events = [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)];
    Ok(poll(&mut events, Some(&Timespec::default()))? > 0)
}

/// Waits until the process of a handle has ended, for at most `wait`.
pub(crate) fn wait_for_end(handle: impl AsFd, wait: Duration) -> io::Result<()> {
    let deadline = Instant::now() + wait;
    while !has_ended(&handle)? {
        if Instant::now() >= deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a helper could not be killed"));
        }
        thread::sleep(Duration::from_millis(ROUND_MS));
    }
    Ok(())
}

/// Kills the children of a process, except the spared ones, and all their descendants once. Returns
/// how many were alive.
pub(crate) fn kill_strays(parent: Pid, spared: &[Pid]) -> io::Result<usize> {
    let members = snapshot()?;
    let is_stray = |member: &&TreeProcess| {
        member.parent == parent.as_raw_pid()
            && !spared.iter().any(|pid| pid.as_raw_pid() == member.pid)
    };
    let mut count = 0;
    for stray in members.iter().filter(is_stray) {
        for member in descendants(&members, stray.pid).into_iter().chain([stray]) {
            if !member.is_zombie {
                count += 1;
                kill(member);
            }
        }
    }
    Ok(count)
}

/// Kills a command whose helper has died: its session, its group and its descendants, until no
/// process of them is left.
///
/// A process that left all three is out of reach, because only the helper could still find it.
/// Blocks for at most two seconds.
pub(crate) fn kill_session(command: Pid) -> io::Result<()> {
    let leader = command.as_raw_pid();
    for _ in 0..ROUNDS_MAX {
        let members = snapshot()?;
        let kin = descendants(&members, leader);
        let is_member = |member: &&TreeProcess| {
            member.pid == leader || member.session == leader || member.group == leader
        };
        let mut living: Vec<_> = members.iter().filter(is_member).chain(kin).collect();
        living.retain(|member| !member.is_zombie);
        if living.is_empty() {
            return Ok(());
        }
        living.into_iter().for_each(kill);
        thread::sleep(Duration::from_millis(ROUND_MS));
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "some of its processes could not be killed"))
}

/// Kills one process if its number still belongs to it.
fn kill(member: &TreeProcess) {
    let Some(pid) = Pid::from_raw(member.pid) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // The handle is bound to one process. Reading the start time again shows which one.
    if read(member.pid).is_some_and(|now| now.started == member.started) {
        // A refused signal (a program of another user) appears as a survivor in the next round.
        let _ = pidfd_send_signal(&handle, Signal::KILL);
    }
}

fn snapshot() -> io::Result<Vec<TreeProcess>> {
    let mut members = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        // A process that ended since the directory was read is skipped.
        members.extend(pid.and_then(read));
    }
    Ok(members)
}

fn read(pid: i32) -> Option<TreeProcess> {
    parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `/proc/PID/stat`. The second field is a name in parentheses that may contain anything,
/// including parentheses and newlines; the last closing one ends it.
fn parse(stat: &[u8]) -> Option<TreeProcess> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let name_start = stat.iter().position(|byte| *byte == b'(')?;
    let (head, tail) = (stat.get(..name_start)?, stat.get(end + 1..)?);
    let pid = std::str::from_utf8(head).ok()?.trim().parse().ok()?;
    let mut fields = std::str::from_utf8(tail).ok()?.split_ascii_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // The session is the sixth field of the line, the start time the twenty-second.
    let started = fields.nth(15)?.parse().ok()?;
    Some(TreeProcess { pid, parent, group, session, started, is_zombie })
}

fn descendants(members: &[TreeProcess], ancestor: i32) -> Vec<&TreeProcess> {
    let mut children: HashMap<i32, Vec<&TreeProcess>> = HashMap::new();
    for member in members {
        children.entry(member.parent).or_default().push(member);
    }
    let mut found = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        // Removed from the map, so that reused numbers in the snapshot cannot form an endless loop.
        for child in children.remove(&parent).unwrap_or_default() {
            found.push(child);
            parents.push(child.pid);
        }
    }
    found
}

#[cfg(test)]
mod tests;
