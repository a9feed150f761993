//! A journal that dies with its process at any record: nothing is recorded from then on, while the process does not know
//! yet that it is dead. Another process opens what is left. Or the process lives, and sends a notification at that point.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_faults::{InterceptedJournal, JournalInterceptor, JournalMethod, failing_answer};
use haft_journal::{JournalError, JournalFuture, Lease, MemoryJournal};
use tokio_util::sync::CancellationToken;

/// A journal of one process, over one that stays.
pub(crate) struct MortalJournal {
    inner: Arc<MemoryJournal>,
    /// The records until it dies or sends its notification.
    left: AtomicU64,
    told: Option<CancellationToken>,
}

impl MortalJournal {
    pub(crate) fn new(inner: &Arc<MemoryJournal>, records: u64) -> Arc<InterceptedJournal<Self>> {
        let (inner, left) = (Arc::clone(inner), AtomicU64::new(records));
        Arc::new(InterceptedJournal(Self { inner, left, told: None }))
    }

    /// Returns a journal that lives, and cancels a token with the record behind so many.
    pub(crate) fn telling(
        inner: &Arc<MemoryJournal>,
        records: u64,
        told: &CancellationToken,
    ) -> Arc<InterceptedJournal<Self>> {
        let (left, told) = (AtomicU64::new(records), Some(told.clone()));
        Arc::new(InterceptedJournal(Self { inner: Arc::clone(inner), left, told }))
    }

    /// Records nothing more.
    pub(crate) fn die(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    /// Records so much more.
    pub(crate) fn die_after(&self, records: u64) {
        self.left.store(records, Ordering::Relaxed);
    }

    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Counts a record, or says that the process is dead.
    fn live(&self) -> Result<(), JournalError> {
        let one_less = |left: u64| left.checked_sub(1);
        let is_over =
            self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err();
        match &self.told {
            Some(told) if is_over => told.cancel(),
            None if is_over => return Err(JournalError::Stopped { path: "journal".into() }),
            Some(_) | None => {}
        }
        Ok(())
    }
}

impl JournalInterceptor for MortalJournal {
    type Inner = MemoryJournal;

    fn inner(&self) -> &MemoryJournal {
        &self.inner
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        step: JournalMethod,
        ask: impl FnOnce(&'a MemoryJournal) -> JournalFuture<'a, T>,
    ) -> JournalFuture<'a, T> {
        let lived = if step.is_change() { self.live() } else { Ok(()) };
        match lived {
            Ok(()) => ask(&self.inner),
            Err(err) => failing_answer(err),
        }
    }

    /// A process that is killed gives nothing back.
    fn close_run(&self, _: Lease) -> JournalFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
