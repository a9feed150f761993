//! The processes that a worker starts: those of commands, and what confines them. Killing them, and waiting until none of
//! a dead worker is left. The driver adopts orphans, so that it can.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};

use crate::Failure;

/// How long what is left of a worker may take to die, in milliseconds.
const ORPHANS_MS_MAX: u64 = 10_000;

/// Has orphans of workers become this process's children.
pub(crate) fn adopt_orphans() -> Result<(), Failure> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Waits until no child is left. Returns whether it came to that.
pub(crate) fn wait_for_orphans() -> Result<bool, Failure> {
    let end = Instant::now() + Duration::from_millis(ORPHANS_MS_MAX);
    while Instant::now() < end {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => std::thread::yield_now(),
            Err(Errno::CHILD) => return Ok(true),
            Err(err) => return Err(err.into()),
        }
    }
    Ok(false)
}

/// Kills all processes beneath one. Returns how many there were.
pub(crate) fn kill_descendants(of: u32) -> Result<u64, Failure> {
    let mut killed = 0;
    for pid in descendants(of) {
        let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { continue };
        match kill_process(pid, Signal::KILL) {
            Ok(()) => killed += 1,
            Err(Errno::SRCH) => {}
            Err(err) => return Err(err.into()),
        }
    }
    Ok(killed)
}

fn descendants(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let mut all = Vec::new();
    for child in lists.collect::<String>().split_whitespace().filter_map(|pid| pid.parse().ok()) {
        all.push(child);
        all.extend(descendants(child));
    }
    all
}
