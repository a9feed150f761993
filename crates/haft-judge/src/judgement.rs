//! What a judgement says: the commands that a line runs, the files that it names, and what is not known of it.

use std::fmt;

/// What a line would run and touch, as far as its text tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Every command of which the program is known, in the order in which they are written.
    pub commands: Vec<SimpleCommand>,
    /// The files that redirections name, and those that well-known utilities are given.
    pub files: Vec<FileUse>,
    /// Hosts that redirections to `/dev/tcp` and `/dev/udp` name.
    pub hosts: Vec<String>,
    /// The parts of which more could happen than the rest of the judgement says.
    pub unknown: Vec<Unknown>,
}

impl Judgement {
    /// Returns whether every command is known with all its words, and nothing else is unknown.
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty() && self.commands.iter().all(|command| command.argv().is_some())
    }
}

/// A command of which the program is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Which program starts it, outermost first: `timeout`, `xargs` and the like.
    pub through: Vec<String>,
    /// The program, which is always literal, and its arguments.
    pub words: Vec<Word>,
}

impl SimpleCommand {
    /// Returns the program as it is written.
    pub fn program(&self) -> &str {
        match self.words.first() {
            Some(Word::Literal(program)) => program,
            Some(Word::Unknown(_)) | None => "",
        }
    }

    /// Returns the program and its arguments, if all of them are literal.
    pub fn argv(&self) -> Option<Vec<String>> {
        self.words.iter().map(|word| word.literal().map(str::to_owned)).collect()
    }

    /// Returns the command as a line.
    pub fn text(&self) -> String {
        crate::word::line_of(&self.words)
    }
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// What the program gets, without quotes.
    Literal(String),
    /// The source of a word that the shell expands, or that only another program knows.
    Unknown(String),
}

impl Word {
    /// Returns the word if it is literal.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Unknown(_) => None,
        }
    }
}

/// A file that a line uses by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileUse {
    /// Absolute, or relative to where the line starts; `.` and `..` are left in place.
    pub path: String,
    /// Whether it is read or written.
    pub how: How,
    /// What names it.
    pub why: Why,
}

/// What is done with a file. Removing, creating and changing count as writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// It is read, and with a directory what lies beneath.
    Read,
    /// It is written, and with a directory what lies beneath.
    Write,
}

/// What names a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// A redirection.
    Redirect,
    /// An argument of a well-known utility.
    Operand,
}

/// A part of a line of which more could happen than the rest of the judgement says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unknown {
    /// The part, as it is written.
    pub text: String,
    /// Why it is not known.
    pub reason: UnknownReason,
}

/// Why a part of a line is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnknownReason {
    /// It is longer, deeper or made of more commands than is looked at.
    TooLarge,
    /// It is not bash, or not all of it.
    Syntax,
    /// It can be read in more than one way.
    Ambiguous,
    /// It holds a construct that is not followed, such as `coproc` or `select`.
    Construct,
    /// It holds code where code is not followed, such as inside `${…}`.
    Expansion,
    /// Arithmetic meets data that could hold code.
    Arithmetic,
    /// The program is the result of an expansion.
    Program,
    /// It runs text as code: `eval`, `source`, a shell that is given something other than a literal line.
    Evaluation,
    /// It changes what names mean: `alias`, `trap`, `enable`, a function that is named like a command.
    Redefinition,
    /// It sets a variable that decides what runs.
    Variable,
    /// The program runs others, or an option or a script makes it.
    RunsOthers,
    /// An option makes a utility touch files that its operands do not name.
    Files,
    /// A redirection leads to a file whose name is the result of an expansion.
    RedirectTarget,
    /// A name that the line itself makes a link.
    Link,
    /// A relative path, after a change of directory that is not known.
    Directory,
    /// A redirection reaches the network.
    Network,
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooLarge => "it is larger or deeper than is looked at",
            Self::Syntax => "it is not understood",
            Self::Ambiguous => "it can be read in more than one way",
            Self::Construct => "it holds a construct that is not followed",
            Self::Expansion => "it holds code inside an expansion",
            Self::Arithmetic => "its arithmetic could run code from data",
            Self::Program => "its program is the result of an expansion",
            Self::Evaluation => "it runs text as code",
            Self::Redefinition => "it changes what commands mean",
            Self::Variable => "it sets a variable that decides what runs",
            Self::RunsOthers => "its program runs others",
            Self::Files => "it touches files that it does not name",
            Self::RedirectTarget => "it redirects to a file that is not known",
            Self::Link => "it is used by a name that the line links",
            Self::Directory => "its directory is not known",
            Self::Network => "it redirects to the network",
        })
    }
}
