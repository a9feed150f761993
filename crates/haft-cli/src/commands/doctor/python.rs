//! The configured directories of Python tools: the interpreter of each and its version, and how many tools and problems
//! there are. The problems themselves are told by `haft registry check`.

use std::path::PathBuf;

use haft::Registry;
use haft_python::{ToolFileSeverity, interpreter_version};
use serde::Serialize;

use crate::error::CommandError;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::{compose, python};

/// One directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct PythonReport {
    pub(super) dir: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) interpreter: Option<PathBuf>,
    /// As the interpreter says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) version: Option<String>,
    pub(super) tools: usize,
    pub(super) errors: usize,
    pub(super) warnings: usize,
    /// Paths that the entry makes readable and that do not exist.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_readable: Vec<PathBuf>,
    /// Why nothing of the directory can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// Looks at all directories that are configured.
pub(super) async fn python_reports(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Vec<PythonReport>, CommandError> {
    if settings.python.entries.is_empty() {
        return Ok(Vec::new());
    }
    let finder = compose::finder(settings, host)?;
    let taken = python::taken_ids(&Registry::new(haft_tools::tools(
        settings.profile,
        &haft_tools::ToolOptions::default(),
    ))?);
    let mut reports = Vec::new();
    let found = finder.find_all(&settings.python.entries, &taken).await;
    for (entry, found) in settings.python.entries.iter().zip(found) {
        let missing = entry.readable.iter().filter(|path| !path.exists());
        let mut report = PythonReport {
            dir: entry.dir.clone(),
            not_readable: missing.cloned().collect(),
            ..PythonReport::default()
        };
        match found {
            Err(why) => report.problem = Some(why),
            Ok(found) => {
                match interpreter_version(&found.directory, &finder.residents).await {
                    Ok(version) => report.version = Some(version),
                    Err(err) => report.problem = Some(err.message),
                }
                let problems = &found.checked.problems;
                let count = |severity: ToolFileSeverity| {
                    problems.iter().filter(|problem| problem.severity == severity).count()
                };
                report.tools = found.offered_tools().count();
                (report.errors, report.warnings) =
                    (count(ToolFileSeverity::Error), count(ToolFileSeverity::Warning));
                report.interpreter = Some(found.directory.interpreter);
            }
        }
        reports.push(report);
    }
    Ok(reports)
}
