//! Shells: `bash -c 'line'` is analysed by its line, `bash script` is an ordinary program, and a
//! shell that reads its standard input runs unknown code.

use super::StartedCode;
use crate::analysis::{CommandWord, UnknownReason, render_line};
use crate::builtin::SHELL_OPTIONS;
use crate::findings::{LineFindings, StatementScope};
use crate::programs::base_name;

/// Letters that change neither the input nor its source.
const HARMLESS: &str = "efhnuvx";
/// Letters and long options with which the shell reads the user's start files.
const STARTING: &str = "il";
const STARTING_OPTIONS: &[&str] = &["--login", "--interactive"];
const HARMLESS_OPTIONS: &[&str] = &["--noprofile", "--norc", "--posix", "--verbose"];

/// Syntax that other shells interpret differently than bash: `((a))` runs `a` if there is no
/// arithmetic command.
const DIFFERENT: &[&str] =
    &["((", "[[", "$'", "$\"", "<(", ">(", "&>", "|&", "<<<", "function", "+="];

/// Records a shell, and returns the line that it runs.
pub(super) fn parse_shell(
    findings: &mut LineFindings,
    words: &[CommandWord],
    scope: &StatementScope,
) -> Result<Option<StartedCode>, UnknownReason> {
    let (program, arguments) = words.split_first().ok_or(UnknownReason::Evaluation)?;
    let program = program.literal().unwrap_or_default();
    let is_known =
        |letter: char| letter == 'c' || HARMLESS.contains(letter) || STARTING.contains(letter);
    let mut rest = arguments;
    let mut is_line = false;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.literal() else { break };
        let Some(letters) = text.strip_prefix('-') else { break };
        rest = after;
        if text == "--version" || text == "--help" {
            findings.add_command(words, scope);
            return Ok(None);
        }
        if STARTING_OPTIONS.contains(&text) {
            findings.add_unknown(&render_line(words), UnknownReason::Sourced);
            continue;
        }
        if HARMLESS_OPTIONS.contains(&text) {
            continue;
        }
        let flags = letters.strip_suffix('o');
        if flags.is_some_and(|flags| flags.chars().all(|flag| HARMLESS.contains(flag))) {
            let (Some(CommandWord::Literal(option)), after) = split(after) else {
                return Err(UnknownReason::Evaluation);
            };
            if !SHELL_OPTIONS.contains(&option.as_str()) {
                return Err(UnknownReason::Evaluation);
            }
            rest = after;
        } else if !letters.is_empty() && letters.chars().all(is_known) {
            is_line |= letters.contains('c');
            if letters.contains(|letter| STARTING.contains(letter)) {
                findings.add_unknown(&render_line(words), UnknownReason::Sourced);
            }
        } else {
            return Err(UnknownReason::Evaluation);
        }
    }
    let (first, arguments) = split(rest);
    // The shell around it expands variables in the line first, so the line is known but for them.
    let quoted = first.filter(|_| is_line).and_then(CommandWord::quoted_line);
    if let Some(line) = &quoted {
        findings.add_unknown(line, UnknownReason::StartsOthers);
    }
    let first = quoted.map(CommandWord::Literal).or_else(|| first.cloned());
    match &first {
        Some(CommandWord::Literal(line)) if is_line && !line.starts_with('+') => {
            let is_bash = base_name(program) == "bash";
            if !is_bash && DIFFERENT.iter().any(|syntax| line.contains(syntax)) {
                return Err(UnknownReason::Construct);
            }
            if arguments.iter().any(|word| word.literal().is_none()) {
                findings.data.add_unknown();
            }
            Ok(Some(StartedCode::Line(line.clone(), scope.started_by(program))))
        }
        // A plus sign begins options too.
        Some(CommandWord::Literal(script)) if !script.starts_with('+') => {
            findings.add_command(words, scope);
            if !CommandWord::Literal(script.clone()).names_script() {
                return Err(UnknownReason::Evaluation);
            }
            super::add_read_file(findings, script, scope);
            Ok(None)
        }
        Some(script @ CommandWord::Unknown(_)) if !is_line && script.names_script() => {
            findings.add_command(words, scope);
            Ok(None)
        }
        Some(CommandWord::Literal(_) | CommandWord::Unknown(_)) | None => {
            Err(UnknownReason::Evaluation)
        }
    }
}

fn split(words: &[CommandWord]) -> (Option<&CommandWord>, &[CommandWord]) {
    match words.split_first() {
        Some((first, rest)) => (Some(first), rest),
        None => (None, &[]),
    }
}
