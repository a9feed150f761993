//! Counts the steps that checking one input takes, before it is checked. If a part of a schema refers twice to itself
//! for the same value, each level of the input doubles the time, and a running check cannot be stopped. This module
//! visits each pair of a schema part and an input part once, so counting takes no longer than the number of pairs. It
//! does not say whether the input is valid: it counts a part even where a keyword may skip it.

use std::collections::HashMap;
use std::ptr;

use serde_json::{Map, Value};

/// Steps of checking an input against its schema.
///
/// Limit (calls): the input is refused.
pub(crate) const INPUT_STEPS_MAX: u64 = 1_000_000;
/// Nesting of a tool's schema that is followed.
///
/// Limit (calls): the input is refused.
pub(crate) const INPUT_DEPTH_MAX: usize = 1_000;

/// Keywords whose schemas are about what the schema around them is about.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "else", "if", "not", "oneOf", "then"];
/// Keywords that go through the in-place schemas once more.
const ONCE_MORE: [&str; 2] = ["unevaluatedItems", "unevaluatedProperties"];
/// Keywords that refer to a part by a separate name.
const BY_NAME: [&str; 2] = ["$dynamicRef", "$recursiveRef"];

/// A stand-in for the name of a property; a name has no parts.
static NAME: Value = Value::Null;

/// The facts about a schema that do not depend on an input.
#[derive(Debug)]
pub(super) struct SchemaEffort {
    /// The number of values in the schema, including nested ones.
    parts: u64,
    /// Whether the schema contains a reference. Only then can validation visit a part more than once.
    refers: bool,
}

impl SchemaEffort {
    /// Returns these facts about a schema.
    pub(super) fn of(schema: &Value) -> Self {
        Self { parts: parts(schema), refers: refers(schema) }
    }

    /// Returns whether checking the input takes too many steps.
    pub(super) fn is_too_much(&self, schema: &Value, input: &Value) -> bool {
        // Without references each part is about each part of an input once, at most.
        if !self.refers && self.parts.saturating_mul(parts(input)) <= INPUT_STEPS_MAX {
            return false;
        }
        let mut names = Vec::new();
        named(schema, &mut names);
        let mut counter = InputStepCounter { schema, names, known: HashMap::new(), depth: 0 };
        counter.steps(schema, input) > INPUT_STEPS_MAX
    }
}

/// Returns the number of values in a value, including itself.
fn parts(value: &Value) -> u64 {
    let within: u64 = match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(fields) => fields.values().map(parts).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    within + 1
}

