//! A session as plain lines: text as it comes, each call on a line of its own with what came of it, subagents set in.
//! Nothing that was written is drawn anew, so that it reads the same in a log, over a slow line and in a screen reader.

use std::collections::HashMap;
use std::io::IsTerminal as _;

use clap::builder::styling::Style;
use haft_agent::{AgentEvent, Happened};
use haft_contract::Envelope;
use haft_journal::ChatId;
use serde_json::Value;

use super::changes::changes;
use super::editor::Aside;
use super::limits::{ANNOUNCED_CALLS_MAX, NOTICE_CHARS_MAX, TASK_CHARS_MAX, THOUGHT_CHARS_MAX};
use super::outcome::{line_of_result, on_one_line};
use super::view::{Before, Show, is_seen};
use crate::model::{retrying, took};
use crate::output;
use crate::table::shortened;

const DIM: Style = Style::new().dimmed();
/// How far what a subagent does is set in, for each level.
const LEVEL: &str = "  ";

/// Where lines go.
pub(super) trait Out {
    /// Writes a piece of what was asked for.
    fn data(&mut self, text: &str);
    /// Writes a piece of everything else.
    fn side(&mut self, text: &str);
    /// Returns whether what was asked for is read while it comes.
    fn streams(&self) -> bool;
    /// Returns whether everything else is.
    fn is_seen(&self) -> bool;
    /// From now on a line is being typed, or no more.
    fn typing(&mut self, aside: Option<Aside>);
}

/// Standard output and standard error.
pub(super) struct Streams {
    streams: bool,
    is_seen: bool,
    aside: Option<Aside>,
}

impl Streams {
    pub(super) fn standard() -> Self {
        let (streams, is_seen) = (std::io::stdout().is_terminal(), is_seen());
        Self { streams, is_seen, aside: None }
    }
}

impl Out for Streams {
    fn data(&mut self, text: &str) {
        output::piece(text);
    }

    fn side(&mut self, text: &str) {
        match &mut self.aside {
            Some(aside) => aside.say(text),
            None => output::side_piece(text),
        }
    }

    fn streams(&self) -> bool {
        self.streams
    }

    fn is_seen(&self) -> bool {
        self.is_seen
    }

    fn typing(&mut self, aside: Option<Aside>) {
        self.aside = aside;
    }
}

/// The line that has no end yet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
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

struct Called {
    tool: String,
    title: String,
    input: Value,
}

struct Subagent {
    /// What its lines begin with: its agent's name, with a number from the second one on.
    label: String,
    level: usize,
}

impl Subagent {
    fn indent(&self) -> String {
        LEVEL.repeat(self.level)
    }
}

/// A session as lines.
pub(super) struct Lines<O> {
    out: O,
    session: Option<ChatId>,
    subagents: HashMap<ChatId, Subagent>,
    /// How many subagents there were of each name.
    named: HashMap<String, usize>,
    calls: HashMap<(ChatId, String), Called>,
    /// What files said that calls under way replace.
    before: HashMap<(ChatId, String), String>,
    open: Open,
    /// What the agent said since it was last asked, where that is not read while it comes.
    said: String,
    thought_chars: usize,
    /// Whether the last line was none of the agent's text, so that a gap is due before it.
    needs_gap: bool,
}

impl<O: Out> Lines<O> {
    pub(super) fn new(out: O) -> Self {
        Self {
            out,
            session: None,
            subagents: HashMap::new(),
            named: HashMap::new(),
            calls: HashMap::new(),
            before: HashMap::new(),
            open: Open::None,
            said: String::new(),
            thought_chars: 0,
            needs_gap: false,
        }
    }

    /// Ends the line that has no end yet.
    fn close(&mut self) {
        match std::mem::replace(&mut self.open, Open::None) {
            Open::None | Open::Text { at_line_start: true } => {}
            Open::Text { at_line_start: false } => self.out.data("\n"),
            Open::Thought | Open::Calls(_) => self.out.side("\n"),
        }
    }

