//! `haft registry check`: what is wrong with which file, and how to mend it.

use std::path::{Path, PathBuf};

use haft_python::{Difference, Problem, Severity};
use serde::Serialize;

use super::survey::{Surveyed, survey};
use super::sync::{RegistryState, differences, mend};
use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::output;
use crate::python::{counted, shown};
use crate::quote;
use crate::state::State;

/// What is said of all directories.
#[derive(Serialize)]
pub(super) struct Answer<'a> {
    directories: Vec<DirectoryAnswer<'a>>,
    errors: usize,
    warnings: usize,
}

/// What is said of one directory.
#[derive(Serialize)]
struct DirectoryAnswer<'a> {
    dir: &'a Path,
    /// Why nothing of it can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interpreter: Option<&'a Path>,
    tools: Vec<&'a str>,
    problems: &'a [Problem],
    /// How registry.json differs from the files, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    registry: Option<Vec<Difference>>,
}

/// Runs the command.
pub(super) async fn run(
    named: Option<&Path>,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let surveyed = survey(named, setting_args, state).await?;
    let answer = Answer::of(&surveyed);
    if setting_args.json {
        output::json(&answer)?;
    } else {
        output::data(&output::visible(&answer.text()))?;
    }
    Ok(answer.status())
}

impl<'a> Answer<'a> {
    /// Returns what is wrong with these directories.
    pub(super) fn of(surveyed: &'a [Surveyed]) -> Self {
        let directories: Vec<DirectoryAnswer<'_>> = surveyed.iter().map(answer).collect();
        let count = |severity: Severity| {
            let problems = directories.iter().flat_map(|directory| directory.problems);
            problems.filter(|problem| problem.severity == severity).count()
        };
        let unusable = directories.iter().filter(|directory| directory.error.is_some()).count();
        let errors = count(Severity::Error) + unusable;
        Self { errors, warnings: count(Severity::Warning), directories }
    }

    pub(super) fn text(&self) -> String {
        self.directories.iter().map(text).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn status(&self) -> Status {
        if self.errors == 0 { Status::Done } else { Status::Failed }
    }
}

fn answer(surveyed: &Surveyed) -> DirectoryAnswer<'_> {
    let dir = &surveyed.entry.dir;
    match &surveyed.found {
        Ok(found) => {
            let (registry, error) = match differences(found) {
                RegistryState::Missing => (None, None),
                RegistryState::Read(differences) => (Some(differences), None),
                RegistryState::Unusable(why) => (None, Some(format!("{why}; {}", mend(dir)))),
            };
            DirectoryAnswer {
                dir,
                error,
                interpreter: Some(&found.directory.interpreter),
                tools: found.checked.tools.iter().map(|tool| tool.id.as_str()).collect(),
                problems: &found.checked.problems,
                registry,
            }
        }
        Err(why) => DirectoryAnswer {
            dir,
            error: Some(why.clone()),
            interpreter: None,
            tools: Vec::new(),
            problems: &[],
            registry: None,
        },
    }
}

fn text(answer: &DirectoryAnswer<'_>) -> String {
    let mut text = String::new();
    let within = |problem: &Problem| {
        let path: PathBuf = answer.dir.join(&problem.file);
        Problem { file: shown(&path), ..problem.clone() }
    };
    for problem in answer.problems {
        text.push_str(&format!("{}\n", within(problem)));
    }
    if let Some(error) = &answer.error {
        text.push_str(&format!("{}: error: {error}\n", shown(answer.dir)));
    }
    let differing = answer.registry.as_deref().unwrap_or_default();
    if !differing.is_empty() {
        let dir = quote::shell(&shown(answer.dir));
        text.push_str(&format!(
            "{}: {} from the files\n  mend: haft registry sync {dir}\n",
            shown(&answer.dir.join(super::sync::FILE_NAME)),
            counted(differing.len(), "difference")
        ));
    }
    let of = |severity: Severity| {
        answer.problems.iter().filter(|problem| problem.severity == severity).count()
    };
    let errors = of(Severity::Error) + usize::from(answer.error.is_some());
    text.push_str(&format!(
        "{}: {}, {}, {}\n",
        shown(answer.dir),
        counted(answer.tools.len(), "tool"),
        counted(errors, "error"),
        counted(of(Severity::Warning), "warning")
    ));
    text
}
