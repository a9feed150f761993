//! A journal that fails where a test wants it to, and from there on: as a disk that is full, or a process that is about
//! to die.

use std::sync::Mutex;

use haft_faults::{InterceptedJournal, JournalInterceptor, JournalMethod, failing_answer};
use haft_journal::{CommitFuture, Intent, JournalError, JournalFuture, MemoryJournal, Outcome};

/// The steps of a call that the journal has a part in, in their order.
const OF_A_CALL: [JournalMethod; 3] =
    [JournalMethod::Intend, JournalMethod::Amend, JournalMethod::Settle];

/// A journal in memory that may fail.
pub(crate) type FaultyJournal = InterceptedJournal<Faults>;

/// The faults to inject.
#[derive(Default)]
pub(crate) struct Faults {
    inner: MemoryJournal,
    fails_from: Mutex<Option<JournalMethod>>,
}

impl Faults {
    /// Fails at the next such step of a call, and at every step of calls from then on.
    pub(crate) fn fail_from(&self, step: JournalMethod) {
        *self.fails_from.lock().unwrap() = Some(step);
    }

    /// Fails no more.
    pub(crate) fn mend(&self) {
        *self.fails_from.lock().unwrap() = None;
    }

    fn check(&self, step: JournalMethod) -> Result<(), JournalError> {
        let mut fails_from = self.fails_from.lock().unwrap();
        match *fails_from {
            Some(fails)
                if OF_A_CALL.contains(&step)
                    && (fails == step || fails == JournalMethod::Intend) =>
            {
                // The first step of all stands for every one.
                *fails_from = Some(JournalMethod::Intend);
                Err(JournalError::Full { path: "journal".into() })
            }
            _ => Ok(()),
        }
    }
}

impl JournalInterceptor for Faults {
    type Inner = MemoryJournal;

    fn inner(&self) -> &MemoryJournal {
        &self.inner
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        step: JournalMethod,
        ask: impl FnOnce(&'a MemoryJournal) -> JournalFuture<'a, T>,
    ) -> JournalFuture<'a, T> {
        match self.check(step) {
            Ok(()) => ask(&self.inner),
            Err(err) => failing_answer(err),
        }
    }

    /// Takes the outcome on its way and fails there.
    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> JournalFuture<'_, CommitFuture> {
        Box::pin(async move {
            let settled = self.settle(intent, outcome).await;
            Ok(Box::pin(std::future::ready(settled)) as CommitFuture)
        })
    }
}
