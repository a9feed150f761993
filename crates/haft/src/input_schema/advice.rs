//! The words about an input that a schema refuses: the parameters that there are, and the one that was probably meant.

use std::collections::HashSet;

use haft_contract::{Tool, UsedAlias};
use serde_json::Value;

use super::effort::part_at;
use super::violations::{InputViolation, InputViolationKind, place};
use crate::suggestions::near_matches;

/// Parameters that a message lists.
const PARAMETERS_LISTED_MAX: usize = 16;
/// Longest value that a message takes as its example, in bytes.
const EXAMPLE_BYTES_MAX: usize = 60;

/// The names of parameters that a message uses beside those of the schema.
#[derive(Clone, Copy, Default)]
pub(crate) struct ParameterNames<'n> {
    /// The names that the caller sent for parameters of the tool.
    pub(crate) used: &'n [UsedAlias],
    /// The tool, which knows some parameters that it does not have.
    pub(crate) tool: Option<&'n Tool>,
}

/// Gives advice about the violations of one input. The parameters of an object are listed once.
pub(super) struct ViolationAdvice<'s> {
    schema: &'s Value,
    input: &'s Value,
    names: &'s ParameterNames<'s>,
    listed: HashSet<String>,
}

impl<'s> ViolationAdvice<'s> {
    pub(super) fn new(schema: &'s Value, input: &'s Value, names: &'s ParameterNames<'s>) -> Self {
        Self { schema, input, names, listed: HashSet::new() }
    }

    /// Returns a violation in words, with advice. A parameter has the name that the caller sent.
    pub(super) fn line(&mut self, violation: &InputViolation) -> String {
        let advice = self.of(violation);
        if let InputViolationKind::Unfit(text) = &violation.kind {
            let parameter = place(&violation.pointer, "");
            if let Some(alias) = self.names.used.iter().find(|alias| alias.parameter == parameter) {
                return format!("{}: {text}{advice}", alias.name);
            }
        }
        format!("{violation}{advice}")
    }

    /// Returns the advice that follows a violation; nothing if the violation says all.
    fn of(&mut self, violation: &InputViolation) -> String {
        let names = self.parameters(&violation.pointer);
        match &violation.kind {
            InputViolationKind::Unknown(name) => {
                let known = self.names.tool.filter(|_| violation.pointer.is_empty());
                if let Some(advice) = known.and_then(|tool| tool.advice_about(name)) {
                    return format!(": {advice}");
                }
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
                let object = self.place(&violation.pointer);
                format!(": give an object with {}", object.map(properties_text).unwrap_or_default())
            }
            InputViolationKind::Missing(name) => {
                self.property(&violation.pointer, name).map(|it| self.form(it)).unwrap_or_default()
            }
            InputViolationKind::Unfit(_) => {
                let found = self.input.pointer(&violation.pointer);
                let is_array = found.is_some_and(Value::is_array);
                let wanted = self.place(&violation.pointer).filter(|_| !is_array);
                let Some(wanted) = wanted.filter(|it| it.get("items").is_some()) else {
                    return String::new();
                };
                // An array of texts was meant, and one text is there.
                let is_of_texts = self.meant(&wanted["items"])["type"] == "string";
                match found.filter(|found| is_of_texts && found.is_string()) {
                    Some(text) if text.to_string().len() <= EXAMPLE_BYTES_MAX => {
                        format!(": give an array, such as [{text}]")
                    }
                    _ => self.form(wanted),
                }
            }
        }
    }

    /// Returns the form of a parameter whose type alone does not say it: its values, or the parameters of its items.
    fn form(&self, schema: &'s Value) -> String {
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            return match values.is_empty() {
                true => String::new(),
                false => format!(": give one of {}", listed(&values)),
            };
        }
        let items = schema.get("items").map(|items| self.meant(items));
        match items.map(properties_text).filter(|names| !names.is_empty()) {
            Some(names) => format!(": give an array of objects with {names}"),
            None => String::new(),
        }
    }

    /// Returns the schema of a parameter of the object at a place of the input.
    fn property(&self, pointer: &str, name: &str) -> Option<&'s Value> {
        let property = self.place(pointer)?.get("properties")?.get(name)?;
        Some(self.meant(property))
    }

    fn found_object(&self, pointer: &str) -> bool {
        self.input.pointer(pointer).is_some_and(Value::is_object)
    }

    /// Returns the names of the parameters of the object at a place of the input.
    fn parameters(&self, pointer: &str) -> Vec<&'s str> {
        let place = self.place(pointer);
        let properties = place.and_then(|it| it.get("properties")).and_then(Value::as_object);
        properties.into_iter().flat_map(|all| all.keys()).map(String::as_str).collect()
    }

    /// Returns the schema of a place of the input.
    fn place(&self, pointer: &str) -> Option<&'s Value> {
        let mut place = self.meant(self.schema);
        for name in pointer.split('/').skip(1) {
            let name = name.replace("~1", "/").replace("~0", "~");
            let property = place.get("properties").and_then(|all| all.get(&name));
            place = self.meant(property.or_else(|| place.get("items"))?);
        }
        Some(place)
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

/// Returns the names of the parameters of an object, those that may be left out with `?`.
fn properties_text(object: &Value) -> String {
    let required: Vec<&str> = match object.get("required").and_then(Value::as_array) {
        Some(names) => names.iter().filter_map(Value::as_str).collect(),
        None => Vec::new(),
    };
    let marked = |name: &String| match required.contains(&name.as_str()) {
        true => name.clone(),
        false => format!("{name}?"),
    };
    let properties = object.get("properties").and_then(Value::as_object);
    let names: Vec<String> =
        properties.into_iter().flat_map(|all| all.keys()).map(marked).collect();
    listed(&names)
}

fn listed(names: &[impl AsRef<str>]) -> String {
    let shown: Vec<&str> = names.iter().take(PARAMETERS_LISTED_MAX).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(PARAMETERS_LISTED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
