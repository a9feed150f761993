//! A session as lines: the agent's text, and each call on a line with its result. The lines of subagents are indented. Written
//! lines never change. On a terminal that can redraw, the lines of `live` follow them while the agent works.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use clap::builder::styling::Style;
use haft_agent::{AgentEvent, AgentEventKind};
use haft_contract::{Envelope, ToolKind, cut};
use haft_journal::SessionId;
use haft_model::ModelUsage;
use serde_json::Value;

use super::SessionEvent;
use super::changes::{change_lines, text_after};
use super::fold::fold_text;
use super::limits::{
    COLUMNS_DEFAULT, COLUMNS_MIN, EVENTS_HELD_MAX, LIVE_DRAW_MS, NOTICE_CHARS_MAX, TASK_CHARS_MAX,
    THOUGHT_CHARS_MAX,
};
use super::live::{LiveActivity, LiveArea, LiveWork};
use super::markdown::{MarkdownStream, MarkdownStyle};
use crate::agent_program::model_text::{
    context_left_percent, cost_in_words, retrying, usage_summary,
};
use crate::views::above_prompt::AbovePromptWriter;
use crate::views::outcome::{line_of_result, on_one_line};
use crate::views::output;
use crate::views::screen::EventRenderer;
use crate::views::table::{columns_of, terminal_width};
use haft_app::manifest::ModelPrices;

const DIM: Style = Style::new().dimmed();
/// The indent of a subagent's lines, for each level.
const DEPTH_INDENT: &str = "  ";

/// The receiver of lines.
pub(super) trait SessionOutput {
    /// Writes a piece of the requested output.
    fn write_data(&mut self, text: &str);
    /// Writes a piece of the other output.
    fn write_side(&mut self, text: &str);
    /// Writes what moves the cursor and draws lines again.
    fn redraw(&mut self, text: &str);
    /// Returns the columns of the terminal, if they are known.
    fn columns(&self) -> Option<usize>;
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

    fn redraw(&mut self, text: &str) {
        output::write_stderr_controls(text);
    }

    fn columns(&self) -> Option<usize> {
        columns_of(std::io::stderr()).or_else(terminal_width)
    }
}

/// How the output that is not the answer looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SideLook {
    /// No person looks on: a file or a pipe.
    Log,
    /// Each event is one line, as a screen reader and a terminal that can only print need it.
    Linear,
    /// The last lines are drawn again while the agent works.
    Redrawn,
}

/// How a session is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionLook {
    /// Whether the answer is shown while it streams.
    pub(super) is_data_streamed: bool,
    /// Whether the answer has colours.
    pub(super) has_colours: bool,
    pub(super) side: SideLook,
    /// The context of the model, in tokens.
    pub(super) context_tokens: u64,
    /// The prices of one model, if they are known.
    pub(super) prices: Option<ModelPrices>,
}

struct DisplayedCall {
    tool: String,
    kind: ToolKind,
    title: String,
    input: Value,
    /// The text of the file that the call replaces.
    text_before: Option<String>,
    /// Whether a line has named the call.
    is_announced: bool,
    /// Whether its change is shown.
    is_change_shown: bool,
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
    look: SessionLook,
    /// The writer above the typed line, while a line is typed.
    prompt_writer: Option<AbovePromptWriter>,
    /// Whether the terminal is left to a question.
    is_away: bool,
    session: Option<SessionId>,
    /// The model of the session.
    model: String,
    subagents: HashMap<SessionId, SubagentLabel>,
    /// How many subagents each name has had.
    label_counts: HashMap<String, usize>,
    calls: HashMap<(SessionId, String), DisplayedCall>,
    work: LiveWork,
    live: LiveArea,
    markdown: MarkdownStream,
    /// The agent's text since the last prompt, if it is not shown while it streams.
    unstreamed_text: String,
    /// The thought that is not shown yet.
    thought: String,
    thought_chars: usize,
    /// Whether a blank line is due before the agent's next text.
    needs_gap: bool,
}

impl<O: SessionOutput> SessionLines<O> {
    pub(super) fn new(out: O, look: SessionLook) -> Self {
        Self {
            out,
            look,
            prompt_writer: None,
            is_away: false,
            session: None,
            model: String::new(),
            subagents: HashMap::new(),
            label_counts: HashMap::new(),
            calls: HashMap::new(),
            work: LiveWork::default(),
            live: LiveArea::default(),
            markdown: MarkdownStream::default(),
            unstreamed_text: String::new(),
            thought: String::new(),
            thought_chars: 0,
            needs_gap: false,
        }
    }

    fn has_person(&self) -> bool {
        self.look.side != SideLook::Log
    }

    /// Returns the columns that lines are folded to.
    fn columns(&self) -> usize {
        self.out.columns().map_or(usize::MAX, |columns| columns.max(COLUMNS_MIN))
    }

