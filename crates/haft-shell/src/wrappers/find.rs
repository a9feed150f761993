//! `find`: a program that may also run commands on found files, delete them, and write lists of
//! them.

use super::StartedCode;
use crate::analysis::{CommandWord, FileUseMode, FileUseOrigin, UnknownReason};
use crate::directories::WorkingDirectories;
use crate::findings::{LineFindings, StatementScope};

/// Records `find`, which counts as a command in addition to those that it runs.
pub(super) fn parse_find(
    findings: &mut LineFindings,
    words: &[CommandWord],
    scope: &StatementScope,
    started: &mut Vec<StartedCode>,
) -> Result<(), UnknownReason> {
    let (program, arguments) = words.split_first().ok_or(UnknownReason::RunsOthers)?;
    if arguments.iter().any(|word| matches!(word.literal(), Some("-files0-from"))) {
        return Err(UnknownReason::RunsOthers);
    }
    // The start directories of the search come before the expression.
    let mut rest = arguments;
    let mut starts = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        match first.literal() {
            Some("-H" | "-L" | "-P") => {}
            Some("(" | ")" | "!" | ",") => break,
            Some(text) if text.starts_with('-') && text != "-" => break,
            Some(text) => starts.push(text),
            None => {}
        }
        rest = after;
    }
    if starts.is_empty() {
        starts.push(".");
    }
    let inner = scope.started_by(program.literal().unwrap_or_default());
    findings.add_command(words, scope);
    for start in &starts {
        findings.add_file(start, (FileUseMode::Read, FileUseOrigin::Operand), scope);
    }
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first.literal() {
            Some("-delete") => {
                for start in &starts {
                    findings.add_file(start, (FileUseMode::Write, FileUseOrigin::Operand), scope);
                }
            }
            Some("-fprint" | "-fprint0" | "-fprintf" | "-fls") => {
                let path = after.first().and_then(CommandWord::literal);
                let path = path.ok_or(UnknownReason::RedirectTarget)?;
                findings.add_file(path, (FileUseMode::Write, FileUseOrigin::Operand), scope);
            }
            Some(action @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                // The command ends at `;`, or at `+` after `{}`.
                let literal = |index: usize| after.get(index).and_then(CommandWord::literal);
                let is_end = |index: &usize| match literal(*index) {
                    Some("+") => index.checked_sub(1).and_then(literal) == Some("{}"),
                    other => other == Some(";"),
                };
                let end = (0..after.len()).find(is_end).ok_or(UnknownReason::RunsOthers)?;
                let (command, after) = after.split_at(end);
                let mut command = command.to_vec();
                replace_marker(&mut command, "{}");
                // The directory of a command differs from file to file.
                let scope = match action {
                    "-execdir" | "-okdir" => inner.in_directories(WorkingDirectories::Unknown),
                    _ => inner.clone(),
                };
                started.push(StartedCode::Command(command, scope));
                rest = after;
            }
            Some(_) => {}
            None => return Err(UnknownReason::RunsOthers),
        }
    }
    Ok(())
}

/// Makes words unknown that contain `mark`, which stands for an unknown value.
pub(super) fn replace_marker(words: &mut [CommandWord], mark: &str) {
    for word in words {
        if let Some(text) = word.literal().filter(|text| text.contains(mark)) {
            *word = CommandWord::Unknown(text.to_owned());
        }
    }
}
