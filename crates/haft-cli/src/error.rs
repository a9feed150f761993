//! How a command ends: its exit status and, for a person, the message and the hint. The outcome of a tool is not an error
//! here: an envelope reports it, and only its code determines a status.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use haft::{RegistryError, RunError, RuntimeError, WorkspaceRootsError};
use haft_contract::{Envelope, ErrorCode, RunId};
use haft_journal::JournalError;
use haft_model::ModelError;
use haft_plan::PlanProblem;
use serde::Serialize;

use crate::next_step;
use haft_app::calendar::rfc3339;
use haft_app::quote;
use haft_app::{AppError, AppErrorKind, NextStep};

/// The exit statuses of haft. There are no others, except those of a program that haft ran for its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandStatus {
    /// Everything was done, or the reader of the output closed the pipe.
    Done,
    /// The call failed.
    Failed,
    /// The command line, the configuration or the input is not usable.
    Usage,
    /// The call was refused.
    Refused,
    /// It is not known whether the effect happened.
    InDoubt,
    /// Some of what was to be undone stays as it is.
    Partly,
    /// The tools on offer cannot do what was asked, so nothing was done.
    Missing,
    /// haft itself is at fault.
    Bug,
    /// The status of the program that `haft sandbox` ran.
    Program(u8),
}

impl CommandStatus {
    /// Returns the number that the process exits with.
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Refused => 3,
            Self::InDoubt => 4,
            Self::Partly => 5,
            Self::Missing => 6,
            Self::Bug => 70,
            Self::Program(status) => i32::from(status),
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

/// The status that a command ends with, or why it could not do its work.
pub(crate) type CommandResult = Result<CommandStatus, CommandError>;

/// The kind of a failure, for programs. `--json` prints these words, so they never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommandErrorKind {
    /// The command line, the configuration or the input is not usable.
    Usage,
    /// The work failed in another way.
    Failed,
    /// It was refused.
    Refused,
    /// Another process holds the run; nothing was executed.
    Held,
    /// The run was taken over by another process.
    Fenced,
    /// The run was taken up too often without coming further.
    Stuck,
    /// The call is another one than the record says.
    Diverged,
    /// It is not known whether the effect happened.
    InDoubt,
    /// There is no such run.
    UnknownRun,
    /// There is no such call.
    UnknownCall,
    /// There is no such ask.
    UnknownAsk,
    /// The ask cannot be answered any more, or not like this.
    AskEnded,
    /// The call is not in doubt, so that there is nothing to settle.
    NotInDoubt,
    /// The journal is not there, or cannot be used.
    Journal,
    /// Another process keeps the journal locked; trying again may help.
    JournalLocked,
    /// The server of the journal does not answer, or does not let haft in.
    JournalUnreachable,
    /// A model gave no answer, or none that is of use.
    Model,
    /// The tools on offer cannot do what was asked.
    MissingCapability,
}

/// Why a command could not do its work. This is also its JSON form. A call that failed is printed as its envelope instead.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename = "failure")]
pub(crate) struct CommandError {
    /// The status to exit with.
    #[serde(skip)]
    pub(crate) status: CommandStatus,
    /// The kind of the failure.
    #[serde(rename = "status")]
    pub(crate) kind: CommandErrorKind,
    /// The words for a person. Empty for a closed pipe, which haft does not report.
    pub(crate) message: String,
    /// A command that helps, ready to be pasted.
    pub(crate) hint: Option<String>,
    /// The problems of the plan, if they are the reason. The message lists them in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<PlanProblem>,
}

