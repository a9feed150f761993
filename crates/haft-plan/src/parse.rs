//! Reads a plan from text: JSON, and the form of each field. [`check`](crate::check) decides whether the fields make sense
//! together and fit the tools. A field of the wrong form is reported and a harmless value replaces it, so that
//! other problems are found in the same pass.

mod json;
mod work;

use std::collections::HashSet;
use std::ops::RangeInclusive;

use haft::{plain_name, shown_value};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::limits::{NODE_TIMEOUT_S_MAX, PLAN_BYTES_MAX, PLAN_NODES_MAX, RETRIES_MAX};
use crate::message_text::shortened;
use crate::node_id::NodeId;
use crate::plan::{OnFail, Plan, PlanNode};
use crate::problem::{Code, PlanProblem, PlanProblems, joined_problems};
use crate::reference::index_of;
use json::{PlanJson, read_json};
pub(crate) use work::{ITERATIONS_RANGE, STEPS_RANGE};

const PLAN_FIELDS: &[&str] = &["nodes", "final_output_node", "allow"];
/// The fields that every node may have.
const NODE_FIELDS: &[&str] =
    &["id", "depends_on", "retry", "timeout", "on_fail", "resources", "repeat_until"];
/// The names that models write instead, without case and marks.
const ALIASES: &[(&str, &str)] = &[
    ("steps", "nodes"),
    ("tasks", "nodes"),
    ("finalnode", "final_output_node"),
    ("outputnode", "final_output_node"),
    ("finaloutput", "final_output_node"),
    ("allowed", "allow"),
    ("toolname", "tool"),
    ("func", "function"),
    ("args", "inputs"),
    ("arguments", "inputs"),
    ("parameters", "inputs"),
    ("params", "inputs"),
    ("input", "inputs"),
    ("dependson", "depends_on"),
    ("dependencies", "depends_on"),
    ("deps", "depends_on"),
    ("needs", "depends_on"),
    ("depends", "depends_on"),
    ("dependency", "depends_on"),
    ("requires", "depends_on"),
    ("waitfor", "depends_on"),
    ("after", "depends_on"),
    ("continueonerror", "on_fail"),
    ("continueonfail", "on_fail"),
    ("retries", "retry"),
    ("maxretries", "retry"),
    ("timeouts", "timeout"),
    ("timeoutms", "timeout"),
    ("timeoutseconds", "timeout"),
    ("onfailure", "on_fail"),
    ("onerror", "on_fail"),
    ("resource", "resources"),
    ("subagent", "agent"),
    ("subagenttype", "agent"),
    ("agentname", "agent"),
    ("instruction", "prompt"),
    ("instructions", "prompt"),
    ("schema", "output"),
    ("outputschema", "output"),
    ("responseschema", "output"),
    ("maxturns", "max_steps"),
    ("choices", "options"),
    ("answers", "options"),
];
/// Fields of other formats that plans do not have, without case and marks: a plan that relies on one would do something else.
const UNSUPPORTED: &[&str] = &[
    "if",
    "unless",
    "when",
    "condition",
    "for",
    "foreach",
    "before",
    "next",
    "parallel",
    "concurrency",
    "oncomplete",
    "onsuccess",
    "finally",
];
/// Names of other formats for what `repeat_until` does, without case and marks.
const REPETITIONS: &[&str] = &["loop", "while", "until", "repeat"];
/// Fields of a node that a plan does not have.
const OF_NODES: &[&str] =
    &["timeout", "retry", "on_fail", "resources", "depends_on", "repeat_until"];
/// Further fields that plans often have in every node.
const REMARKS: &[&str] = &["metadata", "thought", "status", "description"];
/// Shortest name, in characters, that one wrong letter still hints at.
const NEAR_CHARS_MIN: usize = 5;
pub(crate) const RETRY_RANGE: RangeInclusive<u64> = 0..=RETRIES_MAX as u64;
pub(crate) const TIMEOUT_RANGE: RangeInclusive<u64> = 1..=NODE_TIMEOUT_S_MAX as u64;

/// Reads a plan from JSON text, or returns everything that is wrong with its form.
pub fn parse(text: &str) -> Result<Plan, Vec<PlanProblem>> {
    read_text(text).into_result()
}

impl<'de> Deserialize<'de> for Plan {
    /// Reads a plan as [`parse`](crate::parse) does, and fails with everything that is wrong with its form.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let read = read(value).into_result();
        read.map_err(|problems| serde::de::Error::custom(joined_problems(&problems)))
    }
}

/// A plan as far as it could be read.
#[derive(Debug, Default)]
pub(crate) struct PlanDraft {
    /// Absent when the text is not an object at all.
    pub(crate) plan: Option<Plan>,
    pub(crate) problems: PlanProblems,
    pub(crate) stand_ins: UnreadNodes,
}

