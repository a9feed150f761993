//! The result of an analysis: the commands that a line runs, the files that it names, and its
//! unknown parts.

use std::fmt;

/// The commands and files of a line, as far as its text reveals them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellAnalysis {
    /// Every command with a known program, in written order.
    pub commands: Vec<SimpleCommand>,
    /// Files named by redirections, and by arguments of well-known utilities.
    pub files: Vec<FileUse>,
    /// Hosts named by redirections to `/dev/tcp` and `/dev/udp`.
    pub hosts: Vec<String>,
    /// Parts that could do more than the rest of the analysis says.
    pub unknown: Vec<UnknownPart>,
}

impl ShellAnalysis {
    /// Returns whether all words of every command are known, and nothing else is unknown.
    pub fn is_known(&self) -> bool {
        self.unknown.is_empty() && self.commands.iter().all(|command| command.argv().is_some())
    }
}

/// A command with a known program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The programs that start it, outermost first: `timeout`, `xargs` and the like.
    pub launchers: Vec<String>,
    /// The program, which is always literal, and its arguments.
    pub words: Vec<CommandWord>,
}

impl SimpleCommand {
    /// Returns the program as written.
    pub fn program(&self) -> &str {
        match self.words.first() {
            Some(CommandWord::Literal(program)) => program,
            Some(CommandWord::Unknown(_)) | None => "",
        }
    }

    /// Returns the program and its arguments, if all of them are literal.
    pub fn argv(&self) -> Option<Vec<String>> {
        self.words.iter().map(|word| word.literal().map(str::to_owned)).collect()
    }

    /// Returns the command as a line.
    pub fn text(&self) -> String {
        render_line(&self.words)
    }
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CommandWord {
    /// The value that the program receives, without quotes.
    Literal(String),
    /// The source of a word that the shell expands, or that only another program knows.
    Unknown(String),
}

impl CommandWord {
    /// Returns the word if it is literal.
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Unknown(_) => None,
        }
    }

    /// Returns whether the word names a file that a shell runs, and not its standard input. An expansion in double quotes
    /// is one word, and one with a slash is a path.
    pub(crate) fn names_script(&self) -> bool {
        match self {
            Self::Literal(text) => {
                text != "-" && !text.starts_with("/dev/") && !text.starts_with("/proc/")
            }
            Self::Unknown(source) => {
                let is_word = source.contains('/')
                    || (source.len() > 2 && source.starts_with('"') && source.ends_with('"'));
                is_word && !source.contains(['(', '`']) && !source.contains("/dev/")
            }
        }
    }

    /// Returns the text of an unknown word that is in double quotes as a whole. Its expansions are still in it.
    ///
    /// A value may hold syntax of the shell. As with a script in a file, the analysis does not see it.
    pub(crate) fn quoted_line(&self) -> Option<String> {
        let Self::Unknown(source) = self else { return None };
        let inner = source.strip_prefix('"')?.strip_suffix('"')?;
        let mut line = String::new();
        let mut chars = inner.chars();
        while let Some(char) = chars.next() {
            match char {
                '"' => return None,
                '\\' => match chars.next()? {
                    '\n' => {}
                    escaped @ ('$' | '`' | '"' | '\\') => line.push(escaped),
                    other => line.extend(['\\', other]),
                },
                char => line.push(char),
            }
        }
        Some(line)
    }
}

/// Words that are not a program unless they are quoted.
pub(crate) const RESERVED: &[&str] = &[
    "!", "[[", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

/// Formats words as a line that bash parses to the same words.
pub(crate) fn render_line(words: &[CommandWord]) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "_./:=@%+,-".contains(char);
    let spelled = words.iter().enumerate().map(|(index, word)| match word {
        CommandWord::Literal(text) => {
            // The first word must not be parsed as syntax or as an assignment.
            let is_special =
                index == 0 && (RESERVED.contains(&text.as_str()) || text.contains('='));
            if is_special || text.is_empty() || !text.chars().all(is_plain) {
                format!("'{}'", text.replace('\'', r"'\''"))
            } else {
                text.clone()
            }
        }
        CommandWord::Unknown(source) => source.clone(),
    });
    spelled.collect::<Vec<_>>().join(" ")
}

