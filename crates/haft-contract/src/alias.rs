//! Other names of parameters, which models know from other agents. haft accepts them and records the tool's own names. No
//! front end publishes them.

use serde_json::{Map, Value};

/// Another name of a parameter.
///
/// ```
/// use haft_contract::{ParameterAlias, Tool, ToolError};
/// use serde_json::json;
///
/// let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
/// let tool = Tool::new("peek")
///     .aliases(&[ParameterAlias::new("file_path", "path"), ParameterAlias::ignored("description")])
///     .execute_json(parameters, |_, _| async { Ok::<_, ToolError>("") });
/// let mut input = json!({"file_path": "a.txt", "description": "look"});
/// tool.resolve_aliases(&mut input);
/// assert_eq!(input, json!({"path": "a.txt"}));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterAlias {
    /// The other name.
    name: &'static str,
    /// The parameter, or its path such as `opts.cwd`; `None` if the value is of no use.
    parameter: Option<&'static str>,
}

impl ParameterAlias {
    /// Returns another name of `parameter`. A dot leads to a parameter within a parameter: `opts.cwd`.
    pub const fn new(name: &'static str, parameter: &'static str) -> Self {
        Self { name, parameter: Some(parameter) }
    }

    /// Returns the name of a parameter whose value is dropped.
    pub const fn ignored(name: &'static str) -> Self {
        Self { name, parameter: None }
    }
}

/// Moves the values of aliases to the parameters that they stand for.
///
/// If a parameter is given twice with different values, the alias stays, and the schema check reports it. Of two numbers, the
/// larger one counts: lines before and lines after a match are one parameter here.
pub(crate) fn resolve_aliases(aliases: &[ParameterAlias], input: &mut Value) {
    let Value::Object(fields) = input else { return };
    for alias in aliases {
        let Some(value) = fields.remove(alias.name) else { continue };
        let Some(parameter) = alias.parameter.filter(|_| !value.is_null()) else { continue };
        if let Some(unplaced) = place_value(fields, parameter, value) {
            fields.insert(alias.name.to_owned(), unplaced);
        }
    }
}

/// Sets a parameter. Returns the value if the parameter has another one.
fn place_value(fields: &mut Map<String, Value>, parameter: &str, value: Value) -> Option<Value> {
    if let Some((outer, inner)) = parameter.split_once('.') {
        let within = fields.entry(outer).or_insert(Value::Null);
        if within.is_null() {
            *within = Value::Object(Map::new());
        }
        return match within {
            Value::Object(within) => place_value(within, inner, value),
            _ => Some(value),
        };
    }
    let present = fields.entry(parameter).or_insert(Value::Null);
    match (present.as_f64(), value.as_f64()) {
        _ if present.is_null() => *present = value,
        (Some(one), Some(other)) if other > one => *present = value,
        (Some(_), Some(_)) => {}
        _ if *present == value => {}
        _ => return Some(value),
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_alias_becomes_the_parameter_that_it_stands_for() {
        let aliases = [
            ParameterAlias::new("file_path", "path"),
            ParameterAlias::new("filePath", "path"),
            ParameterAlias::new("cwd", "opts.cwd"),
            ParameterAlias::new("timeout", "opts.timeout_ms"),
            ParameterAlias::new("-A", "context"),
            ParameterAlias::new("-B", "context"),
            ParameterAlias::ignored("description"),
        ];
        let check = |mut input: Value, expect: Value| {
            let before = input.to_string();
            resolve_aliases(&aliases, &mut input);
            assert_eq!(input, expect, "for {before}");
        };
        check(json!({"file_path": "a"}), json!({"path": "a"}));
        check(json!({"path": "a", "filePath": "a"}), json!({"path": "a"}));
        check(json!({"path": "a", "filePath": "b"}), json!({"path": "a", "filePath": "b"}));
        check(json!({"path": "a", "filePath": null}), json!({"path": "a"}));
        check(json!({"path": null, "filePath": "b"}), json!({"path": "b"}));
        check(
            json!({"cwd": "src", "timeout": 5}),
            json!({"opts": {"cwd": "src", "timeout_ms": 5}}),
        );
        check(
            json!({"opts": {"cwd": "src"}, "timeout": 5}),
            json!({"opts": {"cwd": "src", "timeout_ms": 5}}),
        );
        check(json!({"opts": "x", "cwd": "src"}), json!({"opts": "x", "cwd": "src"}));
        check(json!({"-A": 2, "-B": 5}), json!({"context": 5}));
        check(json!({"context": 3, "-A": 2}), json!({"context": 3}));
        check(json!({"description": {"a": 1}}), json!({}));
        check(json!(["path"]), json!(["path"]));
    }
}
