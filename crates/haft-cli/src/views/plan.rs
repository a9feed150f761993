//! The view of a plan while it is driven. Its own thread shows the events, so that a slow terminal or pipe does not hold up
//! the plan. There is a live view on a terminal, plain lines elsewhere, and lines of JSON on standard output with `--json`.
//! The commands report the result of the plan.

mod colour;
mod events;
mod label;
mod lines;
mod live;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use haft_contract::BoxFuture;
use haft_plan::CheckedPlan;
use haft_plan::drive::{PlanEvent, PlanEventSink};
use tokio::sync::oneshot;

use crate::error::CommandError;
use crate::views::output;
use crate::views::screen::{SharedScreen, ViewThread, wait_for_terminal};
use events::PlanJsonEvents;
use label::NodeLabels;
use lines::PlanLines;
use live::LivePlanView;

/// Largest plan of which each successful node gets a line. For a larger plan, lines show only the progress.
pub(crate) const TOLD_NODES_MAX: usize = 200;
/// Lines about nodes that did not succeed.
pub(crate) const TOLD_FAILURES_MAX: usize = 200;
/// Lines of what one tool printed that are shown.
pub(crate) const LOG_LINES_SHOWN_MAX: usize = 20;
/// Longest of these lines, in characters.
pub(crate) const LOG_LINE_CHARS_MAX: usize = 400;
/// How often durations on a live view move on.
const TICK: Duration = Duration::from_millis(100);

/// A message to the thread of a view. A plan sends at most as many events as it has nodes and attempts.
enum PlanViewMessage {
    Event(PlanEvent),
    Note(String),
    /// Another writer needs the terminal, and waits until it is free.
    ReleaseTerminal(oneshot::Sender<()>),
    ReclaimTerminal,
    Finish,
}

/// A way to show the events of a plan.
trait PlanRenderer {
    fn show_event(&mut self, event: &PlanEvent);

    /// Returns whether events appear where questions are asked, and so wait for the answer.
    fn is_on_terminal(&self) -> bool {
        true
    }

    /// Shows a text that is not about a node.
    fn show_note(&mut self, text: &str) {
        output::print_note(text);
    }

    fn hide_live_lines(&mut self) {}

    fn show_live_lines(&mut self) {}

    /// Shows the durations as they are now.
    fn update_durations(&mut self) {}

    fn finish(&mut self) {}
}

/// The view of a plan while it is driven.
pub(crate) struct PlanView {
    messages: Sender<PlanViewMessage>,
    thread: ViewThread,
}

/// The screen of a view, for other writers.
#[derive(Clone)]
pub(crate) struct PlanScreen(Sender<PlanViewMessage>);

impl PlanView {
    /// Begins to show a plan.
    pub(crate) fn begin(plan: &CheckedPlan, is_json: bool) -> Result<Self, CommandError> {
        let labels = NodeLabels::new(plan);
        let (told, heard) = channel();
        let thread = ViewThread::start("plan view", move || {
            let live = if is_json { None } else { LivePlanView::new(&labels) };
            match live {
                Some(live) => run_view(live, &heard),
                None if is_json => run_view(PlanJsonEvents, &heard),
                None => run_view(PlanLines::new(&labels), &heard),
            }
        })?;
        Ok(Self { messages: told, thread })
    }

    /// Returns the receiver of the plan's events.
    pub(crate) fn event_sink(&self) -> Arc<dyn PlanEventSink> {
        let told = self.messages.clone();
        Arc::new(move |event: &PlanEvent| {
            // A view that has ended shows nothing more.
            let _ = told.send(PlanViewMessage::Event(event.clone()));
        })
    }

    /// Returns the screen of the view.
    pub(crate) fn screen(&self) -> PlanScreen {
        PlanScreen(self.messages.clone())
    }

    /// Shows the remaining events, and ends the view.
    pub(crate) async fn finish(self) {
        let _ = self.messages.send(PlanViewMessage::Finish);
        self.thread.join().await;
    }
}

impl PlanScreen {
    /// Shows a text that is not about a node.
    pub(crate) fn show_note(&self, text: String) {
        if let Err(unheard) = self.0.send(PlanViewMessage::Note(text))
            && let PlanViewMessage::Note(text) = unheard.0
        {
            output::print_note(text);
        }
    }
}

impl SharedScreen for PlanScreen {
    fn release_terminal(&self) -> BoxFuture<'_, ()> {
        Box::pin(wait_for_terminal(|free| {
            let _ = self.0.send(PlanViewMessage::ReleaseTerminal(free));
        }))
    }

    fn reclaim_terminal(&self) {
        let _ = self.0.send(PlanViewMessage::ReclaimTerminal);
    }
}

fn run_view(mut view: impl PlanRenderer, heard: &Receiver<PlanViewMessage>) {
    let mut is_away = false;
    // Events that came during a question. Their lines would tear the question apart.
    let mut held: Vec<PlanEvent> = Vec::new();
    loop {
        match heard.recv_timeout(TICK) {
            Ok(PlanViewMessage::Event(event)) if is_away && view.is_on_terminal() => {
                held.push(event)
            }
            Ok(PlanViewMessage::Event(event)) => view.show_event(&event),
            Ok(PlanViewMessage::Note(text)) => view.show_note(&text),
            Ok(PlanViewMessage::ReleaseTerminal(free)) => {
                view.hide_live_lines();
                is_away = true;
                let _ = free.send(());
            }
            Ok(PlanViewMessage::ReclaimTerminal) => {
                view.show_live_lines();
                is_away = false;
                held.drain(..).for_each(|event| view.show_event(&event));
            }
            Err(RecvTimeoutError::Timeout) => view.update_durations(),
            Ok(PlanViewMessage::Finish) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    held.iter().for_each(|event| view.show_event(event));
    view.finish();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes down what it is told.
    struct Written<'w>(&'w mut Vec<String>);

    impl PlanRenderer for Written<'_> {
        fn show_event(&mut self, event: &PlanEvent) {
            if let PlanEvent::NodeSkipped { node, .. } = event {
                self.0.push(format!("skipped {node}"));
            }
        }

        fn show_note(&mut self, text: &str) {
            self.0.push(text.to_owned());
        }

        fn show_live_lines(&mut self) {
            self.0.push("go on".to_owned());
        }

        fn finish(&mut self) {
            self.0.push("end".to_owned());
        }
    }

    #[test]
    fn events_wait_for_the_answer_to_a_question_and_notes_do_not() {
        let check = |told: Vec<PlanViewMessage>, expect: &[&str]| {
            let (tell, heard) = channel();
            told.into_iter().for_each(|told| tell.send(told).unwrap());
            drop(tell);
            let mut written = Vec::new();
            run_view(Written(&mut written), &heard);
            assert_eq!(written, expect);
        };
        let skipped = |node: u32| {
            let [node, because_of] = [node, 0].map(haft_plan::NodeId::new);
            PlanViewMessage::Event(PlanEvent::NodeSkipped { node, because_of })
        };
        let make_way = || PlanViewMessage::ReleaseTerminal(oneshot::channel().0);
        let note = || PlanViewMessage::Note("stopping".to_owned());
        check(
            vec![
                skipped(1),
                make_way(),
                skipped(2),
                note(),
                PlanViewMessage::ReclaimTerminal,
                skipped(3),
                PlanViewMessage::Finish,
            ],
            &["skipped 1", "stopping", "go on", "skipped 2", "skipped 3", "end"],
        );
        check(vec![make_way(), skipped(1), PlanViewMessage::Finish], &["skipped 1", "end"]);
    }
}
