//! Effects of earlier attempts of a task that are not safe to repeat, as one attempt needs to know them.

use std::collections::HashMap;

use haft_contract::{AttemptAddress, CallAddress, CallKey};
use haft_journal::EarlierEffects;

/// The effects of earlier attempts.
pub(crate) struct EarlierAttempts {
    /// The effects, with the number of all of them.
    pub(crate) effects: EarlierEffects,
    /// The calls of each key, the earliest first. Empty if only a summary was loaded.
    by_key: HashMap<String, Vec<(u32, u32)>>,
}

impl EarlierAttempts {
    /// Keeps the summary that a warning needs.
    pub(crate) fn from_summary(effects: EarlierEffects) -> Self {
        Self { effects, by_key: HashMap::new() }
    }

    /// Keeps all calls, to find the same call among them.
    pub(crate) fn from_all_calls(effects: EarlierEffects) -> Self {
        let mut by_key: HashMap<String, Vec<(u32, u32)>> = HashMap::new();
        for call in &effects.first {
            by_key.entry(call.call_key.clone()).or_default().push((call.attempt, call.seq));
        }
        Self { effects, by_key }
    }

    /// Returns the calls of earlier attempts that have this key, the latest first.
    pub(crate) fn same_calls(&self, scope: &AttemptAddress, key: CallKey) -> Vec<CallAddress> {
        let found = self.by_key.get(&key.to_string()).map(Vec::as_slice).unwrap_or_default();
        let id = |&(attempt, seq): &(u32, u32)| CallAddress {
            scope: AttemptAddress { attempt, ..scope.clone() },
            seq,
        };
        found.iter().rev().map(id).collect()
    }
}
