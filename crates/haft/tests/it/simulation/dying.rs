//! A journal that belongs to a process which dies: from then on it records and answers nothing, and the last record may
//! have been made without anybody hearing of it.

use std::sync::Arc;

use haft_faults::{InterceptedJournal, JournalInterceptor, JournalMethod};
use haft_journal::{JournalError, JournalFuture, MemoryJournal};

use super::process::Fate;

/// One process's way to the journal.
pub(super) struct DyingJournal {
    inner: Arc<MemoryJournal>,
    fate: Arc<Fate>,
}

impl DyingJournal {
    pub(super) fn new(inner: Arc<MemoryJournal>, fate: Arc<Fate>) -> InterceptedJournal<Self> {
        InterceptedJournal(Self { inner, fate })
    }
}

impl JournalInterceptor for DyingJournal {
    type Inner = MemoryJournal;

    fn inner(&self) -> &MemoryJournal {
        &self.inner
    }

    /// Takes a step before and a step after; death at the second loses the answer and not the record.
    fn around<'a, T: Send + 'a>(
        &'a self,
        _: JournalMethod,
        ask: impl FnOnce(&'a MemoryJournal) -> JournalFuture<'a, T>,
    ) -> JournalFuture<'a, T> {
        // A journal in memory does nothing until it is asked for the answer.
        let answer = ask(&self.inner);
        Box::pin(async move {
            let dead = || JournalError::Stopped { path: "journal".into() };
            if !self.fate.step() {
                return Err(dead());
            }
            let answer = answer.await;
            if self.fate.step() { answer } else { Err(dead()) }
        })
    }
}
