//! Bounding the memory of all processes of a command together: by looking at what they use, and if that was asked for and
//! can be had, by a control group, which also bounds what none of them has mapped.

use rustix::process::{Pid, getpid};

use crate::cgroup::{self, Cgroup};
use crate::process::Exceeded;
use crate::wire::{Bounds, Failure, Stage};

/// What bounds one command's processes together.
pub(super) struct Bound {
    memory_bytes_max: u64,
    /// Removed with this value, when all of them have ended.
    group: Option<Cgroup>,
}

impl Bound {
    pub(super) fn new(bounds: &Bounds) -> Bound {
        // The number is this process's own while it lives. A group that a dead one has left is not taken over.
        let name = format!("haft-{}", getpid().as_raw_pid());
        let make = || Cgroup::create(&bounds.resources, &name);
        let group = if bounds.wants_group { make() } else { None };
        Bound { memory_bytes_max: bounds.resources.memory_bytes, group }
    }

    /// Puts a process, and all that it starts from then on, into the group if there is one.
    pub(super) fn hold(&self, process: Pid) -> Result<(), Failure> {
        let held = self.group.as_ref().map_or(Ok(()), |group| group.add(process));
        held.map_err(|error| Failure::new(Stage::Confine, "entering a control group", &error))
    }

    /// Tells whether a process and all its descendants use, or used, more memory than they may.
    pub(super) fn is_memory_exceeded(&self, process: Pid) -> bool {
        self.exceeded() == Some(Exceeded::Memory)
            // What cannot be read now is read the next time.
            || cgroup::uses_more_than(process, self.memory_bytes_max).unwrap_or(false)
    }

    /// Returns the bound that was met, as far as the kernel has counted.
    pub(super) fn exceeded(&self) -> Option<Exceeded> {
        self.group.as_ref().and_then(Cgroup::exceeded)
    }
}
