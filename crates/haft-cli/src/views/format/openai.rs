//! Tools in the format of OpenAI's Chat Completions API, for its field `tools`. Strict mode is not used: it requires every
//! parameter, and haft's tools have optional ones.

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
