//! The text of a plan as JSON. It is stricter than JSON: a field that stands twice in one object is reported, because only one
//! of the two would count. If the text is not JSON, the message says where and why.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::limits::{FOUND_CHARS_MAX, PROBLEMS_MAX};
use crate::message_text::shortened;
use crate::reference::ValueLocation;

/// The beginnings of a plan in YAML.
const YAML_BEGINNINGS: [&str; 5] = ["---", "nodes:", "final_output_node:", "allow:", "- id:"];

/// A text that is JSON.
pub(super) struct PlanJson {
    pub(super) value: Value,
    /// The ways to fields that stand twice, as `nodes[0].inputs.path`; the first ones if there are many.
    pub(super) duplicates: Vec<String>,
}

/// Reads JSON, or says why it is none.
pub(super) fn read_json(text: &str) -> Result<PlanJson, String> {
    let mut duplicates = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let at = ValueLocation::of_whole("");
    let seed = DuplicateKeyVisitor { at, duplicates: &mut duplicates };
    let read = seed.deserialize(&mut deserializer);
    let value = read.and_then(|value| deserializer.end().map(|()| value));
    let err = match value {
        Ok(value) => return Ok(PlanJson { value, duplicates }),
        Err(err) => err,
    };
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let is_yaml = |line: &str| YAML_BEGINNINGS.iter().any(|yaml| line.starts_with(yaml));
    if first.is_some_and(is_yaml) {
        return Err("this is not JSON, it looks like YAML: write the plan as JSON, as {\"nodes\": [{\"id\": 0, \"tool\": \"read\", \
                    \"inputs\": {\"path\": \"notes.txt\"}, \"depends_on\": []}], \"final_output_node\": 0}"
            .to_owned());
    }
    let what = err.to_string();
    let what = what.split(" at line ").next().unwrap_or_default().to_lowercase();
    let what = match what.as_str() {
        "number out of range" => "the number is too large",
        "recursion limit exceeded" => "objects and lists are nested too deeply",
        what => what,
    };
    let (line, column) = (err.line(), err.column());
    let found = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let excerpt: String = found.chars().skip(column.saturating_sub(FOUND_CHARS_MAX / 2)).collect();
    let hint = match text.trim_start() {
        "" => "; the text is empty",
        start if start.contains("```") => {
            "; the plan stands inside a Markdown fence: give the JSON alone, without ``` and without words around it"
        }
        start if !start.starts_with('{') => "; give the JSON alone, without words around it",
        _ => "",
    };
    let excerpt = shortened(&excerpt);
    Err(format!("not valid JSON, line {line}, column {column}, near {excerpt:?}: {what}{hint}"))
}

/// Reads a value and notes the fields that stand twice in it.
struct DuplicateKeyVisitor<'t, 'd> {
    at: ValueLocation<'t>,
    duplicates: &'d mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for DuplicateKeyVisitor<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DuplicateKeyVisitor<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let Self { at, duplicates } = self;
        let mut values = Vec::new();
        while let Some(value) = items
            .next_element_seed(DuplicateKeyVisitor { at: at.item(values.len()), duplicates })?
        {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let Self { at, duplicates } = self;
        let mut fields = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let at = at.field(&name);
            // One more than are listed shows that there are more.
            if fields.contains_key(&name) && duplicates.len() <= PROBLEMS_MAX {
                duplicates.push(at.written().trim_start_matches('.').to_owned());
            }
            let value = members.next_value_seed(DuplicateKeyVisitor { at, duplicates })?;
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}
