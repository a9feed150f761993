//! A session as plain lines: streamed text, and each call on a line with its result. The lines of subagents are indented.
//! Written lines never change, so the text reads the same in a log, over a slow line and in a screen reader.

use std::collections::HashMap;

use clap::builder::styling::Style;
use haft_agent::{AgentEvent, AgentEventKind};
use haft_contract::{Envelope, ToolKind, cut};
use haft_journal::SessionId;
use serde_json::Value;

use super::SessionEvent;
use super::changes::change_lines;
use super::limits::{
    ANNOUNCED_CALLS_MAX, EVENTS_HELD_MAX, NOTICE_CHARS_MAX, TASK_CHARS_MAX, THOUGHT_CHARS_MAX,
};
use crate::agent_program::model_text::{retrying, usage_summary};
use crate::views::above_prompt::AbovePromptWriter;
use crate::views::outcome::{line_of_result, on_one_line};
use crate::views::output;
use crate::views::screen::EventRenderer;

const DIM: Style = Style::new().dimmed();
/// The indent of a subagent's lines, for each level.
const DEPTH_INDENT: &str = "  ";

/// The receiver of lines.
pub(super) trait SessionOutput {
    /// Writes a piece of the requested output.
    fn write_data(&mut self, text: &str);
    /// Writes a piece of the other output.
    fn write_side(&mut self, text: &str);
}

/// Standard output and standard error.
pub(super) struct StandardStreams;

impl SessionOutput for StandardStreams {
    fn write_data(&mut self, text: &str) {
        output::write_data_piece(text);
    }

    fn write_side(&mut self, text: &str) {
        output::write_stderr_piece(text);
    }
}

/// The present line, which is not finished yet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum UnfinishedLine {
    None,
    /// Text of the agent.
    Text {
        at_line_start: bool,
    },
    /// A thought of the agent.
    Thought,
    /// The calls that are about to begin.
    Calls(Vec<String>),
}

struct DisplayedCall {
    tool: String,
    kind: ToolKind,
    title: String,
    input: Value,
    /// The text of the file that the call replaces.
    text_before: Option<String>,
}

#[derive(Clone)]
struct SubagentLabel {
    /// Its agent's name, with a number from the second one on.
    label: String,
    /// The beginning of its lines.
    indent: String,
}

/// A session as lines.
pub(super) struct SessionLines<O> {
    out: O,
    /// Whether the requested output is shown while it streams.
    is_data_streamed: bool,
    /// Whether the other output is shown on a terminal.
    is_side_visible: bool,
    /// The writer above the typed line, while a line is typed.
    prompt_writer: Option<AbovePromptWriter>,
    session: Option<SessionId>,
    subagents: HashMap<SessionId, SubagentLabel>,
    /// How many subagents each name has had.
    label_counts: HashMap<String, usize>,
    calls: HashMap<(SessionId, String), DisplayedCall>,
    unfinished_line: UnfinishedLine,
    /// The agent's text since the last prompt, if it is not shown while it streams.
    unstreamed_text: String,
    thought_chars: usize,
    /// Whether a blank line is due before the agent's next text.
    needs_gap: bool,
}

impl<O: SessionOutput> SessionLines<O> {
    pub(super) fn new(out: O, is_data_streamed: bool, is_side_visible: bool) -> Self {
        Self {
            out,
            is_data_streamed,
            is_side_visible,
            prompt_writer: None,
            session: None,
            subagents: HashMap::new(),
            label_counts: HashMap::new(),
            calls: HashMap::new(),
            unfinished_line: UnfinishedLine::None,
            unstreamed_text: String::new(),
            thought_chars: 0,
            needs_gap: false,
        }
    }

    /// Writes a piece of the other output, above the typed line if there is one.
    fn write_side(&mut self, text: &str) {
        match &mut self.prompt_writer {
            Some(writer) => writer.write_text(text),
            None => self.out.write_side(text),
        }
    }