impl CommandError {
    /// Returns the error of a command line, a configuration or an input that is not usable.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(CommandStatus::Usage, CommandErrorKind::Usage, message)
    }

    /// Returns the error of work that failed.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self::new(CommandStatus::Failed, CommandErrorKind::Failed, message)
    }

    /// Returns the error of work that was refused.
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::new(CommandStatus::Refused, CommandErrorKind::Refused, message)
    }

    /// Returns the error of a call that may or may not have taken effect.
    pub(crate) fn in_doubt(message: impl fmt::Display) -> Self {
        Self::new(CommandStatus::InDoubt, CommandErrorKind::InDoubt, message)
    }

    /// Returns the error of a model that gave no answer, or none that is of use.
    pub(crate) fn model(message: impl fmt::Display) -> Self {
        Self::new(CommandStatus::Failed, CommandErrorKind::Model, message)
    }

    /// Returns the error of a request that the tools on offer cannot fulfil.
    pub(crate) fn missing(message: impl fmt::Display) -> Self {
        Self::new(CommandStatus::Missing, CommandErrorKind::MissingCapability, message)
    }

    fn new(status: CommandStatus, kind: CommandErrorKind, message: impl fmt::Display) -> Self {
        Self { status, kind, message: message.to_string(), hint: None, problems: Vec::new() }
    }

    /// Returns the error as one of another kind.
    pub(crate) fn kind(mut self, kind: CommandErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// Returns the error about a listener whose address calls of agents could reach.
    pub(crate) fn unmarked(address: SocketAddr, err: &io::Error) -> Self {
        Self::failed(format!("calls of agents cannot be kept from {address}: {err}"))
    }

    /// Returns the error with a command that helps.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the error with what is wrong with the plan.
    pub(crate) fn problems(mut self, problems: Vec<PlanProblem>) -> Self {
        self.problems = problems;
        self
    }

    /// Returns the message for a client that cannot show a hint. If a command of the user is the only way on, it is named.
    pub(crate) fn message_for_client(self) -> String {
        match (self.kind, self.hint) {
            (CommandErrorKind::Stuck, Some(hint)) => {
                format!("{}. Tell the user to type: {hint}", self.message)
            }
            _ => self.message,
        }
    }

    /// Returns what failing to write standard output means: a reader that has seen enough is no error.
    pub(crate) fn of_stdout(err: &io::Error) -> Self {
        match err.kind() {
            io::ErrorKind::BrokenPipe => {
                Self::new(CommandStatus::Done, CommandErrorKind::Failed, "")
            }
            _ => Self::failed(format!("cannot write to standard output: {err}")),
        }
    }
}

impl From<AppError> for CommandError {
    fn from(err: AppError) -> Self {
        let AppError { kind, message, next } = err;
        let err = match kind {
            AppErrorKind::Configuration => Self::usage(message),
            AppErrorKind::Journal(err) => Self::from(*err),
            AppErrorKind::Run(err) => Self::from(*err),
            AppErrorKind::Model(err) => Self::from(*err),
            _ => Self::failed(message),
        };
        match next {
            Some(step) => err.hint(next_step::command_of(&step)),
            None => err,
        }
    }
}

impl From<ModelError> for CommandError {
    fn from(err: ModelError) -> Self {
        match err {
            ModelError::NoKey { ref variable, .. } => {
                Self::usage(&err).hint(format!("export {variable}=..."))
            }
            ModelError::Settings(_) => Self::usage(err),
            ModelError::Timeout(_) => Self::model(format!("{err} (model.timeout_ms in haft.toml)")),
            ModelError::Idle(_) => Self::model(format!("{err} (model.idle_ms in haft.toml)")),
            ModelError::Authentication { .. } | ModelError::NotPermitted { .. } => {
                Self::usage(err).kind(CommandErrorKind::Model)
            }
            ModelError::KeyRequired { .. } => Self::usage(err)
                .kind(CommandErrorKind::Model)
                .hint("export HAFT_KEY_VARIABLE=OPENAI_API_KEY"),
            err => Self::model(err),
        }
    }
}

impl From<RuntimeError> for CommandError {
    fn from(err: RuntimeError) -> Self {
        Self::usage(err)
    }
}

