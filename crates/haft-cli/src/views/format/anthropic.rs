//! Tools as Anthropic's messages take them in `tools`.

use haft_contract::Contract;
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::views::output;

pub(super) fn print_list(contracts: &[&Contract]) -> Result<(), CommandError> {
    output::write_pretty_json(&contracts.iter().map(|contract| tool(contract)).collect::<Vec<_>>())
}

pub(super) fn print_one(contract: &Contract) -> Result<(), CommandError> {
    output::write_pretty_json(&tool(contract))
}

fn tool(contract: &Contract) -> Value {
    json!({
        "name": contract.id.wire_name(),
        "description": contract.description,
        "input_schema": contract.parameters,
    })
}
