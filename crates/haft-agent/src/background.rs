//! Counts subagents and tracks the ones in the background: which ones run, and which ended without a notice to their parent.
//! Limits hold for the whole tree below the session that a person talks to. This module does not begin or run subagents.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_journal::SessionId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::limits::{BACKGROUND_MAX, SUBAGENTS_AT_ONCE_MAX, SUBAGENTS_BEGUN_MAX};

/// The background subagents of one session.
pub(crate) struct BackgroundSubagents {
    /// All subagents below the same top session.
    pub(crate) tree: Arc<SubagentTree>,
    // Calls write it when they begin a subagent, and subagents write it when they end. The session's turns read it. The lock
    // is never held across an await.
    state: Mutex<BackgroundSubagentsState>,
    end_added: Notify,
}

#[derive(Default)]
struct BackgroundSubagentsState {
    running: HashMap<SessionId, CancellationToken>,
    /// The ends that the model has not been notified of, oldest first.
    ended: VecDeque<SubagentEnd>,
}

/// The end of a background subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubagentEnd {
    pub(crate) child: SessionId,
    /// Why it failed, if its session does not record that.
    pub(crate) why: Option<String>,
}

impl BackgroundSubagents {
    /// Returns the empty state of a session in this tree.
    pub(crate) fn in_tree(tree: Arc<SubagentTree>) -> Self {
        Self { tree, state: Mutex::default(), end_added: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, BackgroundSubagentsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a slot for one more background subagent.
    pub(crate) fn reserve_slot(
        self: &Arc<Self>,
        child: &SessionId,
        stop: CancellationToken,
    ) -> Result<BackgroundSlot, SubagentLimitReached> {
        let mut state = self.state();
        if state.running.len() >= BACKGROUND_MAX {
            return Err(SubagentLimitReached::InBackground);
        }
        state.running.insert(child.clone(), stop.clone());
        Ok(BackgroundSlot { background: Arc::clone(self), child: child.clone(), stop })
    }

    /// Adds the end of a subagent and wakes the tasks that wait for it.
    pub(crate) fn push_end(&self, end: SubagentEnd) {
        self.state().ended.push_back(end);
        self.end_added.notify_waiters();
    }

    /// Returns whether the subagent runs here or its end awaits a notice.
    pub(crate) fn contains(&self, child: &SessionId) -> bool {
        let state = self.state();
        state.running.contains_key(child) || state.ended.iter().any(|end| end.child == *child)
    }

    /// Returns whether any subagent runs here or any end awaits a notice.
    pub(crate) fn has_any(&self) -> bool {
        let state = self.state();
        !state.running.is_empty() || !state.ended.is_empty()
    }

    pub(crate) fn first_end(&self) -> Option<SubagentEnd> {
        self.state().ended.front().cloned()
    }

    pub(crate) fn remove_first_end(&self) {
        self.state().ended.pop_front();
    }

    /// Cancels all running subagents.
    pub(crate) fn stop_all(&self) {
        self.state().running.values().for_each(CancellationToken::cancel);
    }

    /// Cancels all running subagents, waits for their ends and returns how many ran.
    pub(crate) async fn stop_and_wait(&self) -> usize {
        let running = self.state().running.len();
        self.stop_all();
        loop {
            let added = self.end_added.notified();
            if self.state().running.is_empty() {
                return running;
            }
            added.await;
        }
    }

    /// Waits for an end that awaits a notice. Returns `false` if no subagent runs and no end is left.
    pub(crate) async fn wait_for_end(&self) -> bool {
        loop {
            let added = self.end_added.notified();
            {
                let state = self.state();
                if !state.ended.is_empty() {
                    return true;
                }
                if state.running.is_empty() {
                    return false;
                }
            }
            added.await;
        }
    }
}

/// The slot of a background subagent. Dropping it frees the slot.
pub(crate) struct BackgroundSlot {
    background: Arc<BackgroundSubagents>,
    pub(crate) child: SessionId,
    pub(crate) stop: CancellationToken,
}

impl BackgroundSlot {
    /// Reports the end of the subagent, and why it failed if its session does not record that.
    pub(crate) fn report_end(&self, why: Option<String>) {
        self.background.push_end(SubagentEnd { child: self.child.clone(), why });
    }
}

impl Drop for BackgroundSlot {
    fn drop(&mut self) {
        self.background.state().running.remove(&self.child);
        self.background.end_added.notify_waiters();
    }
}

/// The number of subagents below one top session, on all levels, in foreground and background. Subagents begin subagents, so
/// a limit per session would not limit their total.
#[derive(Default)]
pub(crate) struct SubagentTree {
    // Calls that begin a subagent, slots that are dropped and prompts of a person write it.
    counts: Mutex<SubagentCounts>,
}

#[derive(Default)]
struct SubagentCounts {
    at_work: usize,
    begun: usize,
}

/// The limit that keeps a session from beginning another subagent.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum SubagentLimitReached {
    /// The tree runs its maximum of subagents.
    #[error(
        "{SUBAGENTS_AT_ONCE_MAX} subagents are at work beneath this session already, those of subagents included: \
         wait until one of them is done, or do the task with the other tools"
    )]
    AtWork,
    /// The tree began its maximum of subagents since the last prompt of a person.
    #[error(
        "{SUBAGENTS_BEGUN_MAX} subagents were begun since the last message of the user, those of subagents included: \
         do what is left with the other tools, or end with saying what is left"
    )]
    Begun,
    /// The session runs its maximum of background subagents.
    #[error(
        "{BACKGROUND_MAX} subagents are in the background already: wait until one of them is done"
    )]
    InBackground,
}

