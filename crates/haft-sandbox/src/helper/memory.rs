//! Bounding the memory, and where that is possible the number, of all processes of a command together: by a control group
//! where one can be had, else by looking at what they use.

use std::io;

use rustix::process::{Pid, getpid};

use crate::cgroup::{self, Cgroup, Exceeded};
use crate::confinement::Resources;
use crate::wire::{Failure, Stage};

/// What bounds one command's processes together.
pub(super) struct Bound {
    /// Removed with this value, when all of them have ended.
    group: Option<Cgroup>,
}

impl Bound {
    /// Makes a control group, where this process may.
    pub(super) fn new() -> Bound {
        // The number is this process's own while it lives. A group that a dead one has left is not taken over.
        let name = format!("haft-{}", getpid().as_raw_pid());
        Bound { group: Cgroup::create(&Resources::default(), &name) }
    }

    /// Tells whether the kernel bounds what all of them hold, mapped or not.
    pub(super) fn is_complete(&self) -> bool {
        self.group.is_some()
    }

    /// Puts a process, and all that it starts from then on, under the bounds.
    pub(super) fn hold(&self, process: Pid, resources: &Resources) -> Result<(), Failure> {
        let Some(group) = &self.group else { return Ok(()) };
        group.bound(resources).and_then(|()| group.add(process)).map_err(|error: io::Error| {
            Failure::new(Stage::Confine, "entering a control group", &error)
        })
    }

    /// Tells whether a process and all its descendants use more memory than they may.
    pub(super) fn is_memory_exceeded(&self, process: Pid, resources: &Resources) -> bool {
        match &self.group {
            Some(group) => group.exceeded() == Some(Exceeded::Memory),
            // What cannot be read now is read the next time.
            None => cgroup::uses_more_than(process, resources.memory_bytes).unwrap_or(false),
        }
    }

    /// Returns the bound that was met, as far as the kernel has counted.
    pub(super) fn exceeded(&self) -> Option<Exceeded> {
        self.group.as_ref().and_then(Cgroup::exceeded)
    }
}
