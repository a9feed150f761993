//! What is seen of a session. Events go to a thread of their own, because a terminal or a pipe that is slow must not hold up
//! the session; one that takes nothing at all does so in the end. Lines of text for people, lines of JSON for programs.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use haft_agent::{AgentEvent, Watcher};
use haft_contract::BoxFuture;
use tokio::sync::oneshot;

use super::editor::Aside;
use super::events::Events;
use super::limits::{EVENTS_HELD_MAX, EVENTS_WAITING_MAX};
use super::lines::{Lines, Streams};
use crate::ask::SharedScreen;
use crate::error::CommandError;
use crate::output;

/// How a session is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Text as it comes where a terminal takes it; else the last answer alone, as data.
    Text,
    /// Every event as a line of JSON.
    Json,
}

/// What the thread of a view is told.
enum Told {
    Event(Box<AgentEvent>),
    Note(String),
    /// Something else is about to use the terminal, and waits until it may.
    MakeWay(oneshot::Sender<()>),
    GoOn,
    /// A line is being typed from now on; what is said meanwhile goes above it.
    Typing(Aside),
    Typed,
    End,
}

/// A way of showing what happens.
pub(super) trait Show {
    fn event(&mut self, event: AgentEvent);

    /// Returns whether events are shown where questions are asked, and so wait for the answer.
    fn is_on_terminal(&self) -> bool {
        true
    }

    /// Says something that is no event.
    fn note(&mut self, text: &str) {
        output::note(text);
    }

    /// Ends the line that is being written.
    fn make_way(&mut self) {}

    /// A line is being typed.
    fn typing(&mut self, _: Aside) {}

    /// No line is being typed any more.
    fn typed(&mut self) {}

    fn end(&mut self) {}
}

/// A view of a session.
pub(crate) struct View {
    told: SyncSender<Told>,
    thread: JoinHandle<()>,
}

/// The screen that a view is on, for others who want to say something there.
#[derive(Clone)]
pub(crate) struct Screen(SyncSender<Told>);

struct ViewWatcher(SyncSender<Told>);

impl Watcher for ViewWatcher {
    fn event(&self, event: AgentEvent) {
        // A view that has ended shows nothing more.
        let _ = self.0.send(Told::Event(Box::new(event)));
    }
}

impl View {
    /// Begins to show what happens.
    pub(crate) fn begin(look: Look) -> Result<Self, CommandError> {
        let (told, heard) = sync_channel(EVENTS_WAITING_MAX);
        let thread = std::thread::Builder::new().name("agent view".to_owned());
        let thread = thread
            .spawn(move || match look {
                Look::Json => show(Events::default(), &heard),
                Look::Text => show(Lines::new(Streams::standard()), &heard),
            })
            .map_err(|err| CommandError::failed(format!("no thread can be started: {err}")))?;
        Ok(Self { told, thread })
    }

    /// Returns what takes the events of sessions.
    pub(crate) fn watcher(&self) -> Arc<dyn Watcher> {
        Arc::new(ViewWatcher(self.told.clone()))
    }

    /// Returns the screen that the view is on.
    pub(crate) fn screen(&self) -> Screen {
        Screen(self.told.clone())
    }

    /// Shows what is left to show.
    pub(crate) async fn end(self) {
        let Self { told, thread } = self;
        // A pipe that takes nothing is waited for, and signals are heard meanwhile.
        let end = move || {
            let _ = told.send(Told::End);
            thread.join()
        };
        let _ = tokio::task::spawn_blocking(end).await;
    }
}

impl Screen {
    /// Says something that is no event.
    pub(crate) fn note(&self, text: impl Into<String>) {
        if let Err(unheard) = self.0.send(Told::Note(text.into()))
            && let Told::Note(text) = unheard.0
        {
            output::note(text);
        }
    }

    /// Has what is said from now on go above the line that is typed.
    pub(super) fn typing(&self, aside: Aside) {
        let _ = self.0.send(Told::Typing(aside));
    }

    /// Takes back that a line is typed.
    pub(super) fn typed(&self) {
        let _ = self.0.send(Told::Typed);
    }

    /// Returns once all that was told until now is shown.
    pub(super) async fn settled(&self) {
        self.make_way().await;
        self.go_on();
    }
}

impl SharedScreen for Screen {
    fn make_way(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let (free, is_free) = oneshot::channel();
            let _ = self.0.send(Told::MakeWay(free));
            // A view that has ended is in nobody's way.
            let _ = is_free.await;
        })
    }

    fn go_on(&self) {
        let _ = self.0.send(Told::GoOn);
    }
}

