//! The view of events, and the screen that the view shares with questions to the person. The view's own thread shows the
//! events, so a slow terminal or pipe holds up only this thread. If the reader takes nothing at all, haft stops reading the
//! models' answers (see `backlog`).

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::CommandError;
use crate::views::above_prompt::AbovePromptWriter;
use crate::views::backlog::EventBacklog;
use crate::views::output;

/// The note about a question that waits until the typed line is finished.
const QUESTION_WAITS_NOTE: &str = "a call needs your answer: press Enter to be asked";
const LEFT_OUT_NOTE: &str =
    "some events were not shown meanwhile; haft sessions show has all of them";

/// Begins to read the line that a person types.
pub(crate) type LineStart = Box<dyn FnOnce() + Send>;

/// A message to the thread of a view.
enum ViewMessage<E> {
    Event(E),
    Note(String),
    /// Another writer needs the terminal, and waits until it is free.
    ReleaseTerminal(oneshot::Sender<()>),
    ReclaimTerminal,
    /// The person types a line from now on; other output goes above it. The line is read once the screen is ready.
    StartTyping(AbovePromptWriter, LineStart),
    StopTyping,
    Finish,
}

/// A way to show events.
pub(crate) trait EventRenderer {
    type Event;

    fn show_event(&mut self, event: Self::Event);

    /// Returns whether events appear where questions are asked, and so wait for the answer.
    fn is_on_terminal(&self) -> bool {
        true
    }

    /// Returns the number of events that wait for an answer. Further events are left out.
    fn events_held_max(&self) -> usize {
        usize::MAX
    }

    /// Returns the time after which durations on the screen need an update.
    fn update_interval(&self) -> Duration {
        Duration::MAX
    }

    /// Shows the durations as they are now.
    fn update_durations(&mut self) {}

    /// Shows a text that is not an event.
    fn show_note(&mut self, text: &str) {
        output::print_note(text);
    }

    /// Leaves the terminal to a question.
    fn release_terminal(&mut self) {}

    fn reclaim_terminal(&mut self) {}

    /// The person types a line from now on.
    fn start_typing(&mut self, _: AbovePromptWriter) {}

    /// The person has finished the line.
    fn stop_typing(&mut self) {}

    fn finish(&mut self) {}
}

/// A view of events.
pub(crate) struct EventView<E> {
    pub(crate) screen: ViewScreen<E>,
    thread: JoinHandle<()>,
}

/// The screen of a view, for other writers. Its methods send messages to the view's thread.
#[derive(Clone)]
pub(crate) struct ViewScreen<E> {
    messages: Sender<ViewMessage<E>>,
    pub(crate) backlog: Arc<EventBacklog>,
    /// Whether programs read the events as JSON.
    pub(crate) is_json: bool,
}

/// Ends the backlog when the thread of a view ends, whatever the reason.
struct BacklogEndGuard<'a>(&'a EventBacklog);

impl Drop for BacklogEndGuard<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<E: Send + 'static> EventView<E> {
    /// Starts a thread that makes the renderer and shows events until the view ends.
    pub(crate) fn start(
        name: &str,
        is_json: bool,
        renderer: impl FnOnce() -> Box<dyn EventRenderer<Event = E>> + Send + 'static,
    ) -> Result<Self, CommandError> {
        let (sender, messages) = channel();
        let backlog = Arc::new(EventBacklog::default());
        let screen = ViewScreen { messages: sender, backlog: Arc::clone(&backlog), is_json };
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || {
            let _ending = BacklogEndGuard(&backlog);
            run_view(&mut *renderer(), &messages, &backlog);
        });
        let cannot = |err| CommandError::failed(format!("no thread can be started: {err}"));
        Ok(Self { screen, thread: thread.map_err(cannot)? })
    }

    /// Shows the remaining events, and ends the view.
    pub(crate) async fn finish(self) {
        self.screen.send(ViewMessage::Finish);
        // A pipe that takes nothing may delay the end, and signals are received meanwhile.
        let _ = tokio::task::spawn_blocking(move || self.thread.join()).await;
    }
}

