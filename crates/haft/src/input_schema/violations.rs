//! Lists the violations of an input: the place, the expected value and the value found.

use std::collections::HashMap;
use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::FOUND_CHARS_MAX;

/// One thing that an input violates. Written out, it is a line of a message: `items[0].size: required, but missing`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputViolation {
    /// The object or value that it is about, as a JSON pointer.
    pub pointer: String,
    /// The kind of violation.
    pub kind: InputViolationKind,
}

/// A kind of violation at one part of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputViolationKind {
    /// A parameter of this name is required.
    Missing(String),
    /// There is no parameter of this name.
    Unknown(String),
    /// The value is not what was expected: what was, and what was found.
    Unfit(String),
}

/// The possible values of a place whose value is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenValue {
    /// It may become anything.
    AnyType,
    /// It becomes some text.
    Text,
}

/// The places of an input that values are yet to be put into, by JSON pointer.
pub type OpenValues = HashMap<String, OpenValue>;

/// Returns the violations of `input` that no value in its open places can resolve.
pub(super) fn find(validator: &Validator, input: &Value, open: &OpenValues) -> Vec<InputViolation> {
    let mut found = ViolationCollector { list: Vec::new(), open };
    for error in validator.iter_errors(input) {
        found.describe(&error);
    }
    found.list
}

/// Collects the violations of one input.
struct ViolationCollector<'o> {
    /// The violations, in the order in which the validator reports them.
    list: Vec<InputViolation>,
    /// The places of the input whose values are not known yet.
    open: &'o OpenValues,
}

impl ViolationCollector<'_> {
    /// Adds the violations of one error. An error of a choice adds those of its best alternative.
    fn describe(&mut self, error: &ValidationError<'_>) {
        if self.may_be_resolved(error) {
            return;
        }
        match error.kind() {
            ValidationErrorKind::AnyOf { context }
            | ValidationErrorKind::OneOfNotValid { context }
            | ValidationErrorKind::OneOfMultipleValid { context } => {
                // The alternative that the input most likely meant: one whose constants all match, then the one with
                // the fewest violations. «Matches none of them» would not help a model.
                let misses_constant = |branch: &Vec<ValidationError<'_>>| {
                    let is_constant = |error: &ValidationError<'_>| {
                        matches!(error.kind(), ValidationErrorKind::Constant { .. })
                    };
                    branch.iter().any(|error| is_constant(error) && !self.may_be_resolved(error))
                };
                let nearest = context
                    .iter()
                    .filter(|branch| !branch.is_empty())
                    .min_by_key(|branch| (misses_constant(branch), branch.len()));
                match nearest {
                    Some(branch) => branch.iter().for_each(|inner| self.describe(inner)),
                    None => {
                        let text = "matches none of the forms allowed".to_owned();
                        self.push(error, InputViolationKind::Unfit(text));
                    }
                }
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default().to_owned();
                self.push(error, InputViolationKind::Missing(name));
            }
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                for name in unexpected {
                    self.push(error, InputViolationKind::Unknown(name.clone()));
                }
            }
            kind => {
                let (wanted, found) = (expected(error, kind), shown_value(error.instance()));
                self.push(
                    error,
                    InputViolationKind::Unfit(format!("expected {wanted}, found {found}")),
                );
            }
        }
    }

    /// Adds a violation at the place of an error.
    fn push(&mut self, error: &ValidationError<'_>, what: InputViolationKind) {
        let pointer = error.instance_path().as_str().to_owned();
        self.list.push(InputViolation { pointer, kind: what });
    }

    /// Returns whether the violation may be gone once the open places are filled.
    fn may_be_resolved(&self, error: &ValidationError<'_>) -> bool {
        if self.open.is_empty() {
            return false;
        }
        let pointer = error.instance_path().as_str();
        match (error.kind(), self.open.get(pointer)) {
            (_, Some(OpenValue::AnyType)) => true,
            // A text stays a text, but which one is not known.
            (ValidationErrorKind::Type { .. }, Some(OpenValue::Text)) => false,
            (_, Some(OpenValue::Text)) => true,
            (
                ValidationErrorKind::AnyOf { context }
                | ValidationErrorKind::OneOfNotValid { context }
                | ValidationErrorKind::OneOfMultipleValid { context },
                None,
            ) => {
                context.iter().any(|branch| branch.iter().all(|inner| self.may_be_resolved(inner)))
            }
            // These keywords do not depend on the values inside. Equal texts become equal values.
            (
                ValidationErrorKind::Required { .. }
                | ValidationErrorKind::AdditionalProperties { .. }
                | ValidationErrorKind::UnevaluatedProperties { .. }
                | ValidationErrorKind::Type { .. }
                | ValidationErrorKind::MinItems { .. }
                | ValidationErrorKind::MaxItems { .. }
                | ValidationErrorKind::MinProperties { .. }
                | ValidationErrorKind::MaxProperties { .. }
                | ValidationErrorKind::PropertyNames { .. }
                | ValidationErrorKind::UniqueItems,
                None,
            ) => false,
            (_, None) => {
                let mut open = self.open.keys().filter_map(|other| other.strip_prefix(pointer));
                open.any(|rest| rest.starts_with('/'))
            }
        }
    }
}

