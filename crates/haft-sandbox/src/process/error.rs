//! Errors of starting a command and of waiting for its end. A command's own failure is deliberately
//! not an error here: it is an exit.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// A command that was not started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program does not exist.
    #[error(
        "program not found: {}; name one that is on the command's PATH, or give its path",
        program.display()
    )]
    NotFound {
        /// The program as the caller named it.
        program: OsString,
    },
    /// The program exists but may not be executed.
    #[error("program {} may not be executed; it needs permission to", program.display())]
    Denied {
        /// The program as the caller named it.
        program: OsString,
    },
    /// The kernel refused to execute the program, for example because its interpreter is missing.
    #[error("program {} cannot be executed: {source}", program.display())]
    Execute {
        /// The program as the caller named it.
        program: OsString,
        /// The operating system's error.
        source: io::Error,
    },
    /// The working directory cannot be entered.
    #[error(
        "the working directory of {} cannot be entered{}: {source}",
        program.display(),
        if at.is_empty() { String::new() } else { format!(" ({at})") }
    )]
    WorkingDirectory {
        /// The program as the caller named it.
        program: OsString,
        /// The exact reason, if it is known better than the operating system's error tells.
        at: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// An argument or an environment variable cannot be passed to a program.
    #[error("{} cannot be started: {reason}", program.display())]
    Invalid {
        /// The program as the caller named it.
        program: OsString,
        /// The reason.
        reason: &'static str,
    },
    /// Arguments and environment together are too large.
    #[error("arguments and environment hold {bytes} bytes, at most {bytes_max} are possible")]
    TooLarge {
        /// Their size.
        bytes: usize,
        /// Their maximum size.
        bytes_max: usize,
    },
    /// The requested confinement cannot be enforced on this machine; nothing was started.
    #[error("{} is not started, because it cannot be confined here: {}", program.display(), missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unenforceable {
        /// The program as the caller named it.
        program: OsString,
        /// The layers that cannot be enforced.
        missing: Vec<MissingLayer>,
    },
    /// Setting up the confinement failed, although this machine supports it; nothing was started.
    #[error("{} is not started, because confining it failed at {at}: {source}", program.display())]
    Confine {
        /// The program as the caller named it.
        program: OsString,
        /// The step that failed.
        at: String,
        /// The operating system's error.
        source: io::Error,
    },
    /// The writable directories could not be scanned for protected paths.
    #[error(
        "{} is not started, because the scan for protected names failed: {reason}",
        program.display()
    )]
    Survey {
        /// The program as the caller named it.
        program: OsString,
        /// The reason, and what to do.
        reason: String,
    },
    /// The helper could not be started or lost its connection.
    #[error("the helper {} failed: {source}", helper.display())]
    Helper {
        /// The helper's program.
        helper: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The helper started but did not answer.
    #[error(
        "the helper {} did not answer within {wait_ms} ms; its main function must first call run_if_requested",
        helper.display()
    )]
    NoAnswer {
        /// The helper's program.
        helper: PathBuf,
        /// How long the launcher waited, in milliseconds.
        wait_ms: u64,
    },
}

/// A layer of a confinement that cannot be enforced on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissingLayer {
    /// The layer that cannot be enforced.
    pub layer: SandboxLayer,
    /// The reason.
    pub why: String,
    /// How to make it available.
    pub remedy: String,
}

impl fmt::Display for MissingLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} cannot be confined ({}); {}", self.layer, self.why, self.remedy)
    }
}

/// A layer of a confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SandboxLayer {
    /// Access to files.
    Filesystem,
    /// Access to hosts.
    Network,
    /// System calls.
    SystemCalls,
}

impl fmt::Display for SandboxLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            SandboxLayer::Filesystem => "files",
            SandboxLayer::Network => "network",
            SandboxLayer::SystemCalls => "system calls",
        })
    }
}

/// The end of a command is unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The helper was killed by another process, perhaps by the command. The command was then
    /// killed.
    #[error(
        "the helper of the command died{}; the command was killed, but processes that left its process group may still run",
        .signal.map(|signal| format!(" by signal {signal}")).unwrap_or_default()
    )]
    HelperDied {
        /// The signal that killed the helper, if it was a signal.
        signal: Option<i32>,
    },
    /// The command ended, but some of its processes could not be killed.
    #[error("{count} processes of the command could not be killed")]
    Survivors {
        /// The number of such processes when the helper gave up.
        count: u32,
    },
    /// The connection to the helper failed.
    #[error("the connection to the helper failed: {0}")]
    Io(#[from] io::Error),
}
