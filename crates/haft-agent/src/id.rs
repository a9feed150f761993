//! Makes the ids of sessions, messages and parts. Ids sort in the order in which they were made: they hold the time and random
//! bits. The journal decides how an id is spelled.

use std::sync::{Arc, Mutex, PoisonError};

use haft::Clock;
use haft_journal::{MessageId, PartId, SessionId};

/// The number of random bits, below the time.
const RANDOM_BITS: u32 = 80;
/// The number of bits of the time in milliseconds.
const TIME_BITS: u32 = 48;

/// A random source.
pub trait RandomSource: Send + Sync {
    /// Fills the bytes with random ones.
    fn fill(&self, bytes: &mut [u8]);
}

/// Makes ids, each greater than the ids before it.
pub struct SessionIdGenerator {
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    // The last id. Each caller that makes one takes the lock.
    last: Mutex<u128>,
}

impl SessionIdGenerator {
    /// Returns a generator of ids that are greater than `floor`, even if the clock was set back.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn RandomSource>, floor: u128) -> Self {
        Self { clock, random, last: Mutex::new(floor) }
    }

    /// Makes all further ids greater than `floor`.
    pub fn raise_floor(&self, floor: u128) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = (*last).max(floor);
    }

    /// Returns the next id of a session.
    pub fn next_session_id(&self) -> SessionId {
        SessionId::from_bits(self.next_bits())
    }

    /// Returns the next id of a message.
    pub fn next_message_id(&self) -> MessageId {
        MessageId::from_bits(self.next_bits())
    }

    /// Returns the next id of a part.
    pub fn next_part_id(&self) -> PartId {
        PartId::from_bits(self.next_bits())
    }

    fn next_bits(&self) -> u128 {
        let mut random = [0; 10];
        self.random.fill(&mut random);
        let random = random.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        let time = u128::from(self.clock.now_ms()) & ((1 << TIME_BITS) - 1);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_later = time > *last >> RANDOM_BITS;
        // In the same millisecond, or if the clock was set back, the next number is the next id.
        *last = if is_later { time << RANDOM_BITS | random } else { last.saturating_add(1) };
        *last
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct SetClock(AtomicU64);

    impl Clock for SetClock {
        fn now_ms(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    struct Same(u8);

    impl RandomSource for Same {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn names_sort_in_the_order_in_which_they_were_made() {
        let clock = Arc::new(SetClock(AtomicU64::new(1_700_000_000_000)));
        let ids =
            SessionIdGenerator::new(Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(Same(0xff)), 0);
        let mut names: Vec<MessageId> = (0..40).map(|_| ids.next_message_id()).collect();
        clock.0.store(1_600_000_000_000, Ordering::Relaxed);
        names.push(ids.next_message_id());
        clock.0.store(1_700_000_000_001, Ordering::Relaxed);
        names.push(ids.next_message_id());
        assert!(names.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()), "{names:?}");
    }

    #[test]
    fn names_are_greater_than_the_floor() {
        let clock: Arc<dyn Clock> = Arc::new(SetClock(AtomicU64::new(5)));
        let floor = 1_700_000_000_000 << RANDOM_BITS | 0xff;
        let ids = SessionIdGenerator::new(Arc::clone(&clock), Arc::new(Same(0)), floor);
        assert_eq!(ids.next_session_id().bits(), floor + 1);
        let ids = SessionIdGenerator::new(clock, Arc::new(Same(0)), 0);
        assert_eq!(ids.next_part_id().bits(), 5 << RANDOM_BITS);
        ids.raise_floor(floor);
        assert_eq!(ids.next_message_id().bits(), floor + 1);
    }
}
