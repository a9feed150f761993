//! Failures in the words and codes of the protocol. The message says all: editors show it, and not all show more.

use agent_client_protocol::{Error, ErrorCode};
use haft_agent::AgentError;

/// Returns what an editor is told of a session that cannot go on.
pub(crate) fn agent_error(err: &AgentError) -> Error {
    if err.lacks_key() {
        let message = format!(
            "{err}\n\nhaft takes keys from the environment that the editor starts it with: add it there, and have haft started again"
        );
        return error(ErrorCode::AUTH_REQUIRED, message);
    }
    // A key that is not accepted is no such error: an editor that is told of one in a turn offers to log in, which nobody can
    // here, and does not show the message, which says what to do.
    let code = match err {
        AgentError::UnknownSession(_) => ErrorCode::RESOURCE_NOT_FOUND,
        AgentError::UnknownAgent { .. }
        | AgentError::OtherWorkspace { .. }
        | AgentError::SubagentSession(_)
        | AgentError::EmptyPrompt
        | AgentError::PromptTooLong { .. } => ErrorCode::INVALID_PARAMS,
        AgentError::ModelUnavailable { chat, .. } => {
            // An editor has no such option; what a terminal changes holds here, too.
            let message = format!("{err}: resume session {chat} with that one in a terminal");
            return error(ErrorCode::INTERNAL_ERROR, message);
        }
        _ => ErrorCode::INTERNAL_ERROR,
    };
    error(code, err.to_string())
}

/// Returns an error about what was sent.
pub(crate) fn invalid_params(message: impl Into<String>) -> Error {
    error(ErrorCode::INVALID_PARAMS, message)
}

/// Returns an error about a session that is not open.
pub(crate) fn not_open_error(session: &str) -> Error {
    let message = format!(
        "session {session} is not open: begin one with session/new, or open it with session/load"
    );
    error(ErrorCode::RESOURCE_NOT_FOUND, message)
}

pub(crate) fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error::new(code, message)
}