    /// Ends the unfinished line.
    fn end_open_line(&mut self) {
        match std::mem::replace(&mut self.unfinished_line, UnfinishedLine::None) {
            UnfinishedLine::None | UnfinishedLine::Text { at_line_start: true } => {}
            UnfinishedLine::Text { at_line_start: false } => self.out.write_data("\n"),
            UnfinishedLine::Thought | UnfinishedLine::Calls(_) => self.write_side("\n"),
        }
    }

    /// Writes a whole line.
    fn write_line(&mut self, text: &str) {
        self.end_open_line();
        self.write_side(&format!("{text}\n"));
        self.needs_gap = true;
    }

    fn write_text(&mut self, delta: &str) {
        if !self.is_data_streamed {
            self.unstreamed_text.push_str(delta);
            return;
        }
        let is_begun = matches!(self.unfinished_line, UnfinishedLine::Text { .. });
        let delta = if is_begun { delta } else { delta.trim_start_matches(['\n', '\r']) };
        if delta.is_empty() {
            return;
        }
        if !is_begun {
            self.end_open_line();
            if std::mem::take(&mut self.needs_gap) {
                self.out.write_data("\n");
            }
        }
        self.out.write_data(&haft_contract::escape_controls(delta));
        self.unfinished_line = UnfinishedLine::Text { at_line_start: delta.ends_with('\n') };
    }

    /// Writes text that the agent wrote beside its answer and that was not streamed.
    fn write_unstreamed_text(&mut self) {
        let said = std::mem::take(&mut self.unstreamed_text);
        if !said.trim().is_empty() {
            self.write_line(&haft_contract::escape_controls(said.trim()));
        }
    }

    fn write_thought(&mut self, delta: &str) {
        let left = THOUGHT_CHARS_MAX.saturating_sub(self.thought_chars);
        if left == 0 || !self.is_side_visible {
            return;
        }
        let one_line: String =
            delta.chars().map(|it| if it.is_whitespace() { ' ' } else { it }).collect();
        let is_begun = self.unfinished_line == UnfinishedLine::Thought;
        let one_line = if is_begun { one_line.as_str() } else { one_line.trim_start() };
        if one_line.is_empty() {
            return;
        }
        if !is_begun {
            self.end_open_line();
            self.unfinished_line = UnfinishedLine::Thought;
        }
        let shown = haft_contract::escape_controls(&cut(one_line, left));
        self.thought_chars += one_line.chars().count();
        self.write_side(&format!("{DIM}{shown}{DIM:#}"));
        self.needs_gap = true;
    }

    fn write_result(&mut self, session: &SessionId, id: &str, tool: String, envelope: &Envelope) {
        let called = self.calls.remove(&(session.clone(), id.to_owned()));
        // A call that was never made has no entry. Its name is the model's text.
        let called = called.unwrap_or_else(|| DisplayedCall {
            title: on_one_line(&tool),
            tool,
            kind: ToolKind::Other,
            input: Value::Null,
            text_before: None,
        });
        // A recalled call replaces nothing now.
        let before = called.text_before.as_deref().filter(|_| !envelope.metadata().replayed);
        let line = line_of_result(&called.title, &called.tool, envelope);
        let indent = match self.subagents.get(session) {
            Some(SubagentLabel { indent, label }) => {
                let indent = indent.clone();
                let line = format!("{indent}{DIM}{label} ·{DIM:#} {line}");
                self.write_line(&line);
                indent
            }
            None if self.unfinished_line == UnfinishedLine::Calls(vec![id.to_owned()]) => {
                // Nothing was said since the call was named, so the rest of its line follows.
                let rest = line.strip_prefix(&called.title).unwrap_or(&line);
                self.write_side(&format!("{rest}\n"));
                self.unfinished_line = UnfinishedLine::None;
                String::new()
            }
            None => {
                let mark = if self.is_side_visible { "  " } else { "→ " };
                self.write_line(&format!("{mark}{line}"));
                String::new()
            }
        };
        if matches!(envelope, Envelope::Output { .. }) {
            for line in change_lines(called.kind, &called.input, before) {
                self.write_line(&format!("{indent}    {line}"));
            }
            // Other calls that wait to replace the same file find it as this call left it.
            let path = called.input.get("path").and_then(Value::as_str);
            for ((of, _), other) in &mut self.calls {
                let is_same_file = other.input.get("path").and_then(Value::as_str) == path;
                if path.is_some() && of == session && is_same_file {
                    other.text_before = None;
                }
            }
        }
    }

