//! The events that a view has yet to show. The senders of events never wait: their thread does all other work and receives
//! the signals that end haft. Instead, haft stops reading the models' answers, which cause nearly all events.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

/// Events that may wait to be shown before haft stops reading answers.
pub(crate) const EVENTS_WAITING_MAX: usize = 1_000;

/// The number of events that wait to be shown.
#[derive(Default)]
pub(crate) struct EventBacklog {
    pub(crate) waiting: AtomicUsize,
    /// The view has ended, so no reader needs to wait for it.
    pub(crate) is_over: AtomicBool,
    pub(crate) has_room: Notify,
}

impl EventBacklog {
    /// Counts an event that was sent.
    pub(crate) fn add_event(&self) {
        self.waiting.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts an event that was shown.
    pub(crate) fn remove_event(&self) {
        if self.waiting.fetch_sub(1, Ordering::SeqCst) == EVENTS_WAITING_MAX {
            self.has_room.notify_waiters();
        }
    }

    /// Ends the waiting, because the view has ended.
    pub(crate) fn close(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.has_room.notify_waiters();
    }
}
