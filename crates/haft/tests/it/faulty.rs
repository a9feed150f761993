//! A journal that fails where a test wants it to, and from there on: as a disk that is full, or a process that is about
//! to die.

use std::sync::Mutex;

use haft_faults::{Interpose, Interposed, Step, failing};
use haft_journal::{Answer, Intent, JournalError, MemoryJournal, Outcome, Settled};

/// The steps of a call that the journal has a part in, in their order.
const OF_A_CALL: [Step; 3] = [Step::Intend, Step::Amend, Step::Settle];

/// A journal in memory that may fail.
pub(crate) type FaultyJournal = Interposed<Faults>;

/// What makes it fail.
#[derive(Default)]
pub(crate) struct Faults {
    inner: MemoryJournal,
    fails_from: Mutex<Option<Step>>,
}

impl Faults {
    /// Fails at the next such step of a call, and at every step of calls from then on.
    pub(crate) fn fail_from(&self, step: Step) {
        *self.fails_from.lock().unwrap() = Some(step);
    }

    /// Fails no more.
    pub(crate) fn mend(&self) {
        *self.fails_from.lock().unwrap() = None;
    }

    fn check(&self, step: Step) -> Result<(), JournalError> {
        let mut fails_from = self.fails_from.lock().unwrap();
        match *fails_from {
            Some(fails)
                if OF_A_CALL.contains(&step) && (fails == step || fails == Step::Intend) =>
            {
                // The first step of all stands for every one.
                *fails_from = Some(Step::Intend);
                Err(JournalError::Full { path: "journal".into() })
            }
            _ => Ok(()),
        }
    }
}

impl Interpose for Faults {
    type Inner = MemoryJournal;

    fn inner(&self) -> &MemoryJournal {
        &self.inner
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        step: Step,
        ask: impl FnOnce(&'a MemoryJournal) -> Answer<'a, T>,
    ) -> Answer<'a, T> {
        match self.check(step) {
            Ok(()) => ask(&self.inner),
            Err(err) => failing(err),
        }
    }

    /// Takes the outcome on its way and fails there.
    fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> Answer<'_, Settled> {
        Box::pin(async move {
            let settled = self.settle(intent, outcome).await;
            Ok(Box::pin(std::future::ready(settled)) as Settled)
        })
    }
}
