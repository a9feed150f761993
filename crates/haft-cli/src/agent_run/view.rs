//! What is seen of a session. Events go to a thread of their own, because a terminal or a pipe that is slow must not hold up
//! the session; of one that takes nothing at all the models feel it in the end (see the backlog). Lines of text for people,
//! lines of JSON for programs.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use haft::Roots;
use haft_agent::{AgentEvent, Happened, Watcher};
use haft_contract::BoxFuture;
use haft_journal::ChatId;
use serde_json::Value;
use tokio::sync::oneshot;

use super::editor::Aside;
use super::events::Events;
use super::limits::{COMPARED_BYTES_MAX, EVENTS_HELD_MAX};
use super::lines::{Lines, Streams};
use crate::ask::SharedScreen;
use crate::compose::backlog::Backlog;
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
    /// What a file says that a call is about to replace.
    Before(Box<Before>),
    Note(String),
    /// Something else is about to use the terminal, and waits until it may.
    MakeWay(oneshot::Sender<()>),
    GoOn,
    /// A line is being typed from now on; what is said meanwhile goes above it.
    Typing(Aside),
    Typed,
    End,
}

/// What a file says that a call is about to replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Before {
    pub(super) session: ChatId,
    pub(super) call: String,
    pub(super) text: String,
}

/// A way of showing what happens.
pub(super) trait Show {
    fn event(&mut self, event: AgentEvent);

    /// Keeps what a file says, for the end of the call that is going to replace it.
    fn before(&mut self, _: Before) {}

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
    teller: Teller,
    look: Look,
    thread: JoinHandle<()>,
}

/// Tells the thread of a view, and never waits for it.
#[derive(Clone)]
struct Teller {
    told: Sender<Told>,
    backlog: Arc<Backlog>,
}

/// The screen that a view is on, for others who want to say something there.
#[derive(Clone)]
pub(crate) struct Screen {
    teller: Teller,
    look: Look,
}

struct ViewWatcher {
    teller: Teller,
    /// Where files are whose former text is shown, if that is shown at all.
    roots: Option<Roots>,
}

impl Teller {
    /// Tells something, or returns it if nothing is shown any more.
    fn tell(&self, told: Told) -> Result<(), Told> {
        self.backlog.add();
        self.told.send(told).map_err(|unheard| {
            self.backlog.take();
            unheard.0
        })
    }
}

impl Watcher for ViewWatcher {
    fn event(&self, event: AgentEvent) {
        // A view that has ended shows nothing more.
        if let Some(before) = self.roots.as_ref().and_then(|roots| before(roots, &event)) {
            let _ = self.teller.tell(Told::Before(Box::new(before)));
        }
        let _ = self.teller.tell(Told::Event(Box::new(event)));
    }
}

/// Returns what a file says that is about to be written: once it is, nobody can tell.
fn before(roots: &Roots, event: &AgentEvent) -> Option<Before> {
    let Happened::ToolCall { id, tool, input, .. } = &event.happened else { return None };
    let path = input.get("path").and_then(Value::as_str).filter(|_| tool == "write")?;
    let text = roots.text_of(path, COMPARED_BYTES_MAX)?;
    Some(Before { session: event.session.clone(), call: id.clone(), text })
}

/// Says, however the thread of a view ends, that nobody needs to wait for it.
struct Ending(Arc<Backlog>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl View {
    /// Begins to show what happens.
    pub(crate) fn begin(look: Look) -> Result<Self, CommandError> {
        let (told, heard) = channel();
        let teller = Teller { told, backlog: Arc::default() };
        let backlog = Arc::clone(&teller.backlog);
        let thread = std::thread::Builder::new().name("agent view".to_owned());
        let thread = thread
            .spawn(move || {
                let _ending = Ending(Arc::clone(&backlog));
                match look {
                    Look::Json => show(Events::default(), &heard, &backlog),
                    Look::Text => show(Lines::new(Streams::standard()), &heard, &backlog),
                }
            })
            .map_err(|err| CommandError::failed(format!("no thread can be started: {err}")))?;
        Ok(Self { teller, look, thread })
    }

    /// Returns what takes the events of sessions that work beneath these roots.
    pub(crate) fn watcher(&self, roots: Roots) -> Arc<dyn Watcher> {
        let roots = match self.look {
            Look::Text => Some(roots),
            Look::Json => None,
        };
        Arc::new(ViewWatcher { teller: self.teller.clone(), roots })
    }

    /// Returns how much waits to be shown.
    pub(crate) fn backlog(&self) -> Arc<Backlog> {
        Arc::clone(&self.teller.backlog)
    }

    /// Returns the screen that the view is on.
    pub(crate) fn screen(&self) -> Screen {
        Screen { teller: self.teller.clone(), look: self.look }
    }

    /// Shows what is left to show.
    pub(crate) async fn end(self) {
        let Self { teller, thread, .. } = self;
        let _ = teller.tell(Told::End);
        // A pipe that takes nothing is waited for, and signals are heard meanwhile.
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
    }
}

impl Screen {
    /// Says something that is no event.
    pub(crate) fn note(&self, text: impl Into<String>) {
        let text = text.into();
        if self.look == Look::Json {
            // What programs read is elsewhere, and may wait to be read for ever.
            output::say_at_once(&format!("{}\n", output::visible(&text)));
        } else if let Err(Told::Note(text)) = self.teller.tell(Told::Note(text)) {
            output::note(text);
        }
    }

    /// Has what is said from now on go above the line that is typed.
    pub(super) fn typing(&self, aside: Aside) {
        let _ = self.teller.tell(Told::Typing(aside));
    }

    /// Takes back that a line is typed.
    pub(super) fn typed(&self) {
        let _ = self.teller.tell(Told::Typed);
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
            let _ = self.teller.tell(Told::MakeWay(free));
            // A view that has ended is in nobody's way.
            let _ = is_free.await;
        })
    }

    fn go_on(&self) {
        let _ = self.teller.tell(Told::GoOn);
    }
}

/// Returns whether somebody reads what is said on standard error while it happens.
pub(super) fn is_seen() -> bool {
    std::io::stderr().is_terminal()
}

/// What is said while somebody types, for a question that has to wait for it.
const ASKS: &str = "a subagent asks about a call: press Enter to be asked";

fn show(mut view: impl Show, heard: &Receiver<Told>, backlog: &Backlog) {
    let mut is_away = false;
    let mut is_typing = false;
    // Whoever waits for the line that is typed to be over.
    let mut waiting: Option<oneshot::Sender<()>> = None;
    // What came while a question was before the person: lines in the middle of it would hide it.
    let mut held: Vec<AgentEvent> = Vec::new();
    let mut left_out = 0_usize;
    while let Ok(told) = heard.recv() {
        backlog.take();
        match told {
            Told::Before(before) => view.before(*before),
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
        let (tell, heard) = channel();
        let teller = Teller { told: tell, backlog: Arc::default() };
        let backlog = Arc::clone(&teller.backlog);
        told.into_iter().for_each(|told| assert!(teller.tell(told).is_ok()));
        drop(teller);
        let mut written = Vec::new();
        show(Written(&mut written), &heard, &backlog);
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
