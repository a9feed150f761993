//! `find`: a program of its own that may also run commands on what it finds, delete it, and write lists of it.

use crate::judgement::{How, UnknownReason, Why, Word};
use crate::places::Places;
use crate::walk::{Scope, Walk};

/// Judges `find`, which counts as a command beside those that it runs.
pub(super) fn judge(walk: &mut Walk, words: &[Word], scope: &Scope) -> Result<(), UnknownReason> {
    let (program, arguments) = words.split_first().ok_or(UnknownReason::RunsOthers)?;
    if arguments.iter().any(|word| matches!(word.literal(), Some("-files0-from"))) {
        return Err(UnknownReason::RunsOthers);
    }
    let (starts, expression) = starts(arguments);
    let inner = scope.through(program.literal().unwrap_or_default());
    walk.known(words, scope);
    for start in &starts {
        walk.file(start, (How::Read, Why::Operand), scope);
    }
    let mut rest = expression;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first.literal() {
            Some("-delete") => {
                for start in &starts {
                    walk.file(start, (How::Write, Why::Operand), scope);
                }
            }
            Some("-fprint" | "-fprint0" | "-fprintf" | "-fls") => {
                let path = after.first().and_then(Word::literal);
                let path = path.ok_or(UnknownReason::RedirectTarget)?;
                walk.file(path, (How::Write, Why::Operand), scope);
            }
            Some(action @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                let (command, after) = split_command(after).ok_or(UnknownReason::RunsOthers)?;
                let mut command = command.to_vec();
                replace(&mut command, "{}");
                // Where a command finds what it is given differs from file to file.
                let scope = match action {
                    "-execdir" | "-okdir" => inner.at(Places::Unknown),
                    _ => inner.clone(),
                };
                walk.command(&command, &scope);
                rest = after;
            }
            Some(_) => {}
            None => return Err(UnknownReason::RunsOthers),
        }
    }
    Ok(())
}

/// Returns the command after `-exec`, and what follows it. It ends at `;`, or at `+` after `{}`.
fn split_command(words: &[Word]) -> Option<(&[Word], &[Word])> {
    let is_end = |index: &usize| match words.get(*index).and_then(Word::literal) {
        Some("+") => {
            let before = index.checked_sub(1).and_then(|before| words.get(before));
            before.and_then(Word::literal) == Some("{}")
        }
        Some(text) => text == ";",
        None => false,
    };
    let end = (0..words.len()).find(is_end)?;
    Some(words.split_at(end))
}

/// Makes the words unknown in which `mark` stands for what is not.
pub(super) fn replace(words: &mut [Word], mark: &str) {
    for word in words {
        if let Some(text) = word.literal().filter(|text| text.contains(mark)) {
            *word = Word::Unknown(text.to_owned());
        }
    }
}

/// Returns where the search starts, and the expression after that.
fn starts(arguments: &[Word]) -> (Vec<String>, &[Word]) {
    let mut rest = arguments;
    let mut starts = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        match first.literal() {
            Some("-H" | "-L" | "-P") => {}
            Some("(" | ")" | "!" | ",") => break,
            Some(text) if text.starts_with('-') && text != "-" => break,
            Some(text) => starts.push(text.to_owned()),
            None => {}
        }
        rest = after;
    }
    if starts.is_empty() {
        starts.push(".".to_owned());
    }
    (starts, rest)
}
