//! The view of a session. Its own thread shows the events, so that a slow terminal or pipe does not hold up the session. If
//! the reader takes nothing at all, haft stops reading the models' answers (see `backlog`). People get lines of text, and
//! programs get lines of JSON.

mod changes;
mod editor;
mod events;
pub(crate) mod limits;
mod lines;
mod outcome;
mod renderer;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use haft::WorkspaceRoots;
use haft_agent::{AgentEvent, AgentEventKind, AgentEventObserver};
use haft_contract::BoxFuture;
use haft_patch::DescribedChange;
use tokio::sync::oneshot;

use self::changes::described_change;
use self::editor::AbovePromptWriter;
use self::events::SessionJsonEvents;
use self::limits::{COMPARED_BYTES_MAX, EVENTS_HELD_MAX};
use self::lines::{SessionLines, StandardStreams};
use self::renderer::{FileTextBeforeCall, SessionRenderer};
use crate::error::CommandError;
use crate::views::backlog::EventBacklog;
use crate::views::output;
use crate::views::screen::{SharedScreen, ViewThread, wait_for_terminal};

pub(crate) use self::editor::{TerminalLineEditor, TypedInput};
pub(crate) use self::outcome::{line_of_result, on_one_line};

/// The format of a session's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionViewFormat {
    /// Streamed text on a terminal; elsewhere only the last answer, as data.
    Text,
    /// Every event as a line of JSON.
    Json,
}

/// A message to the thread of a view.
enum SessionViewMessage {
    Event(Box<AgentEvent>),
    /// The text of a file that a call is about to replace.
    FileText(Box<FileTextBeforeCall>),
    Note(String),
    /// Another writer needs the terminal, and waits until it is free.
    ReleaseTerminal(oneshot::Sender<()>),
    ReclaimTerminal,
    /// The person types a line from now on; other output goes above it.
    StartTyping(AbovePromptWriter),
    StopTyping,
    Finish,
}

/// A view of a session.
pub(crate) struct SessionView {
    sender: SessionViewSender,
    format: SessionViewFormat,
    thread: ViewThread,
}

/// Sends messages to the thread of a view, and never waits for it.
#[derive(Clone)]
struct SessionViewSender {
    messages: Sender<SessionViewMessage>,
    backlog: Arc<EventBacklog>,
}

/// The screen of a view, for other writers.
#[derive(Clone)]
pub(crate) struct SessionScreen {
    sender: SessionViewSender,
    format: SessionViewFormat,
}

struct SessionViewWatcher {
    sender: SessionViewSender,
    /// The roots of files whose former text the view shows, if it shows changes.
    roots: Option<WorkspaceRoots>,
}

impl SessionViewSender {
    /// Sends a message, or returns it if the view has ended.
    fn send_message(&self, told: SessionViewMessage) -> Result<(), SessionViewMessage> {
        self.backlog.add_event();
        self.messages.send(told).map_err(|unheard| {
            self.backlog.remove_event();
            unheard.0
        })
    }
}

impl AgentEventObserver for SessionViewWatcher {
    fn on_event(&self, event: AgentEvent) {
        // A view that has ended shows nothing more.
        if let Some(roots) = &self.roots
            && let AgentEventKind::ToolCall { id, kind, input, .. } = &event.kind
            && let Some(DescribedChange::Content { path: Some(path), .. }) =
                described_change(*kind, input)
            // Read now: the call is about to replace the text.
            && let Some(text) = roots.read_text(path, COMPARED_BYTES_MAX)
        {
            let before =
                FileTextBeforeCall { session: event.session.clone(), call: id.clone(), text };
            let _ = self.sender.send_message(SessionViewMessage::FileText(Box::new(before)));
        }
        let _ = self.sender.send_message(SessionViewMessage::Event(Box::new(event)));
    }
}

/// Ends the backlog when the thread of a view ends, whatever the reason.
struct BacklogEndGuard(Arc<EventBacklog>);

