//! `registry.json` in Smith's format: every tool's METADATA and its module. The registry is
//! generated from checked tools, parsed, and compared with them. The caller decides where the file
//! is and when it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::check::CheckedTool;
use crate::directory::SourceFile;

/// The first keys of an entry, in order; other keys are between these two groups.
const FIRST: &[&str] = &[
    "name",
    "description",
    "function",
    "dangerous",
    "domain",
    "output_type",
    "prohibited_outputs",
];
const LAST: &[&str] = &["parameters", "module"];
/// The first keys of a schema, in order; others follow.
const SCHEMA: &[&str] =
    &["type", "description", "properties", "items", "enum", "default", "required"];

/// An existing registry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegistryFile {
    /// Its entries, in order.
    pub entries: Vec<Map<String, Value>>,
}

/// A text is not a registry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryFileError {
    /// It is not JSON.
    #[error("the registry is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It has an unexpected structure.
    #[error(
        "the registry has {found}, expected {{\"tools\": [...]}} or a list, each entry an object"
    )]
    Form {
        /// The structure that was found.
        found: String,
    },
}

/// A difference between a registry and the files, for one tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RegistryDifference {
    /// The registry lacks the tool of a file.
    Added {
        /// The tool.
        name: String,
        /// Its module.
        module: String,
    },
    /// The registry has an entry without a tool.
    Removed {
        /// The name in the entry; if it has none, its module or position.
        name: String,
        /// Why there is no tool.
        why: RemovalReason,
    },
    /// The entry and METADATA differ.
    Changed {
        /// The tool.
        name: String,
        /// The different fields.
        fields: Vec<RegistryFieldChange>,
    },
}

/// Why there is no tool for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovalReason {
    /// The entry's module has no file in the directory.
    NoFile,
    /// The file exists but is not a usable tool: it has no METADATA, or errors.
    NoTool,
    /// The file is a tool with another name.
    Renamed,
    /// An earlier entry has the same name.
    Duplicate,
}

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegistryFieldChange {
    /// Its name, such as `parameters.required`.
    pub field: String,
    /// The value in the registry; `None` if the field is missing.
    pub registry: Option<Value>,
    /// The value in METADATA; `None` if the field is missing.
    pub file: Option<Value>,
}

impl RegistryFile {
    /// Parses a registry: an object with `tools`, or only a list.
    pub fn parse(text: &str) -> Result<Self, RegistryFileError> {
        let form = |found: &str| RegistryFileError::Form { found: found.to_owned() };
        let value: Value = serde_json::from_str(text)?;
        let items = match value {
            Value::Array(items) => items,
            Value::Object(mut fields) => match fields.shift_remove("tools") {
                Some(Value::Array(items)) => items,
                Some(_) => return Err(form("tools that are not a list")),
                None => return Err(form("an object without tools")),
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(form("a single value"));
            }
        };
        let entry = |item| match item {
            Value::Object(entry) => Ok(entry),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(form("an entry that is not an object")),
        };
        Ok(Self { entries: items.into_iter().map(entry).collect::<Result<_, _>>()? })
    }

    /// Returns whether there is an entry for a tool of this name.
    pub fn names(&self, tool: &str) -> bool {
        self.entries.iter().any(|entry| entry.get("name").and_then(Value::as_str) == Some(tool))
    }

    /// Returns the registry of these tools, sorted by name.
    pub fn from_tools(tools: &[CheckedTool]) -> Self {
        let entries: BTreeMap<_, _> = tools.iter().map(|tool| (&tool.id, entry(tool))).collect();
        Self { entries: entries.into_values().collect() }
    }

    /// Returns the text of the file; equal entries give equal text.
    pub fn render(&self) -> String {
        let entries = self.entries.iter().cloned().map(Value::Object).collect();
        let tools = in_order(Value::Array(entries), RegistryObjectRole::Entry);
        let document = json!({"version": "1.0", "auto_generated": true, "tools": tools});
        let mut text = serde_json::to_string_pretty(&document)
            .expect("a JSON value with text keys always has a text");
        text.push('\n');
        text
    }

    /// Returns the differences between the entries and the tools in the files, by name of the tool.
    pub fn differences(
        &self,
        tools: &[CheckedTool],
        files: &[SourceFile],
    ) -> Vec<RegistryDifference> {
        let by_name: BTreeMap<&str, &CheckedTool> =
            tools.iter().map(|tool| (tool.id.as_str(), tool)).collect();
        let mut seen = BTreeSet::new();
        let mut differences = Vec::new();
        for (index, registered) in self.entries.iter().enumerate() {
            let text = |key: &str| registered.get(key).and_then(Value::as_str);
            let name = text("name").or_else(|| text("module")).map(str::to_owned);
            let name = name.unwrap_or_else(|| format!("entry {}", index + 1));
            let is_first = seen.insert(name.clone());
            let why = match by_name.get(name.as_str()) {
                Some(tool) if is_first => {
                    let mut fields = Vec::new();
                    let expected = Value::Object(entry(tool));
                    compare("", &Value::Object(registered.clone()), &expected, &mut fields);
                    if !fields.is_empty() {
                        differences.push(RegistryDifference::Changed { name, fields });
                    }
                    continue;
                }
                Some(_) => RemovalReason::Duplicate,
                None => {
                    let module = text("module").unwrap_or_default();
                    // Entries may name the module within a package that is not configured.
                    let last = |module: &str| module.rsplit('.').next().map(str::to_owned);
                    let is_same = |other: &str| other == module || last(other) == last(module);
                    if tools.iter().any(|tool| is_same(&tool.source.module)) {
                        RemovalReason::Renamed
                    } else if files.iter().any(|file| is_same(&file.module)) {
                        RemovalReason::NoTool
                    } else {
                        RemovalReason::NoFile
                    }
                }
            };
            differences.push(RegistryDifference::Removed { name, why });
        }
        for tool in tools.iter().filter(|tool| !seen.contains(tool.id.as_str())) {
            let (name, module) = (tool.id.to_string(), tool.source.module.clone());
            differences.push(RegistryDifference::Added { name, module });
        }
        differences.sort_by(|left, right| left.name().cmp(right.name()));
        differences
    }
}

