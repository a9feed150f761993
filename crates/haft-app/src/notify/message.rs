//! The message of a notification: the facts without contents, the contents, and both as text and as JSON. Contents come from a
//! model or a file: inputs, accesses, reasons, paths.

use haft::ShownAsk;
use haft_contract::{clean, cut};
use haft_journal::{AskRow, CallRow, RunRow};
use serde_json::{Map, Value, json};

use crate::app_error::NextStep;
use crate::calendar::rfc3339;
use crate::manifest::NotifyEvent;
use crate::running_inspector::ask_page;

/// Characters of contents in the text of a notification. JSON has all of them.
const CONTENTS_CHARS_MAX: usize = 2_000;
/// The version of the JSON.
const FORMAT_VERSION: u32 = 1;

/// A notification, before it is known how its reader gets further.
#[derive(Clone, Debug)]
pub(super) struct NotifyMessage {
    /// The event.
    pub(super) event: NotifyEvent,
    /// A few words without contents.
    pub(super) title: String,
    /// A sentence without contents.
    sentence: String,
    /// The facts without contents.
    facts: Map<String, Value>,
    /// The contents.
    contents: Map<String, Value>,
    /// The page of the inspector.
    pub(super) page: String,
    /// The step for a reader who has no inspector.
    pub(super) step: NextStep,
}

impl NotifyMessage {
    /// Returns the message about an ask.
    pub(super) fn of_ask(ask: &AskRow, summary: &ShownAsk) -> Self {
        let AskRow { id, call, tool, front_end, agents, asked_at_ms, deadline_ms, .. } = ask;
        let until = match deadline_ms {
            Some(deadline_ms) => format!(" until {}", rfc3339(*deadline_ms)),
            None => String::new(),
        };
        let ShownAsk { input, accesses, reasons, root, .. } = summary;
        Self {
            event: NotifyEvent::Ask,
            title: format!("haft asks: may {tool} run?"),
            sentence: format!(
                "A call of {tool} in run {} waits for your answer{until}.",
                call.scope.run
            ),
            facts: object(json!({
                "ask": id, "run": call.scope.run, "call": call.to_string(), "tool": tool, "front_end": front_end,
                "agents": agents, "asked_at_ms": asked_at_ms, "deadline_ms": deadline_ms,
            })),
            contents: object(json!({
                "input": input, "accesses": accesses, "reasons": reasons, "root": root,
            })),
            page: ask_page(id),
            step: NextStep::ShowAsk(id.clone()),
        }
    }

    /// Returns the message about the end of a run.
    pub(super) fn of_end(run: &RunRow) -> Self {
        let RunRow { id, front_end, calls, failed, refused, unknown, .. } = run;
        let parts = [(failed, "failed"), (refused, "refused"), (unknown, "unknown")];
        let parts = parts.iter().filter(|(count, _)| **count > 0);
        let parts: String = parts.map(|(count, what)| format!(", {count} {what}")).collect();
        let noun = if *calls == 1 { "call" } else { "calls" };
        Self {
            event: NotifyEvent::End,
            title: format!("haft: run {id} ended"),
            sentence: format!("Run {id} of {front_end} ended: {calls} {noun}{parts}."),
            facts: object(json!({
                "run": id, "front_end": front_end, "started_at_ms": run.started_at_ms,
                "calls": calls, "failed": failed, "refused": refused, "unknown": unknown,
            })),
            contents: object(json!({ "root": run.root })),
            page: format!("/runs/{id}"),
            step: NextStep::ShowRun(id.clone()),
        }
    }

    /// Returns the message about calls in doubt; `None` without calls.
    pub(super) fn of_doubts(calls: &[CallRow]) -> Option<Self> {
        let first = calls.first()?;
        let one = |call: &CallRow| json!({ "call": call.id().to_string(), "tool": call.tool });
        let title = match calls.len() {
            1 => format!("haft: a call of {} is in doubt", first.tool),
            count => format!("haft: {count} calls are in doubt"),
        };
        let run = first.scope.run.clone();
        Some(Self {
            event: NotifyEvent::InDoubt,
            title,
            sentence: format!(
                "It is not known whether {} of run {run} happened. haft does not repeat it before you settle it.",
                first.id()
            ),
            facts: object(json!({
                "run": run, "calls": calls.iter().map(one).collect::<Vec<_>>(),
            })),
            contents: Map::new(),
            page: "/doubts".to_owned(),
            step: NextStep::ShowRun(run),
        })
    }

    /// Returns the message as text. `further` leads its reader on.
    pub(super) fn text(&self, with_contents: bool, further: Option<&str>) -> String {
        let mut text = self.sentence.clone();
        for (name, value) in self.contents.iter().filter(|_| with_contents) {
            let value = match value {
                Value::String(text) => text.clone(),
                value => value.to_string(),
            };
            text.push_str(&format!("\n{name}: {}", cut(&clean(&value), CONTENTS_CHARS_MAX)));
        }
        if let Some(further) = further {
            text.push_str(&format!("\n{further}"));
        }
        text
    }

    /// Returns the message as JSON.
    pub(super) fn json(
        &self,
        with_contents: bool,
        (link, command): (Option<&str>, Option<&str>),
        text: &str,
    ) -> Value {
        let event = match self.event {
            NotifyEvent::Ask => "ask",
            NotifyEvent::End => "end",
            NotifyEvent::InDoubt => "in_doubt",
        };
        let mut told = object(json!({
            "version": FORMAT_VERSION, "event": event, "title": self.title, "text": text, "link": link,
            "command": command,
        }));
        told.extend(self.facts.clone());
        if with_contents {
            told.insert("contents".to_owned(), Value::Object(self.contents.clone()));
        }
        Value::Object(told)
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
