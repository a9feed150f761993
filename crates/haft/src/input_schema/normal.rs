//! Converts an input to its normal form.

use serde_json::Value;

/// Floats below this hold every integer exactly.
const INTEGRAL_FLOAT_MAX: f64 = 9_007_199_254_740_992.0;

/// Leaves out optional parameters that are null, and writes whole numbers as integers where the schema asks for one.
pub(super) fn normalize(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
                return;
            };
            let required = schema.get("required").and_then(Value::as_array);
            let is_required =
                |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
            let accepts_null = |property: &Value| match property.get("type") {
                Some(Value::String(name)) => name == "null",
                Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
                _ => true,
            };
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
