//! Events on their way out. What a node answered is passed on to later nodes while its outcome is still on the way to the
//! journal; whoever listens hears of it when it is there, and of nothing that came after it before.

use std::collections::VecDeque;
use std::sync::Arc;

use haft::{Recording, RunError};

use super::event::{Event, EventSink};

/// Events in the order in which they happened, and the records that they wait for.
pub(super) struct Reports {
    sink: Arc<dyn EventSink>,
    waiting: VecDeque<Waiting>,
}

enum Waiting {
    Recording(Recording),
    Event(Event),
}

impl Reports {
    pub(super) fn to(sink: Arc<dyn EventSink>) -> Self {
        Self { sink, waiting: VecDeque::new() }
    }

    /// Reports an event once all is recorded that was to be before it.
    pub(super) fn report(&mut self, event: Event) {
        if self.waiting.is_empty() {
            self.sink.report(&event);
        } else {
            self.waiting.push_back(Waiting::Event(event));
        }
    }

    /// Keeps what is reported from now on until an outcome is recorded.
    pub(super) fn wait_for(&mut self, recording: Recording) {
        if !recording.is_done() {
            self.waiting.push_back(Waiting::Recording(recording));
        }
    }

    /// Returns whether something is kept back.
    pub(super) fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Waits for the first record that something is kept back for, and reports what it kept. If the record was not made,
    /// nothing is reported any more. Nothing is lost when this is dropped.
    pub(super) async fn next(&mut self) -> Result<(), RunError> {
        if let Some(Waiting::Recording(recording)) = self.waiting.front_mut() {
            let recorded = recording.await;
            self.waiting.pop_front();
            if recorded.is_err() {
                self.waiting.clear();
                self.sink = Arc::new(());
                return recorded;
            }
        }
        while let Some(Waiting::Event(event)) =
            self.waiting.pop_front_if(|waiting| matches!(waiting, Waiting::Event(_)))
        {
            self.sink.report(&event);
        }
        Ok(())
    }

    /// Waits until all is recorded, and reports the rest.
    pub(super) async fn finish(&mut self) -> Result<(), RunError> {
        while self.are_waiting() {
            self.next().await?;
        }
        Ok(())
    }
}
