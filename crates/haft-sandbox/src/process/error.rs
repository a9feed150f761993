//! Why a command could not be started, and why its end is not known. What a command itself does, failing included, is
//! deliberately no error here: it is an exit.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// A command that was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is no such program.
    #[error(
        "program not found: {}; name one that is on the command's PATH, or give its path",
        program.display()
    )]
    NotFound {
        /// The program as it was named.
        program: OsString,
    },
    /// The program is there and may not be executed.
    #[error("program {} may not be executed; it needs permission to", program.display())]
    Denied {
        /// The program as it was named.
        program: OsString,
    },
    /// The kernel refused to execute the program, for example because its interpreter is missing.
    #[error("program {} cannot be executed: {source}", program.display())]
    Execute {
        /// The program as it was named.
        program: OsString,
        /// What the operating system said.
        source: io::Error,
    },
    /// The working directory cannot be entered.
    #[error("the working directory of {} cannot be entered: {source}", program.display())]
    WorkingDirectory {
        /// The program as it was named.
        program: OsString,
        /// What the operating system said.
        source: io::Error,
    },
    /// An argument or an environment variable cannot be passed on.
    #[error("{} cannot be started: {reason}", program.display())]
    Invalid {
        /// The program as it was named.
        program: OsString,
        /// What is wrong.
        reason: &'static str,
    },
    /// Arguments and environment together are too large.
    #[error("arguments and environment hold {bytes} bytes, at most {bytes_max} are possible")]
    TooLarge {
        /// How large they are.
        bytes: usize,
        /// How large they may be.
        bytes_max: usize,
    },
    /// The helper could not be started or lost its connection.
    #[error("the helper {} failed: {source}", helper.display())]
    Helper {
        /// The helper's program.
        helper: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The helper started and did not answer.
    #[error(
        "the helper {} did not answer within {wait_ms} ms; its main function must first call run_if_requested",
        helper.display()
    )]
    NoAnswer {
        /// The helper's program.
        helper: PathBuf,
        /// How long it had.
        wait_ms: u64,
    },
    /// This platform cannot keep a process tree together.
    #[error("supervised processes need Linux")]
    Unsupported,
}

/// A command whose end is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The helper was ended by someone else, perhaps by the command; the command was then killed.
    #[error("the helper of the command died{}; the command was killed, but what had left its process group may still run", because(.signal))]
    HelperDied {
        /// The signal that ended the helper, if it was one.
        signal: Option<i32>,
    },
    /// The command ended, but some of its processes withstood being killed.
    #[error("{count} processes of the command could not be killed")]
    Survivors {
        /// How many there were when the helper gave up.
        count: u32,
    },
    /// The connection to the helper failed.
    #[error("the connection to the helper failed: {0}")]
    Io(#[from] io::Error),
}

fn because(signal: &Option<i32>) -> String {
    signal.map(|signal| format!(" by signal {signal}")).unwrap_or_default()
}
