//! The effect of a call on the world, and the kind by which an editor draws it.

use serde::{Deserialize, Serialize};

/// Says what executing a tool does to the world, and so whether it may be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Changes something; a repeat leaves the same state.
    Idempotent,
    /// Changes something; a repeat changes it again.
    Once,
}

impl Effect {
    /// Returns whether a call changes anything (`sideEffect` in the Smithers texts).
    pub fn side_effect(self) -> bool {
        !matches!(self, Self::Read)
    }

    /// Returns whether a repeat is safe (`idempotent` in the Smithers texts).
    pub fn idempotent(self) -> bool {
        !matches!(self, Self::Once)
    }

    /// Returns the name used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Idempotent => "idempotent",
            Self::Once => "once",
        }
    }
}

/// The tool kind of the Agent Client Protocol, which decides an editor's icon and view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Removes files or data.
    Delete,
    /// Moves or renames files.
    Move,
    /// Looks for something.
    Search,
    /// Runs commands.
    Execute,
    /// Prepares the model's own work.
    Think,
    /// Gets something from outside.
    Fetch,
    /// Anything else.
    Other,
}

impl ToolKind {
    /// Returns the name used on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Move => "move",
            Self::Search => "search",
            Self::Execute => "execute",
            Self::Think => "think",
            Self::Fetch => "fetch",
            Self::Other => "other",
        }
    }
}
