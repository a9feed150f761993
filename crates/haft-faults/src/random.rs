//! Random numbers from a seed (splitmix64), so that a run can be repeated. They are only good
//! enough for choosing.

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct SeededRandom {
    state: u64,
}

impl SeededRandom {
    /// Returns the sequence for a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns one of many sequences for the same seed.
    #[must_use]
    pub fn from_seeds(seed: u64, which: u64) -> Self {
        Self::new(Self::new(seed ^ which.wrapping_mul(0xd6e8_feb8_6659_fd93)).number())
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.number().checked_rem(bound).unwrap_or_default()
    }

    /// Returns true once in `count` times on average.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// Returns one of the given values.
    ///
    /// # Panics
    ///
    /// If `from` is empty.
    pub fn choose<T: Clone>(&mut self, from: &[T]) -> T {
        let index = usize::try_from(self.below(from.len() as u64)).unwrap_or_default();
        from.get(index).expect("the list to choose from is not empty").clone()
    }
}
