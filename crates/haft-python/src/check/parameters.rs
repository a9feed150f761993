//! The schema of a tool's parameters. Each parameter must have a type and a meaningful name, and
//! none may be an arbitrary payload.

use serde_json::{Map, Value, json};

use super::findings::{Findings, escaped};
use super::metadata::show_value;
use crate::directory::is_identifier;
use crate::problem::ProblemCode;

const TYPES: &[&str] = &["string", "number", "integer", "boolean", "object", "array"];
/// Python keywords, which cannot be names of arguments.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];
const PROPERTIES: &str = "/parameters/properties";

/// Names of at most two letters that are words, or usual names of a point's coordinates.
const SHORT_WORDS: &[&str] = &["at", "by", "id", "ip", "on", "to", "x", "y", "z"];
/// Maximum length of an abbreviation that is too short to understand.
const SHORT_CHARS_MAX: usize = 2;
/// Names of a single text that stands for several inputs.
const PAYLOADS: &[&str] =
    &["args", "arguments", "data", "input", "json", "kwargs", "params", "parameters", "payload"];
/// Names of a text with instructions in prose.
const PROSE: &[&str] = &["instruction", "instructions", "prompt", "request", "task"];

/// A parameter of the schema.
pub(super) struct Property {
    pub(super) name: String,
    pub(super) types: Vec<String>,
    pub(super) is_required: bool,
}

/// Checks the schema and returns its parameters, or `None` if they cannot be compared with a
/// function.
pub(super) fn check_parameters(
    metadata: &Map<String, Value>,
    takes_context: bool,
    findings: &mut Findings<'_>,
) -> Option<Vec<Property>> {
    let schema = object_schema(metadata.get("parameters"), findings)?;
    let properties = match schema.get("properties") {
        Some(Value::Object(properties)) => properties,
        _ => {
            findings.error(
                findings.in_metadata("/parameters"),
                ProblemCode::Schema,
                "parameters has no properties",
                "add \"properties\": {...} with each parameter and its type, or \"properties\": {} if there are none",
            );
            return None;
        }
    };
    let required = required(schema, properties, findings);
    let errors_before = findings.errors();
    for name in properties.keys() {
        let at = findings.in_metadata(&format!("{PROPERTIES}/{}", escaped(name)));
        if takes_context && name == "context" {
            findings.error(
                at,
                ProblemCode::NotInFunction,
                "the parameter \"context\" is the one that haft fills in, because of \"context\": True",
                "take it out of the properties, or give it another name",
            );
        } else if !is_identifier(name) || KEYWORDS.contains(&name.as_str()) {
            findings.error(
                at,
                ProblemCode::NotInFunction,
                format!("the parameter {name:?} cannot be the name of an argument in Python"),
                "use letters, digits and underscores, and no word of the language",
            );
        } else if name.chars().count() <= SHORT_CHARS_MAX && !SHORT_WORDS.contains(&name.as_str()) {
            findings.warning(
                at,
                ProblemCode::ParameterVague,
                format!("the parameter {name:?} does not say what it is: a model guesses what to put into it"),
                "spell it out, there and in the function, such as \"symbol\" for \"s\"",
            );
        }
    }
    check_types(properties, PROPERTIES, findings);
    check_forms(properties, findings);
    if findings.errors() == errors_before
        && let Err(err) = jsonschema::options().build(&Value::Object(schema.clone()))
    {
        let message: String = err.to_string().chars().take(300).collect();
        findings.error(
            findings.in_metadata(&format!("/parameters{}", err.instance_path().as_str())),
            ProblemCode::Schema,
            format!("parameters is not a valid JSON Schema: {message}"),
            "fix the error in the message; references to files and hosts are not followed",
        );
    }
    let property = |(name, property): (&String, &Value)| Property {
        name: name.clone(),
        types: types_of(property).unwrap_or_default(),
        is_required: required.contains(name),
    };
    Some(properties.iter().map(property).collect())
}

/// Returns the published schema: that of METADATA, with other parameters refused unless METADATA or
/// the function accepts them.
pub(super) fn published_schema(metadata: &Map<String, Value>, takes_any: bool) -> Value {
    let mut schema = metadata.get("parameters").cloned().unwrap_or_else(|| json!({}));
    if let Value::Object(fields) = &mut schema
        && !takes_any
    {
        fields.entry("additionalProperties").or_insert(Value::Bool(false));
    }
    schema
}

