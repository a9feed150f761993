//! Limits the memory of all processes of a command together. It measures their use. If requested
//! and possible, a control group also limits memory that no process has mapped.

use rustix::process::{Pid, getpid};

use crate::cgroup::{self, Cgroup};
use crate::exit::ExceededLimit;
use crate::wire::{StartFailure, StartStage, WireConfinement};

/// The limits on one command's processes together.
pub(super) struct CommandLimiter {
    memory_bytes_max: u64,
    /// Removed with this value, when all of its processes have ended.
    group: Option<Cgroup>,
}

impl CommandLimiter {
    pub(super) fn new(bounds: &WireConfinement) -> CommandLimiter {
        // The name contains this process's number, which is unique while it is alive. A group left
        // by a dead process is not reused.
        let name = format!("haft-{}", getpid().as_raw_pid());
        let make = || Cgroup::create(&bounds.resources, &name);
        let group = if bounds.wants_group { make() } else { None };
        CommandLimiter { memory_bytes_max: bounds.resources.memory_bytes, group }
    }

    /// Adds a process, with its future children, to the group if there is one.
    pub(super) fn add_process(&self, process: Pid) -> Result<(), StartFailure> {
        let added = self.group.as_ref().map_or(Ok(()), |group| group.add(process));
        added.map_err(StartStage::Confine.at("entering a control group"))
    }

    /// Returns whether a process and its descendants use, or have used, more memory than allowed.
    pub(super) fn is_memory_exceeded(&self, process: Pid) -> bool {
        self.exceeded_limit() == Some(ExceededLimit::Memory)
            // A failed measurement is repeated next time.
            || cgroup::uses_more_than(process, self.memory_bytes_max).unwrap_or(false)
    }

    /// Returns the limit that was reached, as counted by the kernel.
    pub(super) fn exceeded_limit(&self) -> Option<ExceededLimit> {
        self.group.as_ref().and_then(Cgroup::exceeded)
    }
}
