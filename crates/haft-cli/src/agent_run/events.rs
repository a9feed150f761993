//! What happens as lines of JSON on standard output, for programs. The last line is the end of the last turn.

use haft_agent::{AgentEvent, Happened};
use haft_journal::ChatId;

use super::view::Show;
use crate::output;

/// Events as lines of JSON.
#[derive(Default)]
pub(super) struct Events {
    session: Option<ChatId>,
    /// The end of a turn, which is written once it is known whether more follows in that session: until then only
    /// subagents in the background have something to tell.
    end: Option<AgentEvent>,
    /// Nobody reads any more.
    is_unread: bool,
}

impl Events {
    fn write(&mut self, event: &AgentEvent) {
        self.is_unread = self.is_unread || output::json(event).is_err();
    }
}

impl Show for Events {
    fn event(&mut self, event: AgentEvent) {
        // The first is the one that is asked, also where it is a subagent's that is gone on with.
        if let Happened::Session { parent, .. } = &event.happened
            && (parent.is_none() || self.session.is_none())
        {
            self.session = Some(event.session.clone());
        }
        let is_of_session = self.session.as_ref() == Some(&event.session);
        if is_of_session && let Some(end) = self.end.take() {
            self.write(&end);
        }
        match &event.happened {
            Happened::TurnEnded { .. } if is_of_session => self.end = Some(event),
            _ => self.write(&event),
        }
    }

    fn is_on_terminal(&self) -> bool {
        false
    }

    fn end(&mut self) {
        if let Some(end) = self.end.take() {
            self.write(&end);
        }
    }
}
