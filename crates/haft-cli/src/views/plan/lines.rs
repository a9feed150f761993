//! Plain lines on standard error, for logs and pipes: one for each node that ended. A large plan gets lines only for nodes
//! without success, and for the progress.

use haft_contract::cut;
use haft_plan::drive::PlanEvent;
use haft_plan::{NodeError, NodeStatus};

use super::colour::{self, painted};
use super::label::NodeLabels;
use crate::views::outcome::on_one_line;
use crate::views::output;
use crate::views::path_text::counted;
use crate::views::screen::EventRenderer;
use crate::views::time::duration_in_words;

/// Largest plan of which each successful node gets a line. For a larger plan, lines show only the progress.
const SUCCESSES_SHOWN_MAX: usize = 200;
/// Lines about nodes that did not succeed.
const FAILURES_SHOWN_MAX: usize = 200;
/// Lines of the output of one tool that are shown.
const LOG_LINES_SHOWN_MAX: usize = 20;
/// Longest of these lines, in characters.
const LOG_LINE_CHARS_MAX: usize = 400;
/// Parts of a large plan. A line shows the progress after each of them.
const PROGRESS_PARTS: usize = 10;

/// A plan as plain lines.
pub(super) struct PlanLines {
    pub(super) labels: NodeLabels,
    ended: usize,
    failures: usize,
}

impl PlanLines {
    pub(super) fn new(labels: NodeLabels) -> Self {
        Self { labels, ended: 0, failures: 0 }
    }

    /// Returns the line about an event, if there is one. All but its colours is escaped.
    pub(super) fn line(&mut self, event: &PlanEvent) -> Option<String> {
        match event {
            PlanEvent::PlanStarted { run, nodes } => {
                Some(format!("run {run}: {}", counted(*nodes, "node")))
            }
            PlanEvent::NodeRetrying { node, attempt, delay_ms, error } => {
                let said = format!(
                    "attempt {attempt} failed, the next in {}",
                    duration_in_words(*delay_ms)
                );
                let said = painted(colour::FAILED_FOR_NOW, &said);
                let line = self.labels.line(*node, &said, &error_text(error));
                self.failure_line(line)
            }
            PlanEvent::CallWaiting { ask, tool, .. } => {
                Some(format!("{tool} waits for an answer: haft asks show {ask}"))
            }
            PlanEvent::NodeRepeating { node, iteration, duration_ms, replayed } => {
                let took = match replayed {
                    true => "recalled".to_owned(),
                    false => format!("in {}", duration_in_words(*duration_ms)),
                };
                let number = iteration.saturating_add(1);
                Some(self.labels.line(*node, &format!("iteration {number} done {took}"), ""))
            }
            PlanEvent::NodeFinished { node, status, duration_ms, replayed, error, log } => {
                let name = match status {
                    NodeStatus::InDoubt => "in doubt",
                    status => status.as_str(),
                };
                let mut said = painted(colour::of_status(*status), name);
                match (replayed, status) {
                    (_, NodeStatus::InDoubt) => {}
                    (true, _) => said.push_str(", recalled"),
                    (false, _) => {
                        said.push_str(&format!(" in {}", duration_in_words(*duration_ms)))
                    }
                }
                let error = error.as_ref().map(error_text).unwrap_or_default();
                let mut line = self.labels.line(*node, &said, &error);
                let log = log.as_deref().unwrap_or_default().trim_end();
                for printed in log.lines().take(LOG_LINES_SHOWN_MAX) {
                    let printed = haft_contract::escape_controls(&cut(printed, LOG_LINE_CHARS_MAX));
                    line.push_str(&format!("\n{node} | {printed}"));
                }
                let more = log.lines().count().saturating_sub(LOG_LINES_SHOWN_MAX);
                if more > 0 {
                    line.push_str(&format!("\n{node} | … ({more} more lines)"));
                }
                self.end_line(*status, line)
            }
            PlanEvent::NodeSkipped { node, because_of } => {
                let said = painted(colour::of_status(NodeStatus::Skipped), "skipped");
                let said = format!("{said} because of node {because_of}");
                let line = self.labels.line(*node, &said, "");
                self.end_line(NodeStatus::Skipped, line)
            }
            _ => None,
        }
    }

    fn end_line(&mut self, status: NodeStatus, line: String) -> Option<String> {
        self.ended += 1;
        if status != NodeStatus::Succeeded {
            return self.failure_line(line);
        }
        let count = self.labels.count();
        if count <= SUCCESSES_SHOWN_MAX {
            return Some(line);
        }
        let part = |ended: usize| ended * PROGRESS_PARTS / count;
        (part(self.ended) > part(self.ended - 1))
            .then(|| format!("{} of {count} nodes", self.ended))
    }

    fn failure_line(&mut self, line: String) -> Option<String> {
        self.failures += 1;
        match self.failures.cmp(&FAILURES_SHOWN_MAX) {
            std::cmp::Ordering::Less => Some(line),
            std::cmp::Ordering::Equal => {
                Some(line + "\nhaft shows no further nodes without success")
            }
            std::cmp::Ordering::Greater => None,
        }
    }
}

/// Returns an error up to its first indented line. `haft runs show` has the rest, such as a stack trace.
fn error_text(error: &NodeError) -> String {
    let lines = error.text.trim_start().lines();
    let said: Vec<&str> = lines.take_while(|line| !line.starts_with([' ', '\t'])).collect();
    let said = NodeError { text: said.join("\n"), ..error.clone() };
    format!(": {}", on_one_line(&said.to_string()))
}

impl EventRenderer for PlanLines {
    type Event = PlanEvent;

    fn show_event(&mut self, event: PlanEvent) {
        if let Some(line) = self.line(&event) {
            output::print_coloured_note(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_error_it_is_not_told_where_it_was_raised() {
        let error = NodeError {
            code: haft_contract::ErrorCode::ToolFailed,
            text: "a\nb\n  at c\nd".to_owned(),
            refusal: None,
        };
        assert_eq!(error_text(&error), ": TOOL_FAILED: a b");
    }

    #[test]
    fn what_a_tool_printed_is_marked_and_bounded() {
        let log_lines = |log: &str| {
            let mut lines = PlanLines::new(NodeLabels::default());
            let line = lines.line(&PlanEvent::NodeFinished {
                node: haft_plan::NodeId::new(3),
                status: NodeStatus::Succeeded,
                duration_ms: 0,
                replayed: false,
                error: None,
                log: Some(log.to_owned()),
            });
            let line = line.unwrap();
            line.split_once('\n').map_or_else(String::new, |(_, log)| log.to_owned())
        };
        assert_eq!(log_lines("one\n\ntwo\n"), "3 | one\n3 | \n3 | two");
        assert_eq!(log_lines("\n"), "");
        let of = |lines: usize| log_lines(&"x\n".repeat(lines));
        assert_eq!(of(LOG_LINES_SHOWN_MAX).matches("3 | x").count(), LOG_LINES_SHOWN_MAX);
        assert!(of(LOG_LINES_SHOWN_MAX + 2).ends_with("\n3 | x\n3 | … (2 more lines)"));
        let long = log_lines(&"x".repeat(LOG_LINE_CHARS_MAX + 1));
        assert!(long.ends_with("x…"), "{long}");
    }
}
