//! Tools as an MCP server lists them; the MCP crate knows how.

use haft_contract::Contract;
use haft_mcp::tool_json;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::views::output;

pub(super) fn print_list(contracts: &[&Contract]) -> Result<(), CommandError> {
    let tools: Vec<Value> = contracts.iter().map(|contract| tool_json(contract)).collect();
    output::write_pretty_json(&json!({ "tools": tools }))
}

pub(super) fn print_one(contract: &Contract) -> Result<(), CommandError> {
    output::write_pretty_json(&tool_json(contract))
}
