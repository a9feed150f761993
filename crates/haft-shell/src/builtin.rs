//! The bash built-ins that affect other commands: they change the directory, set variables, change
//! the meaning of names, or run text. All others are treated like programs.

use crate::analysis::{CommandWord, UnknownReason, render_line};
use crate::directories::WorkingDirectories;
use crate::findings::{DirectoriesAfter, LineFindings, StatementScope};
use crate::variables;

/// Built-ins that run their arguments, or a file, as code.
const EVALUATING: &[&str] = &[".", "eval", "source"];
/// Built-ins that change which command a name stands for, or when code runs.
const REDEFINING: &[&str] = &[
    "alias", "bind", "compgen", "complete", "compopt", "enable", "fc", "history", "shopt", "trap",
    "unalias",
];
const DECLARING: &[&str] = &["declare", "export", "local", "readonly", "typeset"];
/// Built-ins that fill variables with data.
const READING: &[&str] = &["mapfile", "read", "readarray"];
/// Built-ins without effect on the analysis.
const PLAIN: &[&str] = &[
    ":", "[", "bg", "break", "caller", "continue", "dirs", "disown", "echo", "exit", "false", "fg",
    "hash", "help", "jobs", "kill", "logout", "printf", "pwd", "return", "shift", "suspend",
    "test", "times", "true", "type", "ulimit", "umask", "wait",
];
const OTHERS: &[&str] = &["cd", "getopts", "let", "popd", "pushd", "set", "unset"];

/// Letters of `set` that change neither parsing nor the meaning of names.
const SET_LETTERS: &str = "euxo";
const SET_OPTIONS: &[&str] = &["errexit", "nounset", "pipefail", "xtrace"];

pub(crate) fn is_builtin(name: &str) -> bool {
    [EVALUATING, REDEFINING, DECLARING, READING, PLAIN, OTHERS]
        .iter()
        .any(|all| all.contains(&name))
}

/// Returns whether a command of this name may change the shell's directory.
pub(crate) fn changes_directory(name: &str) -> bool {
    matches!(name, "builtin" | "cd" | "command" | "popd" | "pushd") || EVALUATING.contains(&name)
}

/// Analyses a built-in; returns `None` for any other command.
pub(crate) fn analyze_builtin(
    findings: &mut LineFindings,
    words: &[CommandWord],
    scope: &StatementScope,
) -> Option<DirectoriesAfter> {
    let (CommandWord::Literal(name), arguments) = words.split_first()? else { return None };
    let name = name.as_str();
    if !is_builtin(name) {
        return None;
    }
    match unknown_reason(findings, name, arguments) {
        Some(reason) => findings.add_unknown(&render_line(words), reason),
        None => findings.add_command(words, scope),
    }
    Some(match name {
        "cd" => {
            findings.directory_changed = true;
            let mut operands = arguments
                .iter()
                .skip_while(|word| matches!(word.literal(), Some("-P" | "-L" | "-e" | "--")));
            let succeeded = match (operands.next(), operands.next()) {
                (Some(CommandWord::Literal(directory)), None)
                    if !directory.starts_with('-') && !directory.is_empty() =>
                {
                    scope.directories.enter(directory)
                }
                _ => WorkingDirectories::Unknown,
            };
            DirectoriesAfter { succeeded, failed: scope.directories.clone() }
        }
        "pushd" | "popd" => {
            findings.directory_changed = true;
            DirectoriesAfter::unknown()
        }
        _ if EVALUATING.contains(&name) => DirectoriesAfter::unknown(),
        _ => DirectoriesAfter::unchanged(scope),
    })
}

