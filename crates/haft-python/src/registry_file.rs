//! `registry.json` in Smith's format: every tool's METADATA and the module that it is in. It is made from checked tools,
//! read, and compared with them; where the file lies and when it is written is for others to decide.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::check::CheckedTool;
use crate::directory::SourceFile;

/// The order of keys in an entry; others stand between these two groups.
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
/// The order of keys in a schema; others follow.
const SCHEMA: &[&str] =
    &["type", "description", "properties", "items", "enum", "default", "required"];

/// An existing registry.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegistryFile {
    /// Its entries, in their order.
    pub entries: Vec<Map<String, Value>>,
}

/// Says why a text is no registry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryFileError {
    /// It is not JSON.
    #[error("the registry is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It has another form.
    #[error(
        "the registry has {found}, expected {{\"tools\": [...]}} or a list, each entry an object"
    )]
    Form {
        /// What was found.
        found: String,
    },
}

/// How a registry and the files differ in one tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Difference {
    /// The file is a tool that the registry lacks.
    Added {
        /// The tool.
        name: String,
        /// Its module.
        module: String,
    },
    /// The registry has an entry for which there is no tool.
    Removed {
        /// The name in the entry; its module or place if it has none.
        name: String,
        /// Why there is no tool.
        why: RemovedWhy,
    },
    /// The entry and METADATA say different things.
    Changed {
        /// The tool.
        name: String,
        /// What differs.
        fields: Vec<FieldChange>,
    },
}

/// Why there is no tool for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovedWhy {
    /// The entry's module has no file in the directory.
    NoFile,
    /// The file is there and is no usable tool: it has no METADATA, or errors.
    NoTool,
    /// The file is a tool of another name.
    Renamed,
    /// An earlier entry has the same name.
    Duplicate,
}

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FieldChange {
    /// Which, such as `parameters.required`.
    pub field: String,
    /// What the registry says; nothing if it has no such field.
    pub registry: Option<Value>,
    /// What METADATA says; nothing if it has no such field.
    pub file: Option<Value>,
}

