//! Shells: `bash -c 'line'` is judged by its line, `bash script` is a program like others, and a shell that reads its
//! standard input runs what nobody sees.

use crate::judgement::{UnknownReason, Word};
use crate::walk::{Scope, Walk};

/// Letters that change neither what is read nor where from.
const HARMLESS: &str = "eux";

/// What other shells read in another way than bash: `((a))` runs `a` where there is no arithmetic command.
const DIFFERENT: &[&str] =
    &["((", "[[", "$'", "$\"", "<(", ">(", "&>", "|&", "<<<", "function", "+="];

pub(super) fn judge(walk: &mut Walk, words: &[Word], scope: &Scope) -> Result<(), UnknownReason> {
    let (program, arguments) = words.split_first().ok_or(UnknownReason::Evaluation)?;
    let program = program.literal().unwrap_or_default();
    let mut rest = arguments;
    let mut is_line = false;
    while let Some((first, after)) = rest.split_first() {
        let text = first.literal().ok_or(UnknownReason::Evaluation)?;
        let Some(letters) = text.strip_prefix('-') else { break };
        rest = after;
        if text == "--version" || text == "--help" {
            walk.known(words, scope);
            return Ok(());
        }
        let flags = letters.strip_suffix('o');
        if flags.is_some_and(|flags| flags.chars().all(|flag| HARMLESS.contains(flag))) {
            let (Some(Word::Literal(option)), after) = split(after) else {
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
        Some(Word::Literal(line)) if is_line && !line.starts_with('+') => {
            let is_bash = crate::command::base_name(program) == "bash";
            if !is_bash && DIFFERENT.iter().any(|syntax| line.contains(syntax)) {
                return Err(UnknownReason::Ambiguous);
            }
            if arguments.iter().any(|word| word.literal().is_none()) {
                walk.data.take_unknown();
            }
            walk.line(line, &scope.through(program))
        }
        // A plus sign begins options too.
        Some(Word::Literal(script)) if !script.starts_with('+') => {
            walk.known(words, scope);
            super::reads(walk, script, scope);
            Ok(())
        }
        Some(Word::Literal(_) | Word::Unknown(_)) | None => Err(UnknownReason::Evaluation),
    }
}

fn split(words: &[Word]) -> (Option<&Word>, &[Word]) {
    match words.split_first() {
        Some((first, rest)) => (Some(first), rest),
        None => (None, &[]),
    }
}

fn is_known(letter: char) -> bool {
    letter == 'c' || HARMLESS.contains(letter)
}
