//! How often each call was made: the same call again is the next occurrence of it, and has a key of its own. No key is
//! given to two calls, and one that was given back is given to the next.

use std::collections::{BTreeSet, HashMap, HashSet};

use haft_contract::CallKey;

/// Keys beyond the last known one that may have been skipped, when a recorded one is looked for.
const SKIPPED_MAX: u32 = 16;

/// The occurrences of the calls of one attempt.
#[derive(Default)]
pub(super) struct RepeatIndices {
    /// The keys of recorded calls by their first key, of those that were not made since.
    recorded: HashMap<String, Vec<String>>,
    repeats: HashMap<CallKey, CallRepeats>,
}

/// What was made of one call.
#[derive(Default)]
struct CallRepeats {
    /// The occurrence after the last one.
    next: u32,
    given_back: BTreeSet<u32>,
    /// Recorded keys whose occurrence was not met yet.
    recorded: HashSet<String>,
}

impl RepeatIndices {
    /// Returns the occurrences of recorded calls: their keys by the first key that they share.
    pub(super) fn from_recorded(recorded: HashMap<String, Vec<String>>) -> Self {
        Self { recorded, repeats: HashMap::new() }
    }

    fn repeats_of(&mut self, first_key: CallKey) -> &mut CallRepeats {
        let recorded = &mut self.recorded;
        self.repeats.entry(first_key).or_insert_with(|| {
            let recorded = recorded.remove(&first_key.to_string()).unwrap_or_default();
            CallRepeats { recorded: recorded.into_iter().collect(), ..CallRepeats::default() }
        })
    }

    /// Takes the first occurrence that no call has.
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

    /// Takes this occurrence.
    pub(super) fn take(&mut self, first_key: CallKey, occurrence: u32) {
        let made = self.repeats_of(first_key);
        if made.given_back.remove(&occurrence) || occurrence < made.next {
            return;
        }
        // Those in between belong to nobody yet.
        made.given_back.extend((made.next..occurrence).filter(|skipped| {
            !made.recorded.remove(&first_key.with_repeat_index(*skipped).to_string())
        }));
        made.recorded.remove(&first_key.with_repeat_index(occurrence).to_string());
        made.next = occurrence + 1;
    }

    /// Gives an occurrence back, for the next call to take.
    pub(super) fn give_back(&mut self, first_key: CallKey, occurrence: u32) {
        self.repeats_of(first_key).given_back.insert(occurrence);
    }

    /// Returns the number of occurrences among which all that are known lie.
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
