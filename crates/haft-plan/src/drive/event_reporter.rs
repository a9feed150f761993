//! Events on their way to the event sink. Later nodes get the answer of a node while its outcome is still on the way to the
//! journal. The sink gets the event of that answer, and all later events, once the outcome is recorded.

use std::collections::VecDeque;
use std::sync::Arc;

use haft::{PendingRecord, RunError};

use super::event::{PlanEvent, PlanEventSink};

/// Events in the order in which they happened, and the records that they wait for.
pub(super) struct PlanEventReporter {
    sink: Arc<dyn PlanEventSink>,
    pending: VecDeque<PendingReport>,
}

enum PendingReport {
    Recording(PendingRecord),
    Event(PlanEvent),
}

impl PlanEventReporter {
    pub(super) fn new(sink: Arc<dyn PlanEventSink>) -> Self {
        Self { sink, pending: VecDeque::new() }
    }

    /// Reports an event once all is recorded that was to be before it.
    pub(super) fn report(&mut self, event: PlanEvent) {
        if self.pending.is_empty() {
            self.sink.report(&event);
        } else {
            self.pending.push_back(PendingReport::Event(event));
        }
    }

    /// Keeps what is reported from now on until an outcome is recorded.
    pub(super) fn wait_for(&mut self, recording: PendingRecord) {
        if !recording.is_done() {
            self.pending.push_back(PendingReport::Recording(recording));
        }
    }

    /// Returns whether something is kept back.
    pub(super) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Waits for the first record that something is kept back for, and reports what it kept. If the record was not made,
    /// nothing is reported any more. Nothing is lost when this is dropped.
    pub(super) async fn report_next(&mut self) -> Result<(), RunError> {
        if let Some(PendingReport::Recording(recording)) = self.pending.front_mut() {
            let recorded = recording.await;
            self.pending.pop_front();
            if recorded.is_err() {
                self.pending.clear();
                self.sink = Arc::new(());
                return recorded;
            }
        }
        while let Some(PendingReport::Event(event)) =
            self.pending.pop_front_if(|waiting| matches!(waiting, PendingReport::Event(_)))
        {
            self.sink.report(&event);
        }
        Ok(())
    }

    /// Waits until all is recorded, and reports the rest.
    pub(super) async fn finish(&mut self) -> Result<(), RunError> {
        while self.has_pending() {
            self.report_next().await?;
        }
        Ok(())
    }
}