impl From<WorkspaceRootsError> for CommandError {
    fn from(err: WorkspaceRootsError) -> Self {
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
            RunError::Unrecorded { ref call, .. } => {
                Self::in_doubt(&err).hint(show(&call.scope.run))
            }
            RunError::Diverged(err) => {
                Self::usage(&err).kind(CommandErrorKind::Diverged).hint(show(&err.call.scope.run))
            }
            RunError::PlanRun { ref run } => Self::usage(&err).hint(format!("haft resume {run}")),
            RunError::OtherWorkspace { ref root, .. } => {
                Self::usage(&err).hint(format!("cd {}", quote::shell(root)))
            }
            other => Self::failed(other),
        }
    }
}

impl From<JournalError> for CommandError {
    fn from(err: JournalError) -> Self {
        match err {
            JournalError::LeaseHeld { holder } => {
                let (run, place) = (&holder.run, &holder.owner.location);
                let until = rfc3339(holder.expires_at_ms);
                Self::failed(format!(
                    "run {run} is held by {place}, until {until} at least: nothing was executed; wait for that process, \
                     end it, or name another run"
                ))
                .kind(CommandErrorKind::Held)
                .hint(show(run))
            }
            JournalError::Fenced { ref run, .. } => {
                Self::failed(&err).kind(CommandErrorKind::Fenced).hint(show(run))
            }
            JournalError::Stuck { ref run, .. } => {
                // Only a person can find out the state of the call, so the hint proposes no verdict.
                Self::failed(&err)
                    .kind(CommandErrorKind::Stuck)
                    .hint(format!("haft resume {run} --anyway"))
            }
            JournalError::NotInDoubt { ref call, .. } => {
                Self::usage(&err).kind(CommandErrorKind::NotInDoubt).hint(show(&call.scope.run))
            }
            JournalError::UnknownCall { ref call } => {
                Self::usage(&err).kind(CommandErrorKind::UnknownCall).hint(show(&call.scope.run))
            }
            JournalError::UnknownAsk { .. } => {
                Self::usage(err).kind(CommandErrorKind::UnknownAsk).hint("haft asks list")
            }
            JournalError::AskEnded { ref ask } => {
                let shown = format!("haft asks show {}", ask.id);
                Self::failed(&err).kind(CommandErrorKind::AskEnded).hint(shown)
            }
            JournalError::AskDiffers { ref ask } => {
                let shown = format!("haft asks show {ask}");
                Self::failed(&err).kind(CommandErrorKind::AskEnded).hint(shown)
            }
            JournalError::UnknownRun { .. } => {
                Self::usage(err).kind(CommandErrorKind::UnknownRun).hint("haft log")
            }
            JournalError::Unreachable { .. } => Self::usage(err).kind(CommandErrorKind::JournalUnreachable),
            // A lock ends with its process. The hint does not propose another journal: it would not know these runs.
            JournalError::Locked { path, waited_ms } => Self::failed(format!(
                "journal {} stayed locked by another process for {waited_ms} ms: wait for that process, or find it and end it",
                path.display()
            ))
            .kind(CommandErrorKind::JournalLocked)
            .hint(format!("fuser -v {}", quote::shell(&path.to_string_lossy()))),
            JournalError::Damaged { path, detail } => {
                // The person works on a copy: each further use of the journal may make the damage worse.
                let message = format!(
                    "journal {} is damaged: {detail}; copy it first, with the files beside it whose names begin like its \
                     own; of the copy, save what can still be read: haft --db COPY runs export, or sqlite3 COPY .recover; a \
                     new journal knows nothing of what was done, so a run that goes on there does it again",
                    path.display()
                );
                let aside = path.with_file_name("damaged");
                let [journal, aside] =
                    [&path, &aside].map(|path| quote::shell(&path.to_string_lossy()));
                Self::failed(message)
                    .kind(CommandErrorKind::Journal)
                    .hint(format!("mkdir -p {aside} && cp {journal}* {aside}"))
            }
            JournalError::NewerSchema { path, found, supported } => Self::usage(format!(
                "journal {} has schema version {found} and this haft knows versions up to {supported}: use the newer haft \
                 that wrote it",
                path.display()
            ))
            .kind(CommandErrorKind::Journal),
            JournalError::NotAJournal { .. }
            | JournalError::CannotOpen { .. }
            | JournalError::ReadOnly { .. } => Self::usage(err).kind(CommandErrorKind::Journal),
            JournalError::Full { ref path } => {
                let parent = path.parent().unwrap_or(path).to_owned();
                let step = NextStep::InspectDisk(parent);
                Self::failed(&err).kind(CommandErrorKind::Journal).hint(next_step::command_of(&step))
            }
            JournalError::Removed { .. }
            | JournalError::Failed { .. }
            | JournalError::Stopped { .. } => Self::failed(err).kind(CommandErrorKind::Journal),
            err => Self::failed(err),
        }
    }
}

