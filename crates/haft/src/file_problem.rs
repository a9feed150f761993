//! A problem in a file that a user wrote by hand, such as a skill or an agent. The reader of the file decides about the
//! rest of the file.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// The severity of a problem in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemSeverity {
    /// haft ignores the definition in the file.
    Error,
    /// haft uses the definition, or the problem is not a mistake in this file.
    Warning,
}

/// A problem in a file, or in a directory of such files.
///
/// ```
/// use haft::{FileProblem, ProblemSeverity};
///
/// let problem = FileProblem {
///     severity: ProblemSeverity::Error,
///     file: "agents/review.md".into(),
///     line: Some(3),
///     message: "tools: expected a list, found a text".to_owned(),
/// };
/// assert_eq!(problem.to_string(), "agents/review.md:3: error: tools: expected a list, found a text");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileProblem {
    /// The severity.
    pub severity: ProblemSeverity,
    /// The file or directory.
    pub file: PathBuf,
    /// The line of the problem, from 1, if it belongs to one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The expected content, the content found, and the fix.
    pub message: String,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            ProblemSeverity::Error => "error",
            ProblemSeverity::Warning => "warning",
        };
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        write!(f, "{}{line}: {severity}: {}", self.file.display(), self.message)
    }
}
