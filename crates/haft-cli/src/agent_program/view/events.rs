//! Events as lines of JSON on standard output, for programs. The last line is the end of the last turn.

use haft_agent::{AgentEvent, AgentEventKind};
use haft_journal::SessionId;

use super::SessionEvent;
use crate::views::output;
use crate::views::screen::EventRenderer;

/// Events as lines of JSON.
#[derive(Default)]
pub(super) struct SessionJsonEvents {
    session: Option<SessionId>,
    /// The event of the session that the user talks to. It is written with the next event of that session: a program that
    /// reads it then finds the prompt in the journal.
    held_session: Option<AgentEvent>,
    /// The end of a turn. It is written once it is known whether more of that session follows. Until then, only background
    /// subagents send events.
    held_end: Option<AgentEvent>,
    /// The reader has closed the pipe.
    is_reader_gone: bool,
}

impl SessionJsonEvents {
    fn write(&mut self, event: &AgentEvent) {
        self.is_reader_gone = self.is_reader_gone || output::write_json(event).is_err();
    }
}

impl EventRenderer for SessionJsonEvents {
    type Event = SessionEvent;

    fn show_event(&mut self, SessionEvent { event, .. }: SessionEvent) {
        // How many samples of an output there are depends on the time. Its call's result has all of it.
        if matches!(event.kind, AgentEventKind::ToolOutput { .. }) {
            return;
        }
        // The first session is the one that the user talks to, even if it is a resumed session of a subagent.
        if let AgentEventKind::Session { parent, .. } = &event.kind
            && (parent.is_none() || self.session.is_none())
        {
            self.session = Some(event.session.clone());
            if let Some(earlier) = self.held_session.replace(event) {
                self.write(&earlier);
            }
            return;
        }
        if let Some(session) = self.held_session.take() {
            self.write(&session);
        }
        let is_of_session = self.session.as_ref() == Some(&event.session);
        if is_of_session && let Some(end) = self.held_end.take() {
            self.write(&end);
        }
        match &event.kind {
            AgentEventKind::TurnEnded { .. } if is_of_session => self.held_end = Some(event),
            _ => self.write(&event),
        }
    }

    fn is_on_terminal(&self) -> bool {
        false
    }

    fn finish(&mut self) {
        if let Some(session) = self.held_session.take() {
            self.write(&session);
        }
        if let Some(end) = self.held_end.take() {
            self.write(&end);
        }
    }
}
