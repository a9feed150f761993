//! `haft agents check`: what is wrong with which agent, and in which line.

use std::path::Path;

use haft_agent::{AgentProblem, AgentSeverity, FoundAgents, check_agents, find_agents};
use serde::Serialize;

use crate::agents::places;
use crate::error::{CommandError, Status};
use crate::output;
use crate::python::counted;
use crate::settings::Settings;

#[derive(Serialize)]
struct Answer<'a> {
    agents: Vec<&'a str>,
    problems: &'a [AgentProblem],
    errors: usize,
    warnings: usize,
}

/// Runs the command.
pub(super) fn run(
    named: Option<&Path>,
    settings: &Settings,
    is_json: bool,
) -> Result<Status, CommandError> {
    let found = named.map_or_else(|| find_agents(&places(settings)), check_agents);
    let answer = Answer::of(&found);
    if is_json {
        output::json(&answer)?;
    } else {
        output::data(&output::visible(&answer.text()))?;
    }
    Ok(if answer.errors == 0 { Status::Done } else { Status::Failed })
}

impl<'a> Answer<'a> {
    fn of(found: &'a FoundAgents) -> Self {
        let count = |severity: AgentSeverity| {
            found.problems.iter().filter(|problem| problem.severity == severity).count()
        };
        Self {
            agents: found.names(),
            problems: &found.problems,
            errors: count(AgentSeverity::Error),
            warnings: count(AgentSeverity::Warning),
        }
    }

    fn text(&self) -> String {
        let lines: String = self.problems.iter().map(|problem| format!("{problem}\n")).collect();
        format!(
            "{lines}{}, {}, {}",
            counted(self.agents.len(), "agent"),
            counted(self.errors, "error"),
            counted(self.warnings, "warning")
        )
    }
}