    fn markdown_style(&self) -> MarkdownStyle {
        MarkdownStyle {
            columns: self.columns(),
            has_colours: self.look.has_colours,
            is_linear: self.look.side == SideLook::Linear,
        }
    }

    /// Removes the lines that are drawn again.
    fn erase_live(&mut self) {
        let erased = self.live.erase();
        if !erased.is_empty() {
            self.out.redraw(&erased);
        }
    }

    /// Draws the lines that change, unless the terminal is used for something else.
    fn draw_live(&mut self, now: Instant) {
        let is_free = !self.is_away && self.prompt_writer.is_none() && self.work.is_active();
        if self.look.side != SideLook::Redrawn || !is_free {
            return;
        }
        let columns = self.out.columns().unwrap_or(COLUMNS_DEFAULT).max(COLUMNS_MIN);
        let lines = self.work.lines(now, self.markdown.pending_text(), columns);
        let drawn = self.live.draw(&lines, now);
        self.out.redraw(&drawn);
    }

    /// Writes a line of the other output, above the typed line if there is one.
    fn write_line(&mut self, text: &str) {
        let mut text = text.to_owned();
        if self.look.side == SideLook::Linear {
            text = text.replace(" · ", ", ");
        }
        if self.has_person() {
            let indent = text.len() - text.trim_start_matches(' ').len() + DEPTH_INDENT.len();
            text = fold_text(&text, self.columns(), &" ".repeat(indent));
        }
        text.push('\n');
        self.erase_live();
        match &mut self.prompt_writer {
            Some(writer) => writer.write_text(&text),
            None => self.out.write_side(&text),
        }
        self.needs_gap = true;
    }

    /// Writes lines of the answer.
    fn write_answer_lines(&mut self, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        self.erase_live();
        let gap = if std::mem::take(&mut self.needs_gap) { "\n" } else { "" };
        let text = format!("{gap}{}\n", lines.join("\n"));
        match &mut self.prompt_writer {
            Some(writer) => writer.write_text(&text),
            None => self.out.write_data(&text),
        }
    }

    fn take_text(&mut self, delta: &str) {
        if !self.look.is_data_streamed {
            self.unstreamed_text.push_str(delta);
            return;
        }
        self.flush_thought();
        let lines = self.markdown.take_text(delta, self.markdown_style());
        self.write_answer_lines(&lines);
    }

    /// Writes the text and the thought that are not shown yet.
    fn flush(&mut self) {
        self.flush_thought();
        let lines = self.markdown.finish(self.markdown_style());
        self.write_answer_lines(&lines);
    }

    /// Writes text that the agent wrote beside its answer and that was not streamed.
    fn write_unstreamed_text(&mut self) {
        let said = std::mem::take(&mut self.unstreamed_text);
        if !said.trim().is_empty() {
            self.write_line(&haft_contract::escape_controls(said.trim()));
        }
    }

    fn take_thought(&mut self, delta: &str) {
        let left = THOUGHT_CHARS_MAX.saturating_sub(self.thought_chars);
        if left == 0 || !self.has_person() {
            return;
        }
        let one_line: String =
            delta.chars().map(|it| if it.is_whitespace() { ' ' } else { it }).collect();
        self.thought.push_str(&cut(&one_line, left));
        self.thought_chars += one_line.chars().count();
    }

    fn flush_thought(&mut self) {
        let thought = std::mem::take(&mut self.thought);
        if !thought.trim().is_empty() {
            let shown = haft_contract::escape_controls(thought.trim());
            self.write_line(&format!("{DIM}{shown}{DIM:#}"));
        }
    }

    /// Writes the line of a call that has no result yet.
    fn announce_call(&mut self, session: &SessionId, id: &str) {
        let key = (session.clone(), id.to_owned());
        let Some(call) = self.calls.get_mut(&key).filter(|call| !call.is_announced) else { return };
        call.is_announced = true;
        let mark = if self.look.side == SideLook::Linear { "call: " } else { "→ " };
        let line = format!("{mark}{}", call.title);
        self.write_line(&line);
    }

    /// Writes the change of a call, once. `indent` is before the lines of its session.
    fn write_change(&mut self, call: &mut DisplayedCall, indent: &str, before: Option<&str>) {
        if !std::mem::replace(&mut call.is_change_shown, true) {
            for line in change_lines(call.kind, &call.input, before) {
                self.write_line(&format!("{indent}    {line}"));
            }
        }
    }

