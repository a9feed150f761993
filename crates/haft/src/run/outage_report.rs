//! Says in the log, and as progress of the call, that a call waits because its journal cannot be reached. Otherwise a caller would
//! see a call that hangs, until the journal gives up.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{CallProgress, LogLine, ProgressSink};
use haft_journal::Journal;

/// Time between two looks at the journal while a call is under way, in milliseconds.
const OUTAGE_POLL_MS: u64 = 1_000;
/// The step by which a report about the journal is ahead of the last one of the tool. Reports have to grow.
const REPORT_STEP: f64 = 1e-3;

/// Passes reports on, and knows the highest one.
pub(super) struct HighestProgress {
    sink: Arc<dyn ProgressSink>,
    // The tool writes with each report; the report about the journal reads.
    highest: Mutex<f64>,
}

impl HighestProgress {
    /// Returns a sink that passes reports on to another one.
    pub(super) fn new(sink: Arc<dyn ProgressSink>) -> Self {
        Self { sink, highest: Mutex::new(0.0) }
    }

    /// Reports something about the call itself, after all that its tool has reported.
    fn report_beside(&self, message: String) {
        let done = {
            let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
            *highest += REPORT_STEP;
            *highest
        };
        self.sink.report(CallProgress { done, total: None, message });
    }
}

impl ProgressSink for HighestProgress {
    fn report(&self, progress: CallProgress) {
        {
            let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
            *highest = highest.max(progress.done);
        }
        self.sink.report(progress);
    }

    fn log(&self, line: LogLine) {
        self.sink.log(line);
    }

    fn output(&self, tail: &str) {
        self.sink.output(tail);
    }
}

/// Waits for a call. Says once per outage that the journal cannot be reached.
pub(super) async fn report_outages<T>(
    call: impl Future<Output = T>,
    journal: &dyn Journal,
    progress: &HighestProgress,
) -> T {
    let mut call = pin!(call);
    let mut is_reported = false;
    loop {
        tokio::select! {
            biased;
            answer = &mut call => return answer,
            () = tokio::time::sleep(Duration::from_millis(OUTAGE_POLL_MS)) => {}
        }
        let outage = journal.outage();
        if let Some(outage) = outage.as_ref().filter(|_| !is_reported) {
            let message = format!("{outage}; haft keeps trying, and the call waits");
            tracing::warn!("{message}");
            progress.report_beside(message);
        }
        is_reported = outage.is_some();
    }
}
