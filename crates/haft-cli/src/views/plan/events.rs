//! Events as lines of JSON on standard output, for programs.

use haft_plan::drive::PlanEvent;

use super::PlanRenderer;
use crate::views::output;

/// Prints each event as one line of JSON.
pub(super) struct PlanJsonEvents;

impl PlanRenderer for PlanJsonEvents {
    fn show_event(&mut self, event: &PlanEvent) {
        // Whoever does not read events any longer still wants the plan driven.
        let _ = output::write_json(event);
    }

    fn is_on_terminal(&self) -> bool {
        false
    }
}