    fn show_ask(&mut self, session: &SessionId, id: &str) {
        let key = (session.clone(), id.to_owned());
        if let Some(SubagentLabel { indent, label }) = self.subagents.get(session).cloned() {
            let title = self.calls.get(&key).map_or("a call", |called| &called.title);
            let line = format!("{indent}{label} asks about {title}");
            self.write_line(&line);
        } else {
            self.flush();
            self.announce_call(session, id);
        }
        // The person decides about the change, so it comes before the question.
        if let Some(mut call) = self.calls.remove(&key) {
            let indent = self.subagents.get(session).map_or(String::new(), |it| it.indent.clone());
            let before = call.text_before.clone();
            self.write_change(&mut call, &indent, before.as_deref());
            self.calls.insert(key, call);
        }
    }

    fn write_result(&mut self, session: &SessionId, id: &str, tool: String, envelope: &Envelope) {
        let called = self.calls.remove(&(session.clone(), id.to_owned()));
        // A call that was never made has no entry. Its name is the model's text.
        let mut called = called.unwrap_or_else(|| DisplayedCall {
            title: on_one_line(&tool),
            tool,
            kind: ToolKind::Other,
            input: Value::Null,
            text_before: None,
            is_announced: false,
            is_change_shown: false,
        });
        let line = line_of_result(&called.title, &called.tool, envelope);
        let subagent = self.subagents.get(session).cloned();
        let line = match &subagent {
            Some(SubagentLabel { indent, label }) => {
                format!("{indent}{DIM}{label} ·{DIM:#} {line}")
            }
            None if self.look.side == SideLook::Linear => format!("result: {line}"),
            None if called.is_announced => format!("  {line}"),
            None => format!("→ {line}"),
        };
        self.write_line(&line);
        if subagent.is_none() {
            self.work.end_call(id, Instant::now());
        }
        if matches!(envelope, Envelope::Output { .. }) {
            // A recalled call replaces nothing now.
            let before = called.text_before.take().filter(|_| !envelope.metadata().replayed);
            let indent = subagent.map_or(String::new(), |subagent| subagent.indent);
            self.write_change(&mut called, &indent, before.as_deref());
            self.update_text_before(session, &called, before.as_deref());
        }
    }

