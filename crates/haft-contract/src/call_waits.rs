//! How long a call waited for something else than its tool.

use serde::{Deserialize, Serialize};

/// How long a call waited for something else than the work of its tool. The journal keeps it with the envelope of the call;
/// callers do not get it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallWaits {
    /// For the questions of other calls, which a person answers first, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub queued_ms: u64,
    /// For the answer of a person, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked_ms: u64,
    /// For the snapshot before the effect, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub snapshot_ms: u64,
    /// For the start of confined processes, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sandbox_ms: u64,
}

impl CallWaits {
    /// Returns the waits with their names, in the order in which they come.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("queued", self.queued_ms),
            ("asked", self.asked_ms),
            ("snapshot", self.snapshot_ms),
            ("sandbox", self.sandbox_ms),
        ]
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
