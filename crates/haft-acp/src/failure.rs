//! Failures in the words and codes of the protocol. The message says all: editors show it, and not all show more.

use agent_client_protocol::{Error, ErrorCode};
use haft_agent::AgentError;

/// Returns what an editor is told of a session that cannot go on.
pub(crate) fn failure(err: &AgentError) -> Error {
    let code = match err {
        AgentError::UnknownChat(_) => ErrorCode::RESOURCE_NOT_FOUND,
        AgentError::UnknownAgent { .. }
        | AgentError::OtherRoot { .. }
        | AgentError::OfSubagent(_)
        | AgentError::EmptyPrompt
        | AgentError::PromptTooLong { .. } => ErrorCode::INVALID_PARAMS,
        _ => ErrorCode::INTERNAL_ERROR,
    };
    error(code, err.to_string())
}

/// Returns an error about what was sent.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    error(ErrorCode::INVALID_PARAMS, message)
}

/// Returns an error about a session that is not open.
pub(crate) fn not_open(session: &str) -> Error {
    let message = format!(
        "session {session} is not open: begin one with session/new, or open it with session/load"
    );
    error(ErrorCode::RESOURCE_NOT_FOUND, message)
}

pub(crate) fn error(code: ErrorCode, message: impl Into<String>) -> Error {
    Error::new(code, message)
}
