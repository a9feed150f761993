//! Notes about snapshots of a workspace. Another crate makes and keeps the snapshots; a journal only knows
//! which ones belong to which call.

use haft_contract::CallAddress;
use serde::{Deserialize, Serialize};

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
    /// The git repositories whose own files changed between the snapshots, which hold none of these files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<ChangedRepository>,
}

/// A git repository whose own files a call changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedRepository {
    /// Its `.git`, relative to the root.
    pub path: String,
    /// The parts of it that changed.
    pub changed: Vec<RepositoryPart>,
}

/// A part of a git repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepositoryPart {
    /// All of it: the repository was made.
    Made,
    /// All of it: the repository was removed.
    Removed,
    /// The branch that is checked out.
    Head,
    /// Branches, tags and stashes.
    Refs,
    /// The index.
    Index,
    /// The stored objects.
    Objects,
}

impl RepositoryPart {
    /// Returns the part in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Made => "made",
            Self::Removed => "removed",
            Self::Head => "HEAD",
            Self::Refs => "refs",
            Self::Index => "the index",
            Self::Objects => "objects",
        }
    }
}
