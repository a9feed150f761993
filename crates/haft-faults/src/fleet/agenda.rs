//! The events of a simulated history in the order of their virtual time. Events of the same time keep the order in which they were
//! added.

use std::collections::BTreeMap;

/// The events to come, and the time.
pub(super) struct Agenda<E> {
    now_ms: u64,
    added: u64,
    events: BTreeMap<(u64, u64), E>,
}

impl<E> Agenda<E> {
    pub(super) fn new() -> Self {
        Self { now_ms: 0, added: 0, events: BTreeMap::new() }
    }

    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    pub(super) fn add_in(&mut self, delay_ms: u64, event: E) {
        self.add_at(self.now_ms + delay_ms, event);
    }

    /// Adds an event. One that is late happens now.
    pub(super) fn add_at(&mut self, at_ms: u64, event: E) {
        self.added += 1;
        self.events.insert((at_ms.max(self.now_ms), self.added), event);
    }

    /// Takes the next event, and lets the time pass until then.
    pub(super) fn take_next(&mut self) -> Option<E> {
        let ((at_ms, _), event) = self.events.pop_first()?;
        self.now_ms = at_ms;
        Some(event)
    }
}
