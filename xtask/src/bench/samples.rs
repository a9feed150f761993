//! Samples, and the figures that follow from them. Percentiles are by nearest rank, so each was really observed. There are
//! no means, because one disturbance can move a mean anywhere.

use std::time::Duration;

/// Observations of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples<T>(Vec<T>);

impl<T: Copy + Ord> Samples<T> {
    pub(super) fn push(&mut self, sample: T) {
        self.0.push(sample);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn median(&self) -> Option<T> {
        self.percentile(50)
    }

    /// Returns the smallest sample that at least so many percent do not exceed.
    pub(super) fn percentile(&self, percent: usize) -> Option<T> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).copied()
    }
}

/// Returns a duration in milliseconds with about three digits that count.
pub(super) fn milliseconds(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1_000.0;
    let decimals = match milliseconds {
        ..10.0 if milliseconds < 0.1 => 4,
        ..10.0 if milliseconds < 1.0 => 3,
        ..10.0 => 2,
        ..100.0 => 1,
        _ => 0,
    };
    format!("{milliseconds:.decimals$}")
}

/// Returns how many times as long the first took as the second.
pub(super) fn ratio(numerator: Duration, denominator: Duration) -> f64 {
    numerator.as_secs_f64() / denominator.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let samples = Samples((1..=200).rev().collect());
        let at = |percent| samples.percentile(percent);
        assert_eq!((at(1), at(50), at(99), at(100)), (Some(2), Some(100), Some(198), Some(200)));
        assert_eq!(Samples(vec![7]).percentile(99), Some(7));
        assert_eq!(Samples(vec![3, 1, 2]).median(), Some(2));
        assert_eq!(Samples::<u8>::default().median(), None);
    }

    #[test]
    fn figures_are_short() {
        for (microseconds, expect) in [
            (18, "0.0180"),
            (181, "0.181"),
            (1_810, "1.81"),
            (18_140, "18.1"),
            (181_400, "181"),
            (18_140_000, "18140"),
        ] {
            assert_eq!(milliseconds(Duration::from_micros(microseconds)), expect);
        }
    }
}
