//! Asking the person at the terminal while something is shown there: it makes way for the question, and there is one
//! question at a time, whether it is about a call, about a dangerous tool, or what a tool wants to know.

use std::sync::atomic::{AtomicBool, Ordering};

use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply};
use haft_contract::BoxFuture;
use tokio::sync::Mutex;

use super::terminal_asker::TerminalAsker;
use crate::views::screen::SharedScreen;

/// Asks the person at the terminal while something is shown there.
pub(crate) struct ScreenAsker<S: SharedScreen> {
    person: TerminalAsker,
    screen: S,
    /// Held by the question that is before the person; it is the terminal that there is one of.
    question_lock: Mutex<()>,
    is_asking: AtomicBool,
}

impl<S: SharedScreen> ScreenAsker<S> {
    pub(crate) fn new(person: TerminalAsker, screen: S) -> Self {
        Self { person, screen, question_lock: Mutex::default(), is_asking: AtomicBool::new(false) }
    }

    /// Returns whether a question is before the person.
    pub(crate) fn is_asking(&self) -> bool {
        self.is_asking.load(Ordering::Relaxed)
    }

    /// Returns once the questions that there are now have been answered.
    pub(crate) async fn wait_for_answers(&self) {
        drop(self.question_lock.lock().await);
    }

    /// Makes the screen free for a question, until what is returned goes.
    async fn begin_question(&self) -> ScreenQuestion<'_, S> {
        let question = ScreenQuestion(self);
        self.screen.release_terminal().await;
        self.is_asking.store(true, Ordering::Relaxed);
        question
    }
}

/// A question that is before the person. Withdrawing it gives the screen back, too.
struct ScreenQuestion<'a, S: SharedScreen>(&'a ScreenAsker<S>);

impl<S: SharedScreen> Drop for ScreenQuestion<'_, S> {
    fn drop(&mut self) {
        self.0.is_asking.store(false, Ordering::Relaxed);
        self.0.screen.reclaim_terminal();
    }
}

impl<S: SharedScreen> Asker for ScreenAsker<S> {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async move {
            let _turn = self.question_lock.lock().await;
            let _question = self.begin_question().await;
            self.person.ask(ask).await
        })
    }

    fn elicit(&self, inquiry: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async move {
            let _turn = self.question_lock.lock().await;
            let _question = self.begin_question().await;
            self.person.elicit(inquiry).await
        })
    }
}
