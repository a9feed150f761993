//! The view of a session: lines of text for people, and lines of JSON for programs.

mod changes;
mod events;
mod fold;
mod limits;
mod lines;
mod live;
mod markdown;

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use haft::WorkspaceRoots;
use haft_agent::{AgentEvent, AgentEventKind, AgentEventObserver};
use haft_patch::DescribedChange;

use self::changes::described_change;
use self::events::SessionJsonEvents;
use self::limits::TEXT_BEFORE_BYTES_MAX;
use self::lines::{SessionLines, SessionLook, SideLook, StandardStreams};
use crate::error::CommandError;
use crate::views::backlog::EventBacklog;
use crate::views::output;
use crate::views::screen::{EventView, ViewScreen};
use haft_app::manifest::ModelPrices;

/// The view of a session. A terminal shows streamed text. Other outputs get only the last answer, as data, or with JSON
/// every event.
pub(crate) type SessionView = EventView<SessionEvent>;

/// The screen of a session's view, for other writers.
pub(crate) type SessionScreen = ViewScreen<SessionEvent>;

/// An event of a session, for its view.
#[derive(Clone)]
pub(crate) struct SessionEvent {
    event: AgentEvent,
    /// The text of the file that the call is about to change.
    text_before: Option<String>,
}

impl SessionEvent {
    /// Returns an event that changes no file.
    pub(crate) fn new(event: AgentEvent) -> Self {
        Self { event, text_before: None }
    }
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
            && let Some(
                DescribedChange::Content { path: Some(path), .. }
                | DescribedChange::Passage { path: Some(path), .. },
            ) = described_change(*kind, input)
        {
            // Read now: the call is about to replace the text.
            roots.read_text(path, TEXT_BEFORE_BYTES_MAX)
        } else {
            None
        };
        self.screen.show_event(SessionEvent { event, text_before });
    }
}

/// The options of a view of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionViewOptions {
    /// Whether programs read the events as JSON.
    pub(crate) is_json: bool,
    /// Whether each event is a line that stays as it is.
    pub(crate) is_plain: bool,
    /// The context of the model, in tokens.
    pub(crate) context_tokens: u64,
    /// The prices of one model, if they are known.
    pub(crate) prices: Option<ModelPrices>,
}

impl SessionView {
    /// Begins to show the events of a session.
    pub(crate) fn begin(options: SessionViewOptions) -> Result<Self, CommandError> {
        Self::start("agent view", options.is_json, move || {
            if options.is_json {
                return Box::new(SessionJsonEvents::default());
            }
            let side = match io::stderr().is_terminal() {
                false => SideLook::Log,
                true if options.is_plain => SideLook::Linear,
                true => SideLook::Redrawn,
            };
            let look = SessionLook {
                is_data_streamed: io::stdout().is_terminal(),
                has_colours: output::stdout_has_colours(),
                side,
                context_tokens: options.context_tokens,
                prices: options.prices,
            };
            Box::new(SessionLines::new(StandardStreams, look))
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
