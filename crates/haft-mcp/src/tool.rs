//! A contract as an MCP tool. The list is the same bytes for the same tools: it goes into a model's prompt, where
//! every difference costs a cache.

use crate::meta::{EFFECT, REQUIRES};
use haft_contract::{Contract, Effect, ToolKind};
use rmcp::model::{JsonObject, MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// Returns a contract as MCP lists it.
pub fn tool_json(contract: &Contract) -> Value {
    serde_json::to_value(mcp_tool(contract))
        .expect("a tool is made of strings, booleans and JSON values, which always serialize")
}

pub(crate) fn mcp_tool(contract: &Contract) -> Tool {
    let mut tool = Tool::new(
        contract.id.wire_name(),
        contract.listed_description().into_owned(),
        contract
            .listed_parameters()
            .as_object()
            .cloned()
            .unwrap_or_else(|| JsonObject::from_iter([("type".to_owned(), json!("object"))])),
    );
    tool.annotations = annotations(contract);
    tool.meta = Some(meta(contract));
    match output_schema(contract) {
        Some(schema) => tool.with_raw_output_schema(schema.clone().into()),
        None => tool,
    }
}

/// Returns facts of the contract that have no place in the protocol, for drivers that decide about repeats; models do not see
/// them. A tool that requires nothing has no `haft/requires`.
fn meta(contract: &Contract) -> MetaObject {
    let Contract { effect, requires, .. } = contract;
    let (side_effect, idempotent) = (effect.side_effect(), effect.idempotent());
    let mut meta = MetaObject::new();
    let effect = json!({"sideEffect": side_effect, "idempotent": idempotent});
    meta.insert(EFFECT.to_owned(), effect);
    if !requires.is_empty() {
        meta.insert(REQUIRES.to_owned(), json!(requires));
    }
    meta
}

/// Returns the schema of a tool that answers with structured content as well. MCP wants that to be an object.
pub(crate) fn output_schema(contract: &Contract) -> Option<&JsonObject> {
    let schema = contract.output.as_ref().and_then(Value::as_object)?;
    schema.get("type").is_some_and(|name| name == "object").then_some(schema)
}

/// Returns the hints that say something else than the protocol takes for granted of a tool without them, which is the
/// worst: that it changes and destroys, must not be repeated, and reaches the outside. Whether a call can be repeated
/// matters only where it changes something.
fn annotations(contract: &Contract) -> Option<ToolAnnotations> {
    let changes = contract.effect.side_effect();
    let reaches_out = !contract.requires.net.is_empty() || !contract.requires.shell.is_empty();
    let replaces = matches!(
        contract.kind,
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Execute
    );
    let is_destructive = match contract.effect {
        Effect::Read => false,
        Effect::Idempotent => contract.dangerous || replaces,
        // If a call must not be repeated, a client cannot tell whether it can be undone.
        Effect::Once => true,
    };
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = (!changes).then_some(true);
    hints.destructive_hint = (!is_destructive).then_some(false);
    hints.idempotent_hint = (changes && contract.effect.idempotent()).then_some(true);
    hints.open_world_hint = (!reaches_out).then_some(false);
    (hints != ToolAnnotations::new()).then_some(hints)
}

#[cfg(test)]
mod tests;
