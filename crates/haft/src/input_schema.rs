//! Checks an input against a tool's schema and says what is wrong in terms that a model can act on: every
//! violation at once, each with its path, what was expected and what was found.

use haft_contract::limits::SCHEMA_ERRORS_MAX;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

/// Longest piece of an input that a message repeats, in characters.
pub(crate) const FOUND_CHARS_MAX: usize = 60;

/// Floats below this hold every integer exactly.
const INTEGRAL_FLOAT_MAX: f64 = 9_007_199_254_740_992.0;

/// A compiled schema of an input.
#[derive(Debug)]
pub(crate) struct InputSchema {
    validator: Validator,
    schema: Value,
}

impl InputSchema {
    /// Compiles `schema`. References to files and hosts are refused.
    pub(crate) fn compile(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::options().build(schema).map_err(|err| err.to_string())?;
        Ok(Self { validator, schema: schema.clone() })
    }

    /// Puts an input into the form that it means: an optional parameter that is null is left out, and an integer that
    /// is written as `1.0` is 1. Models write both.
    pub(crate) fn normalize(&self, input: &mut Value) {
        normalize(&self.schema, input);
    }

    /// Returns a message that lists every violation, or nothing when the input is valid.
    pub(crate) fn violations(&self, input: &Value) -> Option<String> {
        let mut lines = Vec::new();
        for error in self.validator.iter_errors(input) {
            describe(&error, &mut lines);
        }
        if lines.is_empty() {
            return None;
        }
        let more = lines.len().saturating_sub(SCHEMA_ERRORS_MAX);
        lines.truncate(SCHEMA_ERRORS_MAX);
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        Some(lines.join("; "))
    }
}

fn normalize(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return;
            };
            let required = schema.get("required").and_then(Value::as_array);
            let is_required =
                |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
            fields.retain(|name, field| {
                let may_go = |property| !is_required(name) && !accepts_null(property);
                !(field.is_null() && properties.get(name).is_some_and(may_go))
            });
            for (name, field) in fields {
                if let Some(property) = properties.get(name) {
                    normalize(property, field);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| normalize(schema, item));
            }
        }
        Value::Number(number) => {
            if schema.get("type").is_some_and(|name| name == "integer")
                && let Some(whole) =
                    number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)
                && whole.abs() < INTEGRAL_FLOAT_MAX
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "it is whole and small enough to be exact"
                )]
                let integer = whole as i64;
                *value = Value::from(integer);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn accepts_null(property: &Value) -> bool {
    match property.get("type") {
        Some(Value::String(name)) => name == "null",
        Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
        _ => true,
    }
}

fn describe(error: &ValidationError<'_>, lines: &mut Vec<String>) {
    let at = |rest: &str| place(error.instance_path().as_str(), rest);
    match error.kind() {
        ValidationErrorKind::AnyOf { context }
        | ValidationErrorKind::OneOfNotValid { context }
        | ValidationErrorKind::OneOfMultipleValid { context } => match nearest_branch(context) {
            Some(branch) => branch.iter().for_each(|inner| describe(inner, lines)),
            None => lines.push(format!("{}: matches none of the forms allowed", at(""))),
        },
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            lines.push(format!("{}: required, but missing", at(name)));
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            lines.extend(unexpected.iter().map(|name| format!("{}: no such parameter", at(name))));
        }
        kind => lines.push(format!(
            "{}: expected {}, found {}",
            at(""),
            expected(error, kind),
            found(error.instance())
        )),
    }
}

/// Picks the alternative that the input most likely meant: one whose constants all match, then the one with the
/// fewest violations. «Matches none of them» would tell a model nothing.
fn nearest_branch<'a>(
    context: &'a [Vec<ValidationError<'static>>],
) -> Option<&'a Vec<ValidationError<'static>>> {
    let misses_constant = |branch: &Vec<ValidationError<'_>>| {
        branch.iter().any(|error| matches!(error.kind(), ValidationErrorKind::Constant { .. }))
    };
    context
        .iter()
        .filter(|branch| !branch.is_empty())
        .min_by_key(|branch| (misses_constant(branch), branch.len()))
}

