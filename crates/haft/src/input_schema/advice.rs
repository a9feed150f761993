//! The words about an input that a schema refuses: the parameters that there are, and the one that was probably meant.

use std::collections::HashSet;

use serde_json::Value;

use super::effort::part_at;
use super::violations::{InputViolation, InputViolationKind};
use crate::suggestions::near_matches;

/// Parameters that a message lists.
const PARAMETERS_LISTED_MAX: usize = 16;

/// Gives advice about the violations of one input. The parameters of an object are listed once.
pub(super) struct ViolationAdvice<'s> {
    schema: &'s Value,
    input: &'s Value,
    listed: HashSet<String>,
}

impl<'s> ViolationAdvice<'s> {
    pub(super) fn new(schema: &'s Value, input: &'s Value) -> Self {
        Self { schema, input, listed: HashSet::new() }
    }

    /// Returns the advice that follows a violation; nothing if the violation says all.
    pub(super) fn of(&mut self, violation: &InputViolation) -> String {
        let names = self.parameters(&violation.pointer);
        match &violation.kind {
            InputViolationKind::Unknown(name) => {
                let near = near_matches(name, names.iter().copied());
                let mut advice = String::new();
                if self.listed.insert(violation.pointer.clone()) {
                    advice.push_str(&match (names.as_slice(), violation.pointer.is_empty()) {
                        ([], _) => ": leave it out".to_owned(),
                        (names, true) => format!(": the tool has {}", listed(names)),
                        (names, false) => format!(": there are {}", listed(names)),
                    });
                }
                if !near.is_empty() {
                    advice.push_str(&format!("; did you mean {}?", near.join(" or ")));
                }
                advice
            }
            // An object was expected here, and something else was found.
            InputViolationKind::Unfit(_)
                if !names.is_empty() && !self.found_object(&violation.pointer) =>
            {
                format!(": give an object with {}", listed(&names))
            }
            InputViolationKind::Missing(_) | InputViolationKind::Unfit(_) => String::new(),
        }
    }

    fn found_object(&self, pointer: &str) -> bool {
        self.input.pointer(pointer).is_some_and(Value::is_object)
    }

    /// Returns the names of the parameters of the object at a place of the input.
    fn parameters(&self, pointer: &str) -> Vec<&'s str> {
        let mut place = self.meant(self.schema);
        for name in pointer.split('/').skip(1) {
            let name = name.replace("~1", "/").replace("~0", "~");
            let property = place.get("properties").and_then(|all| all.get(&name));
            let Some(within) = property.or_else(|| place.get("items")) else { return Vec::new() };
            place = self.meant(within);
        }
        let properties = place.get("properties").and_then(Value::as_object);
        properties.into_iter().flat_map(|all| all.keys()).map(String::as_str).collect()
    }

    /// Returns the schema that a reference or a choice leads to.
    fn meant(&self, schema: &'s Value) -> &'s Value {
        let target = schema.get("$ref").and_then(Value::as_str);
        if let Some(part) = target.and_then(|it| part_at(self.schema, it.strip_prefix('#')?)) {
            return part;
        }
        let choices = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
        let mut choices = choices.into_iter().flatten().filter(|one| one.is_object());
        match choices.find(|one| one.get("properties").is_some() || one.get("$ref").is_some()) {
            Some(choice) if choice.get("properties").is_some() => choice,
            Some(choice) => {
                let target = choice.get("$ref").and_then(Value::as_str);
                target.and_then(|it| part_at(self.schema, it.strip_prefix('#')?)).unwrap_or(choice)
            }
            None => schema,
        }
    }
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<&str> = names.iter().take(PARAMETERS_LISTED_MAX).copied().collect();
    match names.len().saturating_sub(PARAMETERS_LISTED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