/// The places of nodes that could not be read, which are reported and stand in for what was meant.
#[derive(Debug, Default)]
pub(crate) struct UnreadNodes {
    /// Those of which nothing could be read.
    pub(crate) nodes: HashSet<usize>,
    /// Those of which no id could be read, all of `nodes` among them.
    pub(crate) ids: HashSet<usize>,
}

impl PlanDraft {
    pub(crate) fn into_result(self) -> Result<Plan, Vec<PlanProblem>> {
        match self.plan {
            Some(plan) if self.problems.is_empty() => Ok(plan),
            _ => Err(self.problems.into_list()),
        }
    }
}

/// Reads a plan from JSON text as far as possible.
pub(crate) fn read_text(text: &str) -> PlanDraft {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let failed = |code, message: String| {
        let mut problems = PlanProblems::default();
        problems.push_for_plan("", code, message);
        PlanDraft { problems, ..PlanDraft::default() }
    };
    if text.len() > PLAN_BYTES_MAX {
        let bytes = text.len();
        return failed(
            Code::TooLarge,
            format!("a plan is at most {PLAN_BYTES_MAX} bytes, this one is {bytes}"),
        );
    }
    match read_json(text) {
        Ok(PlanJson { value, duplicates }) => {
            let mut draft = read(value);
            for way in &duplicates {
                // A field of a node is reported with its node.
                let within = way.strip_prefix("nodes[").and_then(|rest| rest.split_once("]."));
                let node = within.and_then(|(place, field)| {
                    let node = draft.plan.as_ref()?.nodes.get(place.parse::<usize>().ok()?)?;
                    Some((node.id, field))
                });
                let (code, problems) = (Code::DuplicateField, &mut draft.problems);
                let message = "it stands twice in the same object: only one of them can be meant, so leave the other out";
                match node {
                    Some((id, field)) => problems.push_for_node(id, field, code, message),
                    None => problems.push_for_plan(way, code, message),
                }
            }
            draft
        }
        Err(message) => failed(Code::BadJson, message),
    }
}

/// Reads a plan from a JSON value as far as possible.
pub(crate) fn read(value: Value) -> PlanDraft {
    let mut problems = PlanProblems::default();
    let Value::Object(fields) = value else {
        let message = format!(
            "expected an object with nodes and final_output_node, found {}",
            shown_value(&value)
        );
        problems.push_for_plan("", Code::WrongType, message);
        return PlanDraft { problems, ..PlanDraft::default() };
    };
    let mut reader =
        PlanFieldReader { node: None, fields, handled: Vec::new(), problems: &mut problems };
    let final_output_node = reader.required_id("final_output_node").unwrap_or(NodeId::new(0));
    let allow = reader.texts("allow");
    let values = reader.nodes();
    reader.report_misspelt(PLAN_FIELDS);
    let message = "a plan has no such field, only nodes have: write it in each node that it is for";
    reader.report_unsupported(OF_NODES, message);
    let extras = reader.fields;
    let mut stand_ins = UnreadNodes::default();
    let nodes = values
        .into_iter()
        .enumerate()
        .map(|(place, value)| read_node(place, value, &mut problems, &mut stand_ins))
        .collect();
    problems.select_node(None);
    let plan = Plan { nodes, final_output_node, allow, extras };
    PlanDraft { plan: Some(plan), problems, stand_ins }
}

fn read_node(
    place: usize,
    value: Value,
    problems: &mut PlanProblems,
    stand_ins: &mut UnreadNodes,
) -> PlanNode {
    let id = NodeId::at(place);
    let Value::Object(fields) = value else {
        let message = format!("expected an object, found {}", shown_value(&value));
        problems.select_node(None);
        problems.push_for_plan(&format!("nodes[{place}]"), Code::WrongType, message);
        stand_ins.nodes.insert(place);
        stand_ins.ids.insert(place);
        return PlanNode::new(id, String::new(), Value::Null);
    };
    problems.select_node(Some(place));
    let node = fields.get("id").and_then(id_of).unwrap_or(id);
    let mut reader = PlanFieldReader { node: Some(node), fields, handled: Vec::new(), problems };
    let id = reader.required_id("id").unwrap_or_else(|| {
        stand_ins.ids.insert(place);
        id
    });
    let (work, work_fields) = reader.work();
    let depends_on = reader.ids("depends_on");
    let retry = reader.number("retry", RETRY_RANGE).unwrap_or(0);
    let timeout_s = reader.number("timeout", TIMEOUT_RANGE);
    let timeout_s = timeout_s.map(|seconds| u32::try_from(seconds).unwrap_or(NODE_TIMEOUT_S_MAX));
    let on_fail = reader.on_fail();
    let resources = reader.texts("resources");
    let repeat_until = reader.repeat_until();
    reader.report_misspelt(&[NODE_FIELDS, work_fields].concat());
    let foreign: Vec<&str> =
        work::all_work_fields().filter(|field| !work_fields.contains(field)).collect();
    let message = "another kind of node has this field, and this one has not: leave it out";
    reader.report_unsupported(&foreign, message);
    PlanNode {
        id,
        depends_on,
        retry: u8::try_from(retry).unwrap_or(RETRIES_MAX),
        // A plan that names the default is the same plan.
        timeout_s: timeout_s.filter(|seconds| *seconds != work.timeout_s_default()),
        work,
        on_fail,
        resources,
        repeat_until,
        extras: reader.fields,
    }
}

