//! Tools as OpenAI takes them in the field `tools` of `POST /v1/chat/completions`. Strict mode is not used: it requires every
//! parameter, and haft's tools have optional ones.

use haft_contract::Contract;
use serde_json::{Value, json};

pub(super) fn tool(contract: &Contract) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": contract.id.wire_name(),
            "description": contract.description,
            "parameters": contract.parameters,
        },
    })
}
