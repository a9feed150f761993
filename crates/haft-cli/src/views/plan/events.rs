//! Events as lines of JSON on standard output, for programs.

use haft_plan::drive::PlanEvent;

use crate::views::output;
use crate::views::screen::EventRenderer;

/// Prints each event as one line of JSON.
pub(super) struct PlanJsonEvents;

impl EventRenderer for PlanJsonEvents {
    type Event = PlanEvent;

    fn show_event(&mut self, event: PlanEvent) {
        // If the reader has gone, the plan still runs on.
        let _ = output::write_json(&event);
    }

    fn is_on_terminal(&self) -> bool {
        false
    }
}