impl Drop for BacklogEndGuard {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl SessionView {
    /// Begins to show the events of a session.
    pub(crate) fn begin(look: SessionViewFormat) -> Result<Self, CommandError> {
        let (told, heard) = channel();
        let teller = SessionViewSender { messages: told, backlog: Arc::default() };
        let backlog = Arc::clone(&teller.backlog);
        let thread = ViewThread::start("agent view", move || {
            let _ending = BacklogEndGuard(Arc::clone(&backlog));
            match look {
                SessionViewFormat::Json => run_view(SessionJsonEvents::default(), &heard, &backlog),
                SessionViewFormat::Text => {
                    run_view(SessionLines::new(StandardStreams::standard()), &heard, &backlog)
                }
            }
        })?;
        Ok(Self { sender: teller, format: look, thread })
    }

    /// Returns the receiver of the events of sessions that work below these roots.
    pub(crate) fn watcher(&self, roots: WorkspaceRoots) -> Arc<dyn AgentEventObserver> {
        let roots = match self.format {
            SessionViewFormat::Text => Some(roots),
            SessionViewFormat::Json => None,
        };
        Arc::new(SessionViewWatcher { sender: self.sender.clone(), roots })
    }

    /// Returns the number of events that wait to be shown.
    pub(crate) fn backlog(&self) -> Arc<EventBacklog> {
        Arc::clone(&self.sender.backlog)
    }

    /// Returns the screen of the view.
    pub(crate) fn screen(&self) -> SessionScreen {
        SessionScreen { sender: self.sender.clone(), format: self.format }
    }

    /// Shows the remaining events, and ends the view.
    pub(crate) async fn finish(self) {
        let _ = self.sender.send_message(SessionViewMessage::Finish);
        self.thread.join().await;
    }
}

impl SessionScreen {
    /// Shows a text that is not an event.
    pub(crate) fn show_note(&self, text: impl Into<String>) {
        let text = text.into();
        if self.format == SessionViewFormat::Json {
            // Programs read standard output, which may block for ever. This note must not wait for it.
            output::print_nonblocking(&format!("{}\n", output::escape_controls(&text)));
        } else if let Err(SessionViewMessage::Note(text)) =
            self.sender.send_message(SessionViewMessage::Note(text))
        {
            output::print_note(text);
        }
    }

    /// Shows output above the typed line from now on.
    pub(crate) fn start_typing(&self, aside: AbovePromptWriter) {
        let _ = self.sender.send_message(SessionViewMessage::StartTyping(aside));
    }

    /// Shows output as usual again.
    pub(crate) fn stop_typing(&self) {
        let _ = self.sender.send_message(SessionViewMessage::StopTyping);
    }

    /// Returns once all messages up to now are shown.
    pub(crate) async fn wait_until_shown(&self) {
        self.release_terminal().await;
        self.reclaim_terminal();
    }
}

impl SharedScreen for SessionScreen {
    fn release_terminal(&self) -> BoxFuture<'_, ()> {
        Box::pin(wait_for_terminal(|free| {
            let _ = self.sender.send_message(SessionViewMessage::ReleaseTerminal(free));
        }))
    }

    fn reclaim_terminal(&self) {
        let _ = self.sender.send_message(SessionViewMessage::ReclaimTerminal);
    }
}

/// The note about a question that waits until the typed line is finished.
const QUESTION_WAITS_NOTE: &str = "a subagent asks about a call: press Enter to be asked";

fn run_view(
    mut view: impl SessionRenderer,
    heard: &Receiver<SessionViewMessage>,
    backlog: &EventBacklog,
) {
    let mut is_away = false;
    let mut is_typing = false;
    // The question that waits until the typed line is finished.
    let mut waiting: Option<oneshot::Sender<()>> = None;
    // Events that came during a question. Their lines would tear the question apart.
    let mut held: Vec<AgentEvent> = Vec::new();
    let mut left_out = 0_usize;
    while let Ok(told) = heard.recv() {
        backlog.remove_event();
        match told {
            SessionViewMessage::FileText(before) => view.keep_file_text(*before),
            SessionViewMessage::Event(event) if is_away && view.is_on_terminal() => {
                if held.len() < EVENTS_HELD_MAX { held.push(*event) } else { left_out += 1 }
            }
            SessionViewMessage::Event(event) => view.show_event(*event),
            SessionViewMessage::Note(text) => {
                view.end_line();
                view.show_note(&text);
            }
            SessionViewMessage::ReleaseTerminal(free) if is_typing => {
                view.show_note(QUESTION_WAITS_NOTE);
                waiting = Some(free);
            }
            SessionViewMessage::ReleaseTerminal(free) => {
                view.end_line();
                is_away = true;
                let _ = free.send(());
            }
            SessionViewMessage::ReclaimTerminal => {
                is_away = false;
                held.drain(..).for_each(|event| view.show_event(event));
                if std::mem::take(&mut left_out) > 0 {
                    view.show_note("some of what happened meanwhile is not shown; haft sessions show has all of it");
                }
            }
            SessionViewMessage::StartTyping(aside) => {
                view.end_line();
                is_typing = true;
                view.start_typing(aside);
            }
            SessionViewMessage::StopTyping => {
                view.stop_typing();
                is_typing = false;
                // An asker that stopped waiting has closed its end of the channel.
                is_away = waiting.take().is_some_and(|free| free.send(()).is_ok());
            }
            SessionViewMessage::Finish => break,
        }
    }
    held.into_iter().for_each(|event| view.show_event(event));
    view.end_line();
    view.finish();
}

