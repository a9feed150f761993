//! The errors of a journal, in words that say what to do next. A failure of a call itself is never
//! an error here: that is its outcome.

use std::path::PathBuf;

use haft_contract::{CallAddress, RunId};

use crate::{AskRow, AskState, CallStatus, LeaseHolder, LeaseOwner, MessageId};

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
        call: CallAddress,
    },
    /// There is nothing to settle.
    #[error(
        "call {call} has no open intent in this journal: expected one that was intended here and not settled since; \
         look at what the journal holds of it before going on"
    )]
    NoOpenIntent {
        /// The call.
        call: CallAddress,
    },
    /// The run is not there.
    #[error("run {run} is not in the journal: open it before recording its calls")]
    UnknownRun {
        /// The run.
        run: RunId,
    },
    /// Another owner has the lease of the run.
    #[error(
        "run {} is held by {} until {} at least: wait for it, end that process, or work in a run of another name",
        holder.run, holder.owner.location, holder.expires_at_ms
    )]
    LeaseHeld {
        /// Who has it.
        holder: Box<LeaseHolder>,
    },
    /// The lease that the record was made under is over.
    #[error(
        "run {run} was taken over while this process was not heard of (its fencing token {fencing_token} is over{}): nothing of the \
         run was changed, and an outcome that came with it was kept as a late one; open the run again to go on",
        by.as_ref().map_or_else(String::new, |by| format!("; {} has it now", by.location))
    )]
    Fenced {
        /// The run.
        run: RunId,
        /// The fencing token that is over.
        fencing_token: u64,
        /// Who has the run now.
        by: Option<LeaseOwner>,
    },
    /// Each process that resumed the run died at the same place.
    #[error(
        "run {run} was resumed {times} times and got no further each time, so it is not resumed again: look at what happens \
         {}, or have it resumed all the same", last.as_ref().map_or_else(
            || "after the last of its calls".to_owned(),
            |call| format!("at call {call} and settle that call")
        )
    )]
    Stuck {
        /// The run.
        run: RunId,
        /// How often it was taken up.
        times: u32,
        /// The call that was open last.
        last: Option<CallAddress>,
    },
    /// The call is not in doubt.
    #[error(
        "call {call} is not in doubt: it is recorded as {status}, and only an unknown call can be settled"
    )]
    NotInDoubt {
        /// The call.
        call: CallAddress,
        /// Its status.
        status: CallStatus,
    },
    /// The ask does not wait for an answer any more.
    #[error("ask {} cannot be answered any more: {}", ask.id, ask_end(ask))]
    AskEnded {
        /// The ask as it ended.
        ask: Box<AskRow>,
    },
    /// The answer is about something else than the ask shows.
    #[error(
        "ask {ask} shows something else than this answer is about: look at it again, and then answer"
    )]
    AskDiffers {
        /// The ask.
        ask: String,
    },
    /// There is no such ask.
    #[error("ask {ask} is not in the journal")]
    UnknownAsk {
        /// The ask.
        ask: String,
    },
    /// There is no such call.
    #[error("call {call} is not in the journal")]
    UnknownCall {
        /// The call.
        call: CallAddress,
    },
    /// The row of a session does not belong where it was brought, or is too large.
    #[error(
        "{record} cannot be recorded in session {run}, and nothing that came with it was: expected {expected}"
    )]
    UnfitRecord {
        /// The row.
        record: String,
        /// The run, and so the session, that it was brought to.
        run: RunId,
        /// The records that fit.
        expected: String,
    },
    /// There is no such message.
    #[error("message {message} is not in session {run}")]
    UnknownMessage {
        /// The session.
        run: RunId,
        /// The message.
        message: MessageId,
    },
    /// The call cannot end like this.
    #[error("call {call} cannot be recorded as {found}: expected {expected}")]
    WrongStatus {
        /// The call.
        call: CallAddress,
        /// The status that was given.
        found: CallStatus,
        /// The statuses that fit.
        expected: &'static str,
    },
    /// A newer haft wrote the database.
    #[error(
        "journal {} has schema version {found} and this haft knows versions up to {supported}: \
         use the newer haft that wrote it, or another journal file", path.display()
    )]
    NewerSchema {
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
        /// The kind of file that was found.
        reason: String,
    },
    /// The file or its directory could not be created or opened.
    #[error("cannot open journal {}: {reason}; check that its directory exists and can be written", path.display())]
    CannotOpen {
        /// The database file.
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// The server cannot be reached, or does not let haft in.
    #[error("cannot reach journal {}: {reason}; check the URL, and that the server runs and lets you in", path.display())]
    Unreachable {
        /// Host, port and database.
        path: PathBuf,
        /// The error of the server or the operating system.
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
        /// The damage that was found.
        detail: String,
    },
    /// The file is not where it was.
    #[error(
        "journal {} was removed or replaced while haft was using it: nothing more is recorded, so nothing more is \
         executed; start haft again", path.display()
    )]
    Removed {
        /// Where the database file was.
        path: PathBuf,
    },
    /// The database failed in another way.
    #[error("journal {} failed: {detail}; whether the record was kept is not known", path.display())]
    Failed {
        /// The database file.
        path: PathBuf,
        /// The error of the database.
        detail: String,
    },
    /// The journal has stopped.
    #[error("journal {} has stopped after an earlier failure: start haft again", path.display())]
    Stopped {
        /// The database file.
        path: PathBuf,
    },
}

/// Says how an ask ended.
fn ask_end(ask: &AskRow) -> String {
    match (ask.state, &ask.answer) {
        (AskState::Answered, Some(answer)) => {
            format!("{} answered it through {} ({})", answer.by, answer.through, answer.verdict)
        }
        (AskState::Expired, _) => "its time is over, so its call was denied".to_owned(),
        (AskState::Withdrawn, _) => {
            "its call was cancelled, or the process of its call ended".to_owned()
        }
        (AskState::Pending | AskState::Answered, _) => format!("it is {}", ask.state),
    }
}
