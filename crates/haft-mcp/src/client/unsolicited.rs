//! Counts what a server says without being asked, and when that is too much.

use std::time::Duration;

use tokio::time::Instant;

use super::limits::SERVER_UNASKED_PER_SECOND_MAX;

/// The messages of the second that runs.
pub(super) struct UnsolicitedMessages {
    second_began: Instant,
    messages: u32,
}

impl UnsolicitedMessages {
    pub(super) fn new(now: Instant) -> Self {
        Self { second_began: now, messages: 0 }
    }

    /// Counts one more, or says why the server is not listened to any more.
    pub(super) fn count_message(&mut self, now: Instant) -> Result<(), String> {
        if now.duration_since(self.second_began) >= Duration::from_secs(1) {
            (self.second_began, self.messages) = (now, 0);
        }
        self.messages += 1;
        match self.messages > SERVER_UNASKED_PER_SECOND_MAX {
            true => Err(format!(
                "it sent more than {SERVER_UNASKED_PER_SECOND_MAX} unsolicited messages within a second"
            )),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_are_bearable_come_in_each_second() {
        let began = Instant::now();
        let mut unasked = UnsolicitedMessages::new(began);
        for second in 0..3 {
            let now = began + Duration::from_secs(second);
            for _ in 0..SERVER_UNASKED_PER_SECOND_MAX {
                assert_eq!(unasked.count_message(now), Ok(()));
            }
        }
        let late = began + Duration::from_millis(2_999);
        assert!(unasked.count_message(late).is_err_and(|why| why.contains("within a second")));
    }
}
