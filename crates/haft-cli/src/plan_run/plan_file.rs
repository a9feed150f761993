//! A plan that the command line names: a file or standard input. haft reads it once and up to a bound, and reports all of
//! its problems together.

use std::io::Read;
use std::path::Path;

use haft_plan::limits::PLAN_BYTES_MAX;
use haft_plan::{CheckedPlan, Code, PlanInput, PlanProblem, PlanToolLookup, PlanWork, check_text};

use crate::error::CommandError;
use haft_app::quote;

/// A plan as it was given.
pub(crate) struct PlanText {
    /// Its name in messages.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Whether the name is that of a file.
    is_file: bool,
}

impl PlanText {
    /// Reads a file, or standard input for `-`.
    pub(crate) fn read(file: &Path) -> Result<Self, CommandError> {
        if file.as_os_str() == "-" {
            let name = "standard input".to_owned();
            let text = read_bounded(std::io::stdin(), &name)?;
            return Ok(Self { name, text, is_file: false });
        }
        let name = file.display().to_string();
        let unusable = |err: &dyn std::fmt::Display| {
            CommandError::usage(format!("plan {name} cannot be read: {err}"))
        };
        let opened = std::fs::File::open(file).map_err(|err| unusable(&err))?;
        if opened.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            return Err(unusable(&"it is a directory, expected a file"));
        }
        let text = read_bounded(opened, &name)?;
        Ok(Self { name, text, is_file: true })
    }

    /// Returns whether the plan needs a model, as far as its form tells.
    pub(crate) fn needs_model(&self) -> bool {
        haft_plan::parse(&self.text).is_ok_and(|plan| plan.has_agent_nodes())
    }

    /// Returns the text if it was read from standard input, where no other program can read it again.
    pub(crate) fn standard_input(&self) -> Option<&str> {
        (!self.is_file).then_some(self.text.as_str())
    }

    /// Checks the plan, or returns an error with all of its problems.
    pub(crate) fn check(
        &self,
        tools: &dyn PlanToolLookup,
        input: PlanInput<'_>,
    ) -> Result<CheckedPlan, CommandError> {
        check_text(&self.text, tools, input).map_err(|problems| {
            let err = invalid_plan_error(&self.name, &problems);
            match self.hint(&problems, input) {
                Some(hint) if err.hint.is_none() => err.hint(hint),
                _ => err,
            }
        })
    }

    /// Returns the command that helps with the first problem for which there is such a command.
    fn hint(&self, problems: &[PlanProblem], input: PlanInput<'_>) -> Option<String> {
        problems.iter().find_map(|problem| match problem.code {
            Code::MissingParameter
            | Code::InventedParameter
            | Code::BadInput
            | Code::WrongFunction => {
                let plan = haft_plan::parse(&self.text).ok()?;
                match &plan.nodes.get(problem.node?.index())?.work {
                    PlanWork::Call { tool, .. } => {
                        Some(format!("haft tools show {}", quote::shell(tool)))
                    }
                    PlanWork::Agent(_) | PlanWork::Person { .. } => None,
                }
            }
            Code::NoInput if input == PlanInput::Absent => {
                let file = if self.is_file { quote::shell(&self.name) } else { "-".to_owned() };
                Some(format!("haft run {file} --input @input.json"))
            }
            Code::Cycle
            | Code::LaterDependency
            | Code::UnknownDependency
            | Code::UnknownReference
                if self.is_file && haft_plan::parse(&self.text).is_ok() =>
            {
                Some(format!("haft plan show {}", quote::shell(&self.name)))
            }
            _ => None,
        })
    }
}

/// Returns the error of a plan that cannot be used, a problem a line.
pub(crate) fn invalid_plan_error(name: &str, problems: &[PlanProblem]) -> CommandError {
    let err = problems_error(format!("plan {name} cannot be run as it is"), problems);
    let has = |code: Code| problems.iter().any(|problem| problem.code == code);
    if has(Code::UnknownTool) {
        err.hint("haft tools list")
    } else if has(Code::UnknownAgent) {
        err.hint("haft agents list")
    } else {
        err
    }
}

/// Returns the error of a text that is no plan, a problem a line.
pub(crate) fn unreadable_plan_error(name: &str, problems: &[PlanProblem]) -> CommandError {
    problems_error(format!("{name} is no plan that can be read"), problems)
}

fn problems_error(summary: String, problems: &[PlanProblem]) -> CommandError {
    let lines = problems.iter().map(|problem| format!("\n  {}", problem_line(problem)));
    CommandError::usage(format!("{summary}:{}", lines.collect::<String>()))
        .problems(problems.to_vec())
}

/// Returns a problem as one line, with its stable code at the end.
pub(crate) fn problem_line(problem: &PlanProblem) -> String {
    format!("{problem} [{}]", problem.code)
}

fn read_bounded(source: impl Read, name: &str) -> Result<String, CommandError> {
    let unusable = |why: String| CommandError::usage(format!("plan {name} cannot be read: {why}"));
    let bytes_max = u64::try_from(PLAN_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    source.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|err| unusable(err.to_string()))?;
    if bytes.len() > PLAN_BYTES_MAX {
        return Err(unusable(format!("it has more than {PLAN_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|err| unusable(format!("it is not UTF-8: {err}")))
}
