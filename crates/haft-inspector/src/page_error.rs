//! Why there is no page, in words for the person who asked for it.

use std::fmt;

use haft_app::AppError;
use haft_journal::JournalError;
use http::StatusCode;

/// Why there is no page.
#[derive(Debug)]
pub(crate) struct PageError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl PageError {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self { status: StatusCode::NOT_FOUND, message: message.into() }
    }

    /// The state is another one than the person saw.
    pub(crate) fn conflict(message: impl fmt::Display) -> Self {
        Self { status: StatusCode::CONFLICT, message: message.to_string() }
    }

    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, message: message.to_string() }
    }
}

impl From<JournalError> for PageError {
    fn from(err: JournalError) -> Self {
        match &err {
            JournalError::UnknownRun { .. } | JournalError::UnknownCall { .. } => {
                Self::not_found(err.to_string())
            }
            JournalError::NotInDoubt { .. } | JournalError::LeaseHeld { .. } => Self::conflict(err),
            _ => Self::failed(err),
        }
    }
}

impl From<AppError> for PageError {
    fn from(err: AppError) -> Self {
        Self::failed(err.message)
    }
}
