//! The view of a plan while it is driven. There is a live view on a terminal, plain lines elsewhere, and lines of JSON on
//! standard output with `--json`. The commands report the result of the plan.

mod colour;
mod events;
mod label;
mod lines;
mod live;

use std::sync::Arc;

use haft_plan::CheckedPlan;
use haft_plan::drive::{PlanEvent, PlanEventSink};

use crate::error::CommandError;
use crate::views::screen::{EventView, ViewScreen};
use events::PlanJsonEvents;
use label::NodeLabels;
use lines::PlanLines;
use live::LivePlanView;

/// The view of a plan while it is driven. A plan sends at most as many events as it has nodes and attempts.
pub(crate) type PlanView = EventView<PlanEvent>;

/// The screen of a plan's view, for other writers.
pub(crate) type PlanScreen = ViewScreen<PlanEvent>;

impl PlanView {
    /// Begins to show a plan.
    pub(crate) fn begin(plan: &CheckedPlan, is_json: bool) -> Result<Self, CommandError> {
        let labels = NodeLabels::new(plan);
        Self::start("plan view", is_json, move || {
            if is_json {
                return Box::new(PlanJsonEvents);
            }
            match live::terminal() {
                Some(terminal) => Box::new(LivePlanView::new(terminal, PlanLines::new(labels))),
                None => Box::new(PlanLines::new(labels)),
            }
        })
    }

    /// Returns the receiver of the plan's events.
    pub(crate) fn event_sink(&self) -> Arc<dyn PlanEventSink> {
        let screen = self.screen();
        Arc::new(move |event: &PlanEvent| screen.show_event(event.clone()))
    }
}
