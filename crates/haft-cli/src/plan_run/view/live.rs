//! The live view on a terminal: lines of nodes that ended scroll by, beneath them a line for each node that runs or that
//! waits for its next attempt, for a resource or for the bounds of its tool, and at the bottom how far the plan is.

use std::collections::BTreeMap;
use std::time::Instant;

use clap::builder::styling::Style;
use haft_plan::NodeId;
use haft_plan::drive::{Event, WaitsFor};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Show;
use super::colour::{self, painted};
use super::label::{Labels, on_one_line};
use super::lines::Lines;
use crate::time::in_words;

/// Lines of nodes that run or wait; further ones are counted.
pub(crate) const RUNNING_LINES_MAX: usize = 8;
/// How often the terminal is drawn anew in a second, at most.
const DRAWN_PER_SECOND: u8 = 15;
const WHOLE: &str = "{bar:24} {pos}/{len} nodes, {wide_msg}";
const WHOLE_NARROW: &str = "{bar:6} {pos}/{len} nodes, {wide_msg}";
/// Columns below which the bar is short.
const NARROW_COLUMNS: u16 = 72;
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
    is_coloured: bool,
}

/// A node that runs or waits.
struct UnderWay {
    doing: Doing,
    since: Instant,
    line: Option<ProgressBar>,
}

enum Doing {
    /// It waits for something other than earlier nodes.
    Waiting(WaitsFor),
    Running {
        attempt: u32,
    },
    /// It failed, and its next attempt is made after so many milliseconds.
    Failed {
        attempt: u32,
        waits_ms: u64,
    },
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
        let is_narrow = columns().is_some_and(|columns| columns < NARROW_COLUMNS);
        let template = if is_narrow { WHOLE_NARROW } else { WHOLE };
        let whole = screen.add(ProgressBar::new(count).with_style(style(template)));
        Some(Self {
            labels,
            lines: Lines::new(labels),
            screen,
            whole,
            begun: Instant::now(),
            under_way: BTreeMap::new(),
            failures: 0,
            is_hidden: false,
            is_coloured: crate::output::stderr_has_colours(),
        })
    }

    /// Notes what a node does now. Those that run have lines before those that wait.
    fn turn_to(&mut self, node: NodeId, doing: Doing) {
        let kept = self.under_way.remove(&node).and_then(|under_way| under_way.line);
        let shown = self.under_way.values().filter(|other| other.line.is_some()).count();
        let line = match (kept, &doing) {
            (Some(line), _) => Some(line),
            (None, _) if shown < RUNNING_LINES_MAX => Some(self.add_line()),
            (None, Doing::Waiting(_)) => None,
            (None, Doing::Running { .. } | Doing::Failed { .. }) => self.line_of_waiting(),
        };
        self.under_way.insert(node, UnderWay { doing, since: Instant::now(), line });
    }

    /// Takes the line of the last node that only waits.
    fn line_of_waiting(&mut self) -> Option<ProgressBar> {
        let mut waiting = self.under_way.values_mut().rev().filter(|other| other.is_waiting());
        waiting.find_map(|other| other.line.take())
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
        let mut first = None;
        for under_way in self.under_way.values_mut().filter(|under_way| under_way.line.is_none()) {
            if !under_way.is_waiting() {
                under_way.line = Some(line);
                return;
            }
            first.get_or_insert(under_way);
        }
        match first {
            Some(under_way) => under_way.line = Some(line),
            None => self.screen.remove(&line),
        }
    }

    /// Lets something be said above the lines that are drawn anew.
    fn say(&self, say: impl FnOnce()) {
        // A hidden screen prints nothing, and what is said beside a question must not be lost.
        if self.is_hidden {
            say();
        } else {
            // What a key of an interrupt leaves on the screen goes with the lines that are drawn anew.
            self.screen.suspend(say);
        }
    }

    fn draw(&self) {
        for (node, under_way) in &self.under_way {
            if let Some(line) = &under_way.line {
                let said = under_way.said();
                let style = under_way.doing.style();
                let said = if self.is_coloured { painted(style, &said) } else { said };
                line.set_message(self.labels.line(*node, &said, ""));
            }
        }
        let hidden = self.under_way.values().filter(|under_way| under_way.line.is_none());
        let (waiting, running): (Vec<_>, Vec<_>) = hidden.partition(|other| other.is_waiting());
        let mut said = in_seconds(millis(self.begun));
        if !running.is_empty() {
            said.push_str(&format!(", {} more under way", running.len()));
        }
        if !waiting.is_empty() {
            said.push_str(&format!(", {} more waiting", waiting.len()));
        }
        if self.failures > 0 {
            said.push_str(&format!(", {} without success", self.failures));
        }
        self.whole.set_message(said);
    }
}

impl UnderWay {
    fn is_waiting(&self) -> bool {
        match self.doing {
            Doing::Waiting(_) => true,
            Doing::Running { .. } | Doing::Failed { .. } => false,
        }
    }

    fn said(&self) -> String {
        let passed_ms = millis(self.since);
        let tried = |attempt: u32| match attempt {
            1 => String::new(),
            attempt => format!(", attempt {attempt}"),
        };
        match &self.doing {
            Doing::Waiting(waits_for) => waiting(waits_for, passed_ms),
            Doing::Running { attempt } => {
                format!("running {}{}", in_seconds(passed_ms), tried(*attempt))
            }
            Doing::Failed { attempt, waits_ms } => {
                let left = in_seconds(waits_ms.saturating_sub(passed_ms));
                format!("failed{}, the next in {left}", tried(*attempt))
            }
        }
    }
}

impl Doing {
    fn style(&self) -> Style {
        match self {
            Self::Waiting(_) => colour::WAITING,
            Self::Running { .. } => colour::RUNNING,
            Self::Failed { .. } => colour::FAILED_FOR_NOW,
        }
    }
}

/// Says what a node waits for.
fn waiting(waits_for: &WaitsFor, passed_ms: u64) -> String {
    match waits_for {
        WaitsFor::Resource { resource, used_by } => {
            format!("waiting for {}, used by node {used_by}", on_one_line(resource))
        }
        WaitsFor::Concurrency { at_once: 1 } => "waiting: 1 call of it at a time".to_owned(),
        WaitsFor::Concurrency { at_once } => format!("waiting: {at_once} calls of it at a time"),
        WaitsFor::Rate { per_minute, wait_ms } => {
            let left = in_seconds(wait_ms.saturating_sub(passed_ms));
            format!("waiting: {per_minute} calls of it a minute, the next in {left}")
        }
        // What is added there later is at least a reason to wait.
        _ => "waiting".to_owned(),
    }
}

impl Show for Live<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::NodeWaiting { node, waits_for } => {
                self.turn_to(*node, Doing::Waiting(waits_for.clone()));
            }
            Event::NodeStarted { node, attempt, .. } => {
                self.turn_to(*node, Doing::Running { attempt: *attempt });
            }
            Event::NodeRetrying { node, attempt, delay_ms, .. } => {
                let (attempt, waits_ms) = (*attempt, *delay_ms);
                self.turn_to(*node, Doing::Failed { attempt, waits_ms });
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
            self.say(|| crate::output::coloured_note(&line));
        }
        self.draw();
    }

    fn note(&mut self, text: &str) {
        self.say(|| crate::output::note(text));
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

/// Returns how many columns the terminal has, if it knows.
fn columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some(size.ws_col).filter(|columns| *columns > 0)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
