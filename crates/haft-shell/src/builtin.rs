//! The bash built-ins that affect other commands: they change the directory, set variables, change
//! the meaning of names, or run text. All others are treated like programs.

use crate::analysis::{CommandWord, FileUseMode, FileUseOrigin, UnknownReason, render_line};
use crate::directories::WorkingDirectories;
use crate::findings::{DirectoriesAfter, LineFindings, StatementScope};
use crate::variables::{self, VariableEffect};

/// Built-ins that run their arguments, or a file, as code.
const EVALUATING: &[&str] = &[".", "eval", "source"];
/// Built-ins that change which command a name stands for, or when code runs.
const REDEFINING: &[&str] = &["bind", "compgen", "complete", "compopt", "enable", "fc"];
const DECLARING: &[&str] = &["declare", "export", "local", "readonly", "typeset"];
/// Built-ins that fill variables with data.
const READING: &[&str] = &["mapfile", "read", "readarray"];
/// Built-ins without effect on the analysis.
const PLAIN: &[&str] = &[
    ":", "[", "bg", "break", "caller", "continue", "dirs", "disown", "echo", "exit", "false", "fg",
    "hash", "help", "history", "jobs", "kill", "logout", "printf", "pwd", "return", "shift",
    "suspend", "test", "times", "true", "type", "ulimit", "umask", "unalias", "wait",
];
const OTHERS: &[&str] =
    &["alias", "cd", "getopts", "let", "popd", "pushd", "set", "shopt", "trap", "unset"];
/// Options of `shopt` that change which names a pattern matches, and nothing else.
const PATTERN_OPTIONS: &[&str] =
    &["dotglob", "failglob", "globstar", "inherit_errexit", "nocaseglob", "nullglob"];

/// Letters of `set` that change neither parsing nor the meaning of names.
const SET_LETTERS: &str = "euxoabCEfhmTv";
pub(crate) const SHELL_OPTIONS: &[&str] = &[
    "allexport",
    "emacs",
    "errexit",
    "errtrace",
    "functrace",
    "monitor",
    "noclobber",
    "noglob",
    "notify",
    "nounset",
    "pipefail",
    "verbose",
    "vi",
    "xtrace",
];

pub(crate) fn is_builtin(name: &str) -> bool {
    [EVALUATING, REDEFINING, DECLARING, READING, PLAIN, OTHERS]
        .iter()
        .any(|all| all.contains(&name))
}

