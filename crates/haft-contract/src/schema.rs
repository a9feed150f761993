//! Schemas made from Rust types, trimmed to what a model needs: no titles, no references, no number formats,
//! and no `null` beside a type, which several clients cannot carry.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// Returns the trimmed JSON Schema of `T`.
pub fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    let mut value = schema.to_value();
    trim(&mut value);
    value
}

/// The schema of a tool that takes nothing.
pub(crate) fn empty_object() -> Value {
    serde_json::json!({"type": "object", "properties": {}, "additionalProperties": false})
}

fn trim(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    for noise in ["title", "format", "default"] {
        fields.shift_remove(noise);
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if fields.contains_key("type")
        && let Some(Value::Array(options)) = fields.get_mut("enum")
    {
        options.retain(|option| !option.is_null());
    }
    // The form of an optional structure, `anyOf: [X, null]`, becomes `X`.
    if let Some(Value::Array(choices)) = fields.get("anyOf") {
        let is_null = |choice: &Value| choice.get("type").is_some_and(|name| name == "null");
        let real: Vec<&Value> = choices.iter().filter(|choice| !is_null(choice)).collect();
        if let ([Value::Object(only)], true) = (real.as_slice(), choices.len() == 2) {
            let only = only.clone();
            fields.shift_remove("anyOf");
            for (name, value) in only {
                fields.entry(name).or_insert(value);
            }
        }
    }
    for (name, value) in fields {
        match value {
            // The names in here are parameters, not keywords.
            Value::Object(properties) if name == "properties" => {
                properties.values_mut().for_each(trim)
            }
            Value::Object(_) => trim(value),
            Value::Array(items) => items.iter_mut().for_each(trim),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Sample {
        /// Where.
        path: String,
        start_line: Option<u32>,
        opts: Option<Opts>,
        /// A property named like a keyword survives.
        title: Option<String>,
        default: serde_json::Value,
        size: Option<Size>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Size {
        Small,
        Large,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Opts {
        /// In milliseconds.
        timeout_ms: Option<u64>,
    }

    #[test]
    fn schemas_are_trimmed() {
        let text = serde_json::to_string_pretty(&schema_of::<Sample>()).unwrap();
        expect![[r#"
            {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "path": {
                  "type": "string",
                  "description": "Where."
                },
                "start_line": {
                  "type": "integer",
                  "minimum": 0
                },
                "opts": {
                  "type": "object",
                  "additionalProperties": false,
                  "properties": {
                    "timeout_ms": {
                      "type": "integer",
                      "minimum": 0,
                      "description": "In milliseconds."
                    }
                  }
                },
                "title": {
                  "type": "string",
                  "description": "A property named like a keyword survives."
                },
                "default": true,
                "size": {
                  "type": "string",
                  "enum": [
                    "small",
                    "large"
                  ]
                }
              },
              "required": [
                "path",
                "default"
              ]
            }"#]]
        .assert_eq(&text);
    }
}
