//! What PostgreSQL reports, in the words of the journal, and whether the connection is to blame. Errors about a single
//! entry are made where the entry is written.

use std::error::Error as _;
use std::path::Path;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

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
        if is_passing(&err) { Self::Lost(told(&err)) } else { Self::Database(err) }
    }
}

impl Trouble {
    /// Returns what the trouble means to whoever waits for an answer from the journal at `path`.
    pub(super) fn error(&self, path: &Path) -> JournalError {
        let path = path.to_owned();
        match self {
            Self::Lost(detail) => JournalError::Failed { path, detail: detail.clone() },
            Self::Unreachable(reason) => JournalError::Unreachable { path, reason: reason.clone() },
            Self::NotAJournal(reason) => JournalError::NotAJournal { path, reason: reason.clone() },
            Self::Newer { found, supported } => {
                JournalError::NewerSchema { path, found: *found, supported: *supported }
            }
            Self::Database(err) => database_error(&path, err),
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
        // What the server says needs no heading.
        text = if text == "db error" { cause.to_string() } else { format!("{text}: {cause}") };
        source = cause.source();
    }
    text
}

/// Returns whether another connection may fare better: this one broke, or the server is going down or coming up.
fn is_passing(err: &Error) -> bool {
    const PASSING: [SqlState; 6] = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_SESSION_TIMEOUT,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::TOO_MANY_CONNECTIONS,
    ];
    match err.code() {
        Some(code) => code.code().starts_with("08") || PASSING.contains(code),
        None => err.is_closed() || is_about_the_wire(err),
    }
}

/// Returns whether the error comes from the socket, also before anything was sent over it.
fn is_about_the_wire(err: &Error) -> bool {
    let mut source = err.source();
    while let Some(cause) = source {
        if cause.is::<std::io::Error>() {
            return true;
        }
        source = cause.source();
    }
    false
}

fn database_error(path: &Path, err: &Error) -> JournalError {
    let path = path.to_owned();
    let detail = told(err);
    let Some(code) = err.code() else {
        return JournalError::Failed { path, detail };
    };
    if *code == SqlState::LOCK_NOT_AVAILABLE {
        JournalError::Locked { path, waited_ms: LOCK_WAIT_MS_MAX }
    } else if *code == SqlState::DISK_FULL {
        JournalError::Full { path }
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        let reason = "the server takes no writes: it is a standby, or was told to be read-only";
        JournalError::Unreachable { path, reason: reason.to_owned() }
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        JournalError::Unreachable { path, reason: detail }
    } else if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED {
        JournalError::Damaged { path, detail }
    } else {
        JournalError::Failed { path, detail }
    }
}