impl<E: Clone> EventView<E> {
    /// Returns the screen of the view.
    pub(crate) fn screen(&self) -> ViewScreen<E> {
        self.screen.clone()
    }
}

impl<E> ViewScreen<E> {
    /// Sends a message without waiting. Returns whether the view took it: a view that has ended shows nothing more.
    fn send(&self, message: ViewMessage<E>) -> bool {
        self.backlog.add_event();
        let is_sent = self.messages.send(message).is_ok();
        if !is_sent {
            self.backlog.remove_event();
        }
        is_sent
    }

    /// Shows an event.
    pub(crate) fn show_event(&self, event: E) {
        self.send(ViewMessage::Event(event));
    }

    /// Shows a text that is not an event.
    pub(crate) fn show_note(&self, text: impl Into<String>) {
        let text = text.into();
        if self.is_json {
            // Programs read standard output, which may block for ever. This note must not wait for it.
            output::print_nonblocking(&format!("{}\n", haft_contract::escape_controls(&text)));
        } else if !self.send(ViewMessage::Note(text.clone())) {
            output::print_note(text);
        }
    }

    /// Shows output above the typed line from now on. `begin` is called once the screen is ready for the line.
    pub(crate) fn start_typing(&self, writer: AbovePromptWriter, begin: LineStart) {
        self.backlog.add_event();
        if let Err(SendError(unsent)) = self.messages.send(ViewMessage::StartTyping(writer, begin))
        {
            self.backlog.remove_event();
            if let ViewMessage::StartTyping(_, begin) = unsent {
                begin();
            }
        }
    }

    /// Shows output as usual again.
    pub(crate) fn stop_typing(&self) {
        self.send(ViewMessage::StopTyping);
    }

    /// Returns once the view leaves the terminal to a question, or has ended.
    pub(crate) async fn release_terminal(&self) {
        let (free, is_free) = oneshot::channel();
        self.send(ViewMessage::ReleaseTerminal(free));
        let _ = is_free.await;
    }

    /// Takes the terminal back.
    pub(crate) fn reclaim_terminal(&self) {
        self.send(ViewMessage::ReclaimTerminal);
    }

    /// Returns once all messages up to now are shown.
    pub(crate) async fn wait_until_shown(&self) {
        self.release_terminal().await;
        self.reclaim_terminal();
    }
}

