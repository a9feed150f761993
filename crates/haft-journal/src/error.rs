//! Why a journal could not record or answer, in words that say what to do next. What a call itself did wrong is never
//! an error here: that is its outcome.

use std::path::PathBuf;

use haft_contract::{CallId, RunId};

use crate::Status;

/// Says why a journal could not record or answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The call's number is taken.
    #[error(
        "call {call} is recorded already: expected a number that the attempt has not used; \
         ask the journal how far the attempt has come and count on from there"
    )]
    Conflict {
        /// The call.
        call: CallId,
    },
    /// There is nothing to settle.
    #[error(
        "call {call} has no open intent in this journal: expected one that was intended here and not settled since; \
         look at what the journal holds of it before going on"
    )]
    NoOpenIntent {
        /// The call.
        call: CallId,
    },
    /// The run was never begun.
    #[error("run {run} is not in the journal: begin it before recording its calls")]
    UnknownRun {
        /// The run.
        run: RunId,
    },
    /// The call cannot end like this.
    #[error("call {call} cannot be recorded as {found}: expected {expected}")]
    WrongStatus {
        /// The call.
        call: CallId,
        /// The status that was given.
        found: Status,
        /// The statuses that fit.
        expected: &'static str,
    },
    /// A newer haft wrote the database.
    #[error(
        "journal {} has schema version {found} and this haft knows versions up to {supported}: \
         use the newer haft that wrote it, or another journal file", path.display()
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The version that was found.
        found: i64,
        /// The newest version that this haft knows.
        supported: i64,
    },
    /// The file is something else.
    #[error("{} is not a haft journal: {reason}; name another file", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// The file or its directory could not be created or opened.
    #[error("cannot open journal {}: {reason}; check that its directory exists and can be written", path.display())]
    CannotOpen {
        /// The database file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The file cannot be written.
    #[error(
        "journal {} is read-only: haft executes nothing that it cannot record; make the file and its directory \
         writable, or name another file", path.display()
    )]
    ReadOnly {
        /// The database file.
        path: PathBuf,
    },
    /// There is no space left.
    #[error(
        "no space left for journal {}: what was acknowledged is safe; free some space and try again", path.display()
    )]
    Full {
        /// The database file.
        path: PathBuf,
    },
    /// Another process kept the file locked.
    #[error(
        "journal {} stayed locked by another process for {waited_ms} ms: end the program that holds it and try again",
        path.display()
    )]
    Locked {
        /// The database file.
        path: PathBuf,
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// The file's content is broken.
    #[error("journal {} is damaged: {detail}; move it away and start a new one", path.display())]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// What is broken.
        detail: String,
    },
    /// The database failed in another way.
    #[error("journal {} failed: {detail}; whether the record was kept is not known", path.display())]
    Failed {
        /// The database file.
        path: PathBuf,
        /// What the database says.
        detail: String,
    },
    /// The journal has stopped.
    #[error("journal {} has stopped after an earlier failure: start haft again", path.display())]
    Stopped {
        /// The database file.
        path: PathBuf,
    },
}