/// The slot of a subagent in a tree. Dropping it frees the slot.
pub(crate) struct SubagentSlot {
    tree: Arc<SubagentTree>,
}

impl SubagentTree {
    fn counts(&self) -> MutexGuard<'_, SubagentCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves a slot for a new subagent.
    pub(crate) fn reserve_slot(self: &Arc<Self>) -> Result<SubagentSlot, SubagentLimitReached> {
        let mut counts = self.counts();
        if counts.at_work >= SUBAGENTS_AT_ONCE_MAX {
            return Err(SubagentLimitReached::AtWork);
        }
        if counts.begun >= SUBAGENTS_BEGUN_MAX {
            return Err(SubagentLimitReached::Begun);
        }
        counts.at_work += 1;
        counts.begun += 1;
        Ok(SubagentSlot { tree: Arc::clone(self) })
    }

    /// Reserves a slot for a subagent that an earlier process began. This never fails.
    pub(crate) fn reserve_resumed_slot(self: &Arc<Self>) -> SubagentSlot {
        self.counts().at_work += 1;
        SubagentSlot { tree: Arc::clone(self) }
    }

    /// Resets the number of begun subagents, because a person sent a prompt.
    pub(crate) fn reset_begun_count(&self) {
        self.counts().begun = 0;
    }
}

impl Drop for SubagentSlot {
    fn drop(&mut self) {
        self.tree.counts().at_work -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_subagents_are_at_work_and_so_many_are_begun() {
        let tree = Arc::<SubagentTree>::default();
        let mut seats: Vec<SubagentSlot> =
            (0..SUBAGENTS_AT_ONCE_MAX).map(|_| tree.reserve_slot().ok().unwrap()).collect();
        assert_eq!(tree.reserve_slot().err(), Some(SubagentLimitReached::AtWork));
        let resumed = tree.reserve_resumed_slot();
        seats.pop();
        assert_eq!(
            tree.reserve_slot().err(),
            Some(SubagentLimitReached::AtWork),
            "a resumed subagent counts"
        );
        drop((resumed, seats));
        let is_begun = |_: usize| tree.reserve_slot().is_ok();
        assert!((SUBAGENTS_AT_ONCE_MAX..SUBAGENTS_BEGUN_MAX).all(is_begun));
        assert_eq!(tree.reserve_slot().err(), Some(SubagentLimitReached::Begun));
        tree.reset_begun_count();
        assert!(tree.reserve_slot().is_ok());
    }
}