/// Returns whether the built-in sets variables, and so takes arrays as arguments.
pub(crate) fn is_declaration(name: &str) -> bool {
    DECLARING.contains(&name)
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
    findings.add_command(words, scope);
    if let Some(reason) = unknown_reason(findings, name, arguments, scope) {
        findings.add_unknown(&render_line(words), reason);
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
    scope: &StatementScope,
) -> Option<UnknownReason> {
    let is_option = |letters: &str| has_option(arguments, letters);
    match name {
        "eval" => add_evaluated_line(findings, arguments, scope),
        _ if EVALUATING.contains(&name) => {
            let file = arguments.first()?;
            if let Some(file) = file.literal().filter(|_| file.names_script()) {
                findings.add_file(file, (FileUseMode::Read, FileUseOrigin::Operand), scope);
            }
            let is_file = file.names_script();
            Some(if is_file { UnknownReason::Sourced } else { UnknownReason::Evaluation })
        }
        "alias" => add_alias_lines(findings, arguments, scope),
        "trap" => add_trapped_line(findings, arguments, scope),
        "shopt" => {
            let is_plain = |word: &CommandWord| {
                let text = word.literal();
                text.is_some_and(|text| text.starts_with('-') || PATTERN_OPTIONS.contains(&text))
            };
            (!arguments.iter().all(is_plain)).then_some(UnknownReason::Redefinition)
        }
        _ if REDEFINING.contains(&name) => Some(UnknownReason::Redefinition),
        _ if DECLARING.contains(&name) => check_declaration(findings, name, arguments, scope),
        _ if READING.contains(&name) => {
            findings.data.add_unknown();
            let calls_back = name != "read" && is_option("C");
            let reason = calls_back.then_some(UnknownReason::Evaluation);
            reason.or_else(|| check_variable_names(arguments))
        }
        "unset" => {
            // A variable that is gone runs nothing.
            let reason = check_variable_names(arguments);
            let is_name = arguments.iter().all(|word| word.literal().is_some());
            reason.map(|reason| match reason {
                UnknownReason::Variable if is_name => UnknownReason::SearchPath,
                reason => reason,
            })
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
                    if !SHELL_OPTIONS.contains(&text) {
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
        "getopts" => check_variable_names(arguments),
        "printf" if is_option("v") => {
            findings.data.add_unknown();
            check_variable_names(arguments)
        }
        "hash" if is_option("p") => Some(UnknownReason::Redefinition),
        "test" | "[" => {
            // The name after these options may have a subscript, which is evaluated.
            let evaluates = |pair: &[CommandWord]| match pair {
                [option, name] => {
                    matches!(option.literal(), Some("-v" | "-R"))
                        && name.literal().is_none_or(|name| name.contains('['))
                }
                _ => false,
            };
            arguments.windows(2).any(evaluates).then_some(UnknownReason::Arithmetic)
        }
        "wait" => is_option("p").then(|| check_variable_names(arguments)).flatten(),
        _ => None,
    }
}

/// Records the line that `eval` runs, which is its arguments with spaces between them.
fn add_evaluated_line(
    findings: &mut LineFindings,
    arguments: &[CommandWord],
    scope: &StatementScope,
) -> Option<UnknownReason> {
    let words: Option<Vec<_>> = arguments.iter().map(CommandWord::literal).collect();
    let Some(words) = words else {
        let [only] = arguments else { return Some(UnknownReason::Evaluation) };
        let Some(line) = only.quoted_line() else { return Some(UnknownReason::Evaluation) };
        findings.add_started_line(&line, scope.nested());
        return Some(UnknownReason::StartsOthers);
    };
    let line = words.join(" ");
    findings.add_started_line(line.strip_prefix("-- ").unwrap_or(&line), scope.nested());
    None
}

/// Records the values of aliases as lines.
///
/// A shell that runs a line expands no alias. The option that changes this is not known.
fn add_alias_lines(
    findings: &mut LineFindings,
    arguments: &[CommandWord],
    scope: &StatementScope,
) -> Option<UnknownReason> {
    let texts = arguments.iter().map(|word| match word {
        CommandWord::Literal(text) => text,
        CommandWord::Unknown(source) => source,
    });
    let mut is_set = false;
    for (_, line) in texts.filter_map(|text| text.split_once('=')) {
        is_set = true;
        findings.add_started_line(line.trim_matches('"'), scope.nested());
    }
    is_set.then_some(UnknownReason::StartsOthers)
}

/// Records the line that `trap` runs later, when the directory may be another one.
fn add_trapped_line(
    findings: &mut LineFindings,
    arguments: &[CommandWord],
    scope: &StatementScope,
) -> Option<UnknownReason> {
    let mut rest = arguments;
    if rest.first().and_then(CommandWord::literal) == Some("--") {
        rest = rest.get(1..).unwrap_or_default();
    }
    let (action, signals) = rest.split_first()?;
    if signals.is_empty() || matches!(action.literal(), Some("" | "-" | "-l" | "-p" | "-P")) {
        return None;
    }
    let later = || scope.nested().in_directories(WorkingDirectories::Unknown);
    match (action.literal(), action.quoted_line()) {
        (Some(line), _) => {
            findings.add_started_line(line, later());
            None
        }
        (None, Some(line)) => {
            findings.add_started_line(&line, later());
            Some(UnknownReason::StartsOthers)
        }
        (None, None) => Some(UnknownReason::Evaluation),
    }
}

/// Checks a built-in that sets variables by name. A word that the shell expands could be any option
/// or name.
fn check_declaration(
    findings: &mut LineFindings,
    name: &str,
    arguments: &[CommandWord],
    scope: &StatementScope,
) -> Option<UnknownReason> {
    // Exported functions reach other shells; what they run is in the line that defines them.
    let names_functions = has_option(arguments, "fF");
    // Integers are evaluated, and name references hide the variable that is set.
    if has_option(arguments, "in") && !names_functions && name != "export" {
        return Some(UnknownReason::Redefinition);
    }
    if names_functions {
        return Some(UnknownReason::StartsOthers);
    }
    let mut reasons = Vec::new();
    for word in arguments {
        let (text, value) = match word {
            CommandWord::Literal(text) if text.starts_with(['-', '+']) => continue,
            CommandWord::Literal(text) => {
                (text, text.split_once('=').map(|(_, value)| value).or(Some("")))
            }
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
        if name.is_empty() || !name.chars().all(is_name_char) {
            return Some(UnknownReason::Variable);
        }
        match variables::effect(name, value) {
            VariableEffect::Harmless => {}
            VariableEffect::SearchPath => reasons.push(UnknownReason::SearchPath),
            VariableEffect::Runs(line) => {
                findings.add_started_line(line, scope.started_by(name));
                reasons.push(UnknownReason::StartsOthers);
            }
            VariableEffect::RunsAnything => return Some(UnknownReason::Variable),
        }
    }
    reasons.pop()
}

/// Checks a built-in whose arguments are names and other text: every argument is treated as a name.
fn check_variable_names(arguments: &[CommandWord]) -> Option<UnknownReason> {
    let mut found = None;
    for word in arguments {
        let reason = match word.literal() {
            // A subscript would be evaluated.
            Some(text) if text.contains('[') => UnknownReason::Arithmetic,
            Some(text) => match variables::effect(text, None) {
                VariableEffect::Harmless => continue,
                VariableEffect::SearchPath => UnknownReason::SearchPath,
                VariableEffect::Runs(_) | VariableEffect::RunsAnything => UnknownReason::Variable,
            },
            None => UnknownReason::Variable,
        };
        found = Some(reason).filter(|reason| reason.hides_commands()).or(found).or(Some(reason));
    }
    found
}

/// Returns whether an option word contains one of the letters. A word that the shell expands may.
fn has_option(arguments: &[CommandWord], letters: &str) -> bool {
    let holds = |word: &CommandWord| match word.literal() {
        Some(text) => text.starts_with(['-', '+']) && text.contains(|char| letters.contains(char)),
        None => false,
    };
    arguments.iter().take_while(|word| word.literal() != Some("--")).any(holds)
}