/// A file that a line names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileUse {
    /// Absolute, or relative to the line's start directory; `.` and `..` are kept.
    pub path: String,
    /// Whether it is read or written.
    pub mode: FileUseMode,
    /// How the line names it.
    pub origin: FileUseOrigin,
}

/// The use of a file. Removing, creating and changing count as writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileUseMode {
    /// It is read; for a directory, so is everything below it.
    Read,
    /// It is written; for a directory, so is everything below it.
    Write,
}

/// How a line names a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileUseOrigin {
    /// A redirection.
    Redirect,
    /// An argument of a well-known utility.
    Operand,
}

/// A part of a line that could do more than the rest of the analysis says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnknownPart {
    /// The part as written.
    pub text: String,
    /// Why it is unknown.
    pub reason: UnknownReason,
}

/// Why a part of a line is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum UnknownReason {
    /// It exceeds a limit on length, depth or number of commands.
    TooLarge,
    /// It is not valid bash, at least in part.
    Syntax,
    /// It contains an unsupported construct, such as `coproc` or `select`.
    Construct,
    /// It contains code where code is not analysed, such as inside `${…}`.
    Expansion,
    /// Arithmetic could run code that the line spells.
    Arithmetic,
    /// Arithmetic uses data from elsewhere, which could contain code.
    ArithmeticData,
    /// The program is the result of an expansion.
    Program,
    /// It runs text as code: `eval`, `source`, or a shell whose line is not literal.
    Evaluation,
    /// It changes the meaning of names: `alias`, `trap`, `enable`, or a function with the name of a
    /// command.
    Redefinition,
    /// It runs a file in its own shell, and the file may redefine names.
    Sourced,
    /// It sets a variable whose value runs, or that changes how the shell reads.
    Variable,
    /// It sets a variable that determines which files programs load, or where a name is looked up.
    SearchPath,
    /// The program runs others that the line does not spell, because of an option, a script or its input.
    RunsOthers,
    /// The program starts others. Those that the line spells are in the analysis.
    StartsOthers,
    /// An option makes a utility access files that its operands do not name.
    Files,
    /// A redirection's file name is the result of an expansion.
    RedirectTarget,
    /// The line itself turns the name into a link.
    Link,
    /// The path is relative, after a change to an unknown directory.
    Directory,
    /// A redirection reaches the network.
    Network,
}

impl UnknownReason {
    /// Returns whether the part may run commands that are not in the analysis.
    ///
    /// A program may always start others by itself, as a build or a script does. The line does not show it, so it is no reason.
    pub fn hides_commands(self) -> bool {
        match self {
            Self::TooLarge
            | Self::Syntax
            | Self::Construct
            | Self::Expansion
            | Self::Arithmetic
            | Self::Program
            | Self::Evaluation
            | Self::Redefinition
            | Self::Variable
            | Self::RunsOthers => true,
            Self::ArithmeticData
            | Self::Sourced
            | Self::SearchPath
            | Self::StartsOthers
            | Self::Files
            | Self::RedirectTarget
            | Self::Link
            | Self::Directory
            | Self::Network => false,
        }
    }
}

impl fmt::Display for UnknownReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooLarge => "it exceeds a limit on length, depth or number of commands",
            Self::Syntax => "it is not understood",
            Self::Construct => "it contains an unsupported construct",
            Self::Expansion => "it contains code inside an expansion",
            Self::Arithmetic => "its arithmetic could run code from data",
            Self::ArithmeticData => "its arithmetic uses data from elsewhere",
            Self::Program => "its program is the result of an expansion",
            Self::Evaluation => "it runs text as code",
            Self::Redefinition => "it changes what commands mean",
            Self::Sourced => "it runs a file in its own shell",
            Self::Variable => "it sets a variable that decides what runs",
            Self::SearchPath => "it sets a variable that decides where programs look",
            Self::RunsOthers => "its program runs others",
            Self::StartsOthers => "its program starts others",
            Self::Files => "it touches files that it does not name",
            Self::RedirectTarget => "it redirects to a file that is not known",
            Self::Link => "it is used by a name that the line links",
            Self::Directory => "its directory is not known",
            Self::Network => "it redirects to the network",
        })
    }
}
