//! The end of the output of a command that runs, for people who look on. It is a sample: the answer of the call has the
//! output itself.

use haft_contract::ProgressSink;
use tokio::time::{Duration, Instant};

use crate::terminal_text::terminal_text;

/// Time between two samples of the output of a running command, in milliseconds.
pub(super) const LIVE_OUTPUT_MS: u64 = 250;
/// The end of the output that a sample shows, in bytes.
const LIVE_OUTPUT_BYTES_MAX: usize = 2_048;

/// The last bytes of an output, and when they were reported.
pub(super) struct LiveOutput {
    tail: Vec<u8>,
    has_news: bool,
    reported_at: Instant,
}

impl LiveOutput {
    /// Returns the output of a command that begins now.
    pub(super) fn begin(now: Instant) -> Self {
        Self { tail: Vec::new(), has_news: false, reported_at: now }
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let bytes = bytes.get(bytes.len().saturating_sub(LIVE_OUTPUT_BYTES_MAX)..);
        self.tail.extend_from_slice(bytes.unwrap_or_default());
        self.tail.drain(..self.tail.len().saturating_sub(LIVE_OUTPUT_BYTES_MAX));
        self.has_news = true;
    }

    /// Reports the output if there is more of it and the last report is old enough.
    pub(super) fn report(&mut self, now: Instant, progress: &dyn ProgressSink) {
        let is_due = now.duration_since(self.reported_at) >= Duration::from_millis(LIVE_OUTPUT_MS);
        if !is_due || !std::mem::take(&mut self.has_news) {
            return;
        }
        self.reported_at = now;
        progress.output(&terminal_text(&String::from_utf8_lossy(&self.tail)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use haft_contract::CallProgress;

    use super::*;

    #[derive(Default)]
    struct Reported(Mutex<Vec<String>>);

    impl ProgressSink for Reported {
        fn report(&self, _: CallProgress) {}

        fn output(&self, tail: &str) {
            self.0.lock().unwrap().push(tail.to_owned());
        }
    }

    #[test]
    fn the_end_of_the_output_is_reported_when_there_is_more() {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let mut output = LiveOutput::begin(begun);
        let reported = Reported::default();
        output.take(b"\x1b[1mone\x1b[0m\n");
        output.report(at(LIVE_OUTPUT_MS - 1), &reported);
        output.report(at(LIVE_OUTPUT_MS), &reported);
        output.report(at(3 * LIVE_OUTPUT_MS), &reported);
        output.take(&[b'x'; LIVE_OUTPUT_BYTES_MAX + 1]);
        output.report(at(4 * LIVE_OUTPUT_MS), &reported);
        let all = "x".repeat(LIVE_OUTPUT_BYTES_MAX);
        assert_eq!(*reported.0.lock().unwrap(), ["one\n", all.as_str()]);
    }
}
