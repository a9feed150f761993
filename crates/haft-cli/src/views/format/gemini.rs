//! Tools in the format of Gemini: one tool that holds all function declarations. Its parameters are like a part of JSON
//! Schema, and an unknown field is an error, so only known fields are kept. haft checks the lost fields when the tool is
//! called.

use haft_contract::Contract;
use serde_json::{Map, Value, json};

/// Fields that mean the same there and whose values are taken as they are.
const COPIED_FIELDS: &[&str] = &[
    "description",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "pattern",
    "required",
];

pub(super) fn declaration(contract: &Contract) -> Value {
    let mut declaration = json!({
        "name": contract.id.wire_name(),
        "description": contract.description,
    });
    // An object without properties is an error there; without parameters the function takes none.
    let takes_something = contract
        .parameters
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|properties| !properties.is_empty());
    if let (true, Some(fields)) = (takes_something, declaration.as_object_mut()) {
        fields.insert("parameters".to_owned(), schema(&contract.parameters));
    }
    declaration
}

fn schema(json_schema: &Value) -> Value {
    let Some(fields) = json_schema.as_object() else { return json!({}) };
    let mut schema = Map::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            // Types are upper case there, there is one of them, and null is not one.
            ("type", value) => {
                let names: Vec<&str> = match value {
                    Value::String(name) => vec![name],
                    Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec![],
                };
                if names.contains(&"null") {
                    schema.insert("nullable".to_owned(), true.into());
                }
                if let Some(name) = names.iter().find(|name| **name != "null") {
                    schema.insert("type".to_owned(), name.to_ascii_uppercase().into());
                }
            }
            ("properties", Value::Object(properties)) => {
                let properties =
                    properties.iter().map(|(name, of)| (name.clone(), self::schema(of)));
                schema.insert("properties".to_owned(), properties.collect::<Map<_, _>>().into());
            }
            ("items", items) => {
                schema.insert("items".to_owned(), self::schema(items));
            }
            ("anyOf" | "oneOf", Value::Array(choices)) => {
                let choices: Vec<Value> = choices.iter().map(self::schema).collect();
                schema.insert("anyOf".to_owned(), choices.into());
            }
            // Choices and constants exist for texts alone.
            ("enum", Value::Array(choices)) => {
                let texts: Vec<&Value> = choices.iter().filter(|it| !it.is_null()).collect();
                if texts.iter().all(|choice| choice.is_string()) {
                    schema.insert("enum".to_owned(), json!(texts));
                }
            }
            ("const", Value::String(_)) => {
                schema.insert("enum".to_owned(), json!([value]));
                schema.entry("type").or_insert_with(|| json!("STRING"));
            }
            (kept, value) if COPIED_FIELDS.contains(&kept) => {
                schema.insert(name.clone(), value.clone());
            }
            _ => {}
        }
    }
    schema.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_gemini_knows_is_kept() {
        let check = |json_schema: Value, expect: Value| assert_eq!(schema(&json_schema), expect);
        check(
            json!({
                "$schema": "x", "type": "object", "additionalProperties": false, "title": "T",
                "properties": {"type": {"type": "string", "description": "A property named so."}},
                "required": ["type"],
            }),
            json!({
                "type": "OBJECT",
                "properties": {"type": {"type": "STRING", "description": "A property named so."}},
                "required": ["type"],
            }),
        );
        check(
            json!({"type": "array", "maxItems": 3, "items": {"type": ["integer", "null"], "format": "uint"}}),
            json!({"type": "ARRAY", "maxItems": 3, "items": {"type": "INTEGER", "nullable": true}}),
        );
        check(
            json!({"oneOf": [{"const": "a", "description": "A."}, {"type": "number", "exclusiveMinimum": 0}]}),
            json!({"anyOf": [{"type": "STRING", "enum": ["a"], "description": "A."}, {"type": "NUMBER"}]}),
        );
        check(json!({"enum": [1, 2]}), json!({}));
        check(json!({"enum": ["a", null]}), json!({"enum": ["a"]}));
    }
}
