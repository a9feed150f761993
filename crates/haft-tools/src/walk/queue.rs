//! Hands the directories of a walk to its threads and collects the results. The walk is over when no directory waits and no
//! thread can add one.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use haft_contract::FilePath;

use super::ignore_rules::WalkIgnoreRules;
use super::listing::{WalkDirectory, WalkListing, WalkTreeNode};

/// Directory entries of one search.
///
/// Limit (files): the search ends and says so.
pub(crate) const ENTRIES_MAX: usize = 1_000_000;

/// A directory that is to be looked at.
#[derive(Debug)]
pub(crate) struct WalkJob {
    pub(crate) directory: FilePath,
    /// The rules that hold above it.
    pub(crate) rules: Option<Arc<WalkIgnoreRules>>,
    /// How far below the base it lies.
    pub(crate) depth: usize,
}

/// The result of listing a directory.
#[derive(Debug)]
pub(crate) struct DirectoryVisit {
    pub(crate) node: WalkDirectory,
    pub(crate) jobs: Vec<WalkJob>,
    /// Entries that are wanted, or that wanted entries may lie in, and whose paths are too long for any tool.
    pub(crate) too_deep: usize,
    /// Such entries that are hidden or that ignore files name.
    pub(crate) passed_over: usize,
}

/// The shared state of a walk. Every thread both takes from it and adds to it, and has to know when all others
/// have nothing more to add, which is more than a channel tells.
#[derive(Debug)]
pub(crate) struct WalkQueue {
    state: Mutex<WalkQueueState>,
    changed: Condvar,
}

#[derive(Debug)]
struct WalkQueueState {
    /// Last in, first out: the deepest directories go first, which keeps this short.
    waiting: Vec<(usize, WalkJob)>,
    jobs_taken: usize,
    nodes: Vec<Option<WalkTreeNode>>,
    entries: usize,
    too_deep: usize,
    passed_over: usize,
    stopped: bool,
}

/// A job that a thread has taken. The queue waits for it until this is dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct WalkJobGuard<'a> {
    queue: &'a WalkQueue,
    id: usize,
    job: Option<WalkJob>,
}

impl WalkQueue {
    /// Returns the queue of a walk whose first directory has been looked at.
    pub(crate) fn new(first: DirectoryVisit) -> Self {
        let mut state = WalkQueueState {
            waiting: Vec::new(),
            jobs_taken: 0,
            nodes: vec![None],
            entries: 0,
            too_deep: 0,
            passed_over: 0,
            stopped: false,
        };
        state.add_visit(0, first);
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Returns how many directories wait now.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Takes a directory, waiting for one if others may still add some; `None` when the walk is over.
    pub(crate) fn next_job(&self) -> Option<WalkJobGuard<'_>> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some((id, job)) = state.waiting.pop() {
                state.jobs_taken += 1;
                return Some(WalkJobGuard { queue: self, id, job: Some(job) });
            }
            if state.jobs_taken == 0 {
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
    pub(crate) fn into_listing(self) -> WalkListing {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        WalkListing::new(state.nodes, state.too_deep, state.stopped)
            .with_passed_over(state.passed_over)
    }

    fn lock(&self) -> MutexGuard<'_, WalkQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WalkQueueState {
    fn add_visit(&mut self, id: usize, visited: DirectoryVisit) {
        let first_job = self.nodes.len();
        self.entries += visited.node.children.len();
        self.too_deep += visited.too_deep;
        self.passed_over += visited.passed_over;
        self.stopped |= self.entries > ENTRIES_MAX;
        self.nodes.resize_with(first_job + visited.jobs.len(), || None);
        self.waiting.extend((first_job..).zip(visited.jobs));
        if let Some(slot) = self.nodes.get_mut(id) {
            *slot = Some(WalkTreeNode { node: visited.node, first_job });
        }
    }
}

impl WalkJobGuard<'_> {
    /// Takes the job out of the claim.
    pub(crate) fn take_job(&mut self) -> Option<WalkJob> {
        self.job.take()
    }

    /// Hands in what was found there.
    pub(crate) fn finish(self, visited: DirectoryVisit) {
        self.queue.lock().add_visit(self.id, visited);
    }
}

impl Drop for WalkJobGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.jobs_taken -= 1;
        drop(state);
        self.queue.changed.notify_all();
    }
}
