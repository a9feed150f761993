//! Control groups: the kernel limits the memory and processes of a whole command together. The
//! command's group is created below the group of this process, so that this process's limits also
//! apply to the command. Where groups may not be created, `usage` measures memory instead. Outside
//! the command's own directory, this module only enables both controllers, and it only moves
//! processes that are added.

mod directory;
mod usage;

use std::fs;
use std::io;
use std::thread;
use std::time::Duration;

use rustix::process::Pid;

use crate::confinement::ResourceLimits;
use crate::exit::ExceededLimit;
use directory::{CgroupDirectory, CgroupInterface};

pub(crate) use usage::uses_more_than;

/// Attempts to remove a group. The kernel releases a process shortly after it was collected.
pub(crate) const REMOVALS_MAX: u32 = 50;

/// Pause between two attempts, in milliseconds.
const REMOVAL_PAUSE_MS: u64 = 2;

/// A group of processes that is limited as a whole. Dropping it removes the group; all of its
/// processes must have ended.
#[derive(Debug)]
pub(crate) struct Cgroup {
    /// The group's directories: one for both limits, or one for each limit.
    parts: Vec<CgroupDirectory>,
}

impl Cgroup {
    /// Creates a group with these limits, or returns `None` where groups may not be created. `name`
    /// must be unique among commands.
    pub(crate) fn create(resources: &ResourceLimits, name: &str) -> Option<Cgroup> {
        let mut group = Cgroup { parts: Vec::new() };
        // Dropping an incomplete group removes it.
        for place in directory::find_directories() {
            let directory = place.directory.join(name);
            fs::create_dir(&directory).ok()?;
            group.parts.push(CgroupDirectory { directory, ..place });
        }
        group.parts.iter().try_for_each(|part| part.bound(resources)).ok()?;
        (!group.parts.is_empty()).then_some(group)
    }

    /// Moves a process into the group. Processes that it starts later join the group too.
    pub(crate) fn add(&self, pid: Pid) -> io::Result<()> {
        let number = pid.as_raw_pid().to_string();
        self.parts.iter().try_for_each(|part| part.set("cgroup.procs", &number))
    }

    /// Returns the limit that was reached; memory takes precedence.
    pub(crate) fn exceeded(&self) -> Option<ExceededLimit> {
        let has_met = |what| self.parts.iter().any(|part| part.has_met(what));
        [ExceededLimit::Memory, ExceededLimit::Processes].into_iter().find(|what| has_met(*what))
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for part in &self.parts {
            let mut tries = 0;
            while let Err(error) = fs::remove_dir(&part.directory) {
                // A directory that cannot be removed stays empty and harmless.
                if error.kind() != io::ErrorKind::ResourceBusy || tries >= REMOVALS_MAX {
                    break;
                }
                tries += 1;
                thread::sleep(Duration::from_millis(REMOVAL_PAUSE_MS));
            }
        }
    }
}

impl CgroupDirectory {
    fn bound(&self, resources: &ResourceLimits) -> io::Result<()> {
        let memory_bytes = resources.memory_bytes.to_string();
        let processes = resources.processes.to_string();
        match self.interface {
            CgroupInterface::Unified => {
                self.set("memory.max", &memory_bytes)?;
                // Missing on a machine without swap.
                self.set_if_there("memory.swap.max", "0")?;
                // A command that lost one of its processes is useless. Ending all of it leaves
                // nothing half done.
                self.set_if_there("memory.oom.group", "1")?;
                self.set("pids.max", &processes)
            }
            CgroupInterface::Memory => {
                self.set("memory.limit_in_bytes", &memory_bytes)?;
                // Memory and swap together. The file exists only if the kernel was booted with swap
                // accounting.
                self.set_if_there("memory.memsw.limit_in_bytes", &memory_bytes)
            }
            CgroupInterface::Processes => self.set("pids.max", &processes),
        }
    }

    fn has_met(&self, bound: ExceededLimit) -> bool {
        let (file, event) = match (self.interface, bound) {
            (CgroupInterface::Unified, ExceededLimit::Memory) => ("memory.events", "oom_kill"),
            (CgroupInterface::Memory, ExceededLimit::Memory) => ("memory.oom_control", "oom_kill"),
            (CgroupInterface::Unified | CgroupInterface::Processes, ExceededLimit::Processes) => {
                ("pids.events", "max")
            }
            (CgroupInterface::Memory, ExceededLimit::Processes)
            | (CgroupInterface::Processes, ExceededLimit::Memory) => {
                return false;
            }
        };
        let events = fs::read_to_string(self.directory.join(file)).unwrap_or_default();
        count(&events, event) > 0
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        // Opened without creating it, so that an ordinary directory is never mistaken for a control
        // group.
        let mut file = fs::OpenOptions::new().write(true).open(self.directory.join(file))?;
        io::Write::write_all(&mut file, value.as_bytes())
    }

    fn set_if_there(&self, file: &str, value: &str) -> io::Result<()> {
        match self.set(file, value) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }
}

/// Returns the place where groups would be created, as text for a person.
pub(crate) fn description() -> Option<String> {
    let version = match directory::find_directories().first()?.interface {
        CgroupInterface::Unified => 2,
        CgroupInterface::Memory | CgroupInterface::Processes => 1,
    };
    Some(format!("version {version}, with memory and pids"))
}

/// Returns the number of a line such as `oom_kill 3`.
fn count(events: &str, name: &str) -> u64 {
    let mut lines = events.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(event, _)| *event == name)
        .and_then(|(_, count)| count.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
