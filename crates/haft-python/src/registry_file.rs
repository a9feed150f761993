//! `registry.json` in Smith's format: every tool's METADATA and its module. The registry is
//! generated from checked tools, parsed, and compared with them. The caller decides where the file
//! is and when it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
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

    /// Returns the registry of these tools, sorted by name.
    pub fn from_tools(tools: &[CheckedTool]) -> Self {
        let entries: BTreeMap<_, _> = tools.iter().map(|tool| (&tool.id, entry(tool))).collect();
        Self { entries: entries.into_values().collect() }
    }

    /// Returns the text of the file; equal entries give equal text.
    pub fn render(&self) -> String {
        let document = json!({"version": "1.0", "auto_generated": true});
        let entries: Vec<Value> = self.entries.iter().cloned().map(Value::Object).collect();
        let document = RegistryDocument { header: &document, entries: &entries };
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
            let name = name_of(registered, index);
            let is_first = seen.insert(name.clone());
            match by_name.get(name.as_str()) {
                Some(tool) if is_first => {
                    differences.extend(difference_of_tool(&name, registered, tool))
                }
                Some(_) => {
                    differences
                        .push(RegistryDifference::Removed { name, why: RemovalReason::Duplicate });
                }
                None => {
                    let why = removal_reason(registered, tools, files);
                    differences.push(RegistryDifference::Removed { name, why });
                }
            }
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

fn name_of(entry: &Map<String, Value>, index: usize) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    match text("name").or_else(|| text("module")) {
        Some(name) => name.to_owned(),
        None => format!("entry {}", index + 1),
    }
}

fn removal_reason(
    entry: &Map<String, Value>,
    tools: &[CheckedTool],
    files: &[SourceFile],
) -> RemovalReason {
    let module = entry.get("module").and_then(Value::as_str).unwrap_or_default();
    // Entries may name the module within a package that is not configured.
    let last = |module: &str| module.rsplit('.').next().unwrap_or_default().to_owned();
    let is_same = |other: &str| other == module || last(other) == last(module);
    if tools.iter().any(|tool| is_same(&tool.source.module)) {
        RemovalReason::Renamed
    } else if files.iter().any(|file| is_same(&file.module)) {
        RemovalReason::NoTool
    } else {
        RemovalReason::NoFile
    }
}

fn difference_of_tool(
    name: &str,
    registered: &Map<String, Value>,
    tool: &CheckedTool,
) -> Option<RegistryDifference> {
    let mut fields = Vec::new();
    let expected = Value::Object(entry(tool));
    compare("", &Value::Object(registered.clone()), &expected, &mut fields);
    let name = name.to_owned();
    (!fields.is_empty()).then_some(RegistryDifference::Changed { name, fields })
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

struct RegistryDocument<'a> {
    header: &'a Value,
    entries: &'a [Value],
}

impl Serialize for RegistryDocument<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for name in ["version", "auto_generated"] {
            map.serialize_entry(name, &self.header[name])?;
        }
        map.serialize_entry(
            "tools",
            &OrderedItems { items: self.entries, role: RegistryObjectRole::Entry },
        )?;
        map.end()
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

struct OrderedValue<'a> {
    value: &'a Value,
    role: RegistryObjectRole,
}

struct OrderedItems<'a> {
    items: &'a [Value],
    role: RegistryObjectRole,
}

impl Serialize for OrderedItems<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.items.len()))?;
        for value in self.items {
            sequence.serialize_element(&OrderedValue { value, role: self.role })?;
        }
        sequence.end()
    }
}

impl Serialize for OrderedValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Array(items) => OrderedItems { items, role: self.role }.serialize(serializer),
            Value::Object(fields) => {
                let mut names: Vec<&String> = fields.keys().collect();
                // Keys without a defined position keep the order of METADATA.
                names.sort_by_key(|name| rank(self.role, name));
                let mut map = serializer.serialize_map(Some(names.len()))?;
                for name in names {
                    let role = role_within(self.role, name);
                    map.serialize_entry(name, &OrderedValue { value: &fields[name], role })?;
                }
                map.end()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.value.serialize(serializer)
            }
        }
    }
}

fn rank(role: RegistryObjectRole, name: &str) -> usize {
    let position = |names: &[&str]| names.iter().position(|known| *known == name);
    match role {
        RegistryObjectRole::Entry => match (position(FIRST), position(LAST)) {
            (Some(at), _) => at,
            (None, Some(at)) => FIRST.len() + 1 + at,
            (None, None) => FIRST.len(),
        },
        RegistryObjectRole::Schema => position(SCHEMA).unwrap_or(SCHEMA.len()),
        RegistryObjectRole::Plain => 0,
    }
}

fn role_within(role: RegistryObjectRole, name: &str) -> RegistryObjectRole {
    match (role, name) {
        (RegistryObjectRole::Entry, "parameters") | (RegistryObjectRole::Plain, _) => {
            RegistryObjectRole::Schema
        }
        (RegistryObjectRole::Schema, "properties") => RegistryObjectRole::Plain,
        (RegistryObjectRole::Schema, _) => RegistryObjectRole::Schema,
        (RegistryObjectRole::Entry, _) => RegistryObjectRole::Plain,
    }
}

#[cfg(test)]
mod tests;