    /// Registers a subagent, and returns its label.
    fn register_subagent(
        &mut self,
        parent: &SessionId,
        agent: &str,
        child: SessionId,
    ) -> SubagentLabel {
        let above = self.subagents.get(parent).map_or("", |parent| &parent.indent);
        let indent = format!("{above}{DEPTH_INDENT}");
        let named = &mut self.label_counts;
        let subagent = self.subagents.entry(child).or_insert_with(|| {
            let agent = on_one_line(agent);
            let count = named.entry(agent.clone()).or_insert(0);
            *count += 1;
            let label = if *count == 1 { agent } else { format!("{agent} {count}") };
            SubagentLabel { label, indent }
        });
        subagent.clone()
    }

    fn write_turn_end(
        &mut self,
        session: &SessionId,
        end: &str,
        error: Option<&str>,
        usage: haft_model::ModelUsage,
    ) {
        self.calls.retain(|(of, _), _| of != session);
        // A turn that failed before it began used nothing worth a report.
        let took = (end == "done" || usage != haft_model::ModelUsage::default())
            .then(|| usage_summary(usage));
        if let Some(SubagentLabel { indent, label }) = self.subagents.get(session) {
            let why = error.map(|error| cut(&on_one_line(error), NOTICE_CHARS_MAX));
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let took = took.map_or_else(String::new, |took| format!(" ({took})"));
            let ending = match end {
                "done" => "is done",
                "aborted" => "was stopped",
                "steps_spent" => "has answered as often as it may, and is not done",
                "output_cut" => "reached the greatest length of an answer, and is not done",
                "refused" => "would not answer",
                _ => "failed",
            };
            let line = format!("{indent}{DIM}{label} {ending}{why}{took}{DIM:#}");
            self.write_line(&line);
            return;
        }
        self.end_open_line();
        match end {
            // The command prints the answer itself.
            "done" => self.unstreamed_text.clear(),
            _ => self.write_unstreamed_text(),
        }
        if let Some(took) = took.filter(|_| self.is_side_visible) {
            self.write_line(&format!("{DIM}{took}{DIM:#}"));
        }
        self.needs_gap = false;
    }
}

impl<O: SessionOutput> EventRenderer for SessionLines<O> {
    type Event = SessionEvent;

