//! The live view on a terminal: lines of nodes that ended scroll by, beneath them a line for each node that runs or waits
//! for its next attempt, and at the bottom how far the plan is.

use std::collections::BTreeMap;
use std::time::Instant;

use haft_plan::NodeId;
use haft_plan::drive::Event;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Show;
use super::label::Labels;
use super::lines::Lines;
use crate::time::in_words;

/// Lines of nodes that run; further ones are counted.
pub(crate) const RUNNING_LINES_MAX: usize = 8;
/// How often the terminal is drawn anew in a second, at most.
const DRAWN_PER_SECOND: u8 = 15;
const WHOLE: &str = "{bar:24} {pos}/{len} nodes, {msg}";
const LINE: &str = "  {wide_msg}";
/// Terminals that can do nothing but print.
const DUMB: &str = "dumb";

/// What is seen of a plan on a terminal.
pub(super) struct Live<'p> {
    labels: &'p Labels,
    /// What scrolls by is what is said elsewhere line by line.
    lines: Lines<'p>,
    screen: MultiProgress,
    whole: ProgressBar,
    begun: Instant,
    under_way: BTreeMap<NodeId, UnderWay>,
    failures: usize,
    is_hidden: bool,
}

/// A node that runs or waits for its next attempt.
struct UnderWay {
    attempt: u32,
    since: Instant,
    /// How long it waits for its next attempt, in milliseconds.
    waits_ms: Option<u64>,
    line: Option<ProgressBar>,
}

impl<'p> Live<'p> {
    /// Returns a view on standard error, if that is a terminal on which lines can be drawn anew.
    pub(super) fn new(labels: &'p Labels) -> Option<Self> {
        if std::env::var("TERM").is_ok_and(|term| term == DUMB) {
            return None;
        }
        let screen = MultiProgress::with_draw_target(draw_target());
        if screen.is_hidden() {
            return None;
        }
        let count = u64::try_from(labels.count()).unwrap_or(u64::MAX);
        let whole = screen.add(ProgressBar::new(count).with_style(style(WHOLE)));
        Some(Self {
            labels,
            lines: Lines::new(labels),
            screen,
            whole,
            begun: Instant::now(),
            under_way: BTreeMap::new(),
            failures: 0,
            is_hidden: false,
        })
    }

    fn begin(&mut self, node: NodeId, attempt: u32) {
        let shown = self.under_way.values().filter(|under_way| under_way.line.is_some()).count();
        let kept = self.under_way.remove(&node).and_then(|under_way| under_way.line);
        let line = kept.or_else(|| (shown < RUNNING_LINES_MAX).then(|| self.add_line()));
        let under_way = UnderWay { attempt, since: Instant::now(), waits_ms: None, line };
        self.under_way.insert(node, under_way);
    }

    fn add_line(&self) -> ProgressBar {
        self.screen.insert_before(&self.whole, ProgressBar::new_spinner().with_style(style(LINE)))
    }

    fn end_node(&mut self, node: NodeId) {
        if let Some(line) = self.under_way.remove(&node).and_then(|under_way| under_way.line) {
            self.screen.remove(&line);
            self.give_line();
        }
        self.whole.inc(1);
    }

    /// Gives a line that became free to the first node that has none.
    fn give_line(&mut self) {
        let line = self.add_line();
        let without = self.under_way.values_mut().find(|under_way| under_way.line.is_none());
        match without {
            Some(under_way) => under_way.line = Some(line),
            None => self.screen.remove(&line),
        }
    }

    fn draw(&self) {
        for (node, under_way) in &self.under_way {
            if let Some(line) = &under_way.line {
                line.set_message(self.labels.line(*node, &under_way.said(), ""));
            }
        }
        let hidden = self.under_way.values().filter(|under_way| under_way.line.is_none()).count();
        let mut said = in_seconds(millis(self.begun));
        if hidden > 0 {
            said.push_str(&format!(", {hidden} more under way"));
        }
        if self.failures > 0 {
            said.push_str(&format!(", {} without success", self.failures));
        }
        self.whole.set_message(said);
    }
}

impl UnderWay {
    fn said(&self) -> String {
        let passed_ms = millis(self.since);
        let tried =
            if self.attempt > 1 { format!(", attempt {}", self.attempt) } else { String::new() };
        match self.waits_ms {
            Some(waits_ms) => {
                let left = in_seconds(waits_ms.saturating_sub(passed_ms));
                format!("failed{tried}, the next in {left}")
            }
            None => format!("running {}{tried}", in_seconds(passed_ms)),
        }
    }
}

impl Show for Live<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::NodeStarted { node, attempt, .. } => self.begin(*node, *attempt),
            Event::NodeRetrying { node, delay_ms, .. } => {
                if let Some(under_way) = self.under_way.get_mut(node) {
                    (under_way.waits_ms, under_way.since) = (Some(*delay_ms), Instant::now());
                }
            }
            Event::NodeFinished { node, status, .. } => {
                self.failures += usize::from(*status != haft_plan::NodeStatus::Succeeded);
                self.end_node(*node);
            }
            Event::NodeSkipped { node, .. } => {
                self.failures += 1;
                self.end_node(*node);
            }
            _ => {}
        }
        if let Some(line) = self.lines.line(event) {
            self.note(&line);
        }
        self.draw();
    }

    fn note(&mut self, text: &str) {
        // A hidden screen prints nothing, and what is said beside a question must not be lost.
        if self.is_hidden {
            crate::output::note(text);
        } else {
            // What a key of an interrupt leaves on the screen goes with the lines that are drawn anew.
            self.screen.suspend(|| crate::output::note(text));
        }
    }

    fn make_way(&mut self) {
        let _ = self.screen.clear();
        self.screen.set_draw_target(ProgressDrawTarget::hidden());
        self.is_hidden = true;
    }

    fn go_on(&mut self) {
        self.screen.set_draw_target(draw_target());
        self.is_hidden = false;
        self.draw();
    }

    fn tick(&mut self) {
        self.draw();
    }

    fn end(&mut self) {
        let _ = self.screen.clear();
    }
}

/// Returns a duration that moves on before somebody's eyes, without digits that only flicker.
fn in_seconds(duration_ms: u64) -> String {
    match duration_ms {
        0..1_000 => format!("0.{} s", duration_ms / 100),
        _ => in_words(duration_ms),
    }
}

fn draw_target() -> ProgressDrawTarget {
    ProgressDrawTarget::stderr_with_hz(DRAWN_PER_SECOND)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