fn show(run: &RunId) -> String {
    format!("haft runs show {run}")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use haft_contract::EnvelopeMetadata;

    use super::*;

    #[test]
    fn codes_are_sorted_into_statuses() {
        let check = |status: CommandStatus, expect: &[&str]| {
            let of_code = |code: &ErrorCode| {
                let metadata =
                    EnvelopeMetadata { code: Some(*code), ..EnvelopeMetadata::default() };
                CommandStatus::of_envelope(&Envelope::Error { error_text: String::new(), metadata })
            };
            let found = ErrorCode::ALL.iter().filter(|code| of_code(code) == status);
            let found: Vec<&str> = found.map(|code| code.as_str()).collect();
            assert_eq!(found, expect, "{status:?}");
        };
        check(CommandStatus::Done, &[]);
        check(CommandStatus::Usage, &["TOOL_NOT_FOUND", "INVALID_INPUT"]);
        check(
            CommandStatus::Refused,
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
        check(CommandStatus::InDoubt, &["IN_DOUBT"]);
    }

    #[test]
    fn no_journal_is_advised_that_knows_nothing_of_what_was_done() {
        let path = || Path::new("/state/my journal.sqlite").to_owned();
        let check = |err: JournalError, kind: CommandErrorKind, hint: Option<&str>| {
            let err = CommandError::from(err);
            assert!(!err.message.contains("another journal"), "{}", err.message);
            assert_eq!((err.kind, err.hint.as_deref()), (kind, hint), "{}", err.message);
        };
        let locked = JournalError::Locked { path: path(), waited_ms: 10_000 };
        check(locked, CommandErrorKind::JournalLocked, Some("fuser -v '/state/my journal.sqlite'"));
        let newer = JournalError::NewerSchema { path: path(), found: 9, supported: 3 };
        check(newer, CommandErrorKind::Journal, None);
        let damaged = JournalError::Damaged { path: path(), detail: "page 3".to_owned() };
        let copy = "mkdir -p /state/damaged && cp '/state/my journal.sqlite'* /state/damaged";
        check(damaged, CommandErrorKind::Journal, Some(copy));
    }

    #[test]
    fn where_a_run_got_stuck_no_verdict_is_proposed() {
        let run = RunId::parse("r1").unwrap();
        let last = haft_contract::CallAddress {
            scope: haft_contract::AttemptAddress::first_of_run(run.clone()),
            seq: 3,
        };
        let err = CommandError::from(JournalError::Stuck { run, times: 10, last: Some(last) });
        assert_eq!(
            (err.kind, err.hint.as_deref()),
            (CommandErrorKind::Stuck, Some("haft resume r1 --anyway"))
        );
    }

    #[test]
    fn a_reader_that_has_seen_enough_is_no_error() {
        let closed = CommandError::of_stdout(&io::ErrorKind::BrokenPipe.into());
        assert_eq!((closed.status, closed.message.as_str()), (CommandStatus::Done, ""));
        let full = CommandError::of_stdout(&io::ErrorKind::StorageFull.into());
        assert_eq!(full.status, CommandStatus::Failed);
    }
}
