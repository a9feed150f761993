//! The view of a session: lines of text for people, and lines of JSON for programs.

mod changes;
mod events;
mod limits;
mod lines;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use haft::WorkspaceRoots;
use haft_agent::{AgentEvent, AgentEventKind, AgentEventObserver};
use haft_patch::DescribedChange;

use self::changes::described_change;
use self::events::SessionJsonEvents;
use self::limits::COMPARED_BYTES_MAX;
use self::lines::{SessionLines, StandardStreams};
use crate::error::CommandError;
use crate::views::backlog::EventBacklog;
use crate::views::screen::{EventView, ViewScreen};

/// The view of a session. A terminal shows streamed text. Other outputs get only the last answer, as data, or with JSON
/// every event.
pub(crate) type SessionView = EventView<SessionEvent>;

/// The screen of a session's view, for other writers.
pub(crate) type SessionScreen = ViewScreen<SessionEvent>;

/// An event of a session, for its view.
#[derive(Clone)]
pub(crate) struct SessionEvent {
    event: AgentEvent,
    /// The text of the file that the call is about to replace.
    text_before: Option<String>,
}

struct SessionViewWatcher {
    screen: SessionScreen,
    /// The roots of files whose former text the view shows, if it shows changes.
    roots: Option<WorkspaceRoots>,
}

impl AgentEventObserver for SessionViewWatcher {
    fn on_event(&self, event: AgentEvent) {
        let text_before = if let Some(roots) = &self.roots
            && let AgentEventKind::ToolCall { kind, input, .. } = &event.kind
            && let Some(DescribedChange::Content { path: Some(path), .. }) =
                described_change(*kind, input)
        {
            // Read now: the call is about to replace the text.
            roots.read_text(path, COMPARED_BYTES_MAX)
        } else {
            None
        };
        self.screen.show_event(SessionEvent { event, text_before });
    }
}

impl SessionView {
    /// Begins to show the events of a session.
    pub(crate) fn begin(is_json: bool) -> Result<Self, CommandError> {
        Self::start("agent view", is_json, move || match is_json {
            true => Box::new(SessionJsonEvents::default()),
            false => Box::new(SessionLines::new(
                StandardStreams,
                io::stdout().is_terminal(),
                io::stderr().is_terminal(),
            )),
        })
    }

    /// Returns the receiver of the events of sessions that work below these roots.
    pub(crate) fn watcher(&self, roots: WorkspaceRoots) -> Arc<dyn AgentEventObserver> {
        let roots = (!self.screen.is_json).then_some(roots);
        Arc::new(SessionViewWatcher { screen: self.screen(), roots })
    }

    /// Returns the number of events that wait to be shown.
    pub(crate) fn backlog(&self) -> Arc<EventBacklog> {
        Arc::clone(&self.screen.backlog)
    }
}
