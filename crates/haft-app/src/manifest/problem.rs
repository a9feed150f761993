//! Reports the problems of a manifest or a file of rules, each with its line. The text may come from a stranger, so the
//! report holds none of its control characters.

use std::fmt::Write;
use std::ops::Range;
use std::path::Path;

use super::MANIFEST_PROBLEMS_MAX;
use crate::password::{without_passwords, without_secrets};

/// Characters of a line that are shown.
pub const LINE_CHARS_MAX: usize = 120;

/// One thing that is wrong, and the bytes that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManifestProblem {
    pub(super) span: Range<usize>,
    pub(super) message: String,
}

/// Returns a message that lists all problems of a file in its order; `what` says what it is.
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
        write_problem(&mut report, path, text, problem);
    }
    if count > MANIFEST_PROBLEMS_MAX {
        let _ = writeln!(report, "\nand {} more", count - MANIFEST_PROBLEMS_MAX);
    }
    report
}

fn write_problem(report: &mut String, path: &Path, text: &str, problem: &ManifestProblem) {
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
    let shown = without_secrets(&without_passwords(line));
    let shown: String = shown.chars().take(LINE_CHARS_MAX).map(visible).collect();
    let _ = write!(
        report,
        "\n{}:{number}:{column}: {message}\n{margin} |\n{number} | {shown}\n{margin} | {indent}{carets}\n",
        path.display(),
    );
}