/// The fields of an object that were not read yet. A field that is null counts as left out.
struct PlanFieldReader<'p> {
    node: Option<NodeId>,
    fields: Map<String, Value>,
    /// Fields that were there, or whose absence was reported.
    handled: Vec<&'static str>,
    problems: &'p mut PlanProblems,
}

impl PlanFieldReader<'_> {
    fn take(&mut self, name: &'static str) -> Option<Value> {
        let value = self.fields.shift_remove(name).filter(|value| !value.is_null())?;
        self.handled.push(name);
        Some(value)
    }

    fn report(&mut self, field: &str, code: Code, message: String) {
        self.problems.mark_unread(field);
        let (node, field) = (self.node, field.to_owned());
        self.problems.push(PlanProblem { node, field, code, message });
    }

    fn wrong(&mut self, field: &str, expected: &str, value: &Value) {
        self.report(
            field,
            Code::WrongType,
            format!("expected {expected}, found {}", shown_value(value)),
        );
    }

    fn missing(&mut self, field: &'static str, expected: &str) {
        let whole = if self.node.is_some() { "a node" } else { "a plan" };
        let hint = match self.fields.keys().find(|name| intended_field(name, &[field]).is_some()) {
            Some(name) => format!("write {} as {field}", shortened(name)),
            None => format!("add {expected}"),
        };
        self.handled.push(field);
        let message = format!("{whole} must have it, and it is missing: {hint}");
        self.report(field, Code::MissingField, message);
    }

    fn required_id(&mut self, field: &'static str) -> Option<NodeId> {
        let expected = if self.node.is_some() {
            "the node's place, from 0"
        } else {
            "the id of the node whose output is the plan's"
        };
        let Some(value) = self.take(field) else {
            self.missing(field, expected);
            return None;
        };
        let id = id_of(&value);
        if id.is_none() {
            self.wrong_id(field, &value);
        }
        id
    }

    fn wrong_id(&mut self, field: &str, value: &Value) {
        let number = value.as_f64().filter(|number| number.fract() == 0.0);
        let message = match number {
            Some(number) if number < 0.0 => "ids count from 0".to_owned(),
            Some(_) => {
                let last = PLAN_NODES_MAX - 1;
                format!("a plan has at most {PLAN_NODES_MAX} nodes, so ids go from 0 to {last}")
            }
            None => return self.wrong(field, "the number of a node, as 0", value),
        };
        let message = format!("{message}, found {}", shown_value(value));
        self.report(field, Code::OutOfRange, message);
    }

    fn text(&mut self, field: &'static str) -> Option<String> {
        match self.take(field)? {
            Value::String(text) => Some(text),
            value => {
                self.wrong(field, "text", &value);
                None
            }
        }
    }

    fn nodes(&mut self) -> Vec<Value> {
        match self.take("nodes") {
            None => {
                self.missing("nodes", "a list of nodes");
                Vec::new()
            }
            Some(Value::Array(values)) => values,
            Some(value) => {
                self.wrong("nodes", "a list of nodes", &value);
                Vec::new()
            }
        }
    }

    fn ids(&mut self, field: &'static str) -> Vec<NodeId> {
        let Some(value) = self.take(field) else {
            // A misspelt name of the field is reported, so its value is unknown.
            let is_misspelt =
                self.fields.keys().any(|name| intended_field(name, &[field]).is_some());
            return if is_misspelt { vec![NodeId::UNREAD] } else { Vec::new() };
        };
        let Value::Array(values) = value else {
            self.wrong(field, "a list of ids of nodes, as [0, 1]", &value);
            return vec![NodeId::UNREAD];
        };
        let mut ids = Vec::with_capacity(values.len());
        for (place, value) in values.iter().enumerate() {
            let id = id_of(value);
            if id.is_none() {
                self.wrong_id(&format!("{field}[{place}]"), value);
            }
            ids.push(id.unwrap_or(NodeId::UNREAD));
        }
        ids
    }

    fn texts(&mut self, field: &'static str) -> Vec<String> {
        let values = match self.take(field) {
            None => Vec::new(),
            Some(Value::Array(values)) => values,
            Some(value) => {
                self.wrong(field, "a list of names, as [\"database\"]", &value);
                Vec::new()
            }
        };
        let mut texts = Vec::with_capacity(values.len());
        for (place, value) in values.into_iter().enumerate() {
            match value {
                Value::String(text) => texts.push(text),
                value => {
                    self.wrong(&format!("{field}[{place}]"), "text", &value);
                    texts.push(String::new());
                }
            }
        }
        texts
    }

    fn number(&mut self, field: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let value = self.take(field)?;
        let Some(number) = value.as_f64().filter(|number| number.fract() == 0.0) else {
            let expected = format!("a whole number from {} to {}", range.start(), range.end());
            self.wrong(field, &expected, &value);
            return None;
        };
        let number = whole(number).filter(|whole| range.contains(whole));
        if number.is_none() {
            self.report(field, Code::OutOfRange, out_of_range(&range, &shown_value(&value)));
        }
        number
    }

    fn on_fail(&mut self) -> OnFail {
        match self.take("on_fail") {
            None => OnFail::Halt,
            Some(Value::String(text)) if text == OnFail::Halt.as_str() => OnFail::Halt,
            Some(Value::String(text)) if text == OnFail::Continue.as_str() => OnFail::Continue,
            Some(value) => {
                self.wrong("on_fail", "\"halt\" or \"continue\"", &value);
                OnFail::Halt
            }
        }
    }

    /// Reports fields that look like one that is not there: a misspelt dependency must not be kept as a remark.
    fn report_misspelt(&mut self, known: &[&'static str]) {
        let misspelt: Vec<(String, &str)> = self
            .fields
            .keys()
            .filter_map(|name| Some((name.clone(), intended_field(name, known)?)))
            .filter(|(_, field)| !self.handled.contains(field))
            .collect();
        for (name, field) in misspelt {
            let message = format!("there is no such field: write it as {field}, or leave it out");
            self.report(&name, Code::MisspeltField, message);
            self.problems.mark_unread(field);
        }
    }

    /// Reports fields that would have to change what happens, and cannot: those that plans have not, and `elsewhere` those that
    /// belong to another object, with this message.
    fn report_unsupported(&mut self, elsewhere: &[&str], message_elsewhere: &str) {
        let names: Vec<String> = self.fields.keys().cloned().collect();
        for name in names {
            let message = if elsewhere.contains(&name.as_str()) {
                message_elsewhere
            } else if REPETITIONS.contains(&plain_name(&name).as_ref()) {
                "plans have no such field: a node that is repeated has repeat_until, as {\"path\": \"done\", \
                 \"equals\": true, \"max_iterations\": 5}"
            } else if UNSUPPORTED.contains(&plain_name(&name).as_ref()) {
                "plans have no such field, and nothing like it: leave it out"
            } else {
                continue;
            };
            self.report(&name, Code::UnknownField, message.to_owned());
        }
    }
}

