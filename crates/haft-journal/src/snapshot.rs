//! Notes about snapshots of a workspace. Another crate makes and keeps the snapshots; a journal only knows
//! which ones belong to which call.

use haft_contract::CallAddress;
use serde::Serialize;

/// The snapshots around one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SnapshotNote {
    /// The call.
    pub call: CallAddress,
    /// The root that was recorded.
    pub root: String,
    /// The snapshot of the root before the effect.
    pub before: Option<String>,
    /// The snapshot of the root after the effect.
    pub after: Option<String>,
    /// Why one of them is missing, or what they do not hold.
    pub note: Option<String>,
    /// When the second was made, in milliseconds since 1970.
    pub taken_at_ms: u64,
}
