//! The stable codes of everything that a call can be refused or fail with.

use serde::{Deserialize, Serialize};

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident => $text:literal,)*) => {
        /// Names why a call was refused or failed; the text is stable across versions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)*
        }

        impl ErrorCode {
            /// All codes, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the stable text.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

error_codes! {
    /// No tool has that id.
    ToolNotFound => "TOOL_NOT_FOUND",
    /// The input does not satisfy the tool's schema.
    InvalidInput => "INVALID_INPUT",
    /// The path cannot be used: missing, of the wrong kind, malformed.
    PathInvalid => "TOOL_PATH_INVALID",
    /// The path leads outside every root.
    PathEscape => "TOOL_PATH_ESCAPE",
    /// The file is over the limit.
    FileTooLarge => "TOOL_FILE_TOO_LARGE",
    /// The content to write is over the limit.
    ContentTooLarge => "TOOL_CONTENT_TOO_LARGE",
    /// The patch is over the limit.
    PatchTooLarge => "TOOL_PATCH_TOO_LARGE",
    /// The patch cannot be read or does not fit the file.
    PatchFailed => "TOOL_PATCH_FAILED",
    /// The text to replace is not in the file.
    EditNoMatch => "TOOL_EDIT_NO_MATCH",
    /// The text to replace is in the file more than once.
    EditAmbiguous => "TOOL_EDIT_AMBIGUOUS",
    /// The search pattern is not valid, or the search failed.
    GrepFailed => "TOOL_GREP_FAILED",
    /// The command ended with a status other than zero.
    CommandFailed => "TOOL_COMMAND_FAILED",
    /// The command would use the network, which is off.
    NetworkDisabled => "TOOL_NETWORK_DISABLED",
    /// The git command would talk to a remote, and the network is off.
    GitRemoteDisabled => "TOOL_GIT_REMOTE_DISABLED",
    /// The process was killed because its time was up.
    ProcessTimeout => "PROCESS_TIMEOUT",
    /// The process was killed because the call was cancelled.
    ProcessAborted => "PROCESS_ABORTED",
    /// The process could not be started.
    ProcessSpawnFailed => "PROCESS_SPAWN_FAILED",
    /// An access lies outside the effective capabilities.
    CapabilityDenied => "CAPABILITY_DENIED",
    /// A permission rule denies the call, or no person could be asked.
    PermissionDenied => "PERMISSION_DENIED",
    /// A watchdog denies the call.
    WatchdogDenied => "WATCHDOG_DENIED",
    /// The confinement asked for cannot be enforced here.
    SandboxUnavailable => "SANDBOX_UNAVAILABLE",
    /// No person can answer a question.
    Headless => "HEADLESS",
    /// A quota of the session is used up.
    QuotaExceeded => "QUOTA_EXCEEDED",
    /// Something that the tool stands on is not there now.
    Unavailable => "UNAVAILABLE",
    /// The effect may or may not have happened.
    InDoubt => "IN_DOUBT",
    /// The tool took longer than its time.
    ToolTimeout => "TOOL_TIMEOUT",
    /// The tool panicked.
    ToolPanicked => "TOOL_PANICKED",
    /// The tool answered with something that is not what it promised.
    ToolBadOutput => "TOOL_BAD_OUTPUT",
    /// Subagents are nested too deeply.
    DepthExceeded => "DEPTH_EXCEEDED",
    /// The tool failed for a reason that has no other code.
    ToolFailed => "TOOL_FAILED",
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
