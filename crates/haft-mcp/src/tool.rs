//! A contract as an MCP tool. The list is the same bytes for the same tools: it goes into a model's prompt, where
//! every difference costs a cache.

use haft_contract::{Contract, Effect, Kind};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Returns a contract as MCP lists it.
pub fn tool_json(contract: &Contract) -> Value {
    serde_json::to_value(mcp_tool(contract))
        .expect("a tool is made of strings, booleans and JSON values, which always serialize")
}

pub(crate) fn mcp_tool(contract: &Contract) -> Tool {
    let tool = Tool::new(
        contract.id.wire_name(),
        contract.listed_description().into_owned(),
        object(&contract.parameters).cloned().unwrap_or_else(empty_schema),
    )
    .with_title(title(contract.id.as_str()))
    .with_annotations(annotations(contract));
    match output_schema(contract) {
        Some(schema) => tool.with_raw_output_schema(schema.clone().into()),
        None => tool,
    }
}

/// Returns the schema of a tool that answers with structured content as well. MCP wants that to be an object.
pub(crate) fn output_schema(contract: &Contract) -> Option<&JsonObject> {
    let schema = contract.output.as_ref().and_then(object)?;
    schema.get("type").is_some_and(|name| name == "object").then_some(schema)
}

/// All four hints are set: those that are absent default to the worst.
fn annotations(contract: &Contract) -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(!contract.effect.side_effect())
        .destructive(is_destructive(contract))
        .idempotent(contract.effect.idempotent())
        .open_world(!contract.requires.net.is_empty() || !contract.requires.shell.is_empty())
}

/// What must not be repeated may also not be undone, as far as anybody can tell from outside.
fn is_destructive(contract: &Contract) -> bool {
    let replaces = matches!(contract.kind, Kind::Edit | Kind::Delete | Kind::Move | Kind::Execute);
    match contract.effect {
        Effect::Read => false,
        Effect::Idempotent => contract.dangerous || replaces,
        Effect::Once => true,
    }
}

/// Returns `Apply patch` for `apply_patch`.
fn title(id: &str) -> String {
    let words = id.replace(['_', '.'], " ");
    let mut characters = words.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

fn object(schema: &Value) -> Option<&JsonObject> {
    schema.as_object()
}

fn empty_schema() -> JsonObject {
    JsonObject::from_iter([("type".to_owned(), json!("object"))])
}

#[cfg(test)]
mod tests;
