//! Asking the person at the terminal in the middle of a plan: the live view makes way for the question.

use haft_contract::BoxFuture;

use super::view::Screen;
use crate::ask::{AskerOnScreen, SharedScreen};

/// Asks the person at the terminal while a plan is shown there.
pub(super) type PlanAsker = AskerOnScreen<Screen>;

impl SharedScreen for Screen {
    fn make_way(&self) -> BoxFuture<'_, ()> {
        Box::pin(Screen::make_way(self))
    }

    fn go_on(&self) {
        Screen::go_on(self);
    }
}
