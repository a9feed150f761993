//! The data that a tool publishes.

use std::borrow::Cow;
use std::num::NonZeroU32;

use serde::Serialize;
use serde_json::Value;

use crate::limits::LISTED_CHARS_MAX;
use crate::{Effect, RequirementSet, ToolId, ToolKind};

/// Everything that is known of a tool without calling it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Contract {
    /// Stable identifier.
    pub id: ToolId,
    /// The text by which a model decides whether to call.
    pub description: String,
    /// JSON Schema of the input.
    pub parameters: Value,
    /// JSON Schema of the output's data, where the tool promises one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// An output that was not cut. A model that makes a plan sees the form of outputs in it. No front end publishes it.
    #[serde(skip)]
    pub example_output: Option<Value>,
    /// The outside access that it needs.
    pub requires: RequirementSet,
    /// The effect of a call on the world.
    pub effect: Effect,
    /// Whether a plan runs it only when the user named it.
    pub dangerous: bool,
    /// How an editor draws it.
    pub kind: ToolKind,
    /// Where its output is cut.
    pub output_limit: OutputLimit,
    /// Input fields that are stored as size and SHA-256 only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "digested")]
    pub redacted: Vec<String>,
    /// Whether the tool hands its idempotency key to a service that deduplicates by it.
    pub accepts_key: bool,
    /// The function behind the tool, where it has one that plans name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Where the tool comes from.
    #[serde(skip)]
    pub origin: ToolOrigin,
    /// The parameter that a shell reads, where there is one.
    #[serde(skip)]
    pub shell_line: Option<ShellParameter>,
    /// How many calls the tool works on at the same time; further ones wait inside it. A plan does not begin more.
    #[serde(skip)]
    pub calls_at_once_max: Option<NonZeroU32>,
    /// Whether one set of changes of files is all that a call does to the world.
    #[serde(skip)]
    pub only_changes_files: bool,
    /// Whether all that a call does is to have subagents do something, whose own calls are judged and recorded one by one.
    #[serde(skip)]
    pub delegates: bool,
    /// Whether only haft calls the tool, for its own purposes. No agent is offered it, and no agent can call it.
    #[serde(skip)]
    pub is_internal: bool,
    /// Whether an agent has the tool only if the agent names it, and no other connection has it.
    #[serde(skip)]
    pub only_if_named: bool,
    /// The data that the tool keeps in the connection, if any.
    #[serde(skip)]
    pub connection_store: Option<ConnectionStore>,
    /// When the tool is listed to a model.
    #[serde(skip)]
    pub listed_if: ListingCondition,
}

/// When a tool is listed to a model: a tool that cannot work costs the model's attention, and a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ListingCondition {
    /// In every connection.
    #[default]
    Always,
    /// Where a person can be asked.
    CanAsk,
    /// Where a rule allows some host, or a person can be asked.
    HasHosts,
    /// Nowhere, because a part that the tool needs is not configured or not installed.
    Never,
}

/// The data that a tool keeps in the connection beyond its calls. A connection takes it over from recorded calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConnectionStore {
    /// The todo list, from the input's `todos`.
    Todos,
    /// The skills that were loaded, each by the input's `name`.
    Skills,
    /// The tools that a search found, from the answer's `matches`.
    FoundTools,
}

/// Where a tool comes from, which decides how it is listed where there are many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ToolOrigin {
    /// It is written in Rust, and always listed.
    #[default]
    Native,
    /// It is declared in the manifest as a command, and always listed.
    Declared,
    /// It is written in Python.
    Python,
    /// It is a tool of an MCP server.
    Mcp {
        /// The server's name in the manifest.
        server: String,
        /// The name that the server has for the tool.
        tool: String,
    },
}

/// The parameter that a shell reads, so that whatever is put into it becomes code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellParameter {
    /// Its name.
    pub parameter: &'static str,
    /// The parameter that holds words no shell reads. Where it is given, none reads the other one either.
    pub words: &'static str,
}

/// Where a tool's output is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimit {
    /// After as many bytes of text as the operator configured.
    #[default]
    Configured,
    /// After so many bytes of text, or what the operator configured if that is less.
    Bytes(usize),
    /// After so many entries of a list, or as many bytes of text as the operator configured.
    Entries(usize),
}

