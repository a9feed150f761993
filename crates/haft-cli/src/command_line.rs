//! Errors of the command line. clap words them, with two exceptions: an error in a value from the environment names the
//! variable, and with --json the error is printed as JSON too.

mod help;
mod read;

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory};

pub(crate) use self::help::{documented_command, whole_command};
pub(crate) use self::read::parse_command_line;
use crate::cli::Cli;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;

/// Prints the error of a command line, or the help or version that it asks for.
pub(crate) fn report_clap_error(mut err: clap::Error) -> CommandStatus {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if !err.use_stderr() {
        // A reader that has seen enough of the help is no error.
        let _ = err.print();
        return CommandStatus::Done;
    }
    let text = |kind: ContextKind| match err.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let meant = text(ContextKind::InvalidSubcommand);
    let meant = meant.and_then(|word| commands_meant_by(&word, &words));
    let mut haft = Cli::command();
    haft.build();
    // The error names the variable that a value came from in place of the option that was not given.
    if let Some(option) = text(ContextKind::InvalidArg)
        && let Some(value) = text(ContextKind::InvalidValue)
        && let Some(variable) = variable_of(&haft, &option, &words)
        && std::env::var_os(&variable).is_some_and(|set| set.to_string_lossy() == value)
    {
        err.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    if let Some(commands) = meant {
        let commands = commands.iter().map(|command| (*command).to_owned()).collect();
        err.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(commands));
    }
    if wants_json(&words) {
        // The part up to the first blank line is the error; the usage of the command follows it.
        let text = err.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let first = text.split("\n\n").next().unwrap_or(text);
        let summary = first.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        // The words on standard error say it as well.
        let _ = output::write_json(&CommandError::usage(summary));
    }
    let _ = err.print();
    CommandStatus::Usage
}

/// Words that people try, and the commands that do what they mean.
const OTHER_WORDS: [(&[&str], &[&str]); 4] = [
    (&["forbid", "deny", "block"], &["permissions deny"]),
    (&["allow"], &["permissions allow"]),
    (&["tail", "watch", "follow"], &["runs tail"]),
    (&["add"], &["permissions allow", "permissions deny"]),
];

/// Returns the commands that a word means that no command has. `add` is a word of other commands, too.
fn commands_meant_by(word: &str, words: &[OsString]) -> Option<&'static [&'static str]> {
    let is_of_permissions = words.iter().any(|word| word == "permissions" || word == "policy");
    let known = OTHER_WORDS.iter().find(|(others, _)| others.contains(&word))?;
    (word != "add" || is_of_permissions).then_some(known.1)
}

fn wants_json(words: &[OsString]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// Returns the variable that stands in for an option, unless the option is among the words.
fn variable_of(command: &Command, option: &str, words: &[OsString]) -> Option<String> {
    let is_given = |long: &str| {
        let flag = format!("--{long}");
        let begins = |word: &OsString| {
            let word = word.to_string_lossy();
            word == flag.as_str() || word.starts_with(&format!("{flag}="))
        };
        words.iter().any(begins)
    };
    let own = command
        .get_arguments()
        .filter(|arg| arg.to_string() == option)
        .filter(|arg| !arg.get_long().is_some_and(is_given))
        .find_map(|arg| Some(arg.get_env()?.to_string_lossy().into_owned()));
    own.or_else(|| command.get_subcommands().find_map(|below| variable_of(below, option, words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_blamed_for_what_no_option_says() {
        let mut haft = Cli::command();
        haft.build();
        let check = |words: &[&str], option: &str, expect: Option<&str>| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(variable_of(&haft, option, &words).as_deref(), expect, "{option}");
        };
        check(&["call", "read"], "--attempt <ATTEMPT>", Some("HAFT_ATTEMPT"));
        check(&["call", "--attempt", "x", "read"], "--attempt <ATTEMPT>", None);
        check(&["call", "--attempt=x", "read"], "--attempt <ATTEMPT>", None);
        check(&["runs", "list"], "--timeout-ms <MS>", Some("HAFT_TIMEOUT_MS"));
        check(&["runs", "list"], "--limit <LIMIT>", None);
    }

    #[test]
    fn what_follows_two_dashes_asks_for_nothing() {
        let check = |words: &[&str], expect: bool| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            assert_eq!(wants_json(&words), expect, "{words:?}");
        };
        check(&["runs", "--json"], true);
        check(&["call", "read", "--", "--json"], false);
        check(&[], false);
    }
}
