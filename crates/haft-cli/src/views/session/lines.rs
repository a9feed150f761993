//! A session as plain lines: text as it comes, each call on a line of its own with what came of it, subagents set in.
//! Nothing that was written is drawn anew, so that it reads the same in a log, over a slow line and in a screen reader.

use std::collections::HashMap;
use std::io::IsTerminal as _;

use clap::builder::styling::Style;
use haft_agent::{AgentEvent, AgentEventKind};
use haft_contract::{Envelope, ToolKind};
use haft_journal::SessionId;
use serde_json::Value;

use super::changes::change_lines;
use super::editor::AbovePromptWriter;
use super::limits::{ANNOUNCED_CALLS_MAX, NOTICE_CHARS_MAX, TASK_CHARS_MAX, THOUGHT_CHARS_MAX};
use super::outcome::{line_of_result, on_one_line};
use super::renderer::{FileTextBeforeCall, SessionRenderer};
use crate::views::model_text::{retrying, usage_summary};
use crate::views::output;
use crate::views::table::shortened;

const DIM: Style = Style::new().dimmed();
/// How far what a subagent does is set in, for each level.
const DEPTH_INDENT: &str = "  ";

/// Where lines go.
pub(super) trait SessionOutput {
    /// Writes a piece of what was asked for.
    fn write_data(&mut self, text: &str);
    /// Writes a piece of everything else.
    fn write_side(&mut self, text: &str);
    /// Returns whether what was asked for is read while it comes.
    fn is_data_streamed(&self) -> bool;
    /// Returns whether everything else is.
    fn is_side_visible(&self) -> bool;
    /// From now on a line is being typed, or no more.
    fn set_prompt_writer(&mut self, aside: Option<AbovePromptWriter>);
}

/// Standard output and standard error.
pub(super) struct StandardStreams {
    is_data_streamed: bool,
    is_side_visible: bool,
    prompt_writer: Option<AbovePromptWriter>,
}

impl StandardStreams {
    pub(super) fn standard() -> Self {
        Self {
            is_data_streamed: std::io::stdout().is_terminal(),
            is_side_visible: std::io::stderr().is_terminal(),
            prompt_writer: None,
        }
    }
}

impl SessionOutput for StandardStreams {
    fn write_data(&mut self, text: &str) {
        output::write_data_piece(text);
    }

    fn write_side(&mut self, text: &str) {
        match &mut self.prompt_writer {
            Some(aside) => aside.write_text(text),
            None => output::write_stderr_piece(text),
        }
    }

    fn is_data_streamed(&self) -> bool {
        self.is_data_streamed
    }

    fn is_side_visible(&self) -> bool {
        self.is_side_visible
    }

    fn set_prompt_writer(&mut self, aside: Option<AbovePromptWriter>) {
        self.prompt_writer = aside;
    }
}

/// The line that has no end yet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum UnfinishedLine {
    None,
    /// What the agent says.
    Text {
        at_line_start: bool,
    },
    /// What it thinks.
    Thought,
    /// The calls that are about to be made.
    Calls(Vec<String>),
}

struct DisplayedCall {
    tool: String,
    kind: ToolKind,
    title: String,
    input: Value,
}

struct SubagentLabel {
    /// What its lines begin with: its agent's name, with a number from the second one on.
    label: String,
    depth: usize,
}

impl SubagentLabel {
    fn indent(&self) -> String {
        DEPTH_INDENT.repeat(self.depth)
    }
}

/// A session as lines.
pub(super) struct SessionLines<O> {
    out: O,
    session: Option<SessionId>,
    subagents: HashMap<SessionId, SubagentLabel>,
    /// How many subagents there were of each name.
    label_counts: HashMap<String, usize>,
    calls: HashMap<(SessionId, String), DisplayedCall>,
    /// What files said that calls under way replace.
    texts_before_calls: HashMap<(SessionId, String), String>,
    unfinished_line: UnfinishedLine,
    /// What the agent said since it was last asked, where that is not read while it comes.
    unstreamed_text: String,
    thought_chars: usize,
    /// Whether the last line was none of the agent's text, so that a gap is due before it.
    needs_gap: bool,
}

