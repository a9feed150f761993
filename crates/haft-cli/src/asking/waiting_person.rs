//! The front end of a plan without a terminal whose questions wait for an answer of another process. It says which ask waits, and
//! how to answer it.

use haft::{Ask, AskAnswer, Asker};
use haft_contract::BoxFuture;
use haft_journal::AskRow;

use crate::views::screen::ViewScreen;

/// Waits for the answers of other processes, while a view is shown.
pub(crate) struct WaitingPerson<E> {
    screen: ViewScreen<E>,
}

impl<E> WaitingPerson<E> {
    pub(crate) fn new(screen: ViewScreen<E>) -> Self {
        Self { screen }
    }
}

impl<E: Send> Asker for WaitingPerson<E> {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::Unanswered })
    }

    fn can_ask(&self) -> bool {
        false
    }

    fn waits_for_others(&self) -> bool {
        true
    }

    fn asks_one_at_a_time(&self) -> bool {
        false
    }

    fn note_waiting(&self, ask: &AskRow) {
        let ask = &ask.id;
        self.screen.show_note(format!("{ask} waits for a person: haft asks show {ask}"));
    }

    fn note_end(&self, _ask: &str, how: &str) {
        self.screen.show_note(how);
    }
}
