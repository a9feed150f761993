//! Lets the calls and questions of a plan without a person before it wait for an answer at another front end. An event of the plan
//! says which ask waits.

use std::sync::Arc;

use haft::{Ask, AskAnswer, Asker};
use haft_contract::BoxFuture;
use haft_journal::AskRow;
use haft_plan::drive::{PlanEvent, PlanEventSink};

/// Waits for the answers of other front ends as `person` does, and reports what waits as an event of the plan.
pub(super) struct PlanWaitingAsker<A> {
    pub(super) person: A,
    pub(super) events: Arc<dyn PlanEventSink>,
}

impl<A: Asker> Asker for PlanWaitingAsker<A> {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        self.person.ask(ask)
    }

    fn can_ask(&self) -> bool {
        self.person.can_ask()
    }

    fn waits_for_others(&self) -> bool {
        self.person.waits_for_others()
    }

    fn asks_one_at_a_time(&self) -> bool {
        self.person.asks_one_at_a_time()
    }

    fn note_waiting(&self, ask: &AskRow) {
        self.events.report(&PlanEvent::CallWaiting {
            ask: ask.id.clone(),
            call: ask.call.to_string(),
            tool: ask.tool.clone(),
        });
    }

    fn note_end(&self, ask: &str, how: &str) {
        self.person.note_end(ask, how);
    }
}
