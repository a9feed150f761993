//! Makes names of chats, messages and parts that sort in the order in which they were made. A name holds the time and
//! chance, and both are passed in; how it is spelled is the journal's business.

use std::sync::{Arc, Mutex, PoisonError};

use haft::Clock;
use haft_journal::{MessageId, PartId, SessionId};

/// Bits of chance, below the time.
const RANDOM_BITS: u32 = 80;
/// Bits of the time, in milliseconds.
const TIME_BITS: u32 = 48;

/// A source of chance.
pub trait RandomSource: Send + Sync {
    /// Fills the bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// Makes names, each greater than those before it.
pub struct SessionIdGenerator {
    clock: Arc<dyn Clock>,
    random: Arc<dyn RandomSource>,
    // The last name that was given; whoever makes one takes the lock.
    last: Mutex<u128>,
}

impl SessionIdGenerator {
    /// Returns a maker of names that are all greater than one with these bits, also when the clock was set back since that
    /// was made.
    pub fn new(clock: Arc<dyn Clock>, random: Arc<dyn RandomSource>, floor: u128) -> Self {
        Self { clock, random, last: Mutex::new(floor) }
    }

    /// Has all further names be greater than one with these bits.
    pub fn raise_floor(&self, floor: u128) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = (*last).max(floor);
    }

    /// Returns the next name of a chat.
    pub fn next_session_id(&self) -> SessionId {
        SessionId::from_bits(self.next_bits())
    }

    /// Returns the next name of a message.
    pub fn next_message_id(&self) -> MessageId {
        MessageId::from_bits(self.next_bits())
    }

    /// Returns the next name of a part.
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
        // In the same millisecond, or with a clock that was set back, the next number is the next name.
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