/// Writes a JSON pointer and a further name as `a.b[0].c`, or `input` for the whole.
fn place(pointer: &str, rest: &str) -> String {
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
        ValidationErrorKind::MinLength { limit } => format!("at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("at most {limit} characters"),
        ValidationErrorKind::MinItems { limit } => format!("at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("at most {limit} items"),
        ValidationErrorKind::Pattern { pattern } => format!("text that matches {pattern}"),
        ValidationErrorKind::Format { format } => format!("a valid {format}"),
        // The rest is rare in tool schemas; the library's own words do, without the value that they repeat.
        _ => format!("a value where {}", shortened(&error.masked_with("it").to_string())),
    }
}

fn found(instance: &Value) -> String {
    match instance {
        Value::String(text) if text.chars().count() > FOUND_CHARS_MAX => {
            format!("text of {} characters", text.chars().count())
        }
        Value::Array(items) => format!("an array of {} items", items.len()),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            shortened(&instance.to_string())
        }
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(FOUND_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(input: &Value, expect: Expect) {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "maxLength": 10},
                "limit": {"type": "integer", "minimum": 1},
                "todos": {"type": "array", "items": {
                    "type": "object",
                    "properties": {"status": {"enum": ["pending", "done"]}, "priority": {"type": "string"}},
                    "required": ["status"]
                }},
                "shape": {"oneOf": [
                    {"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}},
                     "required": ["kind", "radius"]},
                    {"type": "object", "properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
                     "required": ["kind", "side"]}
                ]}
            },
            "required": ["path"],
            "additionalProperties": false
        });
        let compiled = InputSchema::compile(&schema).unwrap();
        let mut input = input.clone();
        compiled.normalize(&mut input);
        expect.assert_eq(&compiled.violations(&input).unwrap_or_default());
    }

    #[test]
    fn every_violation_is_named_with_its_path() {
        check(&json!({"path": "a", "limit": null}), expect![[""]]);
        check(&json!({"path": "a", "limit": 3.0}), expect![[""]]);
        check(&json!({"path": "a", "limit": 3.5}), expect!["limit: expected integer, found 3.5"]);
        check(
            &json!({"path": "a", "todos": [{"status": "done", "priority": null}]}),
            expect![[""]],
        );
        check(&json!({"path": null}), expect!["path: expected string, found null"]);
        check(
            &json!({"limit": 0, "pth": "x", "path": 3}),
            expect![
                "limit: expected at least 1, found 0; path: expected string, found 3; pth: no such parameter"
            ],
        );
        check(
            &json!({"path": "a", "todos": [{}, {"status": "finished"}]}),
            expect![[
                r#"todos[0].status: required, but missing; todos[1].status: expected one of ["pending","done"], found "finished""#
            ]],
        );
        check(
            &json!({"path": "a", "shape": {"kind": "square", "side": "wide"}}),
            expect![[r#"shape.side: expected number, found "wide""#]],
        );
        check(
            &json!({"path": "a".repeat(200)}),
            expect!["path: expected at most 10 characters, found text of 200 characters"],
        );
        check(&json!("text"), expect![[r#"input: expected object, found "text""#]]);
    }

    #[test]
    fn the_list_of_violations_is_bounded() {
        let schema = json!({"type": "array", "items": {"type": "integer"}});
        let compiled = InputSchema::compile(&schema).unwrap();
        let message =
            compiled.violations(&json!(vec!["x"; SCHEMA_ERRORS_MAX + 5])).unwrap_or_default();
        assert_eq!(message.matches("expected integer").count(), SCHEMA_ERRORS_MAX);
        assert!(message.ends_with("and 5 more"), "{message}");
    }
}
