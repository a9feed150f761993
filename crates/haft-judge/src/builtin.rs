//! The built-ins of bash that matter beyond themselves: they move the shell, set variables, change what names mean, or
//! run text. The others are commands like programs.

use crate::judgement::{UnknownReason, Word};
use crate::variables;
use crate::walk::{After, Scope, Walk};
use crate::word::line_of;

/// What run their arguments, or a file, as code.
const EVALUATING: &[&str] = &[".", "eval", "source"];
/// What change which command a name stands for, or when code runs.
const REDEFINING: &[&str] = &[
    "alias", "bind", "compgen", "complete", "compopt", "enable", "fc", "history", "shopt", "trap",
    "unalias",
];
const DECLARING: &[&str] = &["declare", "export", "local", "readonly", "typeset"];
/// What fill variables with data.
const READING: &[&str] = &["mapfile", "read", "readarray"];
/// What change nothing that the judge looks at.
const PLAIN: &[&str] = &[
    ":", "[", "bg", "break", "caller", "continue", "dirs", "disown", "echo", "exit", "false", "fg",
    "hash", "help", "jobs", "kill", "logout", "printf", "pwd", "return", "shift", "suspend",
    "test", "times", "true", "type", "ulimit", "umask", "wait",
];
const OTHERS: &[&str] = &["cd", "getopts", "let", "popd", "pushd", "set", "unset"];

/// Letters of `set` that change neither parsing nor what names mean.
const SET_LETTERS: &str = "euxo";
const SET_OPTIONS: &[&str] = &["errexit", "nounset", "pipefail", "xtrace"];

pub(crate) fn is_builtin(name: &str) -> bool {
    [EVALUATING, REDEFINING, DECLARING, READING, PLAIN, OTHERS]
        .iter()
        .any(|all| all.contains(&name))
}

/// Returns whether a command of this name may leave the shell in another directory.
pub(crate) fn moves(name: &str) -> bool {
    matches!(name, "builtin" | "cd" | "command" | "popd" | "pushd") || EVALUATING.contains(&name)
}

/// Judges a built-in, or returns nothing if it is another command.
pub(crate) fn judge(walk: &mut Walk, words: &[Word], scope: &Scope) -> Option<After> {
    let (Word::Literal(name), arguments) = words.split_first()? else { return None };
    let name = name.as_str();
    if !is_builtin(name) {
        return None;
    }
    let refusal = refusal(walk, name, arguments);
    match refusal {
        Some(reason) => walk.unknown(&line_of(words), reason),
        None => walk.known(words, scope),
    }
    Some(match name {
        "cd" => enter(walk, arguments, scope),
        "pushd" | "popd" => {
            walk.moved = true;
            After::anywhere()
        }
        _ if EVALUATING.contains(&name) => After::anywhere(),
        _ => After::unmoved(scope),
    })
}

/// Returns why the built-in makes the line unknown.
fn refusal(walk: &mut Walk, name: &str, arguments: &[Word]) -> Option<UnknownReason> {
    let is_option = |letters: &str| has_option(arguments, letters);
    match name {
        _ if EVALUATING.contains(&name) => Some(UnknownReason::Evaluation),
        _ if REDEFINING.contains(&name) => Some(UnknownReason::Redefinition),
        _ if DECLARING.contains(&name) => declared(walk, arguments),
        _ if READING.contains(&name) => {
            walk.data.take_unknown();
            let calls_back = name != "read" && is_option("C");
            let reason = calls_back.then_some(UnknownReason::Evaluation);
            reason.or_else(|| named(arguments))
        }
        "let" => {
            walk.data.evaluates = true;
            arguments.iter().find_map(|word| match word.literal() {
                Some(text) => variables::names_decisive(text).then_some(UnknownReason::Variable),
                None => Some(UnknownReason::Arithmetic),
            })
        }
        "set" => set(walk, arguments),
        "unset" | "getopts" => named(arguments),
        "printf" if is_option("v") => {
            walk.data.take_unknown();
            named(arguments)
        }
        "hash" if is_option("p") => Some(UnknownReason::Redefinition),
        "test" | "[" => {
            let evaluates = |word: &Word| matches!(word.literal(), Some("-v" | "-R"));
            arguments.iter().any(evaluates).then_some(UnknownReason::Arithmetic)
        }
        "wait" => is_option("p").then(|| named(arguments)).flatten(),
        _ => None,
    }
}

/// Judges what sets variables by name. A word that the shell expands could be any option or name.
fn declared(walk: &mut Walk, arguments: &[Word]) -> Option<UnknownReason> {
    // Integers are evaluated, names that stand for others hide what is set, and functions reach other shells.
    if has_option(arguments, "infF") {
        return Some(UnknownReason::Redefinition);
    }
    arguments.iter().find_map(|word| {
        let (text, value) = match word {
            Word::Literal(text) if text.starts_with(['-', '+']) => return None,
            Word::Literal(text) => (text, text.split_once('=').map(|(_, value)| value)),
            // Only what is written as `NAME=` sets one variable and no other.
            Word::Unknown(source) if source.contains('=') => {
                walk.data.take_unknown();
                (source, None)
            }
            Word::Unknown(_) => return Some(UnknownReason::Variable),
        };
        let name = text.split('=').next().unwrap_or_default();
        let name = name.strip_suffix('+').unwrap_or(name);
        let is_refused = !is_name(name) || variables::decides(name, value);
        is_refused.then_some(UnknownReason::Variable)
    })
}

fn is_name(text: &str) -> bool {
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    !text.is_empty() && text.chars().all(is_name)
}

/// Judges built-ins whose arguments are names and other text: every argument is taken for a name.
fn named(arguments: &[Word]) -> Option<UnknownReason> {
    let refused = |word: &Word| match word.literal() {
        // A subscript would be evaluated.
        Some(text) if text.contains('[') => Some(UnknownReason::Arithmetic),
        Some(text) => variables::is_decisive(text).then_some(UnknownReason::Variable),
        None => Some(UnknownReason::Variable),
    };
    arguments.iter().find_map(refused)
}

fn set(walk: &mut Walk, arguments: &[Word]) -> Option<UnknownReason> {
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
                walk.data.take_unknown();
            }
            return None;
        } else if let Some(letters) = text.strip_prefix(['-', '+']) {
            if letters.is_empty() || !letters.chars().all(|letter| SET_LETTERS.contains(letter)) {
                return Some(UnknownReason::Redefinition);
            }
            takes_name = letters.contains('o');
        } else {
            return None;
        }
    }
    None
}

fn enter(walk: &mut Walk, arguments: &[Word], scope: &Scope) -> After {
    walk.moved = true;
    let mut operands = arguments
        .iter()
        .skip_while(|word| matches!(word.literal(), Some("-P" | "-L" | "-e" | "--")));
    let succeeded = match (operands.next(), operands.next()) {
        (Some(Word::Literal(directory)), None)
            if !directory.starts_with('-') && !directory.is_empty() =>
        {
            scope.places.enter(directory)
        }
        _ => crate::places::Places::Unknown,
    };
    After { succeeded, failed: scope.places.clone() }
}

/// Returns whether an option word holds one of the letters. A word that the shell expands may.
fn has_option(arguments: &[Word], letters: &str) -> bool {
    let holds = |word: &Word| match word.literal() {
        Some(text) => text.starts_with(['-', '+']) && text.contains(|char| letters.contains(char)),
        None => false,
    };
    arguments.iter().take_while(|word| word.literal() != Some("--")).any(holds)
}
