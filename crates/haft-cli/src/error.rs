//! How a command ends: its exit status, and for a person the message and the hint. What a tool did, or was not allowed
//! to do, is no error here: that is an envelope, and only its code is sorted into a status.

use std::fmt;
use std::io;

use haft::{RegistryError, RootsError, RunError, RuntimeError};
use haft_contract::{Envelope, ErrorCode};
use haft_journal::{Holder, JournalError};

use crate::time::rfc3339;

/// The exit statuses of haft. There are no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Everything was done, or nobody reads the output any more.
    Done,
    /// The call failed.
    Failed,
    /// The command line, the configuration or the input is not usable.
    Usage,
    /// The call was refused.
    Refused,
    /// It is not known whether the effect happened.
    InDoubt,
    /// haft itself is at fault.
    Bug,
}

impl Status {
    /// Returns the number that the process exits with.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::InDoubt => 4,
            Self::Bug => 70,
        }
    }

    /// Returns the status of a command whose whole work was this call.
    pub(crate) fn of_envelope(envelope: &Envelope) -> Self {
        match envelope {
            Envelope::Output { .. } => Self::Done,
            Envelope::Error { metadata, .. } => metadata.code.map_or(Self::Failed, Self::of_code),
        }
    }

    /// Returns the status of a command whose whole work was a call that was refused or failed with this code.
    pub(crate) fn of_code(code: ErrorCode) -> Self {
        match code {
            ErrorCode::ToolNotFound | ErrorCode::InvalidInput => Self::Usage,
            ErrorCode::CapabilityDenied
            | ErrorCode::PermissionDenied
            | ErrorCode::WatchdogDenied
            | ErrorCode::NetworkDisabled
            | ErrorCode::GitRemoteDisabled
            | ErrorCode::PathEscape
            | ErrorCode::SandboxUnavailable => Self::Refused,
            ErrorCode::InDoubt => Self::InDoubt,
            _ => Self::Failed,
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// The status to exit with.
    pub(crate) status: Status,
    /// What was wrong. Empty for a closed pipe, about which nobody wants to hear.
    pub(crate) message: String,
    /// A command that helps, ready to be pasted.
    pub(crate) hint: Option<String>,
}

impl CommandError {
    /// Returns the error of a command line, a configuration or an input that is not usable.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { status: Status::Usage, message: message.to_string(), hint: None }
    }

    /// Returns the error of work that failed.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self { status: Status::Failed, message: message.to_string(), hint: None }
    }

    /// Returns the error with a command that helps.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns what failing to write standard output means: a reader that has seen enough is no error.
    pub(crate) fn of_stdout(err: &io::Error) -> Self {
        match err.kind() {
            io::ErrorKind::BrokenPipe => {
                Self { status: Status::Done, message: String::new(), hint: None }
            }
            _ => Self::failed(format!("cannot write to standard output: {err}")),
        }
    }
}

impl From<RuntimeError> for CommandError {
    fn from(err: RuntimeError) -> Self {
        Self::usage(err)
    }
}

impl From<RootsError> for CommandError {
    fn from(err: RootsError) -> Self {
        Self::usage(err)
    }
}

impl From<RegistryError> for CommandError {
    fn from(err: RegistryError) -> Self {
        Self::usage(err)
    }
}

impl From<RunError> for CommandError {
    fn from(err: RunError) -> Self {
        match err {
            RunError::Scope(err) => Self::usage(err),
            RunError::Journal(err) => Self::from(err),
            RunError::Diverged(err) => {
                let run = err.call.scope.run.clone();
                Self::usage(err).hint(format!("haft runs show {run}"))
            }
            other => Self::failed(other),
        }
    }
}

impl From<JournalError> for CommandError {
    fn from(err: JournalError) -> Self {
        match err {
            JournalError::Held { holder } => {
                let hint = format!("haft runs show {}", holder.run);
                Self::failed(held(&holder)).hint(hint)
            }
            JournalError::Fenced { ref run, .. } => {
                let hint = format!("haft runs show {run}");
                Self::failed(err).hint(hint)
            }
            JournalError::Stuck { ref run, ref last, .. } => {
                let hint = match last {
                    Some(call) => format!("haft runs settle {call} not-happened"),
                    None => format!("haft runs show {run}"),
                };
                Self::failed(err).hint(hint)
            }
            JournalError::NotInDoubt { ref call, .. } | JournalError::UnknownCall { ref call } => {
                let hint = format!("haft runs show {}", call.scope.run);
                Self::usage(err).hint(hint)
            }
            JournalError::UnknownRun { .. } => Self::usage(err).hint("haft runs list"),
            JournalError::Newer { .. }
            | JournalError::NotAJournal { .. }
            | JournalError::CannotOpen { .. }
            | JournalError::Unreachable { .. }
            | JournalError::ReadOnly { .. } => Self::usage(err),
            err => Self::failed(err),
        }
    }
}

/// Says who has a run, with a moment that a person can read.
fn held(holder: &Holder) -> String {
    let (run, place) = (&holder.run, &holder.owner.place);
    let until = rfc3339(holder.expires_at_ms);
    format!(
        "run {run} is held by {place}, until {until} at least: nothing was executed; wait for that process, end it, or \
         name another run"
    )
}

#[cfg(test)]
mod tests {
    use haft_contract::Metadata;

    use super::*;

    #[test]
    fn codes_are_sorted_into_statuses() {
        let check = |status: Status, expect: &[&str]| {
            let of_code = |code: &ErrorCode| {
                let metadata = Metadata { code: Some(*code), ..Metadata::default() };
                Status::of_envelope(&Envelope::Error { error_text: String::new(), metadata })
            };
            let found = ErrorCode::ALL.iter().filter(|code| of_code(code) == status);
            let found: Vec<&str> = found.map(|code| code.as_str()).collect();
            assert_eq!(found, expect, "{status:?}");
        };
        check(Status::Done, &[]);
        check(Status::Usage, &["TOOL_NOT_FOUND", "INVALID_INPUT"]);
        check(
            Status::Refused,
            &[
                "TOOL_PATH_ESCAPE",
                "TOOL_NETWORK_DISABLED",
                "TOOL_GIT_REMOTE_DISABLED",
                "CAPABILITY_DENIED",
                "PERMISSION_DENIED",
                "WATCHDOG_DENIED",
                "SANDBOX_UNAVAILABLE",
            ],
        );
        check(Status::InDoubt, &["IN_DOUBT"]);
    }

    #[test]
    fn a_reader_that_has_seen_enough_is_no_error() {
        let closed = CommandError::of_stdout(&io::ErrorKind::BrokenPipe.into());
        assert_eq!((closed.status, closed.message.as_str()), (Status::Done, ""));
        let full = CommandError::of_stdout(&io::ErrorKind::StorageFull.into());
        assert_eq!(full.status, Status::Failed);
    }
}
