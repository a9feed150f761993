//! The state that a client carries from one request to the next: a number and an end, signed. It is bound to the call that it
//! was given for. The keeper of the calls ensures that it is used once. The expiry of the codec is not used, because the codec
//! reads the system clock.

use haft_contract::canonical_json;
use rmcp::model::{RequestStateCodec, SealOptions};
use serde_json::{Value, json};

use crate::meta::CallMeta;

/// Bytes of the key in [`McpServerParts::state_key`](crate::McpServerParts::state_key).
pub const STATE_KEY_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestState {
    pub(crate) number: u64,
    /// When it waits no more.
    pub(crate) expires_at_ms: u64,
}

/// Which call a request is for: its tool, its input and its place, with the name of its run.
#[derive(Debug)]
pub(crate) struct CallBinding(String);

impl CallBinding {
    pub(crate) fn new(tool: &str, input: &Value, run: &str, meta: &CallMeta) -> Self {
        // How the call is placed was decided when it was first made.
        let CallMeta { run: _, address: place, driver_call_id, resume: _ } = meta;
        let place = json!([tool, run, place.node, place.iteration, place.attempt, driver_call_id]);
        // JSON on one line, so the line's end cannot be taken for a part of either half.
        Self(format!("{place}\n{}", canonical_json(input)))
    }
}

/// Signs tickets and knows its own again.
pub(crate) struct RequestStateSigner(RequestStateCodec);

impl RequestStateSigner {
    pub(crate) fn new(key: [u8; STATE_KEY_BYTES]) -> Self {
        const { assert!(STATE_KEY_BYTES >= RequestStateCodec::MIN_KEY_LENGTH) }
        Self(RequestStateCodec::new_unchecked(key))
    }

    pub(crate) fn sign(&self, ticket: RequestState, binding: &CallBinding) -> String {
        let mut payload = ticket.number.to_be_bytes().to_vec();
        payload.extend(ticket.expires_at_ms.to_be_bytes());
        let options = SealOptions::new().associated_data(binding.0.as_bytes());
        self.0.seal_with(&payload, &options)
    }

    /// Returns what a state holds; `None` if it was not given by this server for this call. The caller is not told
    /// which of the two it is.
    pub(crate) fn verify(&self, state: &str, binding: &CallBinding) -> Option<RequestState> {
        let payload = self.0.open_with(state, binding.0.as_bytes()).ok()?;
        let (number, rest) = payload.split_first_chunk()?;
        let (expires_at_ms, _) = rest.split_first_chunk()?;
        Some(RequestState {
            number: u64::from_be_bytes(*number),
            expires_at_ms: u64::from_be_bytes(*expires_at_ms),
        })
    }
}

#[cfg(test)]
mod tests;
