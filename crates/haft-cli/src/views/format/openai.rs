//! Tools as OpenAI takes them in the field `tools` of `POST /v1/chat/completions`.
//!
//! In strict mode the model can only write inputs that satisfy the schema. Strict mode requires every parameter, so an optional
//! one becomes one that may be null; haft reads null as an omitted parameter. Keywords that strict mode does not know are left
//! out where they only narrow the values, because haft checks every input. A schema that cannot be written so stays as it is.

use haft_contract::Contract;
use serde_json::{Map, Value, json};

/// Keywords that strict mode keeps as they are.
const KEPT: [&str; 12] = [
    "$ref",
    "const",
    "description",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "multipleOf",
    "type",
];
/// Keywords that only describe or narrow values. Strict mode refuses them.
const LEFT_OUT: [&str; 12] = [
    "$schema",
    "default",
    "deprecated",
    "examples",
    "format",
    "maxLength",
    "maxProperties",
    "minLength",
    "minProperties",
    "pattern",
    "title",
    "uniqueItems",
];

/// Returns a tool with its own schema.
pub(super) fn tool(contract: &Contract) -> Value {
    let parameters = contract.parameters.clone();
    json!({ "type": "function", "function": function(contract, parameters) })
}

/// Returns a tool in strict mode, if its schema can be written for it.
pub(super) fn strict_tool(contract: &Contract) -> Value {
    let strict = strict_schema(&contract.parameters);
    let is_strict = strict.is_some();
    let mut function = function(contract, strict.unwrap_or_else(|| contract.parameters.clone()));
    function.insert("strict".to_owned(), is_strict.into());
    json!({ "type": "function", "function": function })
}

fn function(contract: &Contract, parameters: Value) -> Map<String, Value> {
    Map::from_iter([
        ("name".to_owned(), contract.id.wire_name().into()),
        ("description".to_owned(), contract.description.as_str().into()),
        ("parameters".to_owned(), parameters),
    ])
}

/// Returns a schema as strict mode takes it; nothing if it has no such form.
fn strict_schema(schema: &Value) -> Option<Value> {
    let fields = schema.as_object()?;
    let mut strict = Map::new();
    for (key, value) in fields {
        let value = match key.as_str() {
            "properties" => strict_properties(fields, value.as_object()?)?,
            "$defs" | "definitions" => {
                let schemas = value.as_object()?.iter();
                let each = schemas.map(|(name, it)| Some((name.clone(), strict_schema(it)?)));
                Value::Object(each.collect::<Option<_>>()?)
            }
            "items" => strict_schema(value)?,
            "anyOf" => value.as_array()?.iter().map(strict_schema).collect::<Option<_>>()?,
            // It is set for every object.
            "additionalProperties" if *value == json!(false) => continue,
            "required" => continue,
            key if LEFT_OUT.contains(&key) => continue,
            key if KEPT.contains(&key) => value.clone(),
            _ => return None,
        };
        strict.insert(key.clone(), value);
    }
    let is_object = fields.get("type").is_some_and(|name| name == "object");
    if is_object || fields.contains_key("properties") {
        let is_closed = fields.get("additionalProperties") == Some(&json!(false));
        let names: Vec<&String> = match fields.get("properties").and_then(Value::as_object) {
            Some(properties) => properties.keys().collect(),
            None if is_closed => Vec::new(),
            // Its fields are free.
            None => return None,
        };
        strict.insert("required".to_owned(), json!(names));
        strict.insert("additionalProperties".to_owned(), false.into());
    }
    let is_typed =
        ["type", "anyOf", "$ref", "enum", "const"].iter().any(|it| strict.contains_key(*it));
    is_typed.then_some(Value::Object(strict))
}

/// Returns the parameters of an object, each optional one with null as a further value.
fn strict_properties(
    object: &Map<String, Value>,
    properties: &Map<String, Value>,
) -> Option<Value> {
    let required = object.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let mut strict = Map::new();
    for (name, schema) in properties {
        let mut property = strict_schema(schema)?;
        if !is_required(name) {
            add_null(&mut property)?;
        }
        strict.insert(name.clone(), property);
    }
    Some(Value::Object(strict))
}

/// Lets a schema accept null. haft reads null as an omitted parameter only where it can tell that the schema itself does not
/// accept null.
fn add_null(schema: &mut Value) -> Option<()> {
    let fields = schema.as_object_mut()?;
    if let Some(Value::Array(values)) = fields.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match fields.get_mut("type")? {
        Value::Array(names) if names.iter().any(|name| name == "null") => {}
        Value::Array(names) => names.push("null".into()),
        Value::String(name) if name == "null" => {}
        name => *name = json!([name, "null"]),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &Value, expect: Option<&Value>) {
        assert_eq!(strict_schema(schema).as_ref(), expect, "{schema}");
    }

    #[test]
    fn every_parameter_is_required_and_an_optional_one_may_be_null() {
        check(
            &json!({"type": "object", "required": ["path"], "properties": {
                "path": {"type": "string", "minLength": 1},
                "depth": {"type": "integer", "minimum": 1, "default": 3},
                "order": {"type": "string", "enum": ["name", "size"]},
                "edits": {"type": "array", "items": {"type": "object", "properties": {"line": {"type": "integer"}}}},
            }}),
            Some(&json!({
                "type": "object",
                "required": ["path", "depth", "order", "edits"],
                "additionalProperties": false,
                "properties": {
                    "path": {"type": "string"},
                    "depth": {"type": ["integer", "null"], "minimum": 1},
                    "order": {"type": ["string", "null"], "enum": ["name", "size", null]},
                    "edits": {"type": ["array", "null"], "items": {
                        "type": "object",
                        "properties": {"line": {"type": ["integer", "null"]}},
                        "required": ["line"],
                        "additionalProperties": false,
                    }},
                },
            })),
        );
        check(
            &json!({"type": "object", "properties": {}}),
            Some(
                &json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false}),
            ),
        );
    }

    #[test]
    fn a_schema_with_free_values_is_not_strict() {
        check(&json!({"type": "object"}), None);
        check(&json!({"type": "object", "properties": {"any": {}}}), None);
        check(&json!({"type": "object", "properties": {}, "additionalProperties": true}), None);
        check(
            &json!({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}]}}}),
            None,
        );
    }
}
