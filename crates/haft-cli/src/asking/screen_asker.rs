//! Asks the person at the terminal while a view is shown there. The view releases the terminal for each question, and
//! there is one question at a time.

use std::sync::atomic::{AtomicBool, Ordering};

use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply};
use haft_contract::BoxFuture;
use tokio::sync::{Mutex, MutexGuard};

use super::terminal_asker::TerminalAsker;
use crate::views::screen::ViewScreen;

/// Asks the person at the terminal while a view is shown there.
pub(crate) struct ScreenAsker<E> {
    person: TerminalAsker,
    screen: ViewScreen<E>,
    /// Held during a question: there is only one terminal.
    question_lock: Mutex<()>,
    is_asking: AtomicBool,
}

impl<E> ScreenAsker<E> {
    pub(crate) fn new(person: TerminalAsker, screen: ViewScreen<E>) -> Self {
        Self { person, screen, question_lock: Mutex::default(), is_asking: AtomicBool::new(false) }
    }

    /// Returns whether a question is before the person.
    pub(crate) fn is_asking(&self) -> bool {
        self.is_asking.load(Ordering::Relaxed)
    }

    /// Begins a line of the person, unless there is a question. A question that comes now waits for the line.
    pub(crate) fn start_line(&self, start: impl FnOnce()) -> bool {
        // The lock is held until the screen knows of the line.
        let Ok(_free) = self.question_lock.try_lock() else { return false };
        start();
        true
    }

    /// Returns once the present questions have been answered.
    pub(crate) async fn wait_for_answers(&self) {
        drop(self.question_lock.lock().await);
    }

    /// Frees the terminal for a question, until the returned value is dropped.
    async fn begin_question(&self) -> ScreenQuestion<'_, E> {
        let turn = self.question_lock.lock().await;
        let question = ScreenQuestion { asker: self, _turn: turn };
        self.screen.release_terminal().await;
        self.is_asking.store(true, Ordering::Relaxed);
        question
    }
}

/// A question that is before the person. If the question is withdrawn, the view gets the terminal back, too.
struct ScreenQuestion<'a, E> {
    asker: &'a ScreenAsker<E>,
    _turn: MutexGuard<'a, ()>,
}

impl<E> Drop for ScreenQuestion<'_, E> {
    fn drop(&mut self) {
        self.asker.is_asking.store(false, Ordering::Relaxed);
        self.asker.screen.reclaim_terminal();
    }
}

impl<E: Send> Asker for ScreenAsker<E> {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async move {
            let _question = self.begin_question().await;
            self.person.ask(ask).await
        })
    }

    fn has_deadline(&self) -> bool {
        self.person.has_deadline()
    }

    fn note_end(&self, ask: &str, how: &str) {
        self.person.note_end(ask, how);
    }

    fn elicit(&self, questions: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async move {
            let _question = self.begin_question().await;
            self.person.elicit(questions).await
        })
    }
}
