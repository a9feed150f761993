//! The subagents that chats have at work, as those who begin and stop them know them: which are in the background, which of
//! these have ended without the chat being told, and how many there are beneath the chat that a person talks to. Beginning one,
//! and what it does, is not here.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_journal::SessionId;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::limits::{BACKGROUND_MAX, SUBAGENTS_AT_ONCE_MAX, SUBAGENTS_BEGUN_MAX};

/// The subagents that one chat has in the background.
pub(crate) struct BackgroundSubagents {
    /// All that are beneath the same chat of a person.
    pub(crate) tree: Arc<SubagentTree>,
    // Written by the calls that begin subagents and by these when they end; read by the chat's turns. Each holds the lock for
    // a look.
    state: Mutex<BackgroundSubagentsState>,
    end_added: Notify,
}

#[derive(Default)]
struct BackgroundSubagentsState {
    running: HashMap<SessionId, CancellationToken>,
    /// Those whose end was not told, in the order in which they ended.
    ended: VecDeque<SubagentEnd>,
}

/// That a subagent in the background has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SubagentEnd {
    pub(crate) child: SessionId,
    /// Why it failed, where that is not in its chat.
    pub(crate) why: Option<String>,
}

impl BackgroundSubagents {
    /// Returns those of a chat that is in this tree.
    pub(crate) fn in_tree(tree: Arc<SubagentTree>) -> Self {
        Self { tree, state: Mutex::default(), end_added: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, BackgroundSubagentsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for one more, if there is one left.
    pub(crate) fn reserve_slot(
        self: &Arc<Self>,
        child: &SessionId,
        stop: CancellationToken,
    ) -> Option<BackgroundSlot> {
        let mut state = self.state();
        if state.running.len() >= BACKGROUND_MAX {
            return None;
        }
        state.running.insert(child.clone(), stop.clone());
        Some(BackgroundSlot { background: Arc::clone(self), child: child.clone(), stop })
    }

    /// Says that one has ended.
    pub(crate) fn push_end(&self, end: SubagentEnd) {
        self.state().ended.push_back(end);
        self.end_added.notify_waiters();
    }

    /// Returns whether one is known: it runs here, or its end is waiting to be told.
    pub(crate) fn contains(&self, child: &SessionId) -> bool {
        let state = self.state();
        state.running.contains_key(child) || state.ended.iter().any(|end| end.child == *child)
    }

    /// Returns whether one runs, or the end of one is waiting to be told.
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

    /// Tells all of them to stop.
    pub(crate) fn stop_all(&self) {
        self.state().running.values().for_each(CancellationToken::cancel);
    }

    /// Stops all of them, and returns how many there were once they have ended.
    pub(crate) async fn stop_and_wait(&self) -> usize {
        let running = self.state().running.len();
        self.stop_all();
        loop {
            let news = self.end_added.notified();
            if self.state().running.is_empty() {
                return running;
            }
            news.await;
        }
    }

    /// Waits for an end that was not told; returns `false` if there is none and none runs.
    pub(crate) async fn wait_for_end(&self) -> bool {
        loop {
            let news = self.end_added.notified();
            {
                let state = self.state();
                if !state.ended.is_empty() {
                    return true;
                }
                if state.running.is_empty() {
                    return false;
                }
            }
            news.await;
        }
    }
}

/// The place of a subagent in the background, which it has until it is over.
pub(crate) struct BackgroundSlot {
    background: Arc<BackgroundSubagents>,
    pub(crate) child: SessionId,
    pub(crate) stop: CancellationToken,
}

impl BackgroundSlot {
    /// Says that the subagent has ended, and why it failed where that is not in its chat.
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

/// The subagents beneath one chat that a person talks to, on all levels, whether somebody waits for them or not. Each may
/// have others begin, so that no bound of one chat bounds them all.
#[derive(Default)]
pub(crate) struct SubagentTree {
    // Written by each call that begins a subagent, when that ends, and when a person says something.
    counts: Mutex<SubagentCounts>,
}

#[derive(Default)]
struct SubagentCounts {
    at_work: usize,
    begun: usize,
}

/// Why no further subagent is begun beneath a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubagentLimitReached {
    /// As many are at work as can be.
    AtWork,
    /// As many were begun as can be until a person says something.
    Begun,
}

/// The place of a subagent in a tree, which it has until it is over.
pub(crate) struct SubagentSlot {
    tree: Arc<SubagentTree>,
}

impl SubagentTree {
    fn counts(&self) -> MutexGuard<'_, SubagentCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place for one that is to be begun.
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

    /// Takes a place for one that was begun before, which there always is.
    pub(crate) fn reserve_resumed_slot(self: &Arc<Self>) -> SubagentSlot {
        self.counts().at_work += 1;
        SubagentSlot { tree: Arc::clone(self) }
    }

    /// Counts those that are begun anew: a person has said something.
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
