//! The time for which haft does not start a program again after it failed. No call waits for the end of that time: a call
//! that comes too early fails at once. The caller reads the clock.

use std::time::{Duration, Instant};

use crate::limits::LEFT_ALONE_SECONDS;

/// The failures in a row, and the time of the next try.
#[derive(Clone, Debug)]
pub struct FailureBackoff {
    failures: usize,
    until: Instant,
}

impl FailureBackoff {
    /// Returns the time to leave something alone after one more failure.
    pub fn after(failures_before: usize, now: Instant) -> Self {
        let [.., longest] = LEFT_ALONE_SECONDS;
        let seconds = LEFT_ALONE_SECONDS.get(failures_before).copied().unwrap_or(longest);
        let failures = failures_before.saturating_add(1);
        Self { failures, until: now + Duration::from_secs(seconds) }
    }

    /// Returns how often it failed in a row.
    pub fn failures(&self) -> usize {
        self.failures
    }

    /// Returns the time that is left, in whole seconds and more than none; nothing if it is over.
    pub fn seconds_left(&self, now: Instant) -> Option<u64> {
        let left = self.until.checked_duration_since(now).filter(|left| !left.is_zero())?;
        Some(left.as_millis().div_ceil(1_000).try_into().unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_grow_and_stay_at_the_longest() {
        let now = Instant::now();
        let mut failures = 0;
        let mut times = Vec::new();
        for _ in 0..7 {
            let backoff = FailureBackoff::after(failures, now);
            failures = backoff.failures();
            times.push(backoff.seconds_left(now).unwrap());
        }
        assert_eq!(times, [1, 2, 5, 15, 60, 60, 60]);
        let backoff = FailureBackoff::after(0, now);
        assert_eq!(backoff.seconds_left(now + Duration::from_millis(1)), Some(1));
        assert_eq!(backoff.seconds_left(now + Duration::from_secs(1)), None);
        assert_eq!(FailureBackoff::after(usize::MAX, now).seconds_left(now), Some(60));
    }
}
