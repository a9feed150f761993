//! The name list that keeps commands from trying the network while it is off: on words, never on substrings. It is
//! manners and gives a model a reason early; it holds nothing back that wants out, which is the sandbox's work. What a
//! word means to a program that was configured otherwise, as a git alias is, cannot be known here.

use haft_contract::{CommandLine, ErrorCode};

use self::shell_words::simple_commands;
use self::words::{base_name, first_host, is_assignment, refused_word};
pub use self::words::{git_subcommand, stays_on_loopback};

mod shell_words;
#[cfg(test)]
mod tests;
mod words;

/// Programs that run a line given as an argument.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];
/// Programs and built-ins that run a command given as further arguments.
const WRAPPERS: &[&str] = &[
    "builtin", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "pkexec", "setsid",
    "stdbuf", "sudo", "time", "timeout", "xargs",
];
/// Words of shell syntax that a command may follow.
const RESERVED_WORDS: &[&str] =
    &["!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "coproc"];

/// Command lines within a command line that haft follows while the network is off.
///
/// Limit (commands): the command is refused.
pub(crate) const NESTING_MAX: usize = 8;

/// How long the list is. Whatever a shorter list refuses, a longer one refuses too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkGuard {
    /// No list: the kernel sandbox alone holds commands back.
    Kernel,
    /// curl, wget, npm, bun and pip, words that start as an HTTP URL does, and git with the subcommand push, pull, fetch,
    /// clone or remote.
    #[default]
    Standard,
    /// Also remote shells, network tools, package managers, addresses, URLs of any scheme and proxy settings, wherever
    /// in an argument a word of that kind stands.
    Strict,
}

/// Says that a command would use the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRefusal {
    /// [`ErrorCode::NetworkDisabled`] or [`ErrorCode::GitRemoteDisabled`].
    pub code: ErrorCode,
    /// What was found, and what to do next.
    pub message: String,
    /// The host of the first URL in the command. Where it is granted, the list of names does not hold.
    pub host: Option<String>,
}

impl NetworkGuard {
    /// Returns why a command may not run while the network is off, or `None` if it looks local.
    ///
    /// A command that a wrapper such as env or a shell runs is judged as well. A line whose commands are not known is cut
    /// into words and commands without being understood. What it takes for a program is judged as one, so it errs
    /// towards refusing: a here-document that begins a line with `curl` is refused.
    pub fn check(self, command: &CommandLine) -> Option<NetworkRefusal> {
        let (refusal, host) = match (self, command) {
            (Self::Kernel, _) => return None,
            (Self::Standard | Self::Strict, CommandLine::Argv(argv)) => {
                (self.refused_words(argv, 0)?, argv.iter().find_map(|word| first_host(word)))
            }
            (Self::Standard | Self::Strict, CommandLine::Unknown(line)) => {
                (self.refused_line(line, 0)?, first_host(line))
            }
        };
        Some(NetworkRefusal { host, ..refusal })
    }

    fn refused_line(self, line: &str, nesting: usize) -> Option<NetworkRefusal> {
        if nesting > NESTING_MAX {
            return Some(NetworkRefusal {
                code: ErrorCode::NetworkDisabled,
                message: format!(
                    "the command holds more than {NESTING_MAX} lines within each other and the network is \
                     off; run them one by one"
                ),
                host: None,
            });
        }
        let is_separator = |char: char| char.is_whitespace() || "\"'`;|&()<>=,{}[]".contains(char);
        let commands = simple_commands(line);
        line.split(is_separator)
            .find_map(|word| refused_word(self, word))
            .or_else(|| commands.iter().find_map(|words| self.refused_words(words, nesting)))
    }

    /// Judges a simple command of a line, with the commands that wrappers in it run.
    fn refused_words(self, words: &[String], nesting: usize) -> Option<NetworkRefusal> {
        let refused = |command: &[String]| {
            words::refused_argv(self, command).or_else(|| self.refused_inside(command, nesting))
        };
        wrapped_commands(words)
            .into_iter()
            .find_map(refused)
            .or_else(|| words::refused_assignment(self, words))
    }

    /// Judges the lines that a shell is given to run.
    fn refused_inside(self, command: &[String], nesting: usize) -> Option<NetworkRefusal> {
        let (program, arguments) = command.split_first()?;
        match base_name(program) {
            "eval" => self.refused_line(&arguments.join(" "), nesting + 1),
            name if SHELLS.contains(&name) => {
                arguments.iter().find_map(|line| self.refused_line(line, nesting + 1))
            }
            _ => None,
        }
    }
}

/// Returns the words of each simple command of a line that is not understood, quotes removed: a guess, for lists of
/// names that err towards finding too much. Nothing is expanded, and here-documents are taken for commands.
///
/// ```
/// let words = haft_policy::rough_commands("cd x && git \"commit\" -m 'a b'");
/// assert_eq!(words, [vec!["cd", "x"], vec!["git", "commit", "-m", "a b"]]);
/// ```
pub fn rough_commands(line: &str) -> Vec<Vec<String>> {
    simple_commands(line)
}

/// Returns a simple command without shell words and assignments in front of it, and the commands that wrappers such as
/// `sudo` and `env` in it run. Where options of a wrapper leave open which word is the program, each that may be is taken
/// for it.
pub fn wrapped_commands(words: &[String]) -> Vec<&[String]> {
    let is_prefix = |word: &&String| RESERVED_WORDS.contains(&word.as_str()) || is_assignment(word);
    let mut starts = vec![words.iter().take_while(is_prefix).count()];
    let mut followed = 0;
    while let Some(start) = starts.get(followed).copied() {
        followed += 1;
        for offset in wrapped_starts(words.get(start..).unwrap_or_default()) {
            if !starts.contains(&(start + offset)) {
                starts.push(start + offset);
            }
        }
    }
    starts.into_iter().filter_map(|start| words.get(start..)).collect()
}

/// Returns where the command that a wrapper runs may begin: at its first argument that is no option, number or
/// assignment, or, where that follows an option and may belong to it, at the second.
fn wrapped_starts(command: &[String]) -> Vec<usize> {
    if !command.first().is_some_and(|program| WRAPPERS.contains(&base_name(program))) {
        return Vec::new();
    }
    let is_option = |word: &str| word.starts_with('-');
    let is_aside = |word: &str| {
        is_option(word)
            || is_assignment(word)
            || word.starts_with(|first: char| first.is_ascii_digit())
    };
    let plain = command.iter().enumerate().skip(1).filter(|(_, word)| !is_aside(word));
    let mut starts: Vec<usize> = plain.map(|(offset, _)| offset).take(2).collect();
    let before_first = starts.first().and_then(|first| command.get(first.checked_sub(1)?));
    if !before_first.is_some_and(|word| is_option(word)) {
        starts.truncate(1);
    }
    starts
}