fn run_view<E>(
    view: &mut dyn EventRenderer<Event = E>,
    messages: &Receiver<ViewMessage<E>>,
    backlog: &EventBacklog,
) {
    let mut is_away = false;
    let mut is_typing = false;
    // The question that waits until the typed line is finished.
    let mut waiting: Option<oneshot::Sender<()>> = None;
    // Events that came during a question. Their lines would tear the question apart.
    let mut held: Vec<E> = Vec::new();
    let mut is_some_left_out = false;
    loop {
        let message = match messages.recv_timeout(view.update_interval()) {
            Ok(message) => message,
            Err(RecvTimeoutError::Timeout) => {
                view.update_durations();
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        backlog.remove_event();
        match message {
            ViewMessage::Event(event) if is_away && view.is_on_terminal() => {
                if held.len() < view.events_held_max() {
                    held.push(event);
                } else {
                    is_some_left_out = true;
                }
            }
            ViewMessage::Event(event) => view.show_event(event),
            ViewMessage::Note(text) => view.show_note(&text),
            ViewMessage::ReleaseTerminal(free) if is_typing => {
                view.show_note(QUESTION_WAITS_NOTE);
                waiting = Some(free);
            }
            ViewMessage::ReleaseTerminal(free) => {
                view.release_terminal();
                is_away = true;
                let _ = free.send(());
            }
            ViewMessage::ReclaimTerminal => {
                view.reclaim_terminal();
                is_away = false;
                held.drain(..).for_each(|event| view.show_event(event));
                if std::mem::take(&mut is_some_left_out) {
                    view.show_note(LEFT_OUT_NOTE);
                }
            }
            ViewMessage::StartTyping(writer, begin) => {
                is_typing = true;
                view.start_typing(writer);
                begin();
            }
            ViewMessage::StopTyping => {
                view.stop_typing();
                is_typing = false;
                // An asker that stopped waiting has closed its end of the channel.
                if let Some(free) = waiting.take().filter(|free| !free.is_closed()) {
                    view.release_terminal();
                    is_away = true;
                    let _ = free.send(());
                }
            }
            ViewMessage::Finish => break,
        }
    }
    held.into_iter().for_each(|event| view.show_event(event));
    view.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS_HELD_MAX: usize = 3;

    /// Writes down its messages.
    struct Written<'w>(&'w mut Vec<&'static str>);

    impl EventRenderer for Written<'_> {
        type Event = &'static str;

        fn show_event(&mut self, event: &'static str) {
            self.0.push(event);
        }

        fn events_held_max(&self) -> usize {
            EVENTS_HELD_MAX
        }

        fn show_note(&mut self, text: &str) {
            self.0.push(match text {
                QUESTION_WAITS_NOTE => "question waits",
                LEFT_OUT_NOTE => "left out",
                _ => "note",
            });
        }

        fn reclaim_terminal(&mut self) {
            self.0.push("resume");
        }

        fn finish(&mut self) {
            self.0.push("end");
        }
    }

    fn check(messages: Vec<ViewMessage<&'static str>>, expect: &[&str]) {
        let (sender, receiver) = channel();
        let screen = ViewScreen { messages: sender, backlog: Arc::default(), is_json: false };
        let backlog = Arc::clone(&screen.backlog);
        messages.into_iter().for_each(|message| assert!(screen.send(message)));
        drop(screen);
        let mut written = Vec::new();
        run_view(&mut Written(&mut written), &receiver, &backlog);
        assert_eq!(written, expect);
    }

    fn release() -> ViewMessage<&'static str> {
        ViewMessage::ReleaseTerminal(oneshot::channel().0)
    }

    #[test]
    fn events_wait_for_the_answer_to_a_question_and_notes_do_not() {
        check(
            vec![
                ViewMessage::Event("a"),
                release(),
                ViewMessage::Event("b"),
                ViewMessage::Note("stopping".to_owned()),
                ViewMessage::ReclaimTerminal,
                ViewMessage::Event("c"),
                ViewMessage::Finish,
            ],
            &["a", "note", "resume", "b", "c", "end"],
        );
        check(vec![release(), ViewMessage::Event("a"), ViewMessage::Finish], &["a", "end"]);
    }

    #[test]
    fn events_beyond_the_bound_are_left_out_during_a_question() {
        let mut messages = vec![release()];
        messages.extend((0..EVENTS_HELD_MAX).map(|_| ViewMessage::Event("a")));
        messages.extend([
            ViewMessage::Event("b"),
            ViewMessage::ReclaimTerminal,
            ViewMessage::Finish,
        ]);
        check(messages, &["resume", "a", "a", "a", "left out", "end"]);
    }

    #[test]
    fn a_question_waits_for_the_line_that_is_typed() {
        let (free, mut is_free) = oneshot::channel();
        check(
            vec![
                ViewMessage::StartTyping(AbovePromptWriter::new(None), Box::new(|| ())),
                ViewMessage::ReleaseTerminal(free),
                ViewMessage::Event("a"),
                ViewMessage::Finish,
            ],
            &["question waits", "a", "end"],
        );
        assert!(is_free.try_recv().is_err());
        let (free, mut is_free) = oneshot::channel();
        check(
            vec![
                ViewMessage::StartTyping(AbovePromptWriter::new(None), Box::new(|| ())),
                ViewMessage::ReleaseTerminal(free),
                ViewMessage::StopTyping,
                ViewMessage::Event("a"),
                ViewMessage::ReclaimTerminal,
            ],
            &["question waits", "resume", "a", "end"],
        );
        assert!(is_free.try_recv().is_ok());
    }
}
