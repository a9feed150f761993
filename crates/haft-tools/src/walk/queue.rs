//! Hands the directories of a walk to the threads that share it, and keeps what they find. It knows when the walk
//! is over: nothing waits and nobody can add to it.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use haft_contract::FilePath;

use super::listing::{Listing, Node, Settled};
use super::rules::Rules;

/// Most entries that a walk keeps; a larger tree is listed in part.
pub(crate) const ENTRIES_MAX: usize = 1_000_000;

/// A directory that is to be looked at.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) directory: FilePath,
    /// The rules that hold above it.
    pub(crate) rules: Option<Arc<Rules>>,
    /// How far below the base it lies.
    pub(crate) depth: usize,
}

/// What a look at a directory gave.
#[derive(Debug)]
pub(crate) struct Visited {
    pub(crate) node: Node,
    pub(crate) jobs: Vec<Job>,
    /// Entries that are wanted, or that wanted entries may lie in, and whose paths are too long for any tool.
    pub(crate) too_deep: usize,
}

/// The shared state of a walk. Every thread both takes from it and adds to it, and has to know when all others
/// have nothing more to add, which is more than a channel tells.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Last in, first out: the deepest directories go first, which keeps this short.
    waiting: Vec<(usize, Job)>,
    claimed: usize,
    nodes: Vec<Option<Settled>>,
    entries: usize,
    too_deep: usize,
    stopped: bool,
}

/// A job that a thread has taken. The queue waits for it until this is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    queue: &'a Queue,
    id: usize,
    job: Option<Job>,
}

impl Queue {
    /// Returns the queue of a walk whose first directory has been looked at.
    pub(crate) fn new(first: Visited) -> Self {
        let mut state = State {
            waiting: Vec::new(),
            claimed: 0,
            nodes: vec![None],
            entries: 0,
            too_deep: 0,
            stopped: false,
        };
        state.add(0, first);
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Returns how many directories wait now.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Takes a directory, waiting for one if others may still add some; `None` when the walk is over.
    pub(crate) fn claim(&self) -> Option<Claim<'_>> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some((id, job)) = state.waiting.pop() {
                state.claimed += 1;
                return Some(Claim { queue: self, id, job: Some(job) });
            }
            if state.claimed == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the walk before its time.
    pub(crate) fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Returns what was found.
    pub(crate) fn into_listing(self) -> Listing {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        Listing::new(state.nodes, state.too_deep, state.stopped)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, id: usize, visited: Visited) {
        let first_job = self.nodes.len();
        self.entries += visited.node.children.len();
        self.too_deep += visited.too_deep;
        self.stopped |= self.entries > ENTRIES_MAX;
        self.nodes.resize_with(first_job + visited.jobs.len(), || None);
        self.waiting.extend((first_job..).zip(visited.jobs));
        if let Some(slot) = self.nodes.get_mut(id) {
            *slot = Some(Settled { node: visited.node, first_job });
        }
    }
}

impl Claim<'_> {
    /// Takes the job out of the claim.
    pub(crate) fn take_job(&mut self) -> Option<Job> {
        self.job.take()
    }

    /// Hands in what was found there.
    pub(crate) fn finish(self, visited: Visited) {
        self.queue.lock().add(self.id, visited);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.claimed -= 1;
        drop(state);
        self.queue.changed.notify_all();
    }
}