    /// Writes a whole line.
    fn line(&mut self, text: &str) {
        self.close();
        self.out.side(&format!("{text}\n"));
        self.needs_gap = true;
    }

    fn text(&mut self, delta: &str) {
        if !self.out.streams() {
            self.said.push_str(delta);
            return;
        }
        let is_begun = matches!(self.open, Open::Text { .. });
        let delta = if is_begun { delta } else { delta.trim_start_matches(['\n', '\r']) };
        if delta.is_empty() {
            return;
        }
        if !is_begun {
            self.close();
            if std::mem::take(&mut self.needs_gap) {
                self.out.data("\n");
            }
        }
        self.out.data(&output::visible(delta));
        self.open = Open::Text { at_line_start: delta.ends_with('\n') };
    }

    /// Writes what the agent said beside its answer, and nobody read while it came.
    fn tell_said(&mut self) {
        let said = std::mem::take(&mut self.said);
        if !said.trim().is_empty() {
            self.line(&output::visible(said.trim()));
        }
    }

    fn thought(&mut self, delta: &str) {
        let left = THOUGHT_CHARS_MAX.saturating_sub(self.thought_chars);
        if left == 0 || !self.out.is_seen() {
            return;
        }
        let one_line: String =
            delta.chars().map(|it| if it.is_whitespace() { ' ' } else { it }).collect();
        let is_begun = self.open == Open::Thought;
        let one_line = if is_begun { one_line.as_str() } else { one_line.trim_start() };
        if one_line.is_empty() {
            return;
        }
        if !is_begun {
            self.close();
            self.open = Open::Thought;
        }
        let shown: String = one_line.chars().take(left).collect();
        let end = if one_line.chars().count() > left { "…" } else { "" };
        self.thought_chars += shown.chars().count();
        if !end.is_empty() {
            self.thought_chars = THOUGHT_CHARS_MAX;
        }
        self.out.side(&format!("{DIM}{}{end}{DIM:#}", output::visible(&shown)));
        self.needs_gap = true;
    }

    fn call(&mut self, session: &ChatId, id: String, called: Called) {
        let is_own = !self.subagents.contains_key(session);
        if is_own {
            self.tell_said();
        }
        if is_own && self.out.is_seen() {
            self.announce(&id, &called.title);
        }
        self.calls.insert((session.clone(), id), called);
    }

    /// Names a call on the line of those that are about to be made.
    fn announce(&mut self, id: &str, title: &str) {
        if let Open::Calls(ids) = &mut self.open {
            ids.push(id.to_owned());
            match ids.len().cmp(&(ANNOUNCED_CALLS_MAX + 1)) {
                std::cmp::Ordering::Less => self.out.side(&format!(", {title}")),
                std::cmp::Ordering::Equal => self.out.side(", …"),
                std::cmp::Ordering::Greater => {}
            }
            return;
        }
        self.close();
        self.open = Open::Calls(vec![id.to_owned()]);
        self.out.side(&format!("→ {title}"));
        self.needs_gap = true;
    }

    fn result(&mut self, session: &ChatId, id: &str, tool: String, envelope: &Envelope) {
        let key = (session.clone(), id.to_owned());
        let (called, before) = (self.calls.remove(&key), self.before.remove(&key));
        // One that was never made was not told of before, and its name is what the model wrote.
        let called = called.unwrap_or_else(|| Called {
            title: on_one_line(&tool),
            tool,
            input: Value::Null,
        });
        // A call that is recalled replaces nothing: it did so when it was made.
        let before = before.filter(|_| !envelope.metadata().replayed);
        let line = line_of_result(&called.title, &called.tool, envelope);
        let indent = match self.subagents.get(session) {
            Some(subagent) => {
                let (indent, label) = (subagent.indent(), &subagent.label);
                let line = format!("{indent}{DIM}{label} ·{DIM:#} {line}");
                self.line(&line);
                indent
            }
            None if self.open == Open::Calls(vec![id.to_owned()]) => {
                // Nothing was said since the call was named, so the rest of its line follows.
                let rest = line.strip_prefix(&called.title).unwrap_or(&line);
                self.out.side(&format!("{rest}\n"));
                self.open = Open::None;
                String::new()
            }
            None => {
                let mark = if self.out.is_seen() { "  " } else { "→ " };
                self.line(&format!("{mark}{line}"));
                String::new()
            }
        };
        if matches!(envelope, Envelope::Output { .. }) {
            for line in changes(&called.tool, &called.input, before.as_deref()) {
                self.line(&format!("{indent}    {line}"));
            }
            self.forget_before(session, &called.input);
        }
    }

