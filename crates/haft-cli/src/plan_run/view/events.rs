//! Events as lines of JSON on standard output, for programs.

use haft_plan::drive::Event;

use super::Show;
use crate::output;

/// Prints each event as one line of JSON.
pub(super) struct Events;

impl Show for Events {
    fn event(&mut self, event: &Event) {
        // Whoever does not read events any longer still wants the plan driven.
        let _ = output::json(event);
    }

    fn is_on_terminal(&self) -> bool {
        false
    }
}