/// Returns whether somebody reads what is said on standard error while it happens.
pub(super) fn is_seen() -> bool {
    std::io::stderr().is_terminal()
}

/// What is said while somebody types, for a question that has to wait for it.
const ASKS: &str = "a subagent asks about a call: press Enter to be asked";

fn show(mut view: impl Show, heard: &Receiver<Told>) {
    let mut is_away = false;
    let mut is_typing = false;
    // Whoever waits for the line that is typed to be over.
    let mut waiting: Option<oneshot::Sender<()>> = None;
    // What came while a question was before the person: lines in the middle of it would hide it.
    let mut held: Vec<AgentEvent> = Vec::new();
    let mut left_out = 0_usize;
    while let Ok(told) = heard.recv() {
        match told {
            Told::Event(event) if is_away && view.is_on_terminal() => {
                if held.len() < EVENTS_HELD_MAX { held.push(*event) } else { left_out += 1 }
            }
            Told::Event(event) => view.event(*event),
            Told::Note(text) => {
                view.make_way();
                view.note(&text);
            }
            Told::MakeWay(free) if is_typing => {
                view.note(ASKS);
                waiting = Some(free);
            }
            Told::MakeWay(free) => {
                view.make_way();
                is_away = true;
                let _ = free.send(());
            }
            Told::GoOn => {
                is_away = false;
                held.drain(..).for_each(|event| view.event(event));
                if std::mem::take(&mut left_out) > 0 {
                    view.note("some of what happened meanwhile is not shown; haft sessions show has all of it");
                }
            }
            Told::Typing(aside) => {
                view.make_way();
                is_typing = true;
                view.typing(aside);
            }
            Told::Typed => {
                view.typed();
                is_typing = false;
                // Who gave up waiting has said so, and says it no second time.
                is_away = waiting.take().is_some_and(|free| free.send(()).is_ok());
            }
            Told::End => break,
        }
    }
    held.into_iter().for_each(|event| view.event(event));
    view.make_way();
    view.end();
}

#[cfg(test)]
mod tests {
    use haft_agent::Happened;
    use haft_journal::ChatId;

    use super::*;

    /// Writes down what it is told.
    struct Written<'w>(&'w mut Vec<String>);

    impl Show for Written<'_> {
        fn event(&mut self, event: AgentEvent) {
            if let Happened::Text { delta } = event.happened {
                self.0.push(delta);
            }
        }

        fn note(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }
    }

    fn said(text: &str) -> Told {
        let happened = Happened::Text { delta: text.to_owned() };
        Told::Event(Box::new(AgentEvent { happened, session: ChatId::from_bits(1) }))
    }

    fn check(told: Vec<Told>, expect: &[&str]) {
        let (tell, heard) = sync_channel(EVENTS_HELD_MAX + 10);
        told.into_iter().for_each(|told| tell.send(told).unwrap());
        drop(tell);
        let mut written = Vec::new();
        show(Written(&mut written), &heard);
        assert_eq!(written, expect);
    }

    #[test]
    fn what_happens_waits_for_the_answer_to_a_question() {
        let make_way = || Told::MakeWay(oneshot::channel().0);
        let note = || Told::Note("stopping".to_owned());
        check(
            vec![said("a"), make_way(), said("b"), note(), Told::GoOn, said("c"), Told::End],
            &["a", "stopping", "b", "c"],
        );
        check(vec![make_way(), said("a"), Told::End], &["a"]);
    }

    #[test]
    fn while_somebody_is_asked_so_much_is_held_and_no_more() {
        let mut told = vec![Told::MakeWay(oneshot::channel().0)];
        told.extend((0..EVENTS_HELD_MAX).map(|_| said("a")));
        told.extend([said("b"), Told::GoOn, Told::End]);
        let mut expect = vec!["a"; EVENTS_HELD_MAX];
        expect
            .push("some of what happened meanwhile is not shown; haft sessions show has all of it");
        check(told, &expect);
    }

    #[test]
    fn a_question_waits_for_the_line_that_is_typed() {
        let (free, mut is_free) = oneshot::channel();
        check(
            vec![Told::Typing(Aside::none()), Told::MakeWay(free), said("a"), Told::End],
            &[ASKS, "a"],
        );
        assert!(is_free.try_recv().is_err());
        let (free, mut is_free) = oneshot::channel();
        let told = vec![
            Told::Typing(Aside::none()),
            Told::MakeWay(free),
            Told::Typed,
            said("a"),
            Told::GoOn,
        ];
        check(told, &[ASKS, "a"]);
        assert!(is_free.try_recv().is_ok());
    }
}