    /// Gives other calls that wait to change the same file its text as this call left it.
    fn update_text_before(
        &mut self,
        session: &SessionId,
        called: &DisplayedCall,
        before: Option<&str>,
    ) {
        let Some(path) = called.input.get("path").and_then(Value::as_str) else { return };
        let after = text_after(called.kind, &called.input, before);
        for ((of, _), other) in &mut self.calls {
            let is_same_file = other.input.get("path").and_then(Value::as_str) == Some(path);
            if of == session && is_same_file && other.text_before.is_some() {
                other.text_before.clone_from(&after);
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

    fn write_subagent_begin(
        &mut self,
        parent: &SessionId,
        call: String,
        child: &SessionId,
        (agent, how): (&str, &str),
    ) {
        let SubagentLabel { indent, label } = self.register_subagent(parent, agent, child.clone());
        let mut task = String::new();
        if let Some(called) = self.calls.get_mut(&(parent.clone(), call)) {
            let prompt = called.input.get("prompt").and_then(Value::as_str);
            task = cut(&on_one_line(prompt.unwrap_or_default()), TASK_CHARS_MAX);
            // Of several tasks in one answer, each ends at its own time.
            called.title = format!("{} {label}", on_one_line(&called.tool));
        }
        let task = if task.is_empty() { task } else { format!(": {task}") };
        self.write_line(&format!("{indent}{DIM}{label} {how} ({child}){task}{DIM:#}"));
    }

    fn write_turn_end(
        &mut self,
        session: &SessionId,
        end: &str,
        error: Option<&str>,
        usage: ModelUsage,
    ) {
        self.calls.retain(|(of, _), _| of != session);
        // A turn that failed before it began used nothing worth a report.
        let took = (end == "done" || usage != ModelUsage::default()).then(|| usage_summary(usage));
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
        self.flush();
        self.work.end_turn();
        self.erase_live();
        match end {
            // The command prints the answer itself.
            "done" => self.unstreamed_text.clear(),
            _ => self.write_unstreamed_text(),
        }
        if let Some(took) = took.filter(|_| self.has_person()) {
            let prices = self.look.prices.as_ref().filter(|prices| prices.model == self.model);
            let cost = prices.map(|prices| format!(" · {}", cost_in_words(prices, usage)));
            let left = self.work.context_left_percent;
            let left = left.map(|left| format!(" · {left}% of the context left"));
            let (cost, left) = (cost.unwrap_or_default(), left.unwrap_or_default());
            self.write_line(&format!("{DIM}{took}{cost}{left}{DIM:#}"));
        }
        self.needs_gap = false;
    }

    /// Shows an event of the session that the person talks to, if it is one that only this session shows.
    fn show_own_event(&mut self, kind: &AgentEventKind) {
        match kind {
            AgentEventKind::TurnStarted => self.work.begin_turn(Instant::now()),
            AgentEventKind::StepStarted { .. } => {
                self.thought_chars = 0;
                self.work.set_activity(LiveActivity::Waiting);
            }
            AgentEventKind::Text { delta } => {
                self.work.set_activity(LiveActivity::Writing);
                self.take_text(delta);
            }
            AgentEventKind::Reasoning { delta } => {
                self.work.set_activity(LiveActivity::Thinking);
                self.take_thought(delta);
            }
            AgentEventKind::ToolOutput { tail, .. } => self.work.set_output(tail.clone()),
            AgentEventKind::Answered { .. } => self.work.restart_clock(Instant::now()),
            AgentEventKind::StepEnded { usage, .. } => {
                self.flush();
                let left = context_left_percent(*usage, self.look.context_tokens);
                self.work.context_left_percent = left.or(self.work.context_left_percent);
            }
            AgentEventKind::Compacted { .. } => {
                self.flush();
                self.work.context_left_percent = None;
                let note = "the messages before are summarised from here on";
                self.write_line(&format!("{DIM}{note}{DIM:#}"));
            }
            AgentEventKind::Notice { text } => {
                self.flush();
                let text = cut(&on_one_line(text), NOTICE_CHARS_MAX);
                self.write_line(&format!("{DIM}notice to the agent: {text}{DIM:#}"));
            }
            // Later events show the effect of the other events.
            _ => {}
        }
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
                self.work = LiveWork::default();
                self.model = model;
                self.session = Some(session);
            }
            AgentEventKind::ToolCall { id, tool, kind, input, title, .. } => {
                let title = on_one_line(&title);
                let is_own_call = !self.subagents.contains_key(&session);
                let (is_announced, is_change_shown) = (false, false);
                let key = (session.clone(), id.clone());
                let called = DisplayedCall {
                    tool,
                    kind,
                    title: title.clone(),
                    input,
                    text_before,
                    is_announced,
                    is_change_shown,
                };
                if is_own_call {
                    self.flush();
                    self.write_unstreamed_text();
                    self.work.begin_call(&id, &title, Instant::now());
                }
                self.calls.insert(key, called);
                if is_own_call && self.look.side == SideLook::Linear {
                    self.announce_call(&session, &id);
                }
            }
            AgentEventKind::ToolResult { id, tool, envelope, .. } => {
                self.write_result(&session, &id, tool, &envelope);
            }
            AgentEventKind::Session { agent, parent: Some(parent), .. } => {
                self.register_subagent(&parent, &agent, session);
            }
            AgentEventKind::Subagent { call, agent, child, background } => {
                let how = if background { "works in the background" } else { "works" };
                self.write_subagent_begin(&session, call, &child, (&agent, how));
            }
            AgentEventKind::Asked { id } if self.has_person() => self.show_ask(&session, &id),
            AgentEventKind::Retry { error, wait_ms, attempt, attempts_max } => {
                let error = cut(&on_one_line(&error), NOTICE_CHARS_MAX);
                let retry = retrying(&error, wait_ms, attempt, attempts_max);
                let who = match self.subagents.get(&session) {
                    Some(SubagentLabel { indent, label }) => format!("{indent}{label} · "),
                    None => String::new(),
                };
                self.write_line(&format!("{DIM}{who}{retry}{DIM:#}"));
            }
            AgentEventKind::TurnEnded { end, error, usage } => {
                self.write_turn_end(&session, end, error.as_deref(), usage);
            }
            // A subagent's text is the answer of its call.
            own if is_own => self.show_own_event(&own),
            _ => {}
        }
        let now = Instant::now();
        if self.live.is_due(now) {
            self.draw_live(now);
        }
    }

    fn events_held_max(&self) -> usize {
        EVENTS_HELD_MAX
    }

    fn update_interval(&self) -> Duration {
        match self.look.side {
            SideLook::Redrawn if self.work.is_active() => Duration::from_millis(LIVE_DRAW_MS),
            SideLook::Redrawn | SideLook::Linear | SideLook::Log => Duration::MAX,
        }
    }

    fn update_durations(&mut self) {
        self.draw_live(Instant::now());
    }

    fn show_note(&mut self, text: &str) {
        for line in haft_contract::escape_controls(text).lines() {
            // A note is text of haft, so its later lines are not indented.
            let columns = if self.has_person() { self.columns() } else { usize::MAX };
            fold_text(line, columns, "").split('\n').for_each(|line| self.write_line(line));
        }
    }

    fn release_terminal(&mut self) {
        self.flush();
        self.erase_live();
        self.is_away = true;
    }

    fn reclaim_terminal(&mut self) {
        self.is_away = false;
    }

    fn start_typing(&mut self, writer: AbovePromptWriter) {
        self.erase_live();
        self.prompt_writer = Some(writer);
    }

    fn stop_typing(&mut self) {
        self.prompt_writer = None;
    }

    fn finish(&mut self) {
        self.flush();
        self.erase_live();
    }
}

#[cfg(test)]
mod tests;