impl RegistryFile {
    /// Returns what a text says: an object with `tools`, or a list alone.
    pub fn parse(text: &str) -> Result<Self, RegistryFileError> {
        let form = |found: &str| RegistryFileError::Form { found: found.to_owned() };
        let value: Value = serde_json::from_str(text)?;
        let items = match value {
            Value::Array(items) => items,
            Value::Object(mut fields) => match fields.shift_remove("tools") {
                Some(Value::Array(items)) => items,
                Some(_) => return Err(form("tools that are no list")),
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
            | Value::Array(_) => Err(form("an entry that is no object")),
        };
        Ok(Self { entries: items.into_iter().map(entry).collect::<Result<_, _>>()? })
    }

    /// Returns the registry of these tools, by name.
    pub fn of_tools(tools: &[CheckedTool]) -> Self {
        let entries: BTreeMap<_, _> = tools.iter().map(|tool| (&tool.id, entry(tool))).collect();
        Self { entries: entries.into_values().collect() }
    }

    /// Returns the text of the file: the same for the same entries.
    pub fn render(&self) -> String {
        let document = json!({"version": "1.0", "auto_generated": true});
        let entries: Vec<Value> = self.entries.iter().cloned().map(Value::Object).collect();
        let document = Document { header: &document, entries: &entries };
        let mut text = serde_json::to_string_pretty(&document)
            .expect("a JSON value with text keys always has a text");
        text.push('\n');
        text
    }

    /// Returns how the entries differ from the tools in the files, by name of the tool.
    pub fn differences(&self, tools: &[CheckedTool], files: &[SourceFile]) -> Vec<Difference> {
        let by_name: BTreeMap<&str, &CheckedTool> =
            tools.iter().map(|tool| (tool.id.as_str(), tool)).collect();
        let mut seen = BTreeSet::new();
        let mut differences = Vec::new();
        for (index, registered) in self.entries.iter().enumerate() {
            let name = name_of(registered, index);
            let is_first = seen.insert(name.clone());
            match by_name.get(name.as_str()) {
                Some(tool) if is_first => differences.extend(changed(&name, registered, tool)),
                Some(_) => {
                    differences.push(Difference::Removed { name, why: RemovedWhy::Duplicate });
                }
                None => {
                    let why = why_removed(registered, tools, files);
                    differences.push(Difference::Removed { name, why });
                }
            }
        }
        for tool in tools.iter().filter(|tool| !seen.contains(tool.id.as_str())) {
            let (name, module) = (tool.id.to_string(), tool.source.module.clone());
            differences.push(Difference::Added { name, module });
        }
        differences.sort_by(|left, right| left.name().cmp(right.name()));
        differences
    }
}

/// Returns the entry of a tool: METADATA as it is written, what Smith expects besides, and the module.
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

fn why_removed(
    entry: &Map<String, Value>,
    tools: &[CheckedTool],
    files: &[SourceFile],
) -> RemovedWhy {
    let module = entry.get("module").and_then(Value::as_str).unwrap_or_default();
    // Entries may name the module within a package that is not configured.
    let last = |module: &str| module.rsplit('.').next().unwrap_or_default().to_owned();
    let is_same = |other: &str| other == module || last(other) == last(module);
    if tools.iter().any(|tool| is_same(&tool.source.module)) {
        RemovedWhy::Renamed
    } else if files.iter().any(|file| is_same(&file.module)) {
        RemovedWhy::NoTool
    } else {
        RemovedWhy::NoFile
    }
}

fn changed(name: &str, registered: &Map<String, Value>, tool: &CheckedTool) -> Option<Difference> {
    let mut fields = Vec::new();
    let wanted = Value::Object(entry(tool));
    compare("", &Value::Object(registered.clone()), &wanted, &mut fields);
    let name = name.to_owned();
    (!fields.is_empty()).then_some(Difference::Changed { name, fields })
}

/// Compares field by field down to what is no object.
fn compare(place: &str, registry: &Value, file: &Value, fields: &mut Vec<FieldChange>) {
    let (Value::Object(left), Value::Object(right)) = (registry, file) else {
        if registry != file {
            let change = |value: &Value| Some(value.clone());
            let (registry, file) = (change(registry), change(file));
            fields.push(FieldChange { field: place.to_owned(), registry, file });
        }
        return;
    };
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    for name in names {
        let dot = if place.is_empty() { "" } else { "." };
        let place = format!("{place}{dot}{name}");
        match (left.get(name), right.get(name)) {
            (Some(registry), Some(file)) => compare(&place, registry, file, fields),
            (registry, file) => fields.push(FieldChange {
                field: place,
                registry: registry.cloned(),
                file: file.cloned(),
            }),
        }
    }
}

impl Difference {
    /// Returns the name of the tool or the entry.
    pub fn name(&self) -> &str {
        match self {
            Self::Added { name, .. } | Self::Removed { name, .. } | Self::Changed { name, .. } => {
                name
            }
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { name, module } => {
                write!(f, "{name}: in the files ({module}), not in the registry")
            }
            Self::Removed { name, why } => {
                let why = match why {
                    RemovedWhy::NoFile => "its file is not there",
                    RemovedWhy::NoTool => "its file is no usable tool",
                    RemovedWhy::Renamed => "its file is a tool of another name",
                    RemovedWhy::Duplicate => "an earlier entry has the same name",
                };
                write!(f, "{name}: in the registry, but {why}")
            }
            Self::Changed { name, fields } => {
                write!(f, "{name}: differs")?;
                for FieldChange { field, registry, file } in fields {
                    let (registry, file) = (shown(registry.as_ref()), shown(file.as_ref()));
                    write!(f, "\n  {field}: {registry} in the registry, {file} in the file")?;
                }
                Ok(())
            }
        }
    }
}

fn shown(value: Option<&Value>) -> String {
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

struct Document<'a> {
    header: &'a Value,
    entries: &'a [Value],
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for name in ["version", "auto_generated"] {
            map.serialize_entry(name, &self.header[name])?;
        }
        map.serialize_entry("tools", &Items { items: self.entries, role: Role::Entry })?;
        map.end()
    }
}

/// What an object is, which decides the order of its keys.
#[derive(Clone, Copy)]
enum Role {
    Entry,
    Schema,
    /// Of names that are not keywords.
    Plain,
}

struct Ordered<'a> {
    value: &'a Value,
    role: Role,
}

struct Items<'a> {
    items: &'a [Value],
    role: Role,
}

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut sequence = serializer.serialize_seq(Some(self.items.len()))?;
        for value in self.items {
            sequence.serialize_element(&Ordered { value, role: self.role })?;
        }
        sequence.end()
    }
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Array(items) => Items { items, role: self.role }.serialize(serializer),
            Value::Object(fields) => {
                let mut names: Vec<&String> = fields.keys().collect();
                // What has no place of its own stays in the order in which METADATA has it.
                names.sort_by_key(|name| rank(self.role, name));
                let mut map = serializer.serialize_map(Some(names.len()))?;
                for name in names {
                    let role = role_within(self.role, name);
                    map.serialize_entry(name, &Ordered { value: &fields[name], role })?;
                }
                map.end()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.value.serialize(serializer)
            }
        }
    }
}

fn rank(role: Role, name: &str) -> usize {
    let position = |names: &[&str]| names.iter().position(|known| *known == name);
    match role {
        Role::Entry => match (position(FIRST), position(LAST)) {
            (Some(at), _) => at,
            (None, Some(at)) => FIRST.len() + 1 + at,
            (None, None) => FIRST.len(),
        },
        Role::Schema => position(SCHEMA).unwrap_or(SCHEMA.len()),
        Role::Plain => 0,
    }
}

fn role_within(role: Role, name: &str) -> Role {
    match (role, name) {
        (Role::Entry, "parameters") | (Role::Plain, _) => Role::Schema,
        (Role::Schema, "properties") => Role::Plain,
        (Role::Schema, _) => Role::Schema,
        (Role::Entry, _) => Role::Plain,
    }
}

#[cfg(test)]
mod tests;