    /// Forgets what the file of a call said before it, where others wait to replace that: they find it as this one left it.
    fn forget_before(&mut self, session: &ChatId, input: &Value) {
        let Some(path) = path_of(input) else { return };
        let calls = &self.calls;
        self.before.retain(|key, _| {
            let is_same = calls.get(key).and_then(|called| path_of(&called.input)) == Some(path);
            !(key.0 == *session && is_same)
        });
    }

    fn subagent(&mut self, begun: Begun) {
        let Begun { parent, call, agent, child, background } = begun;
        let how = if background { "works in the background" } else { "works" };
        let (indent, label) = self.known(&parent, &agent, child.clone());
        let mut task = String::new();
        if let Some(called) = self.calls.get_mut(&(parent, call)) {
            let prompt = called.input.get("prompt").and_then(Value::as_str).unwrap_or_default();
            task = shortened(&on_one_line(prompt), TASK_CHARS_MAX);
            // Of several tasks of one answer each ends by itself.
            called.title = format!("{} {label}", on_one_line(&called.tool));
        }
        let task = if task.is_empty() { task } else { format!(": {task}") };
        self.line(&format!("{indent}{DIM}{label} {how} ({child}){task}{DIM:#}"));
    }

    /// Remembers whose subagent it is, and returns how far it is set in and what its lines begin with.
    fn known(&mut self, parent: &ChatId, agent: &str, child: ChatId) -> (String, String) {
        let level = self.subagents.get(parent).map_or(0, |parent| parent.level) + 1;
        let named = &mut self.named;
        let subagent = self.subagents.entry(child).or_insert_with(|| {
            let agent = on_one_line(agent);
            let count = named.entry(agent.clone()).or_insert(0);
            *count += 1;
            let label = if *count == 1 { agent } else { format!("{agent} {count}") };
            Subagent { label, level }
        });
        (subagent.indent(), subagent.label.clone())
    }

    /// Says who asks, where that is no call that was just named.
    fn asks(&mut self, session: &ChatId, id: &str) {
        let Some(subagent) = self.subagents.get(session).filter(|_| self.out.is_seen()) else {
            return;
        };
        let called = self.calls.get(&(session.clone(), id.to_owned()));
        let title = called.map_or("a call", |called| &called.title);
        let line = format!("{}{} asks about {title}", subagent.indent(), subagent.label);
        self.line(&line);
    }

    fn retried(&mut self, session: &ChatId, retry: &str) {
        let who = self.subagents.get(session).map_or_else(String::new, |subagent| {
            format!("{}{} · ", subagent.indent(), subagent.label)
        });
        self.line(&format!("{DIM}{who}{retry}{DIM:#}"));
    }

    fn ended(
        &mut self,
        session: &ChatId,
        end: &str,
        error: Option<&str>,
        usage: haft_model::Usage,
    ) {
        self.calls.retain(|(of, _), _| of != session);
        self.before.retain(|(of, _), _| of != session);
        // Of what failed before it began nobody wants to know what it took.
        let took = (end == "done" || usage != haft_model::Usage::default()).then(|| took(usage));
        if let Some(subagent) = self.subagents.get(session) {
            let (indent, label) = (subagent.indent(), &subagent.label);
            let why = error.map(|error| shortened(&on_one_line(error), NOTICE_CHARS_MAX));
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            let took = took.map_or_else(String::new, |took| format!(" ({took})"));
            let line = format!("{indent}{DIM}{label} {}{why}{took}{DIM:#}", how(end));
            self.line(&line);
            return;
        }
        self.close();
        match end {
            // The answer itself is printed by whoever asked for it.
            "done" => self.said.clear(),
            _ => self.tell_said(),
        }
        if let Some(took) = took.filter(|_| self.out.is_seen()) {
            self.line(&format!("{DIM}{took}{DIM:#}"));
        }
        self.needs_gap = false;
    }

