//! Shells: `bash -c 'line'` is analysed by its line, `bash script` is an ordinary program, and a
//! shell that reads its standard input runs unknown code.

use crate::analysis::{CommandWord, UnknownReason};
use crate::analyzer::{LineAnalyzer, StatementScope};

/// Letters that change neither the input nor its source.
const HARMLESS: &str = "eux";

/// Syntax that other shells interpret differently than bash: `((a))` runs `a` if there is no
/// arithmetic command.
const DIFFERENT: &[&str] =
    &["((", "[[", "$'", "$\"", "<(", ">(", "&>", "|&", "<<<", "function", "+="];

pub(super) fn analyze_shell(
    walk: &mut LineAnalyzer,
    words: &[CommandWord],
    scope: &StatementScope,
) -> Result<(), UnknownReason> {
    let (program, arguments) = words.split_first().ok_or(UnknownReason::Evaluation)?;
    let program = program.literal().unwrap_or_default();
    let mut rest = arguments;
    let mut is_line = false;
    while let Some((first, after)) = rest.split_first() {
        let text = first.literal().ok_or(UnknownReason::Evaluation)?;
        let Some(letters) = text.strip_prefix('-') else { break };
        rest = after;
        if text == "--version" || text == "--help" {
            walk.add_command(words, scope);
            return Ok(());
        }
        let flags = letters.strip_suffix('o');
        if flags.is_some_and(|flags| flags.chars().all(|flag| HARMLESS.contains(flag))) {
            let (Some(CommandWord::Literal(option)), after) = split(after) else {
                return Err(UnknownReason::Evaluation);
            };
            if option != "pipefail" {
                return Err(UnknownReason::Evaluation);
            }
            rest = after;
        } else if !letters.is_empty() && letters.chars().all(is_known) {
            is_line |= letters.contains('c');
        } else {
            return Err(UnknownReason::Evaluation);
        }
    }
    let (first, arguments) = split(rest);
    match first {
        Some(CommandWord::Literal(line)) if is_line && !line.starts_with('+') => {
            let is_bash = crate::command::base_name(program) == "bash";
            if !is_bash && DIFFERENT.iter().any(|syntax| line.contains(syntax)) {
                return Err(UnknownReason::Ambiguous);
            }
            if arguments.iter().any(|word| word.literal().is_none()) {
                walk.data.add_unknown();
            }
            walk.analyze_line(line, &scope.started_by(program))
        }
        // A plus sign begins options too.
        Some(CommandWord::Literal(script)) if !script.starts_with('+') => {
            walk.add_command(words, scope);
            super::add_read_file(walk, script, scope);
            Ok(())
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

fn is_known(letter: char) -> bool {
    letter == 'c' || HARMLESS.contains(letter)
}