fn object_schema<'a>(
    parameters: Option<&'a Value>,
    findings: &mut Findings<'_>,
) -> Option<&'a Map<String, Value>> {
    let mend = "write \"parameters\": {\"type\": \"object\", \"properties\": {...}, \"required\": [...]}; a tool that takes \
                nothing has \"properties\": {}";
    let at = findings.in_metadata("/parameters");
    let (message, schema) = match parameters {
        None => ("METADATA has no parameters".to_owned(), None),
        Some(Value::Object(schema)) if schema.is_empty() => {
            ("parameters is empty, so the tool's parameters are unknown".to_owned(), None)
        }
        Some(Value::Object(schema)) => {
            let message = match schema.get("type") {
                Some(Value::String(name)) if name == "object" => return Some(schema),
                None => "parameters has no type, expected \"object\"".to_owned(),
                Some(other) => {
                    format!("parameters has the type {}, expected \"object\"", show_value(other))
                }
            };
            // Parameters that it describes anyway are checked as well.
            (message, Some(schema).filter(|schema| schema.contains_key("properties")))
        }
        Some(other) => {
            (format!("parameters is {}, expected a dictionary", show_value(other)), None)
        }
    };
    findings.error(at, ProblemCode::Schema, message, mend);
    schema
}

fn required(
    schema: &Map<String, Value>,
    properties: &Map<String, Value>,
    findings: &mut Findings<'_>,
) -> Vec<String> {
    let Some(value) = schema.get("required") else { return Vec::new() };
    let place = "/parameters/required";
    let names: Option<Vec<&str>> =
        value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
    let Some(names) = names else {
        findings.error(
            findings.in_metadata(place),
            ProblemCode::Required,
            format!("required is {}, expected a list of names", show_value(value)),
            "write the names of the parameters that cannot be left out",
        );
        return Vec::new();
    };
    for (index, name) in names.iter().enumerate() {
        if !properties.contains_key(*name) {
            findings.error(
                findings.in_metadata(&format!("{place}/{index}")),
                ProblemCode::Required,
                format!("required names {name:?}, which is not a parameter"),
                format!("add {name:?} to the properties, or take it out of required"),
            );
        }
    }
    names.into_iter().map(str::to_owned).collect()
}

fn check_types(properties: &Map<String, Value>, place: &str, findings: &mut Findings<'_>) {
    for (name, property) in properties {
        let place = format!("{place}/{}", escaped(name));
        if let Err((message, mend)) = types_of(property) {
            let message = format!("the parameter {name:?} {message}");
            findings.error(findings.in_metadata(&place), ProblemCode::Untyped, message, mend);
        }
        if let Some(Value::Object(nested)) = property.get("properties") {
            check_types(nested, &format!("{place}/properties"), findings);
        }
    }
}