impl<O: SessionOutput> SessionLines<O> {
    pub(super) fn new(out: O) -> Self {
        Self {
            out,
            session: None,
            subagents: HashMap::new(),
            label_counts: HashMap::new(),
            calls: HashMap::new(),
            texts_before_calls: HashMap::new(),
            unfinished_line: UnfinishedLine::None,
            unstreamed_text: String::new(),
            thought_chars: 0,
            needs_gap: false,
        }
    }

    /// Ends the line that has no end yet.
    fn end_open_line(&mut self) {
        match std::mem::replace(&mut self.unfinished_line, UnfinishedLine::None) {
            UnfinishedLine::None | UnfinishedLine::Text { at_line_start: true } => {}
            UnfinishedLine::Text { at_line_start: false } => self.out.write_data("\n"),
            UnfinishedLine::Thought | UnfinishedLine::Calls(_) => self.out.write_side("\n"),
        }
    }

    /// Writes a whole line.
    fn write_line(&mut self, text: &str) {
        self.end_open_line();
        self.out.write_side(&format!("{text}\n"));
        self.needs_gap = true;
    }

    fn write_text(&mut self, delta: &str) {
        if !self.out.is_data_streamed() {
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
        self.out.write_data(&output::escape_controls(delta));
        self.unfinished_line = UnfinishedLine::Text { at_line_start: delta.ends_with('\n') };
    }

    /// Writes what the agent said beside its answer, and nobody read while it came.
    fn write_unstreamed_text(&mut self) {
        let said = std::mem::take(&mut self.unstreamed_text);
        if !said.trim().is_empty() {
            self.write_line(&output::escape_controls(said.trim()));
        }
    }

    fn write_thought(&mut self, delta: &str) {
        let left = THOUGHT_CHARS_MAX.saturating_sub(self.thought_chars);
        if left == 0 || !self.out.is_side_visible() {
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
        let shown: String = one_line.chars().take(left).collect();
        let end = if one_line.chars().count() > left { "…" } else { "" };
        self.thought_chars += shown.chars().count();
        if !end.is_empty() {
            self.thought_chars = THOUGHT_CHARS_MAX;
        }
        self.out.write_side(&format!("{DIM}{}{end}{DIM:#}", output::escape_controls(&shown)));
        self.needs_gap = true;
    }

    fn add_call(&mut self, session: &SessionId, id: String, called: DisplayedCall) {
        let is_own = !self.subagents.contains_key(session);
        if is_own {
            self.write_unstreamed_text();
        }
        if is_own && self.out.is_side_visible() {
            self.announce_call(&id, &called.title);
        }
        self.calls.insert((session.clone(), id), called);
    }

    /// Names a call on the line of those that are about to be made.
    fn announce_call(&mut self, id: &str, title: &str) {
        if let UnfinishedLine::Calls(ids) = &mut self.unfinished_line {
            ids.push(id.to_owned());
            match ids.len().cmp(&(ANNOUNCED_CALLS_MAX + 1)) {
                std::cmp::Ordering::Less => self.out.write_side(&format!(", {title}")),
                std::cmp::Ordering::Equal => self.out.write_side(", …"),
                std::cmp::Ordering::Greater => {}
            }
            return;
        }
        self.end_open_line();
        self.unfinished_line = UnfinishedLine::Calls(vec![id.to_owned()]);
        self.out.write_side(&format!("→ {title}"));
        self.needs_gap = true;
    }

    fn write_result(&mut self, session: &SessionId, id: &str, tool: String, envelope: &Envelope) {
        let key = (session.clone(), id.to_owned());
        let (called, before) = (self.calls.remove(&key), self.texts_before_calls.remove(&key));
        // One that was never made was not told of before, and its name is what the model wrote.
        let called = called.unwrap_or_else(|| DisplayedCall {
            title: on_one_line(&tool),
            tool,
            kind: ToolKind::Other,
            input: Value::Null,
        });
        // A call that is recalled replaces nothing: it did so when it was made.
        let before = before.filter(|_| !envelope.metadata().replayed);
        let line = line_of_result(&called.title, &called.tool, envelope);
        let indent = match self.subagents.get(session) {
            Some(subagent) => {
                let (indent, label) = (subagent.indent(), &subagent.label);
                let line = format!("{indent}{DIM}{label} ·{DIM:#} {line}");
                self.write_line(&line);
                indent
            }
            None if self.unfinished_line == UnfinishedLine::Calls(vec![id.to_owned()]) => {
                // Nothing was said since the call was named, so the rest of its line follows.
                let rest = line.strip_prefix(&called.title).unwrap_or(&line);
                self.out.write_side(&format!("{rest}\n"));
                self.unfinished_line = UnfinishedLine::None;
                String::new()
            }
            None => {
                let mark = if self.out.is_side_visible() { "  " } else { "→ " };
                self.write_line(&format!("{mark}{line}"));
                String::new()
            }
        };
        if matches!(envelope, Envelope::Output { .. }) {
            for line in change_lines(called.kind, &called.input, before.as_deref()) {
                self.write_line(&format!("{indent}    {line}"));
            }
            self.forget_file_text(session, &called.input);
        }
    }

    /// Forgets what the file of a call said before it, where others wait to replace that: they find it as this one left it.
    fn forget_file_text(&mut self, session: &SessionId, input: &Value) {
        let Some(path) = path_of(input) else { return };
        let calls = &self.calls;
        self.texts_before_calls.retain(|key, _| {
            let is_same = calls.get(key).and_then(|called| path_of(&called.input)) == Some(path);
            !(key.0 == *session && is_same)
        });
    }

    fn write_subagent_start(&mut self, begun: SubagentStart) {
        let SubagentStart { parent, call, agent, child, background } = begun;
        let how = if background { "works in the background" } else { "works" };
        let (indent, label) = self.register_subagent(&parent, &agent, child.clone());
        let mut task = String::new();
        if let Some(called) = self.calls.get_mut(&(parent, call)) {
            let prompt = called.input.get("prompt").and_then(Value::as_str).unwrap_or_default();
            task = shortened(&on_one_line(prompt), TASK_CHARS_MAX);
            // Of several tasks of one answer each ends by itself.
            called.title = format!("{} {label}", on_one_line(&called.tool));
        }
        let task = if task.is_empty() { task } else { format!(": {task}") };
        self.write_line(&format!("{indent}{DIM}{label} {how} ({child}){task}{DIM:#}"));
    }

    /// Remembers whose subagent it is, and returns how far it is set in and what its lines begin with.
    fn register_subagent(
        &mut self,
        parent: &SessionId,
        agent: &str,
        child: SessionId,
    ) -> (String, String) {
        let level = self.subagents.get(parent).map_or(0, |parent| parent.depth) + 1;
        let named = &mut self.label_counts;
        let subagent = self.subagents.entry(child).or_insert_with(|| {
            let agent = on_one_line(agent);
            let count = named.entry(agent.clone()).or_insert(0);
            *count += 1;
            let label = if *count == 1 { agent } else { format!("{agent} {count}") };
            SubagentLabel { label, depth: level }
        });
        (subagent.indent(), subagent.label.clone())
    }

    /// Says who asks, where that is no call that was just named.
    fn write_subagent_question(&mut self, session: &SessionId, id: &str) {
        let Some(subagent) = self.subagents.get(session).filter(|_| self.out.is_side_visible())
        else {
            return;
        };
        let called = self.calls.get(&(session.clone(), id.to_owned()));
        let title = called.map_or("a call", |called| &called.title);
        let line = format!("{}{} asks about {title}", subagent.indent(), subagent.label);
        self.write_line(&line);
    }

    fn write_retry(&mut self, session: &SessionId, retry: &str) {
        let who = self.subagents.get(session).map_or_else(String::new, |subagent| {
            format!("{}{} · ", subagent.indent(), subagent.label)
        });
        self.write_line(&format!("{DIM}{who}{retry}{DIM:#}"));
    }

    fn write_turn_end(
        &mut self,
        session: &SessionId,
        end: &str,
        error: Option<&str>,
        usage: haft_model::ModelUsage,
    ) {
        self.calls.retain(|(of, _), _| of != session);
        self.texts_before_calls.retain(|(of, _), _| of != session);
        // Of what failed before it began nobody wants to know what it took.
        let took = (end == "done" || usage != haft_model::ModelUsage::default())
            .then(|| usage_summary(usage));
        if let Some(subagent) = self.subagents.get(session) {
            let (indent, label) = (subagent.indent(), &subagent.label);
            let why = error.map(|error| shortened(&on_one_line(error), NOTICE_CHARS_MAX));
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let took = took.map_or_else(String::new, |took| format!(" ({took})"));
            let line = format!("{indent}{DIM}{label} {}{why}{took}{DIM:#}", turn_end_words(end));
            self.write_line(&line);
            return;
        }
        self.end_open_line();
        match end {
            // The answer itself is printed by whoever asked for it.
            "done" => self.unstreamed_text.clear(),
            _ => self.write_unstreamed_text(),
        }
        if let Some(took) = took.filter(|_| self.out.is_side_visible()) {
            self.write_line(&format!("{DIM}{took}{DIM:#}"));
        }
        self.needs_gap = false;
    }

    fn write_notice(&mut self, text: &str) {
        let text = shortened(&on_one_line(text), NOTICE_CHARS_MAX);
        self.write_line(&format!("{DIM}the agent is told: {text}{DIM:#}"));
    }
}

/// Returns the file that a call has to do with, as the model names it.
fn path_of(input: &Value) -> Option<&str> {
    input.get("path").and_then(Value::as_str)
}

/// That a subagent begins.
struct SubagentStart {
    parent: SessionId,
    call: String,
    agent: String,
    child: SessionId,
    background: bool,
}

/// Returns how a subagent's turn ended, after its name.
fn turn_end_words(end: &str) -> &str {
    match end {
        "done" => "is done",
        "aborted" => "was stopped",
        "steps_spent" => "has answered as often as it may, and is not done",
        "output_cut" => "reached the greatest length of an answer, and is not done",
        "refused" => "would not answer",
        _ => "failed",
    }
}

impl<O: SessionOutput> SessionRenderer for SessionLines<O> {
    fn keep_file_text(&mut self, before: FileTextBeforeCall) {
        let FileTextBeforeCall { session, call, text } = before;
        self.texts_before_calls.insert((session, call), text);
    }

    fn show_event(&mut self, event: AgentEvent) {
        let AgentEvent { kind: happened, session } = event;
        let is_own = self.session.as_ref() == Some(&session);
        match happened {
            // The first is the one that is talked to, also where it is a subagent's that is gone on with.
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
                self.add_call(&session, id, DisplayedCall { tool, kind, title, input });
            }
            AgentEventKind::ToolResult { id, tool, envelope, .. } => {
                self.write_result(&session, &id, tool, &envelope);
            }
            AgentEventKind::Session { agent, parent: Some(parent), .. } => {
                self.register_subagent(&parent, &agent, session);
            }
            AgentEventKind::Subagent { call, agent, child, background } => {
                self.write_subagent_start(SubagentStart {
                    parent: session,
                    call,
                    agent,
                    child,
                    background,
                });
            }
            AgentEventKind::Asked { id } => self.write_subagent_question(&session, &id),
            AgentEventKind::Retry { error, wait_ms, attempt, attempts_max } => {
                let error = shortened(&on_one_line(&error), NOTICE_CHARS_MAX);
                self.write_retry(&session, &retrying(&error, wait_ms, attempt, attempts_max));
            }
            AgentEventKind::Compacted { .. } if is_own => {
                self.write_line(&format!(
                    "{DIM}what was said before is summarised from here on{DIM:#}"
                ));
            }
            AgentEventKind::Notice { text } if is_own => self.write_notice(&text),
            AgentEventKind::TurnEnded { end, error, usage } => {
                self.write_turn_end(&session, end, error.as_deref(), usage);
            }
            // What a subagent says is its call's answer, and the rest is seen by what follows.
            _ => {}
        }
    }

    fn end_line(&mut self) {
        self.end_open_line();
    }

    fn show_note(&mut self, text: &str) {
        self.write_line(&output::escape_controls(text));
    }

    fn start_typing(&mut self, aside: AbovePromptWriter) {
        self.out.set_prompt_writer(Some(aside));
    }

    fn stop_typing(&mut self) {
        self.out.set_prompt_writer(None);
    }
}

#[cfg(test)]
mod tests;
