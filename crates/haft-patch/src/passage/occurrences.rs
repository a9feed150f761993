//! Finds every place where a sequence occurs, overlapping ones included, in linear time.
//!
//! The standard library's string search skips overlaps, and restarting it after each hit is
//! quadratic on text such as a long run of one letter, so this is Knuth, Morris and Pratt over
//! anything comparable: bytes for the edit matcher, line numbers for the patch applier.

/// Returns the starts of all occurrences in rising order; an empty needle occurs nowhere.
pub(crate) fn find_overlapping<T: PartialEq>(haystack: &[T], needle: &[T]) -> Vec<usize> {
    if needle.is_empty() || needle.len() > haystack.len() {
        return Vec::new();
    }
    let pattern = SearchNeedle::new(needle);
    let mut matched = 0;
    let mut starts = Vec::new();
    for (at, item) in haystack.iter().enumerate() {
        matched = pattern.advance(matched, item);
        if matched == needle.len() {
            starts.push(at + 1 - matched);
        }
    }
    starts
}

struct SearchNeedle<'n, T> {
    needle: &'n [T],
    /// For each prefix of the needle, the length of its longest proper prefix that also ends it.
    borders: Vec<usize>,
}

impl<'n, T: PartialEq> SearchNeedle<'n, T> {
    fn new(needle: &'n [T]) -> Self {
        let mut pattern = Self { needle, borders: vec![0] };
        let mut matched = 0;
        for item in needle.iter().skip(1) {
            matched = pattern.advance(matched, item);
            pattern.borders.push(matched);
        }
        pattern
    }

    /// Returns how much of the needle is matched once `item` follows `matched` matched items.
    fn advance(&self, mut matched: usize, item: &T) -> usize {
        loop {
            if self.needle.get(matched) == Some(item) {
                return matched + 1;
            }
            match matched.checked_sub(1).and_then(|last| self.borders.get(last)) {
                Some(shorter) => matched = *shorter,
                None => return 0,
            }
        }
    }
}
