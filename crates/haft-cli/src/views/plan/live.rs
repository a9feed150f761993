//! The live view on a terminal. The lines of ended nodes scroll by. Below them, each running or waiting node has a line, and
//! the last line shows the progress of the plan.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use haft_plan::NodeId;
use haft_plan::drive::{NodeWaitReason, PlanEvent};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::colour::{self, painted};
use super::lines::PlanLines;
use crate::views::outcome::on_one_line;
use crate::views::output;
use crate::views::screen::EventRenderer;
use crate::views::table::columns_of;
use crate::views::time::duration_in_words;

/// Lines of nodes that run or wait; further ones are counted.
pub(crate) const RUNNING_LINES_MAX: usize = 8;
/// Most redraws of the terminal in a second.
const DRAWN_PER_SECOND: u8 = 15;
/// The time after which durations on the view are updated.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);
const TOTAL_TEMPLATE: &str = "{bar:24} {pos}/{len} nodes, {wide_msg}";
const TOTAL_TEMPLATE_NARROW: &str = "{bar:6} {pos}/{len} nodes, {wide_msg}";
/// Columns below which the bar is short.
const NARROW_COLUMNS: usize = 72;
const NODE_TEMPLATE: &str = "  {wide_msg}";

/// A plan on a terminal.
pub(super) struct LivePlanView {
    /// The lines that scroll by, as on other outputs.
    lines: PlanLines,
    screen: MultiProgress,
    total_bar: ProgressBar,
    started_at: Instant,
    active_nodes: BTreeMap<NodeId, ActiveNode>,
    failures: usize,
    is_hidden: bool,
    is_coloured: bool,
}

/// A node that runs or waits.
struct ActiveNode {
    activity: NodeActivity,
    since: Instant,
    line: Option<ProgressBar>,
}

enum NodeActivity {
    /// It waits for something other than earlier nodes.
    Waiting(NodeWaitReason),
    Running {
        attempt: u32,
    },
    /// It failed, and its next attempt begins after this time.
    Failed {
        attempt: u32,
        waits_ms: u64,
    },
}

/// Returns standard error, if that is a terminal that can redraw lines.
pub(super) fn terminal() -> Option<MultiProgress> {
    if output::is_dumb_terminal() {
        return None;
    }
    Some(MultiProgress::with_draw_target(draw_target())).filter(|screen| !screen.is_hidden())
}

impl LivePlanView {
    pub(super) fn new(screen: MultiProgress, lines: PlanLines) -> Self {
        let count = u64::try_from(lines.labels.count()).unwrap_or(u64::MAX);
        let is_narrow = columns_of(std::io::stderr()).is_some_and(|it| it < NARROW_COLUMNS);
        let template = if is_narrow { TOTAL_TEMPLATE_NARROW } else { TOTAL_TEMPLATE };
        Self {
            lines,
            total_bar: screen.add(ProgressBar::new(count).with_style(style(template))),
            screen,
            started_at: Instant::now(),
            active_nodes: BTreeMap::new(),
            failures: 0,
            is_hidden: false,
            is_coloured: output::stderr_has_colours(),
        }
    }

    /// Sets the activity of a node. Running nodes get lines before waiting nodes.
    fn set_activity(&mut self, node: NodeId, doing: NodeActivity) {
        let kept = self.active_nodes.remove(&node).and_then(|under_way| under_way.line);
        let shown = self.active_nodes.values().filter(|other| other.line.is_some()).count();
        let line = match (kept, &doing) {
            (Some(line), _) => Some(line),
            (None, _) if shown < RUNNING_LINES_MAX => Some(new_line(&self.screen, &self.total_bar)),
            (None, NodeActivity::Waiting(_)) => None,
            (None, NodeActivity::Running { .. } | NodeActivity::Failed { .. }) => {
                // Takes the line of the last node that only waits.
                let nodes = self.active_nodes.values_mut().rev();
                nodes.filter(|other| other.is_waiting()).find_map(|other| other.line.take())
            }
        };
        self.active_nodes.insert(node, ActiveNode { activity: doing, since: Instant::now(), line });
    }

    fn end_node(&mut self, node: NodeId) {
        if let Some(free) = self.active_nodes.remove(&node).and_then(|under_way| under_way.line) {
            self.screen.remove(&free);
            // The line goes to the first running node without one, or else to the first waiting node.
            let mut without = self.active_nodes.values_mut().filter(|it| it.line.is_none());
            let mut next = without.next();
            if next.as_ref().is_some_and(|first| first.is_waiting())
                && let Some(running) = without.find(|other| !other.is_waiting())
            {
                next = Some(running);
            }
            if let Some(next) = next {
                next.line = Some(new_line(&self.screen, &self.total_bar));
            }
        }
        self.total_bar.inc(1);
    }

    /// Prints a text above the redrawn lines.
    fn print_above(&self, say: impl FnOnce()) {
        // A hidden screen prints nothing, but a note during a question must not be lost.
        if self.is_hidden {
            say();
        } else {
            // Redrawing also removes the `^C` that a terminal shows for an interrupt.
            self.screen.suspend(say);
        }
    }