/// Returns why the built-in makes the line unknown.
fn unknown_reason(
    findings: &mut LineFindings,
    name: &str,
    arguments: &[CommandWord],
) -> Option<UnknownReason> {
    let is_option = |letters: &str| has_option(arguments, letters);
    match name {
        _ if EVALUATING.contains(&name) => Some(UnknownReason::Evaluation),
        _ if REDEFINING.contains(&name) => Some(UnknownReason::Redefinition),
        _ if DECLARING.contains(&name) => check_declaration(findings, arguments),
        _ if READING.contains(&name) => {
            findings.data.add_unknown();
            let calls_back = name != "read" && is_option("C");
            let reason = calls_back.then_some(UnknownReason::Evaluation);
            reason.or_else(|| check_variable_names(arguments))
        }
        "let" => {
            findings.data.evaluates = true;
            arguments.iter().find_map(|word| match word.literal() {
                Some(text) => {
                    variables::mentions_execution_variable(text).then_some(UnknownReason::Variable)
                }
                None => Some(UnknownReason::Arithmetic),
            })
        }
        "set" => {
            let mut takes_name = false;
            for (index, word) in arguments.iter().enumerate() {
                let Some(text) = word.literal() else {
                    return Some(UnknownReason::Redefinition);
                };
                if std::mem::take(&mut takes_name) {
                    if !SET_OPTIONS.contains(&text) {
                        return Some(UnknownReason::Redefinition);
                    }
                } else if text == "--" {
                    if arguments.iter().skip(index).any(|word| word.literal().is_none()) {
                        findings.data.add_unknown();
                    }
                    return None;
                } else if let Some(letters) = text.strip_prefix(['-', '+']) {
                    if letters.is_empty()
                        || !letters.chars().all(|letter| SET_LETTERS.contains(letter))
                    {
                        return Some(UnknownReason::Redefinition);
                    }
                    takes_name = letters.contains('o');
                } else {
                    return None;
                }
            }
            None
        }
        "unset" | "getopts" => check_variable_names(arguments),
        "printf" if is_option("v") => {
            findings.data.add_unknown();
            check_variable_names(arguments)
        }
        "hash" if is_option("p") => Some(UnknownReason::Redefinition),
        "test" | "[" => {
            let evaluates = |word: &CommandWord| matches!(word.literal(), Some("-v" | "-R"));
            arguments.iter().any(evaluates).then_some(UnknownReason::Arithmetic)
        }
        "wait" => is_option("p").then(|| check_variable_names(arguments)).flatten(),
        _ => None,
    }
}

/// Checks a built-in that sets variables by name. A word that the shell expands could be any option
/// or name.
fn check_declaration(
    findings: &mut LineFindings,
    arguments: &[CommandWord],
) -> Option<UnknownReason> {
    // Integers are evaluated, name references hide the variable that is set, and exported functions
    // reach other shells.
    if has_option(arguments, "infF") {
        return Some(UnknownReason::Redefinition);
    }
    arguments.iter().find_map(|word| {
        let (text, value) = match word {
            CommandWord::Literal(text) if text.starts_with(['-', '+']) => return None,
            CommandWord::Literal(text) => (text, text.split_once('=').map(|(_, value)| value)),
            // Only a literal `NAME=` certainly sets this one variable.
            CommandWord::Unknown(source) if source.contains('=') => {
                findings.data.add_unknown();
                (source, None)
            }
            CommandWord::Unknown(_) => return Some(UnknownReason::Variable),
        };
        let name = text.split('=').next().unwrap_or_default();
        let name = name.strip_suffix('+').unwrap_or(name);
        let is_name_char = |char: char| char.is_ascii_alphanumeric() || char == '_';
        let is_name = !name.is_empty() && name.chars().all(is_name_char);
        let is_refused = !is_name || variables::decides_what_runs(name, value);
        is_refused.then_some(UnknownReason::Variable)
    })
}

/// Checks a built-in whose arguments are names and other text: every argument is treated as a name.
fn check_variable_names(arguments: &[CommandWord]) -> Option<UnknownReason> {
    let refused = |word: &CommandWord| match word.literal() {
        // A subscript would be evaluated.
        Some(text) if text.contains('[') => Some(UnknownReason::Arithmetic),
        Some(text) => variables::is_execution_variable(text).then_some(UnknownReason::Variable),
        None => Some(UnknownReason::Variable),
    };
    arguments.iter().find_map(refused)
}

/// Returns whether an option word contains one of the letters. A word that the shell expands may.
fn has_option(arguments: &[CommandWord], letters: &str) -> bool {
    let holds = |word: &CommandWord| match word.literal() {
        Some(text) => text.starts_with(['-', '+']) && text.contains(|char| letters.contains(char)),
        None => false,
    };
    arguments.iter().take_while(|word| word.literal() != Some("--")).any(holds)
}