/// Returns whether the schema or a part of it contains a reference.
fn refers(schema: &Value) -> bool {
    match schema {
        Value::Array(items) => items.iter().any(refers),
        Value::Object(keywords) => {
            let is_reference = |name: &String| name == "$ref" || BY_NAME.contains(&name.as_str());
            keywords.keys().any(is_reference) || keywords.values().any(refers)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Collects the parts of a schema that have names of their own.
fn named<'s>(schema: &'s Value, names: &mut Vec<&'s Value>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| named(item, names)),
        Value::Object(keywords) => {
            let naming = ["$id", "id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];
            if naming.iter().any(|name| keywords.contains_key(*name)) {
                names.push(schema);
            }
            keywords.values().for_each(|value| named(value, names));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Counts the steps of validating one input, and stops at the bound.
struct InputStepCounter<'s> {
    /// The whole schema, in which references are looked up.
    schema: &'s Value,
    /// The parts that have names of their own.
    names: Vec<&'s Value>,
    /// The steps of each pair of a part of the schema and a part of the input; nothing while they are being counted.
    known: HashMap<(*const Value, *const Value), Option<u64>>,
    /// How many parts are being counted.
    depth: usize,
}

impl<'s> InputStepCounter<'s> {
    /// Returns how many steps it takes to check a part of the input against a part of the schema.
    fn steps(&mut self, part: &'s Value, value: &Value) -> u64 {
        let Value::Object(keywords) = part else { return 1 };
        let pair = (ptr::from_ref(part), ptr::from_ref(value));
        match self.known.get(&pair) {
            Some(Some(steps)) => return *steps,
            // A reference loop that does not go deeper into the input can branch without limit.
            Some(None) => return u64::MAX,
            None => {}
        }
        let is_much = u64::try_from(self.known.len()).is_ok_and(|pairs| pairs >= INPUT_STEPS_MAX);
        if is_much || self.depth == INPUT_DEPTH_MAX {
            return u64::MAX;
        }
        self.known.insert(pair, None);
        self.depth += 1;
        let mut steps = 0_u64;
        for (keyword, schema) in keywords {
            let more = match (keyword.as_str(), schema) {
                ("$ref", Value::String(target)) => match target.strip_prefix('#') {
                    Some(path) if path.is_empty() || path.starts_with('/') => {
                        // A dangling reference makes the schema invalid; the schema check reports it.
                        part_at(self.schema, path).map_or(1, |part| self.steps(part, value))
                    }
                    Some(_) | None => self.by_name(target, value),
                },
                (keyword, Value::String(target)) if BY_NAME.contains(&keyword) => {
                    self.by_name(target, value)
                }
                ("dependencies" | "dependentSchemas", Value::Object(schemas)) => {
                    self.all(schemas.values(), value)
                }
                (keyword, Value::Array(schemas)) if IN_PLACE.contains(&keyword) => {
                    self.all(schemas.iter(), value)
                }
                (keyword, schema) if IN_PLACE.contains(&keyword) => self.steps(schema, value),
                // The others are no schemas, or are about what is within.
                (_, Value::Array(items)) => u64::try_from(items.len()).unwrap_or(u64::MAX),
                (_, _) => 1,
            };
            steps = steps.saturating_add(more);
        }
        let times = if ONCE_MORE.iter().any(|name| keywords.contains_key(*name)) { 2 } else { 1 };
        let within = self.within(keywords, value);
        let steps = steps.saturating_mul(times).saturating_add(1).saturating_add(within);
        self.depth -= 1;
        self.known.insert(pair, Some(steps));
        steps
    }

    /// Counts the keywords that apply to the fields or items of a value.
    fn within(&mut self, keywords: &'s Map<String, Value>, value: &Value) -> u64 {
        let mut steps = 0_u64;
        match value {
            Value::Object(fields) => {
                let properties = keywords.get("properties").and_then(Value::as_object);
                for (name, field) in fields {
                    let property = properties.and_then(|properties| properties.get(name));
                    // A field with its own property schema is not an additional or unevaluated one.
                    let others = ["additionalProperties", "unevaluatedProperties"].iter();
                    let others = others
                        .filter(|_| property.is_none())
                        .filter_map(|name| keywords.get(*name));
                    let patterns = keywords.get("patternProperties").and_then(Value::as_object);
                    let patterns = patterns.into_iter().flat_map(Map::values);
                    let all = property.into_iter().chain(others).chain(patterns);
                    steps = steps.saturating_add(self.all(all, field)).saturating_add(1);
                    if let Some(schema) = keywords.get("propertyNames") {
                        steps = steps.saturating_add(self.steps(schema, &NAME));
                    }
                }
            }
            Value::Array(items) => {
                let of_items =
                    ["additionalItems", "contains", "items", "prefixItems", "unevaluatedItems"];
                for (at, item) in items.iter().enumerate() {
                    for keyword in of_items {
                        let more = match keywords.get(keyword) {
                            Some(Value::Array(schemas)) => {
                                self.all(schemas.get(at).into_iter(), item)
                            }
                            Some(schema) => self.steps(schema, item),
                            None => 0,
                        };
                        steps = steps.saturating_add(more);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        steps
    }

    /// Counts the steps of validating one value against several schemas.
    fn all(&mut self, schemas: impl Iterator<Item = &'s Value>, value: &Value) -> u64 {
        schemas.fold(0, |steps, schema| steps.saturating_add(self.steps(schema, value)))
    }

    /// Counts a part that is referred to by a name, whichever of those takes longest that the name may mean.
    fn by_name(&mut self, target: &str, value: &Value) -> u64 {
        let ids = |part: &'s Value| {
            ["$id", "id"].into_iter().filter_map(move |name| part.get(name)?.as_str())
        };
        // Only the last name of an address counts, because addresses may be relative.
        let last = |address: &str| -> Option<String> {
            address.trim_end_matches('#').rsplit('/').next().map(str::to_owned)
        };
        let is_called =
            |part: &'s Value, document: &str| ids(part).any(|id| last(id) == last(document));
        let has_anchor = |part: &'s Value, name: &str| {
            let keys = ["$anchor", "$dynamicAnchor"].into_iter();
            let mut anchors = keys
                .filter_map(|key| part.get(key)?.as_str())
                .chain(ids(part).filter_map(|id| Some(id.split_once('#')?.1)));
            anchors.any(|anchor| anchor == name)
        };
        let (document, fragment) = target.split_once('#').unwrap_or((target, ""));
        let mut meant: Vec<&'s Value> = match document.is_empty() {
            true => self.names.iter().copied().chain([self.schema]).collect(),
            false => self.names.iter().copied().filter(|part| is_called(part, document)).collect(),
        };
        if fragment.starts_with('/') {
            meant = meant.into_iter().filter_map(|part| part_at(part, fragment)).collect();
        } else if !fragment.is_empty() {
            meant = self.names.iter().copied().filter(|part| has_anchor(part, fragment)).collect();
        }
        meant.into_iter().map(|part| self.steps(part, value)).max().unwrap_or(1)
    }
}

/// Returns the part of a schema that a reference by a path leads to; the path is what follows the `#`.
pub fn part_at<'s>(schema: &'s Value, path: &str) -> Option<&'s Value> {
    schema.pointer(&decoded(path))
}

/// Returns a path without the escapes of addresses.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *byte == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
