//! What `haft skills check` and `haft agents check` answer: which there are, what is wrong with them, and how much of it
//! leaves one out.

use std::fmt::Display;

use serde::Serialize;
use serde_json::json;

use crate::error::{CommandError, Status};
use crate::output;
use crate::python::counted;

/// What was looked at, and what is wrong with it.
pub(super) struct Checked<'a, P> {
    /// What each of them is, such as `skill`.
    pub(super) noun: &'static str,
    pub(super) names: Vec<&'a str>,
    pub(super) problems: &'a [P],
    pub(super) errors: usize,
}

impl<P: Display + Serialize> Checked<'_, P> {
    /// Says it. It fails if anything is an error.
    pub(super) fn tell(&self, is_json: bool) -> Result<Status, CommandError> {
        if is_json {
            output::json(&json!({
                (format!("{}s", self.noun)): self.names,
                "problems": self.problems,
                "errors": self.errors,
                "warnings": self.warnings(),
            }))?;
        } else {
            output::data(&output::visible(&self.text()))?;
        }
        Ok(if self.errors == 0 { Status::Done } else { Status::Failed })
    }

    fn warnings(&self) -> usize {
        self.problems.len().saturating_sub(self.errors)
    }

    fn text(&self) -> String {
        let lines: String = self.problems.iter().map(|problem| format!("{problem}\n")).collect();
        format!(
            "{lines}{}, {}, {}",
            counted(self.names.len(), self.noun),
            counted(self.errors, "error"),
            counted(self.warnings(), "warning")
        )
    }
}
