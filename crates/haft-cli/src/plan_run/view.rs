//! What is seen of a plan while it is driven. Events go to a thread of their own, because a terminal or a pipe that
//! takes nothing must not hold up the plan: a live view on a terminal, plain lines elsewhere, and events as lines of
//! JSON on standard output where those were asked for. What became of the plan in the end is not told here.

mod colour;
mod events;
mod label;
mod lines;
mod live;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use haft_plan::CheckedPlan;
use haft_plan::drive::{Event, EventSink};
use tokio::sync::oneshot;

use crate::error::CommandError;
use crate::output;
use events::Events;
use label::Labels;
use lines::Lines;
use live::Live;

pub(crate) use label::PURPOSE_CHARS_MAX;
pub(crate) use live::RUNNING_LINES_MAX;

/// Nodes of a plan up to which each that succeeds has a line of its own; of larger plans only how far they are is told.
pub(crate) const TOLD_NODES_MAX: usize = 200;
/// Lines about nodes that did not succeed.
pub(crate) const TOLD_FAILURES_MAX: usize = 200;
/// Lines of what one tool printed that are shown.
pub(crate) const LOG_LINES_SHOWN_MAX: usize = 20;
/// Longest of these lines, in characters.
pub(crate) const LOG_LINE_CHARS_MAX: usize = 400;
/// How often durations on a live view move on.
const TICK: Duration = Duration::from_millis(100);

/// What the thread of a view is told. There are at most as many events as a plan has nodes and attempts.
enum Told {
    Event(Event),
    Note(String),
    /// Something else is about to use the terminal, and waits until it may.
    MakeWay(oneshot::Sender<()>),
    GoOn,
    End,
}

/// A way of showing what happens.
trait Show {
    fn event(&mut self, event: &Event);

    /// Returns whether events are shown where questions are asked, and so wait for the answer.
    fn is_on_terminal(&self) -> bool {
        true
    }

    /// Says something that is not about a node.
    fn note(&mut self, text: &str) {
        output::note(text);
    }

    fn make_way(&mut self) {}

    fn go_on(&mut self) {}

    /// Time has passed.
    fn tick(&mut self) {}

    fn end(&mut self) {}
}

/// A view of a plan that is being driven.
pub(super) struct View {
    told: Sender<Told>,
    thread: JoinHandle<()>,
}

/// The screen that a view is on, for others who want to say something there.
#[derive(Clone)]
pub(super) struct Screen(Sender<Told>);

impl View {
    /// Begins to show a plan.
    pub(super) fn begin(plan: &CheckedPlan, is_json: bool) -> Result<Self, CommandError> {
        let labels = Labels::new(plan);
        let (told, heard) = channel();
        let thread = std::thread::Builder::new().name("plan view".to_owned());
        let thread = thread
            .spawn(move || {
                let live = if is_json { None } else { Live::new(&labels) };
                match live {
                    Some(live) => show(live, &heard),
                    None if is_json => show(Events, &heard),
                    None => show(Lines::new(&labels), &heard),
                }
            })
            .map_err(|err| CommandError::failed(format!("no thread can be started: {err}")))?;
        Ok(Self { told, thread })
    }

    /// Returns what takes the events of the plan.
    pub(super) fn events(&self) -> Arc<dyn EventSink> {
        let told = self.told.clone();
        Arc::new(move |event: &Event| {
            // A view that has ended shows nothing more.
            let _ = told.send(Told::Event(event.clone()));
        })
    }

    /// Returns the screen that the view is on.
    pub(super) fn screen(&self) -> Screen {
        Screen(self.told.clone())
    }

    /// Shows what is left to show, and leaves the screen to others.
    pub(super) async fn end(self) {
        let Self { told, thread } = self;
        let _ = told.send(Told::End);
        // A pipe that takes nothing is waited for, and signals are heard meanwhile.
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
    }
}

impl Screen {
    /// Says something that is not about a node.
    pub(super) fn note(&self, text: String) {
        if let Err(unheard) = self.0.send(Told::Note(text))
            && let Told::Note(text) = unheard.0
        {
            output::note(text);
        }
    }

    /// Returns once the terminal is free for somebody else.
    pub(super) async fn make_way(&self) {
        let (free, is_free) = oneshot::channel();
        let _ = self.0.send(Told::MakeWay(free));
        // A view that has ended is in nobody's way.
        let _ = is_free.await;
    }

    /// Takes the terminal back.
    pub(super) fn go_on(&self) {
        let _ = self.0.send(Told::GoOn);
    }
}

fn show(mut view: impl Show, heard: &Receiver<Told>) {
    let mut is_away = false;
    // What came while a question was before the person: lines in the middle of it would hide it.
    let mut held: Vec<Event> = Vec::new();
    loop {
        match heard.recv_timeout(TICK) {
            Ok(Told::Event(event)) if is_away && view.is_on_terminal() => held.push(event),
            Ok(Told::Event(event)) => view.event(&event),
            Ok(Told::Note(text)) => view.note(&text),
            Ok(Told::MakeWay(free)) => {
                view.make_way();
                is_away = true;
                let _ = free.send(());
            }
            Ok(Told::GoOn) => {
                view.go_on();
                is_away = false;
                held.drain(..).for_each(|event| view.event(&event));
            }
            Err(RecvTimeoutError::Timeout) => view.tick(),
            Ok(Told::End) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    held.iter().for_each(|event| view.event(event));
    view.end();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes down what it is told.
    struct Written<'w>(&'w mut Vec<String>);

    impl Show for Written<'_> {
        fn event(&mut self, event: &Event) {
            if let Event::NodeSkipped { node, .. } = event {
                self.0.push(format!("skipped {node}"));
            }
        }

        fn note(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }

        fn go_on(&mut self) {
            self.0.push("go on".to_owned());
        }

        fn end(&mut self) {
            self.0.push("end".to_owned());
        }
    }

    #[test]
    fn events_wait_for_the_answer_to_a_question_and_notes_do_not() {
        let check = |told: Vec<Told>, expect: &[&str]| {
            let (tell, heard) = channel();
            told.into_iter().for_each(|told| tell.send(told).unwrap());
            drop(tell);
            let mut written = Vec::new();
            show(Written(&mut written), &heard);
            assert_eq!(written, expect);
        };
        let skipped = |node: u32| {
            let [node, because_of] = [node, 0].map(haft_plan::NodeId::new);
            Told::Event(Event::NodeSkipped { node, because_of })
        };
        let make_way = || Told::MakeWay(oneshot::channel().0);
        let note = || Told::Note("stopping".to_owned());
        check(
            vec![skipped(1), make_way(), skipped(2), note(), Told::GoOn, skipped(3), Told::End],
            &["skipped 1", "stopping", "go on", "skipped 2", "skipped 3", "end"],
        );
        check(vec![make_way(), skipped(1), Told::End], &["skipped 1", "end"]);
    }
}
