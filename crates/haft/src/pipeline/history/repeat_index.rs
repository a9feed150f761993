//! The repeat index of each call: repeating a call gives it the next index and a different key. Two calls never get the
//! same key. A key that was given back goes to the next call.

use std::collections::{BTreeSet, HashMap, HashSet};

use haft_contract::CallKey;

/// Largest number of skipped indices after the last known one, when haft looks for a recorded key.
const SKIPPED_MAX: u32 = 16;

/// The repeat indices of the calls of one attempt.
#[derive(Default)]
pub(super) struct RepeatIndices {
    /// The keys of recorded calls by their first key, if no call with that first key was made since.
    recorded: HashMap<String, Vec<String>>,
    /// The indices of calls that were made since, by first key.
    repeats: HashMap<CallKey, CallRepeats>,
}

/// The repeat indices of one call.
#[derive(Default)]
struct CallRepeats {
    /// The index after the last one.
    next: u32,
    /// Free indices below `next`. The next call takes the lowest one.
    given_back: BTreeSet<u32>,
    /// Recorded keys whose index was not reached yet.
    recorded: HashSet<String>,
}

impl RepeatIndices {
    /// Returns the indices of recorded calls, given as keys by the first key that they share.
    pub(super) fn from_recorded(recorded: HashMap<String, Vec<String>>) -> Self {
        Self { recorded, repeats: HashMap::new() }
    }

    /// Returns the indices of a call, with its recorded keys.
    fn repeats_of(&mut self, first_key: CallKey) -> &mut CallRepeats {
        let recorded = &mut self.recorded;
        self.repeats.entry(first_key).or_insert_with(|| {
            let recorded = recorded.remove(&first_key.to_string()).unwrap_or_default();
            CallRepeats { recorded: recorded.into_iter().collect(), ..CallRepeats::default() }
        })
    }

    /// Takes the first free index.
    pub(super) fn take_next(&mut self, first_key: CallKey) -> u32 {
        let made = self.repeats_of(first_key);
        if let Some(free) = made.given_back.pop_first() {
            return free;
        }
        loop {
            let occurrence = made.next;
            made.next += 1;
            let is_taken = !made.recorded.is_empty()
                && made.recorded.remove(&first_key.with_repeat_index(occurrence).to_string());
            if !is_taken {
                return occurrence;
            }
        }
    }

    /// Takes this index.
    pub(super) fn take(&mut self, first_key: CallKey, occurrence: u32) {
        let made = self.repeats_of(first_key);
        if made.given_back.remove(&occurrence) || occurrence < made.next {
            return;
        }
        // The indices in between are free.
        made.given_back.extend((made.next..occurrence).filter(|skipped| {
            !made.recorded.remove(&first_key.with_repeat_index(*skipped).to_string())
        }));
        made.recorded.remove(&first_key.with_repeat_index(occurrence).to_string());
        made.next = occurrence + 1;
    }

    /// Frees an index for the next call.
    pub(super) fn give_back(&mut self, first_key: CallKey, occurrence: u32) {
        self.repeats_of(first_key).given_back.insert(occurrence);
    }

    /// Returns a number that is greater than all known indices.
    pub(super) fn upper_bound(&mut self, first_key: CallKey) -> u32 {
        let made = self.repeats_of(first_key);
        let recorded = u32::try_from(made.recorded.len()).unwrap_or(u32::MAX);
        made.next.saturating_add(recorded).saturating_add(SKIPPED_MAX)
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::{AttemptAddress, RunId};

    use super::*;

    fn key() -> CallKey {
        CallKey::of_first_call(
            &AttemptAddress::first_of_run(RunId::parse("r").unwrap()),
            "order",
            "{}",
        )
    }

    fn recorded(occurrences: &[u32]) -> RepeatIndices {
        let keys =
            occurrences.iter().map(|&occurrence| key().with_repeat_index(occurrence).to_string());
        RepeatIndices::from_recorded([(key().to_string(), keys.collect())].into())
    }

    fn next(occurrences: &mut RepeatIndices, count: usize) -> Vec<u32> {
        std::iter::repeat_with(|| occurrences.take_next(key())).take(count).collect()
    }

    #[test]
    fn no_two_calls_share_an_occurrence() {
        assert_eq!(next(&mut RepeatIndices::default(), 3), [0, 1, 2]);
        assert_eq!(next(&mut recorded(&[0, 1]), 2), [2, 3]);
        // A call that left no row leaves a gap.
        assert_eq!(next(&mut recorded(&[1, 3]), 4), [0, 2, 4, 5]);
    }

    #[test]
    fn what_was_given_back_comes_first() {
        let mut occurrences = recorded(&[0]);
        assert_eq!(next(&mut occurrences, 3), [1, 2, 3]);
        occurrences.give_back(key(), 1);
        occurrences.give_back(key(), 3);
        assert_eq!(next(&mut occurrences, 3), [1, 3, 4]);
    }

    #[test]
    fn what_is_made_again_is_not_made_anew() {
        let mut occurrences = recorded(&[0, 2]);
        occurrences.take(key(), 2);
        assert_eq!(next(&mut occurrences, 3), [1, 3, 4]);
        occurrences.take(key(), 2);
        assert_eq!(next(&mut occurrences, 1), [5]);
        assert!(occurrences.upper_bound(key()) > 5);
    }
}
