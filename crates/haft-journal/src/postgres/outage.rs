//! Whether a thread of the journal waits for a server that gives no answer. Callers ask meanwhile, so that they can say so.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::limits::OUTAGE_MS_MIN;

/// How long a thread has waited for its server, and why.
#[derive(Debug, Default)]
pub(super) struct Outage {
    // Its thread writes; callers read.
    state: Mutex<WaitState>,
}

#[derive(Debug, Default)]
struct WaitState {
    /// When the thread began the work that it does now.
    busy_since: Option<Instant>,
    /// Why there is no connection.
    reason: Option<String>,
}

impl Outage {
    /// Says that the thread begins some work.
    pub(super) fn begin_work(&self) {
        self.change(|state| state.busy_since = Some(Instant::now()));
    }

    /// Says that the work is done, however it ended.
    pub(super) fn end_work(&self) {
        self.change(|state| state.busy_since = None);
    }

    /// Says that a connection was made, or why none could be.
    pub(super) fn set_reason(&self, reason: Option<String>) {
        self.change(|state| state.reason = reason);
    }

    /// Returns why the thread waits, if it has waited for so long that its callers should know.
    pub(super) fn reason(&self) -> Option<String> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = state.busy_since?.elapsed();
        let is_long = waited.as_millis() >= u128::from(OUTAGE_MS_MIN);
        let silence = || format!("the server has given no answer for {} s", waited.as_secs());
        is_long.then(|| state.reason.clone().unwrap_or_else(silence))
    }

    fn change(&self, change: impl FnOnce(&mut WaitState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
