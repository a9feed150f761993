//! The name list that keeps commands from trying the network while it is off: on words, never on substrings. It is
//! a courtesy that gives a model a reason early. It does not confine a command; the sandbox does. The list cannot know
//! words that are configured elsewhere, such as a git alias.

use haft_contract::{CommandLine, ErrorCode};

pub use self::shell_words::rough_commands;
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
    /// The word that was found, and the next step.
    pub message: String,
    /// The host of the first URL in the command. Where it is granted, the list of names does not hold.
    pub host: Option<String>,
}

impl NetworkGuard {
    /// Returns why a command may not run while the network is off, or `None` if it looks local.
    ///
    /// A command that a wrapper such as env or a shell runs is judged as well. A line whose commands are not known is cut
    /// into words and commands without being understood. Every word that may be a program is judged as one, so the guard errs
    /// towards refusing: a here-document that begins a line with `curl` is refused.
    pub fn check(self, command: &CommandLine) -> Option<NetworkRefusal> {
        let (refusal, host) = match (self, command) {
            (Self::Kernel, _) => return None,
            (Self::Standard | Self::Strict, CommandLine::Argv(argv)) => {
                (self.refused_words(argv, 0)?, argv.iter().find_map(|word| first_host(word)))
            }
            (Self::Standard | Self::Strict, CommandLine::Partial(_) | CommandLine::Unknown(_)) => {
                let line = command.line();
                (self.refused_line(&line, 0)?, first_host(&line))
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
        let commands = rough_commands(line);
        line.split(is_separator)
            .find_map(|word| refused_word(self, word))
            .or_else(|| commands.iter().find_map(|words| self.refused_words(words, nesting)))
    }

    /// Judges a simple command of a line, with the commands that wrappers in it run.
    fn refused_words(self, words: &[String], nesting: usize) -> Option<NetworkRefusal> {
        for command in wrapped_commands(words) {
            let Some((program, arguments)) = command.split_first() else { continue };
            let refusal = words::refused_argv(self, command).or_else(|| match base_name(program) {
                "eval" => self.refused_line(&arguments.join(" "), nesting + 1),
                // A shell is given lines to run.
                name if SHELLS.contains(&name) => {
                    arguments.iter().find_map(|line| self.refused_line(line, nesting + 1))
                }
                _ => None,
            });
            if refusal.is_some() {
                return refusal;
            }
        }
        words::refused_assignment(self, words)
    }
}

/// Returns a simple command without shell words and assignments in front of it, and the commands that wrappers such as
/// `sudo` and `env` in it run. Where options of a wrapper leave open which word is the program, each that may be is taken
/// for it.
pub fn wrapped_commands(words: &[String]) -> Vec<&[String]> {
    let is_prefix = |word: &&String| RESERVED_WORDS.contains(&word.as_str()) || is_assignment(word);
    let is_option = |word: &str| word.starts_with('-');
    let is_aside = |word: &str| {
        is_option(word)
            || is_assignment(word)
            || word.starts_with(|first: char| first.is_ascii_digit())
    };
    let mut starts = vec![words.iter().take_while(is_prefix).count()];
    let mut followed = 0;
    while let Some(start) = starts.get(followed).copied() {
        followed += 1;
        let command = words.get(start..).unwrap_or_default();
        if !command.first().is_some_and(|program| WRAPPERS.contains(&base_name(program))) {
            continue;
        }
        // The wrapped command begins at the first argument that is no option, number or assignment.
        // If that argument follows an option, it may be its value: then the second one counts, too.
        let plain = command.iter().enumerate().skip(1).filter(|(_, word)| !is_aside(word));
        let mut offsets: Vec<usize> = plain.map(|(offset, _)| offset).take(2).collect();
        let before_first = offsets.first().and_then(|first| command.get(first.checked_sub(1)?));
        if !before_first.is_some_and(|word| is_option(word)) {
            offsets.truncate(1);
        }
        for offset in offsets {
            if !starts.contains(&(start + offset)) {
                starts.push(start + offset);
            }
        }
    }
    starts.into_iter().filter_map(|start| words.get(start..)).collect()
}
