//! Tools as OpenAI's chat completions take them in `tools`. Strict mode is left alone: it wants every parameter to be
//! required, which haft's are not.

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
        "type": "function",
        "function": {
            "name": contract.id.wire_name(),
            "description": contract.description,
            "parameters": contract.parameters,
        },
    })
}
