//! What is seen of a session. Events go to a thread of their own, because a terminal or a pipe that is slow must not hold up
//! the session; of one that takes nothing at all the models feel it in the end (see the backlog). Lines of text for people,
//! lines of JSON for programs.

mod changes;
mod editor;
mod events;
pub(crate) mod limits;
mod lines;
mod outcome;
mod renderer;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

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
use crate::views::screen::SharedScreen;

pub(crate) use self::editor::{TerminalLineEditor, TypedInput};
pub(crate) use self::outcome::{line_of_result, on_one_line};

/// How a session is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionViewFormat {
    /// Text as it comes where a terminal takes it; else the last answer alone, as data.
    Text,
    /// Every event as a line of JSON.
    Json,
}

/// What the thread of a view is told.
enum SessionViewMessage {
    Event(Box<AgentEvent>),
    /// What a file says that a call is about to replace.
    FileText(Box<FileTextBeforeCall>),
    Note(String),
    /// Something else is about to use the terminal, and waits until it may.
    ReleaseTerminal(oneshot::Sender<()>),
    ReclaimTerminal,
    /// A line is being typed from now on; what is said meanwhile goes above it.
    StartTyping(AbovePromptWriter),
    StopTyping,
    Finish,
}

/// A view of a session.
pub(crate) struct SessionView {
    sender: SessionViewSender,
    format: SessionViewFormat,
    thread: JoinHandle<()>,
}

/// Tells the thread of a view, and never waits for it.
#[derive(Clone)]
struct SessionViewSender {
    messages: Sender<SessionViewMessage>,
    backlog: Arc<EventBacklog>,
}

/// The screen that a view is on, for others who want to say something there.
#[derive(Clone)]
pub(crate) struct SessionScreen {
    sender: SessionViewSender,
    format: SessionViewFormat,
}

struct SessionViewWatcher {
    sender: SessionViewSender,
    /// Where files are whose former text is shown, if that is shown at all.
    roots: Option<WorkspaceRoots>,
}

impl SessionViewSender {
    /// Tells something, or returns it if nothing is shown any more.
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
        if let Some(before) = self.roots.as_ref().and_then(|roots| text_before_call(roots, &event))
        {
            let _ = self.sender.send_message(SessionViewMessage::FileText(Box::new(before)));
        }
        let _ = self.sender.send_message(SessionViewMessage::Event(Box::new(event)));
    }
}

/// Returns what a file says that is about to be written: once it is, nobody can tell.
fn text_before_call(roots: &WorkspaceRoots, event: &AgentEvent) -> Option<FileTextBeforeCall> {
    let AgentEventKind::ToolCall { id, kind, input, .. } = &event.kind else { return None };
    let Some(DescribedChange::Content { path: Some(path), .. }) = described_change(*kind, input)
    else {
        return None;
    };
    let text = roots.read_text(path, COMPARED_BYTES_MAX)?;
    Some(FileTextBeforeCall { session: event.session.clone(), call: id.clone(), text })
}

/// Says, however the thread of a view ends, that nobody needs to wait for it.
struct BacklogEndGuard(Arc<EventBacklog>);

impl Drop for BacklogEndGuard {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl SessionView {
    /// Begins to show what happens.
    pub(crate) fn begin(look: SessionViewFormat) -> Result<Self, CommandError> {
        let (told, heard) = channel();
        let teller = SessionViewSender { messages: told, backlog: Arc::default() };
        let backlog = Arc::clone(&teller.backlog);
        let thread = std::thread::Builder::new().name("agent view".to_owned());
        let thread = thread
            .spawn(move || {
                let _ending = BacklogEndGuard(Arc::clone(&backlog));
                match look {
                    SessionViewFormat::Json => {
                        run_view(SessionJsonEvents::default(), &heard, &backlog)
                    }
                    SessionViewFormat::Text => {
                        run_view(SessionLines::new(StandardStreams::standard()), &heard, &backlog)
                    }
                }
            })
            .map_err(|err| CommandError::failed(format!("no thread can be started: {err}")))?;
        Ok(Self { sender: teller, format: look, thread })
    }

    /// Returns what takes the events of sessions that work beneath these roots.
    pub(crate) fn watcher(&self, roots: WorkspaceRoots) -> Arc<dyn AgentEventObserver> {
        let roots = match self.format {
            SessionViewFormat::Text => Some(roots),
            SessionViewFormat::Json => None,
        };
        Arc::new(SessionViewWatcher { sender: self.sender.clone(), roots })
    }

    /// Returns how much waits to be shown.
    pub(crate) fn backlog(&self) -> Arc<EventBacklog> {
        Arc::clone(&self.sender.backlog)
    }

    /// Returns the screen that the view is on.
    pub(crate) fn screen(&self) -> SessionScreen {
        SessionScreen { sender: self.sender.clone(), format: self.format }
    }

    /// Shows what is left to show.
    pub(crate) async fn finish(self) {
        let Self { sender: teller, thread, .. } = self;
        let _ = teller.send_message(SessionViewMessage::Finish);
        // A pipe that takes nothing is waited for, and signals are heard meanwhile.
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
    }
}

impl SessionScreen {
    /// Says something that is no event.
    pub(crate) fn show_note(&self, text: impl Into<String>) {
        let text = text.into();
        if self.format == SessionViewFormat::Json {
            // What programs read is elsewhere, and may wait to be read for ever.
            output::print_nonblocking(&format!("{}\n", output::escape_controls(&text)));
        } else if let Err(SessionViewMessage::Note(text)) =
            self.sender.send_message(SessionViewMessage::Note(text))
        {
            output::print_note(text);
        }
    }

    /// Has what is said from now on go above the line that is typed.
    pub(crate) fn start_typing(&self, aside: AbovePromptWriter) {
        let _ = self.sender.send_message(SessionViewMessage::StartTyping(aside));
    }

    /// Takes back that a line is typed.
    pub(crate) fn stop_typing(&self) {
        let _ = self.sender.send_message(SessionViewMessage::StopTyping);
    }

    /// Returns once all that was told until now is shown.
    pub(crate) async fn wait_until_shown(&self) {
        self.release_terminal().await;
        self.reclaim_terminal();
    }
}

impl SharedScreen for SessionScreen {
    fn release_terminal(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (free, is_free) = oneshot::channel();
            let _ = self.sender.send_message(SessionViewMessage::ReleaseTerminal(free));
            // A view that has ended is in nobody's way.
            let _ = is_free.await;
        })
    }

    fn reclaim_terminal(&self) {
        let _ = self.sender.send_message(SessionViewMessage::ReclaimTerminal);
    }
}

/// What is said while somebody types, for a question that has to wait for it.
const QUESTION_WAITS_NOTE: &str = "a subagent asks about a call: press Enter to be asked";

fn run_view(
    mut view: impl SessionRenderer,
    heard: &Receiver<SessionViewMessage>,
    backlog: &EventBacklog,
) {
    let mut is_away = false;
    let mut is_typing = false;
    // Whoever waits for the line that is typed to be over.
    let mut waiting: Option<oneshot::Sender<()>> = None;
    // What came while a question was before the person: lines in the middle of it would hide it.
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
                // Who gave up waiting has said so, and says it no second time.
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
