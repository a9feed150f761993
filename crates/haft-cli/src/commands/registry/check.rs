//! `haft registry check`: reports the problems of each file, and how to mend them.

use std::path::{Path, PathBuf};

use haft_python::{RegistryDifference, ToolFileProblem, ToolFileSeverity};
use serde::Serialize;

use super::directory_scan::{ScannedDirectory, try_directories};
use super::sync::registry_remedy;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::path_text::{counted, shown};
use haft_app::python::{REGISTRY_FILE_NAME, ToolRegistry};
use haft_app::quote;

/// The report about all directories.
#[derive(Serialize)]
pub(super) struct RegistryCheckReport<'a> {
    directories: Vec<CheckedDirectoryReport<'a>>,
    errors: usize,
    warnings: usize,
}

/// The report about one directory.
#[derive(Serialize)]
struct CheckedDirectoryReport<'a> {
    dir: &'a Path,
    /// Why nothing of it can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interpreter: Option<&'a Path>,
    tools: Vec<&'a str>,
    problems: &'a [ToolFileProblem],
    /// How registry.json differs from the files, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    registry: Option<Vec<RegistryDifference>>,
}

/// Runs the command.
pub(super) async fn run(named: Option<&Path>, cx: &CliContext) -> CommandResult {
    let scanned = try_directories(named, cx).await?;
    let answer = RegistryCheckReport::of(&scanned);
    cx.print_answer(&answer, || answer.text())?;
    Ok(answer.status())
}

impl<'a> RegistryCheckReport<'a> {
    /// Returns what is wrong with these directories.
    pub(super) fn of(scanned: &'a [ScannedDirectory]) -> Self {
        let directories: Vec<CheckedDirectoryReport<'_>> = scanned.iter().map(answer).collect();
        let count = |severity: ToolFileSeverity| {
            let problems = directories.iter().flat_map(|directory| directory.problems);
            problems.filter(|problem| problem.severity == severity).count()
        };
        let unusable = directories.iter().filter(|directory| directory.error.is_some()).count();
        let errors = count(ToolFileSeverity::Error) + unusable;
        Self { errors, warnings: count(ToolFileSeverity::Warning), directories }
    }

    pub(super) fn text(&self) -> String {
        self.directories.iter().map(text).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn status(&self) -> CommandStatus {
        if self.errors == 0 { CommandStatus::Done } else { CommandStatus::Failed }
    }
}

fn answer(scanned: &ScannedDirectory) -> CheckedDirectoryReport<'_> {
    let dir = &scanned.entry.dir;
    let mut report = CheckedDirectoryReport {
        dir,
        error: None,
        interpreter: None,
        tools: Vec::new(),
        problems: &[],
        registry: None,
    };
    match &scanned.contents {
        Ok(found) => {
            match &found.registry {
                ToolRegistry::Missing => {}
                ToolRegistry::Listed(registry) => {
                    report.registry =
                        Some(registry.differences(&found.checked.tools, &found.files));
                }
                ToolRegistry::Unusable(why) => {
                    let path = shown(&found.directory.path.join(REGISTRY_FILE_NAME));
                    let remedy = registry_remedy(dir);
                    report.error = Some(format!("{path} cannot be used: {why}; {remedy}"));
                }
            }
            report.interpreter = Some(&found.directory.interpreter);
            report.tools = found.offered_tools().map(|tool| tool.id.as_str()).collect();
            report.problems = &found.checked.problems;
        }
        Err(why) => report.error = Some(why.clone()),
    }
    report
}

fn text(answer: &CheckedDirectoryReport<'_>) -> String {
    let mut text = String::new();
    let within = |problem: &ToolFileProblem| {
        let path: PathBuf = answer.dir.join(&problem.file);
        ToolFileProblem { file: shown(&path), ..problem.clone() }
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
        let lines: String = differing.iter().map(|one| indented(&one.to_string())).collect();
        text.push_str(&format!(
            "{}: {} from the files\n{lines}  mend: haft registry sync {dir}\n",
            shown(&answer.dir.join(REGISTRY_FILE_NAME)),
            counted(differing.len(), "difference")
        ));
    }
    let of = |severity: ToolFileSeverity| {
        answer.problems.iter().filter(|problem| problem.severity == severity).count()
    };
    let errors = of(ToolFileSeverity::Error) + usize::from(answer.error.is_some());
    text.push_str(&format!(
        "{}: {}, {}, {}\n",
        shown(answer.dir),
        counted(answer.tools.len(), "tool"),
        counted(errors, "error"),
        counted(of(ToolFileSeverity::Warning), "warning")
    ));
    text
}

/// Returns lines, each set in under the line before them.
fn indented(lines: &str) -> String {
    lines.lines().map(|line| format!("  {line}\n")).collect()
}
