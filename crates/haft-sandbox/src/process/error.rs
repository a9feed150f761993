//! Why a command could not be started, and why its end is not known. What a command itself does, failing included, is
//! deliberately no error here: it is an exit.

use std::ffi::OsString;
use std::fmt;
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
    #[error("the working directory of {} cannot be entered{}: {source}", program.display(), aside(at))]
    WorkingDirectory {
        /// The program as it was named.
        program: OsString,
        /// What stands against it, if that is known better than the operating system says.
        at: String,
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
    /// The confinement that was asked for cannot be enforced here; nothing was started.
    #[error("{} is not started, because it cannot be confined here: {}", program.display(), list(missing))]
    Unenforceable {
        /// The program as it was named.
        program: OsString,
        /// What is missing.
        missing: Vec<Missing>,
    },
    /// The confinement can be enforced here, and setting it up failed; nothing was started.
    #[error("{} is not started, because confining it failed at {at}: {source}", program.display())]
    Confine {
        /// The program as it was named.
        program: OsString,
        /// What was being done.
        at: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// The writable directories could not be searched for protected names.
    #[error(
        "{} is not started, because protected names could not be looked for: {reason}",
        program.display()
    )]
    Survey {
        /// The program as it was named.
        program: OsString,
        /// Why not, and what to do.
        reason: String,
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

/// A part of a confinement that nothing here can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// What cannot be enforced.
    pub layer: Layer,
    /// Why not.
    pub why: String,
    /// How to get it.
    pub remedy: String,
}

/// A part of a confinement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Which files can be reached.
    Filesystem,
    /// Which hosts can be reached.
    Network,
    /// Which system calls can be made.
    SystemCalls,
}

impl fmt::Display for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Layer::Filesystem => "files",
            Layer::Network => "network",
            Layer::SystemCalls => "system calls",
        })
    }
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

fn list(missing: &[Missing]) -> String {
    let entry = |missing: &Missing| {
        format!("{} cannot be confined ({}); {}", missing.layer, missing.why, missing.remedy)
    };
    missing.iter().map(entry).collect::<Vec<_>>().join("; ")
}

fn aside(at: &str) -> String {
    if at.is_empty() { String::new() } else { format!(" ({at})") }
}

fn because(signal: &Option<i32>) -> String {
    signal.map(|signal| format!(" by signal {signal}")).unwrap_or_default()
}
