//! The input of a tool as words: `path=README.md` for a text, `start_line=3` for what the tool's schema says, `todos:=[…]` for
//! JSON, and `opts.cwd=src` for a member of a member. Nothing is checked here: the pipeline judges the input by the schema.

use haft_app::quote;
use serde_json::{Map, Value, json};

use crate::error::CommandError;

/// Members inside one another that a word can name.
const DEPTH_MAX: usize = 8;
/// Stands for a value in the line that an error shows.
const VALUE_NAME: &str = "VALUE";

/// A word of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InputWord<'a> {
    key: &'a str,
    value: InputWordValue<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputWordValue<'a> {
    /// A text, to be read as the schema says.
    Text(&'a str),
    /// JSON.
    Json(&'a str),
}

impl<'a> InputWord<'a> {
    fn parse(word: &'a str) -> Option<Self> {
        let (key, text) = word.split_once('=')?;
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => (key, InputWordValue::Json(text)),
            None => (key, InputWordValue::Text(text)),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let is_key = key.bytes().all(is_name) && !key.is_empty() && !key.starts_with(['-', '.']);
        is_key.then_some(Self { key, value })
    }
}

/// Returns whether a text is a word of an input, and not JSON or the name of a file.
pub(crate) fn is_word(text: &str) -> bool {
    InputWord::parse(text).is_some()
}

/// Returns the input that words spell for a tool with this schema. Without a schema, all values are texts.
pub(crate) fn read_words(words: &[String], schema: Option<&Value>) -> Result<Value, CommandError> {
    let schema = schema.unwrap_or(&Value::Null);
    let mut input = Map::new();
    for word in words {
        let read = InputWord::parse(word).ok_or_else(|| {
            CommandError::usage(format!(
                "input {word:?} is not valid: expected KEY=VALUE, or KEY:=JSON, such as path=README.md"
            ))
        })?;
        add_word(&mut input, read, schema, schema)?;
    }
    Ok(Value::Object(input))
}

/// Returns the words for a tool that was given `text` alone: its first required text, and the names of what else it requires.
pub(crate) fn example_words(schema: &Value, text: Option<&str>) -> String {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let mut text = text;
    let words = required.filter_map(Value::as_str).map(|key| {
        let is_text =
            types_of(property(schema, key, schema), schema).iter().any(|it| it == "string");
        match text.take_if(|_| is_text) {
            Some(text) => quote::shell(&format!("{key}={text}")),
            None if is_text => format!("{key}={VALUE_NAME}"),
            None => format!("{key}:={VALUE_NAME}"),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn add_word(
    input: &mut Map<String, Value>,
    word: InputWord<'_>,
    schema: &Value,
    root: &Value,
) -> Result<(), CommandError> {
    let mut keys: Vec<&str> = vec![word.key];
    // A name with a point is a member of a member, unless the tool has a member of this very name.
    if property(schema, word.key, root).is_null() {
        keys = word.key.splitn(DEPTH_MAX, '.').collect();
    }
    let (last, above) = keys.split_last().expect("a split text has a part");
    let (mut place, mut place_schema) = (input, schema);
    for key in above {
        place_schema = property(place_schema, key, root);
        let member = place.entry(*key).or_insert_with(|| json!({}));
        place = member.as_object_mut().ok_or_else(|| twice_error(word.key))?;
    }
    let of_value = property(place_schema, last, root);
    let value = match word.value {
        InputWordValue::Json(json) => serde_json::from_str(json).map_err(|err| {
            CommandError::usage(format!("the value of {} is not JSON: {err}", word.key))
        })?,
        InputWordValue::Text(text) => value_of_text(word.key, text, of_value, root)?,
    };
    match place.get_mut(*last) {
        None => {
            place.insert((*last).to_owned(), value);
        }
        // A list is given item by item.
        Some(Value::Array(items)) => match value {
            Value::Array(more) => items.extend(more),
            item => items.push(item),
        },
        Some(_) => return Err(twice_error(word.key)),
    }
    Ok(())
}

/// Returns the value that a text is for a property with this schema.
fn value_of_text(
    key: &str,
    text: &str,
    schema: &Value,
    root: &Value,
) -> Result<Value, CommandError> {
    let types = types_of(schema, root);
    let takes = |name: &str| types.iter().any(|known| known == name);
    if types.is_empty() || takes("string") {
        return Ok(text.into());
    }
    let parsed: Option<Value> = serde_json::from_str(text).ok();
    let is_taken = |value: &Value| match value {
        Value::Null => takes("null"),
        Value::Bool(_) => takes("boolean"),
        Value::Number(_) => takes("integer") || takes("number"),
        Value::String(_) => false,
        Value::Array(_) => takes("array"),
        Value::Object(_) => takes("object"),
    };
    if let Some(value) = parsed.filter(is_taken) {
        return Ok(value);
    }
    if takes("array") {
        let of_item = schema_at(resolve(schema, root), "items");
        return Ok(Value::Array(vec![value_of_text(key, text, of_item, root)?]));
    }
    Err(CommandError::usage(format!(
        "{key}={text} is not valid: expected {} {}",
        if types.len() == 1 { "a value of type" } else { "a value of one of the types" },
        types.join(", ")
    )))
}

fn twice_error(key: &str) -> CommandError {
    CommandError::usage(format!("{key} is given twice, and takes one value"))
}

/// Returns the schema of a property; null if the schema has none of that name.
fn property<'a>(schema: &'a Value, key: &str, root: &'a Value) -> &'a Value {
    let schema = resolve(schema, root);
    let own = schema_at(schema_at(schema, "properties"), key);
    if !own.is_null() {
        return own;
    }
    let branches = ["anyOf", "oneOf", "allOf"].into_iter();
    let branches = branches.filter_map(|name| schema.get(name)?.as_array()).flatten();
    let found =
        branches.map(|branch| schema_at(schema_at(resolve(branch, root), "properties"), key));
    found.into_iter().find(|found| !found.is_null()).unwrap_or(&Value::Null)
}

/// Returns the types that a schema takes.
fn types_of(schema: &Value, root: &Value) -> Vec<String> {
    let schema = resolve(schema, root);
    let of_value = |value: &Value| match value {
        Value::String(name) => vec![name.clone()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    let mut types = of_value(schema_at(schema, "type"));
    for name in ["anyOf", "oneOf"] {
        let branches = schema.get(name).and_then(Value::as_array).into_iter().flatten();
        for branch in branches {
            types.extend(of_value(schema_at(resolve(branch, root), "type")));
        }
    }
    let is_text_list = schema.get("enum").is_some_and(|it| it.is_array()) && types.is_empty();
    if is_text_list {
        types.push("string".to_owned());
    }
    types
}

/// Returns the schema that a schema refers to, or the schema itself.
fn resolve<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let pointer = schema.get("$ref").and_then(Value::as_str).and_then(|it| it.strip_prefix('#'));
    pointer.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

fn schema_at<'a>(schema: &'a Value, key: &str) -> &'a Value {
    schema.get(key).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "start_line": {"type": ["integer", "null"]},
                "deep": {"type": "boolean"},
                "args": {"type": "array", "items": {"type": "string"}},
                "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                "opts": {"anyOf": [{"$ref": "#/$defs/Opts"}, {"type": "null"}]},
                "mode": {"enum": ["fast", "slow"]},
            },
            "required": ["path", "args"],
            "$defs": {"Opts": {"type": "object", "properties": {
                "cwd": {"type": "string"}, "timeout_ms": {"type": "integer"}
            }}},
        })
    }

    fn read(words: &[&str]) -> Result<Value, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read_words(&words, Some(&schema())).map_err(|err| err.message)
    }

    #[test]
    fn a_value_has_the_type_of_the_schema() {
        let check = |words: &[&str], expect: Value| assert_eq!(read(words).unwrap(), expect);
        check(&["path=README.md", "start_line=3"], json!({"path": "README.md", "start_line": 3}));
        check(&["path=3", "deep=true"], json!({"path": "3", "deep": true}));
        check(&["path=a=b", "path2=7"], json!({"path": "a=b", "path2": "7"}));
        check(&["args=-l", "args=3"], json!({"args": ["-l", "3"]}));
        check(&[r#"args=["a"]"#, "ratio=0.5"], json!({"args": ["a"], "ratio": 0.5}));
        check(&[r#"args:=["a"]"#, "start_line:=null"], json!({"args": ["a"], "start_line": null}));
        check(&["mode=fast", "path="], json!({"mode": "fast", "path": ""}));
        check(
            &["opts.cwd=src", "opts.timeout_ms=5"],
            json!({"opts": {"cwd": "src", "timeout_ms": 5}}),
        );
    }

    #[test]
    fn what_fits_no_type_is_refused_with_the_reason() {
        let check = |words: &[&str], expect: &str| {
            let message = read(words).unwrap_err();
            assert!(message.contains(expect), "{words:?}: {message}");
        };
        check(
            &["start_line=three"],
            "start_line=three is not valid: expected a value of one of the types integer, null",
        );
        check(&["deep=yes"], "expected a value of type boolean");
        check(&["path=a", "path=b"], "path is given twice");
        check(&["path=a", "path.x=b"], "path.x is given twice");
        check(&["path:=a"], "the value of path is not JSON");
        check(&["path=a", "notes.txt"], "expected KEY=VALUE");
    }

    #[test]
    fn only_a_key_and_a_value_are_a_word() {
        for word in ["path=a", "opts.cwd=a b", "n:=1", "max-results=3", "path="] {
            assert!(is_word(word), "{word}");
        }
        for text in ["{\"a\":\"b=c\"}", "@file", "-", "echo hi", "=a", "-x=1", "a b=c", "[1]"] {
            assert!(!is_word(text), "{text}");
        }
    }

    #[test]
    fn an_example_names_all_that_is_required() {
        assert_eq!(example_words(&schema(), Some("a b")), "'path=a b' args:=VALUE");
        assert_eq!(example_words(&schema(), None), "path=VALUE args:=VALUE");
    }
}
