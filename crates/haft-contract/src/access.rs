//! The concrete accesses of one call. They follow from its input, and are known before anything runs.

use serde::{Deserialize, Serialize};

/// One thing outside that a call would touch.
///
/// Paths are spelled as the input spells them; the runtime resolves them before they are judged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "capability")]
#[non_exhaustive]
pub enum Access {
    /// Reads a file, or anything below a directory.
    #[serde(rename = "fs.read")]
    Read {
        /// Relative to the root, or absolute within one.
        path: String,
    },
    /// Creates, changes or removes a file.
    #[serde(rename = "fs.write")]
    Write {
        /// Relative to the root, or absolute within one.
        path: String,
    },
    /// Reaches a host.
    #[serde(rename = "net.fetch")]
    Net {
        /// The host's name or address, lower case, without port.
        host: String,
    },
    /// Runs a command.
    #[serde(rename = "shell.run")]
    Shell {
        /// The command.
        command: CommandLine,
    },
    /// Uses a named capability.
    #[serde(rename = "named")]
    Named {
        /// The capability's name.
        name: String,
    },
}

/// The command of a shell access, as far as it is known before it runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandLine {
    /// One program with its arguments, run without a shell.
    Argv(Vec<String>),
    /// One program of which not everything is known: words that a shell expands, or a line that does more than run it.
    /// The first word is the program and is literal.
    Partial(Vec<PartialWord>),
    /// A line of shell syntax whose commands are not known.
    Unknown(String),
}

/// A word of a command that is known in part.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PartialWord {
    /// The value that the program receives.
    Literal(String),
    /// The source of a word whose value is not known before it runs, such as `$X` or `*.rs`.
    Expanded {
        /// The source.
        unknown: String,
    },
}

impl PartialWord {
    /// Returns the word if it is literal.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Expanded { .. } => None,
        }
    }

    /// Returns the word as it is written.
    pub fn text(&self) -> &str {
        match self {
            Self::Literal(text) => text,
            Self::Expanded { unknown } => unknown,
        }
    }
}

impl CommandLine {
    /// Returns the command as one line, for people and for patterns.
    pub fn line(&self) -> String {
        match self {
            Self::Argv(argv) => argv.join(" "),
            Self::Partial(words) => {
                words.iter().map(PartialWord::text).collect::<Vec<_>>().join(" ")
            }
            Self::Unknown(line) => line.clone(),
        }
    }
}

impl Access {
    /// Returns a read of `path`.
    pub fn read(path: impl Into<String>) -> Self {
        Self::Read { path: path.into() }
    }

    /// Returns a write of `path`.
    pub fn write(path: impl Into<String>) -> Self {
        Self::Write { path: path.into() }
    }

    /// Returns the name of the capability that the access needs.
    pub fn capability(&self) -> &str {
        match self {
            Self::Read { .. } => "fs.read",
            Self::Write { .. } => "fs.write",
            Self::Net { .. } => "net.fetch",
            Self::Shell { .. } => "shell.run",
            Self::Named { name } => name,
        }
    }
}