    fn show_event(&mut self, SessionEvent { event, text_before }: SessionEvent) {
        let AgentEvent { kind: happened, session } = event;
        let is_own = self.session.as_ref() == Some(&session);
        match happened {
            // The first session is the one that the user talks to, even if it is a resumed session of a subagent.
            AgentEventKind::Session { agent, model, parent }
                if parent.is_none() || self.session.is_none() =>
            {
                self.write_line(&format!(
                    "{DIM}session {session} · {} · {}{DIM:#}",
                    on_one_line(&agent),
                    on_one_line(&model)
                ));
                self.needs_gap = false;
                self.session = Some(session);
            }
            AgentEventKind::StepStarted { .. } if is_own => self.thought_chars = 0,
            AgentEventKind::Text { delta } if is_own => self.write_text(&delta),
            AgentEventKind::Reasoning { delta } if is_own => self.write_thought(&delta),
            AgentEventKind::ToolCall { id, tool, kind, input, title, .. } => {
                let title = on_one_line(&title);
                let is_own_call = !self.subagents.contains_key(&session);
                if is_own_call {
                    self.write_unstreamed_text();
                }
                // Names the call on the line of calls that are about to begin.
                match &mut self.unfinished_line {
                    _ if !is_own_call || !self.is_side_visible => {}
                    UnfinishedLine::Calls(ids) => {
                        ids.push(id.clone());
                        match ids.len().cmp(&(ANNOUNCED_CALLS_MAX + 1)) {
                            std::cmp::Ordering::Less => self.write_side(&format!(", {title}")),
                            std::cmp::Ordering::Equal => self.write_side(", …"),
                            std::cmp::Ordering::Greater => {}
                        }
                    }
                    UnfinishedLine::None
                    | UnfinishedLine::Text { .. }
                    | UnfinishedLine::Thought => {
                        self.end_open_line();
                        self.unfinished_line = UnfinishedLine::Calls(vec![id.clone()]);
                        self.write_side(&format!("→ {title}"));
                        self.needs_gap = true;
                    }
                }
                let called = DisplayedCall { tool, kind, title, input, text_before };
                self.calls.insert((session, id), called);
            }
            AgentEventKind::ToolResult { id, tool, envelope, .. } => {
                self.write_result(&session, &id, tool, &envelope);
            }
            AgentEventKind::Session { agent, parent: Some(parent), .. } => {
                self.register_subagent(&parent, &agent, session);
            }
            AgentEventKind::Subagent { call, agent, child, background } => {
                let how = if background { "works in the background" } else { "works" };
                let SubagentLabel { indent, label } =
                    self.register_subagent(&session, &agent, child.clone());
                let mut task = String::new();
                if let Some(called) = self.calls.get_mut(&(session, call)) {
                    let prompt = called.input.get("prompt").and_then(Value::as_str);
                    task = cut(&on_one_line(prompt.unwrap_or_default()), TASK_CHARS_MAX);
                    // Of several tasks in one answer, each ends at its own time.
                    called.title = format!("{} {label}", on_one_line(&called.tool));
                }
                let task = if task.is_empty() { task } else { format!(": {task}") };
                self.write_line(&format!("{indent}{DIM}{label} {how} ({child}){task}{DIM:#}"));
            }
            // A call of the session itself was named just before the question, so only subagents need this line.
            AgentEventKind::Asked { id } if self.is_side_visible => {
                if let Some(SubagentLabel { indent, label }) = self.subagents.get(&session) {
                    let called = self.calls.get(&(session, id));
                    let title = called.map_or("a call", |called| &called.title);
                    let line = format!("{indent}{label} asks about {title}");
                    self.write_line(&line);
                }
            }
            AgentEventKind::Retry { error, wait_ms, attempt, attempts_max } => {
                let error = cut(&on_one_line(&error), NOTICE_CHARS_MAX);
                let retry = retrying(&error, wait_ms, attempt, attempts_max);
                let who = match self.subagents.get(&session) {
                    Some(SubagentLabel { indent, label }) => format!("{indent}{label} · "),
                    None => String::new(),
                };
                self.write_line(&format!("{DIM}{who}{retry}{DIM:#}"));
            }
            AgentEventKind::Compacted { .. } if is_own => {
                let note = "the messages before are summarised from here on";
                self.write_line(&format!("{DIM}{note}{DIM:#}"));
            }
            AgentEventKind::Notice { text } if is_own => {
                let text = cut(&on_one_line(&text), NOTICE_CHARS_MAX);
                self.write_line(&format!("{DIM}notice to the agent: {text}{DIM:#}"));
            }
            AgentEventKind::TurnEnded { end, error, usage } => {
                self.write_turn_end(&session, end, error.as_deref(), usage);
            }
            // A subagent's text is the answer of its call. Later events show the effect of the other events.
            _ => {}
        }
    }

    fn events_held_max(&self) -> usize {
        EVENTS_HELD_MAX
    }

    fn show_note(&mut self, text: &str) {
        self.write_line(&haft_contract::escape_controls(text));
    }

    fn release_terminal(&mut self) {
        self.end_open_line();
    }

    fn start_typing(&mut self, writer: AbovePromptWriter) {
        self.end_open_line();
        self.prompt_writer = Some(writer);
    }

    fn stop_typing(&mut self) {
        self.prompt_writer = None;
    }

    fn finish(&mut self) {
        self.end_open_line();
    }
}

#[cfg(test)]
mod tests;
