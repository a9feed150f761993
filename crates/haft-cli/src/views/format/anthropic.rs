//! Tools as Anthropic's messages take them in `tools`.

use haft_contract::Contract;
use serde_json::{Value, json};

pub(super) fn tool(contract: &Contract) -> Value {
    json!({
        "name": contract.id.wire_name(),
        "description": contract.description,
        "input_schema": contract.parameters,
    })
}