#[cfg(test)]
mod tests {
    use haft_journal::SessionId;

    use super::*;

    /// Writes down what it is told.
    struct Written<'w>(&'w mut Vec<String>);

    impl SessionRenderer for Written<'_> {
        fn show_event(&mut self, event: AgentEvent) {
            if let AgentEventKind::Text { delta } = event.kind {
                self.0.push(delta);
            }
        }

        fn show_note(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
    }

    fn said(text: &str) -> SessionViewMessage {
        let happened = AgentEventKind::Text { delta: text.to_owned() };
        SessionViewMessage::Event(Box::new(AgentEvent {
            kind: happened,
            session: SessionId::from_bits(1),
        }))
    }

    fn check(told: Vec<SessionViewMessage>, expect: &[&str]) {
        let (tell, heard) = channel();
        let teller = SessionViewSender { messages: tell, backlog: Arc::default() };
        let backlog = Arc::clone(&teller.backlog);
        told.into_iter().for_each(|told| assert!(teller.send_message(told).is_ok()));
        drop(teller);
        let mut written = Vec::new();
        run_view(Written(&mut written), &heard, &backlog);
        assert_eq!(written, expect);
    }

    #[test]
    fn what_happens_waits_for_the_answer_to_a_question() {
        let make_way = || SessionViewMessage::ReleaseTerminal(oneshot::channel().0);
        let note = || SessionViewMessage::Note("stopping".to_owned());
        check(
            vec![
                said("a"),
                make_way(),
                said("b"),
                note(),
                SessionViewMessage::ReclaimTerminal,
                said("c"),
                SessionViewMessage::Finish,
            ],
            &["a", "stopping", "b", "c"],
        );
        check(vec![make_way(), said("a"), SessionViewMessage::Finish], &["a"]);
    }

    #[test]
    fn while_somebody_is_asked_so_much_is_held_and_no_more() {
        let mut told = vec![SessionViewMessage::ReleaseTerminal(oneshot::channel().0)];
        told.extend((0..EVENTS_HELD_MAX).map(|_| said("a")));
        told.extend([said("b"), SessionViewMessage::ReclaimTerminal, SessionViewMessage::Finish]);
        let mut expect = vec!["a"; EVENTS_HELD_MAX];
        expect
            .push("some of what happened meanwhile is not shown; haft sessions show has all of it");
        check(told, &expect);
    }

    #[test]
    fn a_question_waits_for_the_line_that_is_typed() {
        let (free, mut is_free) = oneshot::channel();
        check(
            vec![
                SessionViewMessage::StartTyping(AbovePromptWriter::disabled()),
                SessionViewMessage::ReleaseTerminal(free),
                said("a"),
                SessionViewMessage::Finish,
            ],
            &[QUESTION_WAITS_NOTE, "a"],
        );
        assert!(is_free.try_recv().is_err());
        let (free, mut is_free) = oneshot::channel();
        let told = vec![
            SessionViewMessage::StartTyping(AbovePromptWriter::disabled()),
            SessionViewMessage::ReleaseTerminal(free),
            SessionViewMessage::StopTyping,
            said("a"),
            SessionViewMessage::ReclaimTerminal,
        ];
        check(told, &[QUESTION_WAITS_NOTE, "a"]);
        assert!(is_free.try_recv().is_ok());
    }
}