/// Returns the types that a schema allows, or the problem and its remedy.
fn types_of(property: &Value) -> Result<Vec<String>, (String, String)> {
    let list = TYPES.join(", ");
    let mend = format!("add \"type\": one of {list}, or a list of them");
    let Value::Object(fields) = property else {
        return Err((
            format!("is {}, expected a dictionary with a type", show_value(property)),
            mend,
        ));
    };
    let names: Vec<&str> = match fields.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) if !names.is_empty() => {
            names.iter().map(|name| name.as_str().unwrap_or_default()).collect()
        }
        Some(other) => return Err((format!("has the type {}", show_value(other)), mend)),
        None => {
            let (named, values): (_, Vec<&Value>) = match (fields.get("enum"), fields.get("const"))
            {
                (Some(Value::Array(values)), _) => ("enum", values.iter().collect()),
                (Some(_), Some(value)) => ("enum", vec![value]),
                (None, Some(value)) => ("const", vec![value]),
                (_, None) => ("", Vec::new()),
            };
            let Some(first) = values.first().map(|value| type_of(value)) else {
                return Err(("has no type".to_owned(), mend));
            };
            let mend = match values.iter().all(|value| type_of(value) == first) {
                true => format!("add \"type\": {first:?} beside {named}"),
                false => mend,
            };
            return Err((format!("has {named} and no type"), mend));
        }
    };
    let is_good = |name: &&str| TYPES.contains(name) || (*name == "null" && names.len() > 1);
    match names.iter().find(|name| !is_good(name)) {
        None => Ok(names.into_iter().map(str::to_owned).collect()),
        Some(bad) => {
            // Names of types in Python and other languages.
            let meant = match bad.to_lowercase().as_str() {
                "str" | "text" | "string" => Some("string"),
                "int" | "long" | "integer" => Some("integer"),
                "float" | "double" | "decimal" | "number" => Some("number"),
                "bool" | "boolean" => Some("boolean"),
                "dict" | "map" | "json" | "object" => Some("object"),
                "list" | "tuple" | "set" | "array" => Some("array"),
                _ => None,
            };
            let mend = match meant {
                Some(meant) => format!("write \"type\": {meant:?}"),
                None => format!("use one of {list}"),
            };
            Err((format!("has the type {bad:?}, which JSON Schema does not know"), mend))
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Refuses a single arbitrary payload in place of parameters, and warns of one beside others.
fn check_forms(properties: &Map<String, Value>, findings: &mut Findings<'_>) {
    let is_alone = properties.len() == 1;
    for (name, property) in properties {
        let at = findings.in_metadata(&format!("{PROPERTIES}/{}", escaped(name)));
        let word = name.to_lowercase();
        if is_any_object(property) && is_alone {
            findings.error(
                at,
                ProblemCode::FreeForm,
                format!(
                    "the only parameter, {name:?}, is an object of any form: nothing tells a model what to put into it, \
                     and nothing checks what it did"
                ),
                "make each thing in it a separate parameter with a type, or list its properties",
            );
        } else if is_any_object(property) {
            findings.warning(
                at,
                ProblemCode::FreeForm,
                format!("the parameter {name:?} is an object of any form: nothing checks what a model puts into it"),
                "list its properties, or give additionalProperties a type",
            );
        } else if is_nested_object(property) {
            findings.warning(
                at,
                ProblemCode::Nested,
                format!("the parameter {name:?} is an object, whose parts models often put in the wrong place"),
                "make each part of it a separate parameter, unless the parts belong together",
            );
        } else if is_alone && is_any_text(property) && PAYLOADS.contains(&word.as_str()) {
            findings.error(
                at,
                ProblemCode::FreeForm,
                format!(
                    "the only parameter, {name:?}, is a text of any form under a name that says nothing: nothing tells a \
                     model what to put into it, and nothing checks what it did"
                ),
                "name it after what it holds, or make each thing in it a separate parameter with a type",
            );
        } else if is_alone && is_any_text(property) && PROSE.contains(&word.as_str()) {
            findings.warning(
                at,
                ProblemCode::FreeForm,
                format!("the only parameter, {name:?}, is prose, which the tool has to make sense of"),
                "make each thing that the tool needs to know a separate parameter with a type, where that is possible",
            );
        }
    }
}

/// Returns whether a parameter is an object without further description.
fn is_any_object(property: &Value) -> bool {
    let is_object = types_of(property).is_ok_and(|types| types.iter().any(|name| name == "object"));
    let has_values = property.get("additionalProperties").is_some_and(Value::is_object);
    is_object && !has_values && says_nothing(property, &["properties", "$ref"])
}

/// Returns whether a parameter is an object with listed parts.
fn is_nested_object(property: &Value) -> bool {
    let is_object = types_of(property).is_ok_and(|types| types.iter().any(|name| name == "object"));
    is_object && property.get("properties").is_some_and(Value::is_object)
}

/// Returns whether a parameter is a text without further description.
fn is_any_text(property: &Value) -> bool {
    let is_text = types_of(property).is_ok_and(|types| types.iter().any(|name| name == "string"));
    is_text && says_nothing(property, &["format", "pattern", "$ref"])
}

fn says_nothing(property: &Value, of_type: &[&str]) -> bool {
    let of_any = ["enum", "const", "oneOf", "anyOf", "allOf"];
    let mut keys = of_any.iter().chain(of_type);
    keys.all(|key| property.get(*key).is_none_or(|value| *value == json!({})))
}
