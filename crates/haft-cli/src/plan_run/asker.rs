//! Asking the person at the terminal in the middle of a plan: the live view makes way for the question, and there is
//! one question at a time, whether it is about a call, about a dangerous tool, or what a tool wants to know.

use std::sync::atomic::{AtomicBool, Ordering};

use haft::{Answer, Ask, Asker, Inquiry, Reply};
use haft_contract::BoxFuture;
use tokio::sync::Mutex;

use super::view::Screen;
use crate::ask::TerminalAsker;

/// Asks the person at the terminal while a plan is shown there.
pub(super) struct PlanAsker {
    person: TerminalAsker,
    screen: Screen,
    /// Held by the question that is before the person; it is the terminal that there is one of.
    turn: Mutex<()>,
    is_asking: AtomicBool,
}

impl PlanAsker {
    pub(super) fn new(person: TerminalAsker, screen: Screen) -> Self {
        Self { person, screen, turn: Mutex::default(), is_asking: AtomicBool::new(false) }
    }

    /// Returns whether a question is before the person.
    pub(super) fn is_asking(&self) -> bool {
        self.is_asking.load(Ordering::Relaxed)
    }

    /// Makes the screen free for a question, until what is returned goes.
    async fn begin(&self) -> Question<'_> {
        let question = Question(self);
        self.is_asking.store(true, Ordering::Relaxed);
        self.screen.make_way().await;
        question
    }
}

/// A question that is before the person. Withdrawing it gives the screen back, too.
struct Question<'a>(&'a PlanAsker);

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.0.is_asking.store(false, Ordering::Relaxed);
        self.0.screen.go_on();
    }
}

impl Asker for PlanAsker {
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
