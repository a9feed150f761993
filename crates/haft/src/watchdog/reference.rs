//! The watchdog that is built in. It knows what destroys a machine, what needs rights that a tool should not have and
//! what fetches things from elsewhere, and has nothing to say about the rest. It is a list, not a wall: what it does not
//! recognise is held by capabilities and the kernel sandbox, or not at all.

use std::path::Path;

use haft_contract::{BoxFuture, CommandLine, PartialWord};
use haft_policy::{
    PathSubject, ResolvedAccess, rough_commands, stays_on_loopback, wrapped_commands,
};
use serde_json::Value;

use self::table::{COMMAND_RULES, FETCHES, RuleSeverity};
use super::{Watchdog, WatchdogVerdict, WatchedCall};
use crate::roots::lexical_path;

mod table;
#[cfg(test)]
mod tests;

/// Directories that belong to the machine, with all that is in them.
const SYSTEM_DIRECTORIES: &[&str] = &[
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys",
    "/usr", "/var/lib", "/var/log",
];
/// Directories in which users never grant a tool a place to work.
const UNGRANTED_DIRECTORIES: &[&str] = &["/boot", "/dev", "/etc", "/proc", "/sys"];
/// Directories that belong to the machine, but whose entries belong to users.
const SHARED_DIRECTORIES: &[&str] =
    &["/", "/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/tmp"];
/// Beneath the machine's directories, and yet for everybody to write.
const OPEN_PLACES: &[&str] = &[
    "/dev/fd",
    "/dev/full",
    "/dev/null",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "/dev/zero",
    "/run/user",
];
/// Largest part of a command that a message shows, in characters.
pub(crate) const SHOWN_CHARS_MAX: usize = 200;
/// How a line spells the home directory before a shell expands it.
const HOME_SPELLINGS: &[&str] = &["~", "$HOME", "${HOME}"];

/// Allows what only reads or stays inside the workspace, asks about writing elsewhere, downloads and privileges, and
/// denies what destroys the machine.
///
/// It goes by the words of each command and by resolved paths, so `echo "rm -rf /"` is nothing to it. Where the commands
/// of a line are not known, it goes by what looks like one.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceWatchdog;

/// The result of a rule for a command or a file.
struct CommandFinding {
    /// Whether to deny the call or ask a person.
    severity: RuleSeverity,
    /// Whether the command fetches something from another host.
    is_download: bool,
    /// The reason, for the person or the model.
    text: String,
}

impl Watchdog for ReferenceWatchdog {
    fn judge<'a>(&'a self, call: WatchedCall<'a>) -> BoxFuture<'a, WatchdogVerdict> {
        Box::pin(std::future::ready(verdict(&call)))
    }
}

/// The strictest of what is found decides, and the first of several as strict is named.
fn verdict(call: &WatchedCall<'_>) -> WatchdogVerdict {
    // A line may be the whole command or an argument of it. Only the whole line shows what its functions do.
    let args = call.input.get("args").and_then(Value::as_array).into_iter().flatten();
    let mut texts = call.input.get("cmd").into_iter().chain(args).filter_map(Value::as_str);
    if let Some(line) = texts.find(|text| is_fork_bomb(text)) {
        return WatchdogVerdict::Deny(format!(
            "{} would start processes without end",
            shorten_line(line)
        ));
    }
    // A grant of hosts includes downloads from them, and downloads from other hosts cannot happen. A command that the user
    // allowed by a rule needs no second answer, unless it destroys the machine.
    let is_foreseen = |at: usize, finding: &CommandFinding| {
        (finding.is_download && call.is_network_decided)
            || (finding.severity == RuleSeverity::Ask
                && call.allowed_by_user.get(at).copied().unwrap_or(false))
    };
    let findings = || {
        let found = call.accesses.iter().map(|access| match access {
            ResolvedAccess::Write { path } => write_finding(path, call.root),
            ResolvedAccess::Shell { command: CommandLine::Argv(argv) } => {
                command_finding(argv, call.root)
            }
            ResolvedAccess::Shell { command: CommandLine::Partial(words) } => {
                // A place such as "$HOME" is known without its quotes.
                let text = |word: &PartialWord| match word.literal() {
                    Some(text) => text.to_owned(),
                    None => word.text().replace(['"', '\''], ""),
                };
                let words: Vec<_> = words.iter().map(text).collect();
                command_finding(&words, call.root)
            }
            ResolvedAccess::Shell { command: CommandLine::Unknown(line) } => {
                let commands = rough_commands(line);
                let found = commands.iter().filter_map(|words| command_finding(words, call.root));
                found.max_by_key(|finding| finding.severity)
            }
            ResolvedAccess::Read { .. }
            | ResolvedAccess::Net { .. }
            | ResolvedAccess::Named { .. } => None,
        });
        let found = found.enumerate().filter_map(|(at, finding)| Some((at, finding?)));
        found.filter(|(at, finding)| !is_foreseen(*at, finding)).map(|(_, finding)| finding)
    };
    let of = |severity| findings().find(move |finding| finding.severity == severity);
    match (of(RuleSeverity::Deny), of(RuleSeverity::Ask)) {
        (Some(denied), _) => WatchdogVerdict::Deny(denied.text),
        (None, Some(asked)) => WatchdogVerdict::Ask(asked.text),
        (None, None) => WatchdogVerdict::Allow,
    }
}

