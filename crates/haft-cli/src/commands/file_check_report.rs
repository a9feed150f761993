//! The report of `haft skills check` and `haft agents check`: the names, the problems, and the errors that leave a file out.

use haft::{FileProblem, ProblemSeverity};
use serde_json::json;

use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::path_text::counted;

/// The checked files and their problems.
pub(super) struct FileCheckReport<'a> {
    /// The kind of the files, such as `skill`.
    pub(super) noun: &'static str,
    pub(super) names: Vec<&'a str>,
    pub(super) problems: &'a [FileProblem],
}

impl FileCheckReport<'_> {
    /// Prints the report. The command fails if there is an error.
    pub(super) fn print_report(&self, is_json: bool) -> Result<CommandStatus, CommandError> {
        let errors = self.count(ProblemSeverity::Error);
        let warnings = self.count(ProblemSeverity::Warning);
        if is_json {
            output::write_json(&json!({
                (format!("{}s", self.noun)): self.names,
                "problems": self.problems,
                "errors": errors,
                "warnings": warnings,
            }))?;
        } else {
            let lines = self.problems.iter().map(|problem| format!("{problem}\n"));
            let counts = [
                counted(self.names.len(), self.noun),
                counted(errors, "error"),
                counted(warnings, "warning"),
            ];
            output::write_data(&output::escape_controls(
                &(lines.collect::<String>() + &counts.join(", ")),
            ))?;
        }
        Ok(if errors == 0 { CommandStatus::Done } else { CommandStatus::Failed })
    }

    fn count(&self, severity: ProblemSeverity) -> usize {
        self.problems.iter().filter(|problem| problem.severity == severity).count()
    }
}