    fn told(&mut self, text: &str) {
        let text = shortened(&on_one_line(text), NOTICE_CHARS_MAX);
        self.line(&format!("{DIM}the agent is told: {text}{DIM:#}"));
    }
}

/// Returns the file that a call has to do with, as the model names it.
fn path_of(input: &Value) -> Option<&str> {
    input.get("path").and_then(Value::as_str)
}

/// That a subagent begins.
struct Begun {
    parent: ChatId,
    call: String,
    agent: String,
    child: ChatId,
    background: bool,
}

/// Returns how a subagent's turn ended, after its name.
fn how(end: &str) -> &str {
    match end {
        "done" => "is done",
        "aborted" => "was stopped",
        "steps_spent" => "has answered as often as it may, and is not done",
        "output_cut" => "reached the greatest length of an answer, and is not done",
        "refused" => "would not answer",
        _ => "failed",
    }
}

impl<O: Out> Show for Lines<O> {
    fn before(&mut self, before: Before) {
        let Before { session, call, text } = before;
        self.before.insert((session, call), text);
    }

    fn event(&mut self, event: AgentEvent) {
        let AgentEvent { happened, session } = event;
        let is_own = self.session.as_ref() == Some(&session);
        match happened {
            // The first is the one that is talked to, also where it is a subagent's that is gone on with.
            Happened::Session { agent, model, parent }
                if parent.is_none() || self.session.is_none() =>
            {
                self.line(&format!(
                    "{DIM}session {session} · {} · {}{DIM:#}",
                    on_one_line(&agent),
                    on_one_line(&model)
                ));
                self.needs_gap = false;
                self.session = Some(session);
            }
            Happened::StepStarted { .. } if is_own => self.thought_chars = 0,
            Happened::Text { delta } if is_own => self.text(&delta),
            Happened::Reasoning { delta } if is_own => self.thought(&delta),
            Happened::ToolCall { id, tool, input, title, .. } => {
                let title = on_one_line(&title);
                self.call(&session, id, Called { tool, title, input });
            }
            Happened::ToolResult { id, tool, envelope, .. } => {
                self.result(&session, &id, tool, &envelope);
            }
            Happened::Session { agent, parent: Some(parent), .. } => {
                self.known(&parent, &agent, session);
            }
            Happened::Subagent { call, agent, child, background } => {
                self.subagent(Begun { parent: session, call, agent, child, background });
            }
            Happened::Asked { id } => self.asks(&session, &id),
            Happened::Retry { error, wait_ms, attempt, attempts_max } => {
                let error = shortened(&on_one_line(&error), NOTICE_CHARS_MAX);
                self.retried(&session, &retrying(&error, wait_ms, attempt, attempts_max));
            }
            Happened::Compacted { .. } if is_own => {
                self.line(&format!("{DIM}what was said before is summarised from here on{DIM:#}"));
            }
            Happened::Notice { text } if is_own => self.told(&text),
            Happened::TurnEnded { end, error, usage } => {
                self.ended(&session, end, error.as_deref(), usage);
            }
            // What a subagent says is its call's answer, and the rest is seen by what follows.
            _ => {}
        }
    }

    fn make_way(&mut self) {
        self.close();
    }

    fn note(&mut self, text: &str) {
        self.line(&output::visible(text));
    }

    fn typing(&mut self, aside: Aside) {
        self.out.typing(Some(aside));
    }

    fn typed(&mut self) {
        self.out.typing(None);
    }
}

#[cfg(test)]
mod tests;
