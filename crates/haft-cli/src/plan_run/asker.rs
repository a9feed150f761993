//! Asking the person at the terminal in the middle of a plan: the live view makes way for the question.

use haft_contract::BoxFuture;

use crate::asking::ScreenAsker;
use crate::views::plan::PlanScreen;
use crate::views::screen::SharedScreen;

/// Asks the person at the terminal while a plan is shown there.
pub(super) type PlanAsker = ScreenAsker<PlanScreen>;

impl SharedScreen for PlanScreen {
    fn release_terminal(&self) -> BoxFuture<'_, ()> {
        Box::pin(PlanScreen::release_terminal(self))
    }

    fn reclaim_terminal(&self) {
        PlanScreen::reclaim_terminal(self);
    }
}
