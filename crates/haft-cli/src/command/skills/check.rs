//! `haft skills check`: what is wrong with which skill, and in which line.

use std::path::Path;

use haft::{FoundSkills, SkillProblem, SkillSeverity, check_skills, find_skills};
use serde::Serialize;

use crate::error::{CommandError, Status};
use crate::output;
use crate::python::counted;
use crate::settings::Settings;
use crate::skills::places;

#[derive(Serialize)]
struct Answer<'a> {
    skills: Vec<&'a str>,
    problems: &'a [SkillProblem],
    errors: usize,
    warnings: usize,
}

/// Runs the command.
pub(super) fn run(
    named: Option<&Path>,
    settings: &Settings,
    is_json: bool,
) -> Result<Status, CommandError> {
    let found = named.map_or_else(|| find_skills(&places(settings)), check_skills);
    let answer = Answer::of(&found);
    if is_json {
        output::json(&answer)?;
    } else {
        output::data(&output::visible(&answer.text()))?;
    }
    Ok(if answer.errors == 0 { Status::Done } else { Status::Failed })
}

impl<'a> Answer<'a> {
    fn of(found: &'a FoundSkills) -> Self {
        let count = |severity: SkillSeverity| {
            found.problems.iter().filter(|problem| problem.severity == severity).count()
        };
        Self {
            skills: found.skills.iter().map(|skill| skill.name.as_str()).collect(),
            problems: &found.problems,
            errors: count(SkillSeverity::Error),
            warnings: count(SkillSeverity::Warning),
        }
    }

    fn text(&self) -> String {
        let lines: String = self.problems.iter().map(|problem| format!("{problem}\n")).collect();
        format!(
            "{lines}{}, {}, {}",
            counted(self.skills.len(), "skill"),
            counted(self.errors, "error"),
            counted(self.warnings, "warning")
        )
    }
}
