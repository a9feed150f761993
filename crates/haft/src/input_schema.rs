//! Checks an input against a tool's schema and says what is wrong in terms that a model can act on: every
//! violation at once, each with its path, what was expected and what was found. Where a driver has yet to put values into
//! an input, what they will be is left open and everything around them is checked.

mod advice;
mod effort;
mod normal;
mod violations;

use haft_contract::limits::SCHEMA_ERRORS_MAX;
use jsonschema::{Draft, ValidationOptions, Validator};
use serde_json::Value;

pub(crate) use advice::ParameterNames;
use advice::ViolationAdvice;
pub(crate) use effort::INPUT_STEPS_MAX;
use effort::SchemaEffort;
pub use effort::part_at;
pub use violations::{InputViolation, InputViolationKind, OpenValue, OpenValues, shown_value};

/// Longest piece of an input that a message repeats, in characters.
pub(crate) const FOUND_CHARS_MAX: usize = 60;

/// A compiled schema of an input.
#[derive(Debug)]
pub struct InputSchema {
    /// The compiled schema, which finds violations.
    validator: Validator,
    /// The schema as the tool declares it.
    schema: Value,
    /// The facts about the schema from which the effort of checking an input is estimated.
    effort: SchemaEffort,
}

impl InputSchema {
    /// Compiles a JSON Schema.
    ///
    /// # Errors
    ///
    /// Says why the schema is not valid, or that it refers to a file or a host.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        Self::build(&jsonschema::options(), schema)
    }

    /// Compiles a schema that was generated from a Rust type, which then parses the input as well. Such schemas mean the same in
    /// draft 7, except for tuples. The compiler first checks a schema by the schema of its draft. Draft 7 has a small one; to
    /// prepare the one of 2020-12 takes longer than all else in a first call.
    pub(crate) fn compile_generated(schema: &Value) -> Result<Self, String> {
        Self::build(&jsonschema::options().with_draft(Draft::Draft7), schema)
    }

    fn build(options: &ValidationOptions, schema: &Value) -> Result<Self, String> {
        let validator = options.build(schema).map_err(|err| err.to_string())?;
        Ok(Self { validator, schema: schema.clone(), effort: SchemaEffort::of(schema) })
    }

    /// Returns the schema as it was written.
    pub fn as_json(&self) -> &Value {
        &self.schema
    }

    /// Puts an input into the form that it means: an optional parameter that is null is left out, and an integer that
    /// is written as `1.0` is 1. Models write both.
    pub fn normalize(&self, input: &mut Value) {
        normal::normalize(&self.schema, input);
    }

    /// Returns the violations of a [normal](InputSchema::normalize) `input` that no value in its open places can
    /// resolve.
    pub fn violations(&self, input: &Value, open: &OpenValues) -> Vec<InputViolation> {
        if self.effort.is_too_much(&self.schema, input) {
            return vec![too_expensive()];
        }
        // Most inputs are valid as they are written; only to say what is wrong takes time.
        if self.validator.is_valid(input) {
            return Vec::new();
        }
        let mut input = input.clone();
        self.normalize(&mut input);
        violations::find(&self.validator, &input, open)
    }

    /// Returns a message that lists every violation of a normal input, or nothing when it is valid. It uses the names of `names`.
    pub(crate) fn violation_message(
        &self,
        input: &Value,
        names: &ParameterNames<'_>,
    ) -> Option<String> {
        if self.effort.is_too_much(&self.schema, input) {
            return Some(too_expensive().to_string());
        }
        if self.validator.is_valid(input) {
            return None;
        }
        let found = violations::find(&self.validator, input, &OpenValues::default());
        let more = found.len().saturating_sub(SCHEMA_ERRORS_MAX);
        let mut advice = ViolationAdvice::new(&self.schema, input, names);
        let shown = found.iter().take(SCHEMA_ERRORS_MAX);
        let mut lines: Vec<String> = shown.map(|violation| advice.line(violation)).collect();
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        (!lines.is_empty()).then(|| lines.join("; "))
    }
}

/// Returns the violation of an input whose validation would take too long.
fn too_expensive() -> InputViolation {
    let what = format!(
        "expected what can be checked against the schema of the tool in {INPUT_STEPS_MAX} steps, found more: give less, or \
         less within each other"
    );
    InputViolation { pointer: String::new(), kind: InputViolationKind::Unfit(what) }
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
        expect.assert_eq(
            &compiled.violation_message(&input, &ParameterNames::default()).unwrap_or_default(),
        );
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
                "limit: expected at least 1, found 0; path: expected string, found 3; pth: no such parameter: the tool has path, limit, todos, shape; did you mean path?"
            ],
        );
        check(
            &json!({"path": "a", "todos": [{}, {"status": "finished"}]}),
            expect![[
                r#"todos[0].status: required, but missing: give one of pending, done; todos[1].status: expected one of ["pending","done"], found "finished""#
            ]],
        );
        check(
            &json!({"path": "a", "shape": {"kind": "square", "side": "wide"}}),
            expect![[r#"shape.side: expected number, found "wide""#]],
        );
        check(
            &json!({"path": "a", "zzz": 1, "limitt": 1}),
            expect![
                "zzz: no such parameter: the tool has path, limit, todos, shape; limitt: no such parameter; did you mean limit?"
            ],
        );
        check(
            &json!({"path": "a", "todos": ["a"]}),
            expect![[
                r#"todos[0]: expected object, found "a": give an object with status, priority?"#
            ]],
        );
        check(
            &json!({"path": "a".repeat(200)}),
            expect!["path: expected at most 10 characters, found text of 200 characters"],
        );
        check(
            &json!("text"),
            expect![[
                r#"input: expected object, found "text": give an object with path, limit?, todos?, shape?"#
            ]],
        );
    }

    #[test]
    fn the_list_of_violations_is_bounded() {
        let schema = json!({"type": "array", "items": {"type": "integer"}});
        let compiled = InputSchema::compile(&schema).unwrap();
        let message = compiled
            .violation_message(&json!(vec!["x"; SCHEMA_ERRORS_MAX + 5]), &ParameterNames::default())
            .unwrap_or_default();
        assert_eq!(message.matches("expected integer").count(), SCHEMA_ERRORS_MAX);
        assert!(message.ends_with("and 5 more"), "{message}");
    }
}
