//! Reads what a node does: the call of a tool, a task for an agent, or a question to a person. A node does one of these.

use std::ops::RangeInclusive;

use haft::shown_value;
use serde_json::{Map, Value};

use super::PlanFieldReader;
use crate::limits::{AGENT_NODE_STEPS_MAX, ITERATIONS_MAX};
use crate::plan::{AgentWork, PlanWork, RepeatUntil};
use crate::problem::Code;

const CALL_FIELDS: &[&str] = &["tool", "function", "inputs"];
const AGENT_FIELDS: &[&str] = &["agent", "prompt", "tools", "output", "max_steps"];
const PERSON_FIELDS: &[&str] = &["question", "options"];

/// Returns the fields that belong to one kind of node.
pub(super) fn all_work_fields() -> impl Iterator<Item = &'static str> {
    [CALL_FIELDS, AGENT_FIELDS, PERSON_FIELDS].into_iter().flatten().copied()
}

const REPEAT_FIELDS: [&str; 3] = ["path", "equals", "max_iterations"];
pub(crate) const STEPS_RANGE: RangeInclusive<u64> = 1..=AGENT_NODE_STEPS_MAX as u64;
pub(crate) const ITERATIONS_RANGE: RangeInclusive<u64> = 1..=ITERATIONS_MAX as u64;

impl PlanFieldReader<'_> {
    /// Reads what the node does, and returns the names of the fields of such nodes.
    pub(super) fn work(&mut self) -> (PlanWork, &'static [&'static str]) {
        let is_given = |field: &str| self.fields.get(field).is_some_and(|value| !value.is_null());
        let given: Vec<&'static str> =
            ["tool", "agent", "question"].into_iter().filter(|field| is_given(field)).collect();
        if given.len() > 1 {
            let message = format!(
                "a node calls a tool, gives a task to an agent or asks a person, and this one has {}: make a node of each",
                given.join(" and ")
            );
            for field in given.iter().skip(1) {
                self.fields.shift_remove(*field);
                self.report(field, Code::UnknownField, message.clone());
            }
            // The mistake is the second kind of work, and not each field of it.
            let kept = match given.first() {
                Some(&"agent") => AGENT_FIELDS,
                _ => CALL_FIELDS,
            };
            for field in all_work_fields().filter(|field| !kept.contains(field)) {
                self.fields.shift_remove(field);
            }
        }
        let names_agent =
            |name: &String| super::intended_field(name, &["agent", "tool"]) == Some("agent");
        let given = given.first().copied();
        let is_misspelt = given.is_none() && self.fields.keys().any(names_agent);
        match given.or(is_misspelt.then_some("agent")) {
            Some("agent") => (PlanWork::Agent(self.agent_work()), AGENT_FIELDS),
            Some("question") => {
                let question = self.required_text("question", "the question");
                (PlanWork::Person { question, options: self.texts("options") }, PERSON_FIELDS)
            }
            _ => {
                let tool = self.required_text(
                    "tool",
                    "the id of a tool (or agent and prompt, or a question, in place of the tool)",
                );
                let function = self.text("function");
                (PlanWork::Call { tool, function, inputs: self.inputs() }, CALL_FIELDS)
            }
        }
    }

    fn agent_work(&mut self) -> AgentWork {
        let agent = self.required_text("agent", "the name of an agent");
        let prompt = self.required_text("prompt", "the task of the agent");
        let has_tools = self.fields.get("tools").is_some_and(|tools| !tools.is_null());
        let tools = has_tools.then(|| self.texts("tools"));
        let output = match self.take("output") {
            None => None,
            Some(schema @ (Value::Object(_) | Value::Bool(_))) => Some(schema),
            Some(value) => {
                self.wrong("output", "a JSON Schema, as {\"type\": \"object\"}", &value);
                None
            }
        };
        let max_steps = self.number("max_steps", STEPS_RANGE);
        let max_steps = max_steps.map(|steps| u32::try_from(steps).unwrap_or(AGENT_NODE_STEPS_MAX));
        AgentWork { agent, prompt, tools, output, max_steps }
    }

    fn inputs(&mut self) -> Value {
        match self.take("inputs") {
            None => Value::Object(Map::new()),
            Some(value @ Value::Object(_)) => value,
            Some(value) => {
                let expected = "an object of parameters, as {\"path\": \"README.md\"}";
                self.wrong("inputs", expected, &value);
                Value::Object(Map::new())
            }
        }
    }

    fn required_text(&mut self, field: &'static str, expected: &str) -> String {
        let text = self.text(field);
        if text.is_none() && !self.handled.contains(&field) {
            self.missing(field, expected);
        }
        text.unwrap_or_default()
    }

    /// Reads the condition until which the node is repeated.
    pub(super) fn repeat_until(&mut self) -> Option<RepeatUntil> {
        const EXAMPLE: &str = "{\"path\": \"done\", \"equals\": true, \"max_iterations\": 5}";
        let fields = match self.take("repeat_until")? {
            Value::Object(fields) => fields,
            value => {
                self.wrong("repeat_until", &format!("an object, as {EXAMPLE}"), &value);
                return None;
            }
        };
        for name in fields.keys().filter(|name| !REPEAT_FIELDS.contains(&name.as_str())) {
            let message = format!("there is no such field: it is written as {EXAMPLE}");
            self.report(&format!("repeat_until.{name}"), Code::UnknownField, message);
        }
        let path = match fields.get("path") {
            None | Some(Value::Null) => Some(String::new()),
            Some(Value::String(path)) => Some(path.clone()),
            Some(value) => {
                let expected = "the path to a part of the output, as items[0].done";
                self.wrong("repeat_until.path", expected, value);
                None
            }
        };
        let equals = fields.get("equals").cloned();
        if equals.is_none() {
            let message =
                "it must have it, and it is missing: add the value that ends the repetition";
            self.report("repeat_until.equals", Code::MissingField, message.to_owned());
        }
        let max = fields.get("max_iterations");
        let max_iterations = max.and_then(Value::as_f64).and_then(super::whole);
        let max_iterations = max_iterations.filter(|it| ITERATIONS_RANGE.contains(it));
        if max_iterations.is_none() {
            let (field, found) = ("repeat_until.max_iterations", max.map(shown_value));
            let last = ITERATIONS_RANGE.end();
            match found {
                None => {
                    let message = format!(
                        "it must have it, and it is missing: add the largest number of iterations, 1 to {last}"
                    );
                    self.report(field, Code::MissingField, message);
                }
                Some(found) => {
                    let message = super::out_of_range(&ITERATIONS_RANGE, &found);
                    self.report(field, Code::OutOfRange, message);
                }
            }
        }
        let max_iterations = u32::try_from(max_iterations?).unwrap_or(ITERATIONS_MAX);
        Some(RepeatUntil { path: path?, equals: equals?, max_iterations })
    }
}
