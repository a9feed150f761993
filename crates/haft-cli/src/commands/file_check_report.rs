//! The reports that `haft skills` and `haft agents` share: the check of the files, and the error of an unknown name.

use haft::{FileProblem, ProblemSeverity, near_matches};
use serde_json::json;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
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
    pub(super) fn print_report(&self, cx: &CliContext) -> CommandResult {
        let count = |severity: ProblemSeverity| {
            self.problems.iter().filter(|problem| problem.severity == severity).count()
        };
        let (errors, warnings) = (count(ProblemSeverity::Error), count(ProblemSeverity::Warning));
        if cx.setting_args.json {
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
            let text = lines.collect::<String>() + &counts.join(", ");
            output::write_data(&haft_contract::escape_controls(&text))?;
        }
        Ok(if errors == 0 { CommandStatus::Done } else { CommandStatus::Failed })
    }
}

/// Returns the error of a name that no file has. A problem of the named file is why that file is left out.
pub(super) fn unknown_name_error(
    noun: &str,
    name: &str,
    names: &[&str],
    problem: Option<&FileProblem>,
) -> CommandError {
    let near = near_matches(name, names.iter().copied());
    let advice = if near.is_empty() {
        format!("expected one of {}", names.join(", "))
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    let problem = problem.map(|problem| format!("\n{problem}")).unwrap_or_default();
    CommandError::usage(format!("no {noun} is called {name:?}: {advice}{problem}"))
        .hint(format!("haft {noun}s list"))
}
