//! Control groups: memory and processes of a whole command, bounded together by the kernel. A command's group is made
//! beneath the one that this process is in, so that what bounds this process goes on bounding the command; where that
//! may not be done there is none, and `usage` says how much memory is used. Outside its own directory nothing is
//! changed but that both controllers are switched on there, and no process is moved but those that are added.

mod place;
mod usage;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::Pid;

use crate::confinement::Resources;
use crate::process::Exceeded;
use place::{Interface, Place};

pub(crate) use usage::{PROCESSES_MAX, uses_more_than};

/// How often removing a group is tried. The kernel finishes with what has ended a moment after it was collected.
pub(crate) const REMOVALS_MAX: u32 = 50;

/// How long to wait between two tries.
const REMOVAL_PAUSE_MS: u64 = 2;

/// A group of processes that is bounded as a whole. Removed when dropped, which needs all of them to have ended.
#[derive(Debug)]
pub(crate) struct Cgroup {
    /// Where the bounds are kept: one directory, or one for each of them.
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    directory: PathBuf,
    interface: Interface,
}

impl Cgroup {
    /// Makes a group with these bounds, or none where that may not be done. The name is one that no other command has.
    pub(crate) fn create(resources: &Resources, name: &str) -> Option<Cgroup> {
        let mut group = Cgroup { parts: Vec::new() };
        // Half a group is dropped, and with it removed.
        for place in place::places() {
            group.add_part(&place, name).ok()?;
        }
        group.parts.iter().try_for_each(|part| part.bound(resources)).ok()?;
        (!group.parts.is_empty()).then_some(group)
    }

    /// Moves a process into the group; what it starts from then on is in it too.
    pub(crate) fn add(&self, pid: Pid) -> io::Result<()> {
        let number = pid.as_raw_pid().to_string();
        self.parts.iter().try_for_each(|part| part.set("cgroup.procs", &number))
    }

    /// Returns the bound that was met, memory first.
    pub(crate) fn exceeded(&self) -> Option<Exceeded> {
        let has_met = |what| self.parts.iter().any(|part| part.has_met(what));
        [Exceeded::Memory, Exceeded::Processes].into_iter().find(|what| has_met(*what))
    }

    fn add_part(&mut self, place: &Place, name: &str) -> io::Result<()> {
        let directory = place.directory.join(name);
        fs::create_dir(&directory)?;
        self.parts.push(Part { directory, interface: place.interface });
        Ok(())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        for part in &self.parts {
            // What cannot be removed stays as an empty directory, and harms nothing.
            let _ = remove(&part.directory);
        }
    }
}

impl Part {
    fn bound(&self, resources: &Resources) -> io::Result<()> {
        let memory_bytes = resources.memory_bytes.to_string();
        let processes = resources.processes.to_string();
        match self.interface {
            Interface::Unified => {
                self.set("memory.max", &memory_bytes)?;
                // Not there on a machine without swap.
                self.set_if_there("memory.swap.max", "0")?;
                // Without one of its processes a command is of no use; ending it as a whole leaves nothing half done.
                self.set_if_there("memory.oom.group", "1")?;
                self.set("pids.max", &processes)
            }
            Interface::Memory => {
                self.set("memory.limit_in_bytes", &memory_bytes)?;
                // Memory and swap together; not there unless the machine was started so.
                self.set_if_there("memory.memsw.limit_in_bytes", &memory_bytes)
            }
            Interface::Processes => self.set("pids.max", &processes),
        }
    }

    fn has_met(&self, bound: Exceeded) -> bool {
        let (file, event) = match (self.interface, bound) {
            (Interface::Unified, Exceeded::Memory) => ("memory.events", "oom_kill"),
            (Interface::Memory, Exceeded::Memory) => ("memory.oom_control", "oom_kill"),
            (Interface::Unified | Interface::Processes, Exceeded::Processes) => {
                ("pids.events", "max")
            }
            (Interface::Memory, Exceeded::Processes) | (Interface::Processes, Exceeded::Memory) => {
                return false;
            }
        };
        let events = fs::read_to_string(self.directory.join(file)).unwrap_or_default();
        count(&events, event) > 0
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        // Opened without being made, so that what is no control group is never taken for one.
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

/// Returns where groups would be made, for people.
pub(crate) fn description() -> Option<String> {
    let places = place::places();
    let interface = places.first()?.interface;
    Some(match interface {
        Interface::Unified => "version 2, with memory and pids".to_owned(),
        Interface::Memory | Interface::Processes => "version 1, with memory and pids".to_owned(),
    })
}

/// Returns the number of a line such as `oom_kill 3`.
fn count(events: &str, name: &str) -> u64 {
    let mut lines = events.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(event, _)| *event == name)
        .and_then(|(_, count)| count.trim().parse().ok())
        .unwrap_or(0)
}

fn remove(directory: &Path) -> io::Result<()> {
    let mut tries = 0;
    loop {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && tries < REMOVALS_MAX => {
                tries += 1;
                thread::sleep(Duration::from_millis(REMOVAL_PAUSE_MS));
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests;
