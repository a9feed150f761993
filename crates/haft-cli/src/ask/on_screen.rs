//! Asking the person at the terminal while something is shown there: it makes way for the question, and there is one
//! question at a time, whether it is about a call, about a dangerous tool, or what a tool wants to know.

use std::sync::atomic::{AtomicBool, Ordering};

use haft::{Answer, Ask, Asker, Inquiry, Reply};
use haft_contract::BoxFuture;
use tokio::sync::Mutex;

use super::TerminalAsker;

/// Something that is shown on the terminal and makes way for questions.
pub(crate) trait SharedScreen: Send + Sync {
    /// Returns once the terminal is free for somebody else.
    fn make_way(&self) -> BoxFuture<'_, ()>;
    /// Takes the terminal back.
    fn go_on(&self);
}

/// Asks the person at the terminal while something is shown there.
pub(crate) struct AskerOnScreen<S: SharedScreen> {
    person: TerminalAsker,
    screen: S,
    /// Held by the question that is before the person; it is the terminal that there is one of.
    turn: Mutex<()>,
    is_asking: AtomicBool,
}

impl<S: SharedScreen> AskerOnScreen<S> {
    pub(crate) fn new(person: TerminalAsker, screen: S) -> Self {
        Self { person, screen, turn: Mutex::default(), is_asking: AtomicBool::new(false) }
    }

    /// Returns whether a question is before the person.
    pub(crate) fn is_asking(&self) -> bool {
        self.is_asking.load(Ordering::Relaxed)
    }

    /// Returns once the questions that there are now have been answered.
    pub(crate) async fn answered(&self) {
        drop(self.turn.lock().await);
    }

    /// Makes the screen free for a question, until what is returned goes.
    async fn begin(&self) -> Question<'_, S> {
        let question = Question(self);
        self.screen.make_way().await;
        self.is_asking.store(true, Ordering::Relaxed);
        question
    }
}

/// A question that is before the person. Withdrawing it gives the screen back, too.
struct Question<'a, S: SharedScreen>(&'a AskerOnScreen<S>);

impl<S: SharedScreen> Drop for Question<'_, S> {
    fn drop(&mut self) {
        self.0.is_asking.store(false, Ordering::Relaxed);
        self.0.screen.go_on();
    }
}

impl<S: SharedScreen> Asker for AskerOnScreen<S> {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            let _question = self.begin().await;
            self.person.ask(ask).await
        })
    }

    fn inquire(&self, inquiry: Inquiry) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let _turn = self.turn.lock().await;
            let _question = self.begin().await;
            self.person.inquire(inquiry).await
        })
    }
}