/// The part of a contract that drives retries, in the words of the Smithers texts
/// (`getDefinedToolMetadata`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolMetadata {
    /// The tool's id.
    pub name: String,
    /// Whether a call changes anything.
    pub side_effect: bool,
    /// Whether a repeat is safe.
    pub idempotent: bool,
}

impl Contract {
    /// Returns the description as it is listed. One that a stranger wrote is cut to [`LISTED_CHARS_MAX`] characters: all of
    /// it is what looking for tools finds.
    pub fn listed_description(&self) -> Cow<'_, str> {
        let is_foreign = matches!(self.origin, ToolOrigin::Mcp { .. });
        match self.description.char_indices().nth(LISTED_CHARS_MAX) {
            Some(_) if is_foreign => {
                let kept = self.description.chars().take(LISTED_CHARS_MAX - 1);
                Cow::Owned(kept.chain(std::iter::once('…')).collect())
            }
            _ => Cow::Borrowed(&self.description),
        }
    }

    /// Returns the schema of the input as a model reads it. A tool of haft's own leaves out bounds: an input beyond one is rare, and
    /// its error names the bound.
    pub fn listed_parameters(&self) -> Value {
        let mut parameters = self.parameters.clone();
        if self.origin == ToolOrigin::Native {
            remove_bounds(&mut parameters);
        }
        parameters
    }

    /// Returns the part that drives retries.
    pub fn metadata(&self) -> ToolMetadata {
        ToolMetadata {
            name: self.id.to_string(),
            side_effect: self.effect.side_effect(),
            idempotent: self.effect.idempotent(),
        }
    }
}

/// The keywords of bounds.
const BOUNDS: [&str; 8] = [
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
];

fn remove_bounds(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.retain(|name, _| !BOUNDS.contains(&name.as_str()));
    for (name, value) in fields {
        match value {
            // The names in here are parameters, not keywords.
            Value::Object(properties) if name == "properties" => {
                properties.values_mut().for_each(remove_bounds);
            }
            Value::Object(_) => remove_bounds(value),
            Value::Array(items) => items.iter_mut().for_each(remove_bounds),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Tool, ToolError, ToolOrigin};

    use super::*;

    #[test]
    fn a_model_reads_a_schema_without_bounds() {
        let parameters = serde_json::json!({
            "type": "object",
            "properties": {
                "maximum": {"type": "string", "maxLength": 5},
                "list": {"type": "array", "maxItems": 3, "items": {"type": "integer", "minimum": 1}},
            },
            "additionalProperties": false,
        });
        let listed = |origin: ToolOrigin| {
            let run = |_: Value, _| async { Ok::<_, ToolError>("") };
            let tool = Tool::new("a").origin(origin).execute_json(parameters.clone(), run);
            tool.valid_contract().unwrap().listed_parameters()
        };
        let expect = serde_json::json!({
            "type": "object",
            "properties": {
                "maximum": {"type": "string"},
                "list": {"type": "array", "items": {"type": "integer"}},
            },
            "additionalProperties": false,
        });
        assert_eq!(listed(ToolOrigin::Native), expect);
        assert_eq!(listed(ToolOrigin::Python), parameters);
    }

    #[test]
    fn what_a_stranger_wrote_is_cut_where_it_is_listed() {
        let check = |origin: ToolOrigin, chars: usize, expect: usize| {
            let builder = Tool::new("a").description("ä".repeat(chars)).origin(origin);
            let run = |_: Value, _| async { Ok::<_, ToolError>("") };
            let tool = builder.execute_json(crate::schema::empty_object(), run);
            let contract = tool.valid_contract().unwrap();
            assert_eq!(contract.listed_description().chars().count(), expect);
            assert_eq!(contract.listed_description().ends_with('…'), expect < chars);
        };
        let foreign = || ToolOrigin::Mcp { server: "s".to_owned(), tool: "t".to_owned() };
        check(foreign(), LISTED_CHARS_MAX, LISTED_CHARS_MAX);
        check(foreign(), LISTED_CHARS_MAX + 1, LISTED_CHARS_MAX);
        check(ToolOrigin::Native, LISTED_CHARS_MAX + 1, LISTED_CHARS_MAX + 1);
    }
}