/// Returns the field that a name which is not one was probably meant for.
fn intended_field(name: &str, known: &[&'static str]) -> Option<&'static str> {
    if REMARKS.contains(&name) {
        return None;
    }
    let name = plain_name(name);
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, field)| *field);
    let is_near = |field: &&&'static str| {
        let field = plain_name(field);
        field == name
            || (field.len() >= NEAR_CHARS_MIN && strsim::damerau_levenshtein(&field, &name) == 1)
    };
    alias.filter(|field| known.contains(field)).or_else(|| known.iter().find(is_near).copied())
}

/// Reads an id: a whole number, also where it is written as `2.0` or as text.
fn id_of(value: &Value) -> Option<NodeId> {
    let number = match value {
        Value::Number(number) => match number.as_u64() {
            Some(number) => number,
            None => whole(number.as_f64()?)?,
        },
        Value::String(text) => u64::try_from(index_of(text)?).ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let place = usize::try_from(number).ok().filter(|place| *place < PLAN_NODES_MAX)?;
    Some(NodeId::at(place))
}

/// Returns the integer that a float is, if it is a small one.
fn whole(number: f64) -> Option<u64> {
    // In the ranges that plans have, a float that is whole writes itself as the integer it is.
    Some(number).filter(|number| number.fract() == 0.0).and_then(|n| format!("{n:.0}").parse().ok())
}

/// Says that a number is out of its range.
pub(crate) fn out_of_range(range: &RangeInclusive<u64>, found: &str) -> String {
    format!("expected a whole number from {} to {}, found {found}", range.start(), range.end())
}

#[cfg(test)]
mod tests;