    fn draw(&self) {
        for (node, under_way) in &self.active_nodes {
            if let Some(line) = &under_way.line {
                let passed_ms = millis(under_way.since);
                let tried = |attempt: u32| match attempt {
                    1 => String::new(),
                    attempt => format!(", attempt {attempt}"),
                };
                let (style, said) = match &under_way.activity {
                    NodeActivity::Waiting(NodeWaitReason::Resource { resource, used_by }) => {
                        let resource = on_one_line(resource);
                        (colour::WAITING, format!("waiting for {resource}, used by node {used_by}"))
                    }
                    NodeActivity::Waiting(NodeWaitReason::Concurrency { at_once }) => {
                        let plural = if *at_once == 1 { "" } else { "s" };
                        let said = format!("waiting: {at_once} call{plural} of it at a time");
                        (colour::WAITING, said)
                    }
                    NodeActivity::Waiting(NodeWaitReason::Rate { per_minute, wait_ms }) => {
                        let left = in_seconds(wait_ms.saturating_sub(passed_ms));
                        let said = format!(
                            "waiting: {per_minute} calls of it a minute, the next in {left}"
                        );
                        (colour::WAITING, said)
                    }
                    // The plan crate may add further reasons.
                    NodeActivity::Waiting(_) => (colour::WAITING, "waiting".to_owned()),
                    NodeActivity::Running { attempt } => {
                        let said = format!("running {}{}", in_seconds(passed_ms), tried(*attempt));
                        (colour::RUNNING, said)
                    }
                    NodeActivity::Failed { attempt, waits_ms } => {
                        let left = in_seconds(waits_ms.saturating_sub(passed_ms));
                        let said = format!("failed{}, the next in {left}", tried(*attempt));
                        (colour::FAILED_FOR_NOW, said)
                    }
                };
                let said = if self.is_coloured { painted(style, &said) } else { said };
                line.set_message(self.lines.labels.line(*node, &said, ""));
            }
        }
        let hidden = self.active_nodes.values().filter(|under_way| under_way.line.is_none());
        let (waiting, running): (Vec<_>, Vec<_>) = hidden.partition(|other| other.is_waiting());
        let mut said = in_seconds(millis(self.started_at));
        if !running.is_empty() {
            said.push_str(&format!(", {} more under way", running.len()));
        }
        if !waiting.is_empty() {
            said.push_str(&format!(", {} more waiting", waiting.len()));
        }
        if self.failures > 0 {
            said.push_str(&format!(", {} without success", self.failures));
        }
        self.total_bar.set_message(said);
    }
}

impl ActiveNode {
    fn is_waiting(&self) -> bool {
        matches!(self.activity, NodeActivity::Waiting(_))
    }
}

impl EventRenderer for LivePlanView {
    type Event = PlanEvent;

    fn show_event(&mut self, event: PlanEvent) {
        match &event {
            PlanEvent::NodeWaiting { node, waits_for } => {
                self.set_activity(*node, NodeActivity::Waiting(waits_for.clone()));
            }
            PlanEvent::NodeStarted { node, attempt, .. } => {
                self.set_activity(*node, NodeActivity::Running { attempt: *attempt });
            }
            PlanEvent::NodeRetrying { node, attempt, delay_ms, .. } => {
                let (attempt, waits_ms) = (*attempt, *delay_ms);
                self.set_activity(*node, NodeActivity::Failed { attempt, waits_ms });
            }
            PlanEvent::NodeFinished { node, status, .. } => {
                self.failures += usize::from(*status != haft_plan::NodeStatus::Succeeded);
                self.end_node(*node);
            }
            PlanEvent::NodeSkipped { node, .. } => {
                self.failures += 1;
                self.end_node(*node);
            }
            _ => {}
        }
        if let Some(line) = self.lines.line(&event) {
            self.print_above(|| output::print_coloured_note(&line));
        }
        self.draw();
    }

    fn show_note(&mut self, text: &str) {
        self.print_above(|| output::print_note(text));
    }

    fn release_terminal(&mut self) {
        let _ = self.screen.clear();
        self.screen.set_draw_target(ProgressDrawTarget::hidden());
        self.is_hidden = true;
    }

    fn reclaim_terminal(&mut self) {
        self.screen.set_draw_target(draw_target());
        self.is_hidden = false;
        self.draw();
    }

    fn update_interval(&self) -> Duration {
        UPDATE_INTERVAL
    }

    fn update_durations(&mut self) {
        self.draw();
    }

    fn finish(&mut self) {
        let _ = self.screen.clear();
    }
}

/// Returns a running duration, without digits that only flicker.
fn in_seconds(duration_ms: u64) -> String {
    match duration_ms {
        0..1_000 => format!("0.{} s", duration_ms / 100),
        _ => duration_in_words(duration_ms),
    }
}

fn draw_target() -> ProgressDrawTarget {
    ProgressDrawTarget::stderr_with_hz(DRAWN_PER_SECOND)
}

fn new_line(screen: &MultiProgress, total_bar: &ProgressBar) -> ProgressBar {
    let line = ProgressBar::new_spinner().with_style(style(NODE_TEMPLATE));
    screen.insert_before(total_bar, line)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
