//! Converts errors to those of the protocol. The message is complete, because some editors show only the message.

use agent_client_protocol::{Error, ErrorCode};
use haft_agent::AgentError;

/// Returns the error of a session for its editor.
pub(crate) fn agent_error(err: &AgentError) -> Error {
    if err.lacks_key() {
        let message = format!(
            "{err}\n\nhaft takes keys from the environment that the editor starts it with: add it there, and have haft started again"
        );
        return error(ErrorCode::AUTH_REQUIRED, message);
    }
    // For this code, an editor hides the message and offers a login, which haft does not have. So a rejected key has another code.
    let code = match err {
        AgentError::UnknownSession(_) => ErrorCode::RESOURCE_NOT_FOUND,
        AgentError::UnknownAgent { .. }
        | AgentError::OtherWorkspace { .. }
        | AgentError::SubagentSession(_)
        | AgentError::EmptyPrompt
        | AgentError::PromptTooLong { .. } => ErrorCode::INVALID_PARAMS,
        AgentError::ModelUnavailable { session, .. } => {
            // An editor cannot change the model, but a terminal can.
            let message = format!("{err}: resume session {session} with that one in a terminal");
            return error(ErrorCode::INTERNAL_ERROR, message);
        }
        _ => ErrorCode::INTERNAL_ERROR,
    };
    error(code, err.to_string())
}

/// Returns an error about the parameters of a request.
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
