//! The name list that keeps commands from trying the network while it is off: on words, never on substrings. It is
//! manners and gives a model a reason early; it holds nothing back that wants out, which is the sandbox's work.

use haft_contract::ErrorCode;

use self::shell_words::simple_commands;

mod shell_words;
#[cfg(test)]
mod tests;

/// Programs that exist to use the network.
const NETWORK_PROGRAMS: &[&str] = &["curl", "wget", "npm", "bun", "pip"];
/// Words that make git talk to a remote.
const GIT_REMOTE_WORDS: &[&str] = &["push", "pull", "fetch", "clone", "remote"];
const URL_SCHEMES: &[&str] = &["http://", "https://"];

/// Programs that run a line given as an argument.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];
/// Programs and built-ins that run a command given as further arguments.
const WRAPPERS: &[&str] = &[
    "command", "builtin", "exec", "env", "nice", "nohup", "setsid", "sudo", "time", "timeout",
    "xargs",
];
/// Words of shell syntax that a command may follow.
const RESERVED_WORDS: &[&str] =
    &["!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "coproc"];

/// Lines within lines, as in `bash -c "eval …"`, that are followed; what lies deeper is refused.
const NESTING_MAX: usize = 8;

/// Says that a command would use the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkRefusal {
    /// [`ErrorCode::NetworkDisabled`] or [`ErrorCode::GitRemoteDisabled`].
    pub code: ErrorCode,
    /// What was found, and what to do next.
    pub message: String,
}

/// Returns why a command may not run while the network is off, or `None` if it looks local.
///
/// Refused are curl, wget, npm, bun and pip, any argument that starts as an HTTP URL does, and git together with
/// an argument push, pull, fetch, clone or remote, wherever it stands; also where a wrapper such as env or a shell
/// runs them.
pub fn network_guard(argv: &[String]) -> Option<NetworkRefusal> {
    refused_words(argv, 0)
}

fn refused_argv(argv: &[String]) -> Option<NetworkRefusal> {
    let (program, arguments) = argv.split_first()?;
    refused_program(program)
        .or_else(|| argv.iter().find_map(|word| refused_url(word)))
        .or_else(|| refused_git(program, arguments))
}

/// Returns why a shell line whose commands are not known may not run while the network is off.
///
/// The line is cut into words and commands without being understood. What it takes for a program is judged as
/// [`network_guard`] does, so it errs towards refusing: a here-document that begins a line with `curl` is refused.
pub fn network_guard_line(line: &str) -> Option<NetworkRefusal> {
    refused_line(line, 0)
}

fn refused_line(line: &str, nesting: usize) -> Option<NetworkRefusal> {
    if nesting > NESTING_MAX {
        return Some(NetworkRefusal {
            code: ErrorCode::NetworkDisabled,
            message: format!(
                "the command holds more than {NESTING_MAX} lines within each other and the network is \
                 off; run them one by one"
            ),
        });
    }
    let is_separator = |char: char| char.is_whitespace() || "\"'`;|&()<>=,{}[]".contains(char);
    line.split(is_separator)
        .find_map(refused_url)
        .or_else(|| simple_commands(line).iter().find_map(|words| refused_words(words, nesting)))
}

/// Judges a simple command of a line, with the commands that wrappers in it run.
fn refused_words(words: &[String], nesting: usize) -> Option<NetworkRefusal> {
    let is_prefix = |word: &&String| RESERVED_WORDS.contains(&word.as_str()) || is_assignment(word);
    let mut starts = vec![words.iter().take_while(is_prefix).count()];
    let mut judged = 0;
    while let Some(start) = starts.get(judged).copied() {
        judged += 1;
        let command = words.get(start..).unwrap_or_default();
        let refusal = refused_argv(command).or_else(|| refused_inside(command, nesting));
        if refusal.is_some() {
            return refusal;
        }
        for offset in wrapped_starts(command) {
            if !starts.contains(&(start + offset)) {
                starts.push(start + offset);
            }
        }
    }
    None
}

/// Judges the lines that a shell is given to run.
fn refused_inside(command: &[String], nesting: usize) -> Option<NetworkRefusal> {
    let (program, arguments) = command.split_first()?;
    match base_name(program) {
        "eval" => refused_line(&arguments.join(" "), nesting + 1),
        name if SHELLS.contains(&name) => {
            arguments.iter().find_map(|line| refused_line(line, nesting + 1))
        }
        _ => None,
    }
}

/// Returns where the command that a wrapper runs may begin: at its first argument that is no option, number or
/// assignment, or at the second, since the first may belong to an option.
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
    let has_options = command.get(1).is_some_and(|word| is_option(word));
    plain.map(|(offset, _)| offset).take(if has_options { 2 } else { 1 }).collect()
}

fn refused_program(program: &str) -> Option<NetworkRefusal> {
    let name = base_name(program);
    NETWORK_PROGRAMS.contains(&name).then(|| NetworkRefusal {
        code: ErrorCode::NetworkDisabled,
        message: format!(
            "{name} uses the network, which is off; work offline, or ask for the network to be \
             allowed"
        ),
    })
}

fn refused_url(word: &str) -> Option<NetworkRefusal> {
    URL_SCHEMES.iter().find(|scheme| word.starts_with(**scheme)).map(|scheme| NetworkRefusal {
        code: ErrorCode::NetworkDisabled,
        message: format!(
            "the command names a URL ({scheme}…) and the network is off; leave it out, or ask for \
             the network to be allowed"
        ),
    })
}

fn refused_git(program: &str, arguments: &[String]) -> Option<NetworkRefusal> {
    let is_remote = |word: &&String| GIT_REMOTE_WORDS.contains(&word.as_str());
    let word = arguments.iter().find(is_remote).filter(|_| base_name(program) == "git")?;
    Some(NetworkRefusal {
        code: ErrorCode::GitRemoteDisabled,
        message: format!(
            "git with {word:?} talks to a remote, and the network is off; use local git commands, or \
             ask for the network to be allowed"
        ),
    })
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
        !name.is_empty() && name.trim_end_matches('+').chars().all(is_name)
    })
}
