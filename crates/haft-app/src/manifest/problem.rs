//! Reports the problems of a manifest or a file of rules, each with its line. The text may come from a stranger, so the
//! report holds none of its control characters.

use std::fmt::Write;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use super::MANIFEST_PROBLEMS_MAX;
use crate::password::{without_passwords, without_secrets};

/// Characters of a line that are shown.
pub const LINE_CHARS_MAX: usize = 120;

/// A key of a table whose value cannot be used, and what is wrong with the value.
pub(super) type KeyProblem = (&'static str, String);

/// Returns the problem of a number that lies outside of its bounds. `unit` says what the number counts, in the plural.
pub(super) fn out_of_bounds(
    key: &'static str,
    number: Option<u64>,
    bounds: RangeInclusive<u64>,
    unit: &str,
) -> Option<KeyProblem> {
    let found = number.filter(|number| !bounds.contains(number))?;
    let (least, most) = bounds.into_inner();
    Some((key, format!("{key}: expected {least} to {most} {unit}, found {found}")))
}

/// One mistake in a file, and the bytes that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManifestProblem {
    /// The bytes of the manifest that the problem is about.
    pub(super) span: Range<usize>,
    /// The key, the expected value and the value that was found.
    pub(super) message: String,
}

/// Returns a message that lists the problems of a file in the order of the file, each with its line and a mark below it.
/// `what` names the kind of file. Passwords and secrets are left out.
pub(super) fn report(
    what: &str,
    path: &Path,
    text: &str,
    mut problems: Vec<ManifestProblem>,
) -> String {
    problems.sort_by_key(|problem| problem.span.start);
    let count = problems.len();
    let noun = if count == 1 { "problem" } else { "problems" };
    let mut report = format!("{what} {} has {count} {noun}\n", path.display());
    for problem in problems.iter().take(MANIFEST_PROBLEMS_MAX) {
        let start = text.floor_char_boundary(problem.span.start.min(text.len()));
        let before = text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = text.get(line_start..).unwrap_or_default().lines().next().unwrap_or_default();
        let number = before.matches('\n').count() + 1;
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        let end = text.ceil_char_boundary(problem.span.end.clamp(start, line_start + line.len()));
        let width = text.get(start..end).unwrap_or_default().chars().count();
        let carets = "^".repeat(width.clamp(1, LINE_CHARS_MAX));
        let margin = " ".repeat(number.to_string().len());
        let indent = " ".repeat(column - 1);
        let message = without_passwords(problem.message.trim_end());
        let visible = |character: char| if character.is_control() { ' ' } else { character };
        let shown = without_secrets(line);
        let shown: String = shown.chars().take(LINE_CHARS_MAX).map(visible).collect();
        let _ = write!(
            report,
            "\n{}:{number}:{column}: {message}\n{margin} |\n{number} | {shown}\n{margin} | {indent}{carets}\n",
            path.display(),
        );
    }
    if count > MANIFEST_PROBLEMS_MAX {
        let _ = writeln!(report, "\nand {} more", count - MANIFEST_PROBLEMS_MAX);
    }
    report
}