impl fmt::Display for InputViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            InputViolationKind::Missing(name) => {
                write!(f, "{}: required, but missing", place(&self.pointer, name))
            }
            InputViolationKind::Unknown(name) => {
                write!(f, "{}: no such parameter", place(&self.pointer, name))
            }
            InputViolationKind::Unfit(text) => write!(f, "{}: {text}", place(&self.pointer, "")),
        }
    }
}

/// Writes a JSON pointer and a further name as `a.b[0].c`, or `input` for the whole.
pub(super) fn place(pointer: &str, rest: &str) -> String {
    let mut text = String::new();
    let names = pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"));
    for name in names.chain((!rest.is_empty()).then(|| rest.to_owned())) {
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push_str(&format!("[{name}]"));
        } else {
            let dot = if text.is_empty() { "" } else { "." };
            text.push_str(&format!("{dot}{}", shortened(&name)));
        }
    }
    if text.is_empty() { "input".to_owned() } else { text }
}

/// Returns what the schema wants instead of the value that was found.
fn expected(error: &ValidationError<'_>, kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Type { kind: TypeKind::Single(name) } => name.to_string(),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(names) } => {
            names.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(" or ")
        }
        ValidationErrorKind::Enum { options } => format!("one of {options}"),
        ValidationErrorKind::Constant { expected_value } => expected_value.to_string(),
        ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        ValidationErrorKind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        ValidationErrorKind::MinLength { limit } => {
            format!("at least {}", counted(*limit, "character"))
        }
        ValidationErrorKind::MaxLength { limit } => {
            format!("at most {}", counted(*limit, "character"))
        }
        ValidationErrorKind::MinItems { limit } => format!("at least {}", counted(*limit, "item")),
        ValidationErrorKind::MaxItems { limit } => format!("at most {}", counted(*limit, "item")),
        ValidationErrorKind::Pattern { pattern } => format!("text that matches {pattern}"),
        ValidationErrorKind::Format { format } => format!("a valid {format}"),
        // The rest is rare in tool schemas; the library's own words do, without the value that they repeat.
        _ => format!("a value where {}", shortened(&error.masked_with("it").to_string())),
    }
}

/// Returns a number with its noun, in the singular or the plural.
fn counted(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}

/// Writes a value for a message: shortened, and what is long only by its size.
pub fn shown_value(value: &Value) -> String {
    match value {
        Value::String(text) if text.chars().count() > FOUND_CHARS_MAX => {
            format!("text of {} characters", text.chars().count())
        }
        Value::Array(items) => {
            let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
            format!("an array of {}", counted(count, "item"))
        }
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            shortened(&value.to_string())
        }
    }
}

/// Returns the beginning of a text for a message, which says that it was cut.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(FOUND_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
