//! The errors of SQLite in the words of the journal. Errors about a single entry are made where the entry is written.

use std::path::Path;

use rusqlite::{Error, ErrorCode, ffi};

use crate::JournalError;
use crate::limits::LOCK_WAIT_MS_MAX;

/// Returns what a failure of the database at `path` means.
pub(super) fn journal_error(path: &Path, err: &Error) -> JournalError {
    let path = path.to_owned();
    if let Error::ToSqlConversionFailure(cause) = err
        && let Some(cause) = cause.downcast_ref::<JournalError>()
    {
        // Of the texts beside the database.
        return match cause {
            JournalError::Full { .. } => JournalError::Full { path },
            JournalError::ReadOnly { .. } => JournalError::ReadOnly { path },
            JournalError::Failed { detail, .. } => {
                JournalError::Failed { path, detail: detail.clone() }
            }
            other => JournalError::Failed { path, detail: other.to_string() },
        };
    }
    let detail = err.to_string();
    let Some(code) = err.sqlite_error_code() else {
        return match err {
            // A stored value has another type than its column should have.
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::QueryReturnedNoRows => JournalError::Damaged { path, detail },
            _ => JournalError::Failed { path, detail },
        };
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            JournalError::Locked { path, waited_ms: LOCK_WAIT_MS_MAX }
        }
        ErrorCode::DiskFull => JournalError::Full { path },
        // The disk has no room for the memory that processes share beside the file.
        ErrorCode::SystemIoFailure
            if err
                .sqlite_error()
                .is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_SHMSIZE) =>
        {
            JournalError::Full { path }
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => JournalError::ReadOnly { path },
        ErrorCode::CannotOpen => JournalError::CannotOpen { path, reason: detail },
        ErrorCode::NotADatabase => {
            JournalError::NotAJournal { path, reason: "it is no SQLite database".to_owned() }
        }
        ErrorCode::DatabaseCorrupt => JournalError::Damaged { path, detail },
        _ => JournalError::Failed { path, detail },
    }
}
