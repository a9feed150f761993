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
    /// The use of the value.
    meaning: AliasMeaning,
}

/// The use of the value of an alias.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AliasMeaning {
    /// It is the value of this parameter, or of a path such as `opts.cwd`.
    Parameter(&'static str),
    /// It is the value of this parameter, which is a text; a number is written as text.
    Text(&'static str),
    /// It is of no use, and is left out.
    Ignored,
    /// The tool has no such parameter. The advice says what to do instead.
    Advice(&'static str),
}

/// An alias that an input used, with the parameter that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedAlias {
    /// The name that the caller sent.
    pub name: &'static str,
    /// The parameter, or its path such as `opts.cwd`.
    pub parameter: &'static str,
}

impl ParameterAlias {
    /// Returns another name of `parameter`. A dot leads to a parameter within a parameter: `opts.cwd`.
    pub const fn new(name: &'static str, parameter: &'static str) -> Self {
        Self { name, meaning: AliasMeaning::Parameter(parameter) }
    }

    /// Returns another name of `parameter`, or its own name. The parameter is a text, and a number is taken as well.
    pub const fn text(name: &'static str, parameter: &'static str) -> Self {
        Self { name, meaning: AliasMeaning::Text(parameter) }
    }

    /// Returns a parameter that the tool does not have. A call with it is refused with this advice.
    pub const fn advice(name: &'static str, advice: &'static str) -> Self {
        Self { name, meaning: AliasMeaning::Advice(advice) }
    }

    /// Returns the name of a parameter whose value is dropped.
    pub const fn ignored(name: &'static str) -> Self {
        Self { name, meaning: AliasMeaning::Ignored }
    }
}

/// Returns the advice about a parameter that the tool does not have.
pub(crate) fn advice_about(aliases: &[ParameterAlias], name: &str) -> Option<&'static str> {
    aliases.iter().find_map(|alias| match alias.meaning {
        AliasMeaning::Advice(advice) if alias.name == name => Some(advice),
        AliasMeaning::Advice(_)
        | AliasMeaning::Parameter(_)
        | AliasMeaning::Text(_)
        | AliasMeaning::Ignored => None,
    })
}

/// Moves the values of aliases to the parameters that they stand for, and returns the aliases that were used.
///
/// If a parameter is given twice with different values, the alias stays, and the schema check reports it. Of two numbers, the
/// larger one counts: lines before and lines after a match are one parameter here.
pub(crate) fn resolve_aliases(aliases: &[ParameterAlias], input: &mut Value) -> Vec<UsedAlias> {
    let mut used = Vec::new();
    let Value::Object(fields) = input else { return used };
    for alias in aliases {
        let parameter = match alias.meaning {
            AliasMeaning::Parameter(parameter) | AliasMeaning::Text(parameter) => Some(parameter),
            AliasMeaning::Ignored => None,
            AliasMeaning::Advice(_) => continue,
        };
        let Some(mut value) = fields.remove(alias.name) else { continue };
        let is_own_name = parameter == Some(alias.name);
        let Some(parameter) = parameter.filter(|_| is_own_name || !value.is_null()) else {
            continue;
        };
        if matches!(alias.meaning, AliasMeaning::Text(_)) && value.is_number() {
            value = Value::String(value.to_string());
        }
        if is_own_name {
            fields.insert(parameter.to_owned(), value);
        } else if let Some(unplaced) = place_value(fields, parameter, value) {
            fields.insert(alias.name.to_owned(), unplaced);
        } else {
            used.push(UsedAlias { name: alias.name, parameter });
        }
    }
    used
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

    #[test]
    fn used_aliases_are_reported_and_a_number_becomes_text() {
        let aliases = [
            ParameterAlias::text("pages", "pages"),
            ParameterAlias::text("page", "pages"),
            ParameterAlias::advice("limit", "leave it out"),
        ];
        let check = |mut input: Value, expect: Value, used: &[&str]| {
            let found = resolve_aliases(&aliases, &mut input);
            let names: Vec<&str> = found.iter().map(|alias| alias.name).collect();
            assert_eq!((input, names.as_slice()), (expect, used));
        };
        check(json!({"page": 1}), json!({"pages": "1"}), &["page"]);
        check(json!({"pages": 2}), json!({"pages": "2"}), &[]);
        check(json!({"pages": "2-5"}), json!({"pages": "2-5"}), &[]);
        check(json!({"pages": null}), json!({"pages": null}), &[]);
        check(json!({"pages": [1]}), json!({"pages": [1]}), &[]);
        check(json!({"limit": 1}), json!({"limit": 1}), &[]);
        assert_eq!(advice_about(&aliases, "limit"), Some("leave it out"));
        assert_eq!(advice_about(&aliases, "page"), None);
    }
}
