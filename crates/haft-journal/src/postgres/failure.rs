//! The errors of PostgreSQL in the words of the journal, and whether the connection is to blame. Errors about a single
//! entry are made where the entry is written.

use std::error::Error as _;
use std::iter::successors;
use std::path::Path;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::JournalError;
use crate::limits::LOCK_WAIT_MS_MAX;

/// Why something was not done in a session. But for the first, nothing of the transaction was kept.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The session is over. Whether the server did what it was told last is not known.
    Lost(String),
    /// There is no session.
    Unreachable(String),
    /// The database is something else.
    NotAJournal(String),
    /// A newer haft wrote the database.
    Newer {
        /// The version of its schema.
        found: i64,
        /// The newest version that this haft knows.
        supported: i64,
    },
    /// The server said no.
    Database(Error),
}

impl From<Error> for Trouble {
    fn from(err: Error) -> Self {
        const PASSING: [SqlState; 6] = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::IDLE_SESSION_TIMEOUT,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            SqlState::TOO_MANY_CONNECTIONS,
        ];
        // A server that says so has ended the session, whatever became of its last commit.
        let is_end = |err: &DbError| {
            // It says so too where it admits no session, which another connection does not mend.
            let is_refusal = ["28", "3D"].iter().any(|class| err.code().code().starts_with(class));
            !is_refusal && matches!(err.parsed_severity(), Some(Severity::Fatal | Severity::Panic))
        };
        // Another connection may work: this one broke, or the server is going down or coming up.
        let is_passing = match err.code() {
            Some(code) => {
                code.code().starts_with("08")
                    || PASSING.contains(code)
                    || err.as_db_error().is_some_and(is_end)
            }
            // The socket may have failed before anything was sent over it.
            None => {
                let mut causes = successors(err.source(), |cause| (**cause).source());
                err.is_closed() || causes.any(|cause| cause.is::<std::io::Error>())
            }
        };
        if is_passing { Self::Lost(told(&err)) } else { Self::Database(err) }
    }
}

impl Trouble {
    /// Returns the error for the callers of the journal at `path`.
    pub(super) fn error(&self, path: &Path) -> JournalError {
        let path = path.to_owned();
        match self {
            Self::Lost(detail) => JournalError::Failed { path, detail: detail.clone() },
            Self::Unreachable(reason) => JournalError::Unreachable { path, reason: reason.clone() },
            Self::NotAJournal(reason) => JournalError::NotAJournal { path, reason: reason.clone() },
            Self::Newer { found, supported } => {
                JournalError::NewerSchema { path, found: *found, supported: *supported }
            }
            Self::Database(err) => {
                let detail = told(err);
                match err.code() {
                    Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                        JournalError::Locked { path, waited_ms: LOCK_WAIT_MS_MAX }
                    }
                    Some(&SqlState::DISK_FULL) => JournalError::Full { path },
                    Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => {
                        let reason = "the server takes no writes: it is a standby, or was told to be read-only";
                        JournalError::Unreachable { path, reason: reason.to_owned() }
                    }
                    Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                        JournalError::Unreachable { path, reason: detail }
                    }
                    Some(&(SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED)) => {
                        JournalError::Damaged { path, detail }
                    }
                    _ => JournalError::Failed { path, detail },
                }
            }
        }
    }

    /// Returns what the trouble means where a session was to be set up.
    pub(super) fn while_connecting(self) -> Self {
        match self {
            Self::Database(err) => Self::Unreachable(told(&err)),
            Self::Lost(reason) => Self::Unreachable(reason),
            other => other,
        }
    }

    /// Returns whether another entry may fare better: the entry is to blame, or may be.
    pub(super) fn is_about_an_entry(&self) -> bool {
        match self {
            Self::Database(err) => err.code() != Some(&SqlState::LOCK_NOT_AVAILABLE),
            Self::Lost(_) | Self::Unreachable(_) | Self::NotAJournal(_) | Self::Newer { .. } => {
                false
            }
        }
    }
}

/// Returns what the error says, with what lies below it, on one line.
pub(super) fn told(err: &dyn std::error::Error) -> String {
    let mut text = err.to_string();
    let mut source = err.source();
    while let Some(cause) = source {
        // The message of the server needs no heading.
        text = if text == "db error" { cause.to_string() } else { format!("{text}: {cause}") };
        source = cause.source();
    }
    text
}