/// Returns the entry of a tool: METADATA as written, the additional fields that Smith expects, and
/// the module.
fn entry(tool: &CheckedTool) -> Map<String, Value> {
    let mut entry = tool.metadata.clone();
    entry.entry("description").or_insert_with(|| tool.description.clone().into());
    entry.entry("dangerous").or_insert(Value::Bool(false));
    entry.insert("module".to_owned(), tool.source.module.clone().into());
    entry
}

/// Compares recursively, field by field, until a value is not an object.
fn compare(place: &str, registry: &Value, file: &Value, fields: &mut Vec<RegistryFieldChange>) {
    let (Value::Object(left), Value::Object(right)) = (registry, file) else {
        if registry != file {
            let change = |value: &Value| Some(value.clone());
            let (registry, file) = (change(registry), change(file));
            fields.push(RegistryFieldChange { field: place.to_owned(), registry, file });
        }
        return;
    };
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    for name in names {
        let dot = if place.is_empty() { "" } else { "." };
        let place = format!("{place}{dot}{name}");
        match (left.get(name), right.get(name)) {
            (Some(registry), Some(file)) => compare(&place, registry, file, fields),
            (registry, file) => fields.push(RegistryFieldChange {
                field: place,
                registry: registry.cloned(),
                file: file.cloned(),
            }),
        }
    }
}

impl RegistryDifference {
    /// Returns the name of the tool or the entry.
    pub fn name(&self) -> &str {
        match self {
            Self::Added { name, .. } | Self::Removed { name, .. } | Self::Changed { name, .. } => {
                name
            }
        }
    }
}

impl fmt::Display for RegistryDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { name, module } => {
                write!(f, "{name}: in the files ({module}), not in the registry")
            }
            Self::Removed { name, why } => {
                let why = match why {
                    RemovalReason::NoFile => "its file is not there",
                    RemovalReason::NoTool => "its file is not a usable tool",
                    RemovalReason::Renamed => "its file is a tool of another name",
                    RemovalReason::Duplicate => "an earlier entry has the same name",
                };
                write!(f, "{name}: in the registry, but {why}")
            }
            Self::Changed { name, fields } => {
                write!(f, "{name}: differs")?;
                for RegistryFieldChange { field, registry, file } in fields {
                    let (registry, file) =
                        (show_value(registry.as_ref()), show_value(file.as_ref()));
                    write!(f, "\n  {field}: {registry} in the registry, {file} in the file")?;
                }
                Ok(())
            }
        }
    }
}

fn show_value(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(value) => {
            let text = value.to_string();
            match text.char_indices().nth(80) {
                None => text,
                Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            }
        }
    }
}

/// The role of an object, which determines the order of its keys.
#[derive(Clone, Copy)]
enum RegistryObjectRole {
    Entry,
    Schema,
    /// An object whose keys are not keywords.
    Plain,
}

/// Returns a value with the keys of its objects in order. Keys without a defined position keep the order of METADATA.
fn in_order(value: Value, role: RegistryObjectRole) -> Value {
    let fields = match value {
        Value::Object(fields) => fields,
        Value::Array(items) => return items.into_iter().map(|item| in_order(item, role)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return value,
    };
    let rank = |name: &str| {
        let position = |keys: &[&str]| keys.iter().position(|key| *key == name);
        match role {
            RegistryObjectRole::Entry => match (position(FIRST), position(LAST)) {
                (Some(at), _) => at,
                (None, Some(at)) => FIRST.len() + 1 + at,
                (None, None) => FIRST.len(),
            },
            RegistryObjectRole::Schema => position(SCHEMA).unwrap_or(SCHEMA.len()),
            RegistryObjectRole::Plain => 0,
        }
    };
    let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
    fields.sort_by_key(|(name, _)| rank(name));
    let fields = fields.into_iter().map(|(name, value)| {
        let role = match (role, name.as_str()) {
            (RegistryObjectRole::Entry, "parameters") | (RegistryObjectRole::Plain, _) => {
                RegistryObjectRole::Schema
            }
            (RegistryObjectRole::Schema, "properties") | (RegistryObjectRole::Entry, _) => {
                RegistryObjectRole::Plain
            }
            (RegistryObjectRole::Schema, _) => RegistryObjectRole::Schema,
        };
        (name, in_order(value, role))
    });
    Value::Object(fields.collect())
}

#[cfg(test)]
mod tests;