/// Judges a file that the call changes. Files in the workspace need no decision.
fn write_finding(path: &PathSubject, root: &Path) -> Option<CommandFinding> {
    let place = &path.absolute;
    let is_open = is_beneath_any(place, OPEN_PLACES) && path.relative.is_none();
    if place.starts_with(root) || is_open {
        return None;
    }
    let shown = place.display();
    let is_denied = match path.relative {
        Some(_) => is_beneath_any(place, UNGRANTED_DIRECTORIES),
        None => is_vital(place, root),
    };
    Some(if is_denied {
        let text = format!("writing to {shown} would change the machine itself; leave it alone");
        CommandFinding { severity: RuleSeverity::Deny, is_download: false, text }
    } else {
        let text = format!("writing to {shown}, which lies outside the workspace root");
        CommandFinding { severity: RuleSeverity::Ask, is_download: false, text }
    })
}

/// Returns the strictest finding about a command and the commands that it wraps.
fn command_finding(argv: &[String], root: &Path) -> Option<CommandFinding> {
    let found = wrapped_commands(argv).into_iter().filter_map(|words| {
        let (program, arguments) = words.split_first()?;
        let base_name = program.rsplit('/').next().unwrap_or(program);
        let matching = COMMAND_RULES.iter().filter(|rule| {
            rule.programs.contains(&base_name)
                && rule.when.holds(arguments, root)
                && !(rule.reason == FETCHES && stays_on_loopback(program, arguments))
        });
        matching.max_by_key(|rule| rule.severity)
    });
    let strictest = found.max_by_key(|rule| rule.severity)?;
    let text = format!("{} {}", shorten_line(&argv.join(" ")), strictest.reason);
    Some(CommandFinding {
        severity: strictest.severity,
        is_download: strictest.reason == FETCHES,
        text,
    })
}

/// Returns whether a line defines a function that pipes itself into itself in the background.
fn is_fork_bomb(line: &str) -> bool {
    let dense: String = line.chars().filter(|char| !char.is_whitespace()).collect();
    dense.match_indices("(){").any(|(at, opening)| {
        let (before, after) = dense.split_at(at);
        let name = before.rsplit([';', '&', '|', '{', '(']).next().unwrap_or(before);
        let name = name.strip_prefix("function").unwrap_or(name);
        let body = after.get(opening.len()..).unwrap_or_default();
        !name.is_empty() && body.starts_with(&format!("{name}|{name}&"))
    })
}

/// Returns whether the place belongs to the machine, or holds all the data of a user. A place inside the workspace
/// never does.
fn is_vital(path: &Path, root: &Path) -> bool {
    if path.starts_with(root) {
        return false;
    }
    let is_system = is_beneath_any(path, SYSTEM_DIRECTORIES) && !is_beneath_any(path, OPEN_PLACES);
    let is_shared = SHARED_DIRECTORIES.iter().any(|shared| path == Path::new(shared));
    let is_a_home = path.parent() == Some(Path::new("/home"));
    is_system || is_shared || is_a_home || root.starts_with(path)
}

/// Returns whether the path is one of the directories or lies in one.
fn is_beneath_any(path: &Path, directories: &[&str]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
}

/// Returns whether a word of a command names a vital place. A word whose end is a star names all that a directory holds.
fn names_vital(word: &str, root: &Path) -> bool {
    let place = word.strip_suffix("/*").unwrap_or(word);
    let bare = place.trim_end_matches('/');
    if HOME_SPELLINGS.contains(&bare) {
        return true;
    }
    let is_absolute = word.starts_with('/');
    is_absolute
        && is_vital(&lexical_path(Path::new(if bare.is_empty() { "/" } else { bare })), root)
}

/// Returns the beginning of a command for a message.
fn shorten_line(line: &str) -> String {
    let mut beginning: String = line.chars().take(SHOWN_CHARS_MAX).collect();
    if beginning.len() < line.len() {
        beginning.push('…');
    }
    format!("{beginning:?}")
}
