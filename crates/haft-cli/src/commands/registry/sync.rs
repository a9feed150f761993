//! `haft registry sync`: writes `registry.json`, in the format of Smith, from the METADATA of the files. It replaces the file
//! in one step, and only if the content changes.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use haft_python::{RegistryDifference, RegistryFile};
use serde::Serialize;

use super::directory_scan::scan_directories;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::path_text::shown;
use haft_app::python::{PythonToolSource, REGISTRY_FILE_NAME, ToolRegistry, read_registry_text};
use haft_app::quote;

/// Whether the command writes the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SyncMode {
    /// Write, unless there is a registry that cannot be read.
    Write,
    /// Write in any case.
    WriteOver,
    /// Only report the differences.
    Report,
}

#[derive(Default, Serialize)]
struct RegistrySyncReport {
    registry: PathBuf,
    /// Whether it was written.
    written: bool,
    differences: Vec<RegistryDifference>,
    /// Files that are not in it because they have errors.
    left_out: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip)]
    dir: PathBuf,
}

/// Runs the command.
pub(super) async fn run(named: Option<&Path>, mode: SyncMode, cx: &CliContext) -> CommandResult {
    let scanned = scan_directories(named, cx).await?;
    let mut answers = Vec::new();
    for one in &scanned {
        let dir = one.entry.dir.clone();
        let nothing = RegistrySyncReport {
            registry: dir.join(REGISTRY_FILE_NAME),
            dir,
            ..RegistrySyncReport::default()
        };
        let found = match &one.contents {
            Ok(found) => found,
            Err(why) => {
                answers.push(RegistrySyncReport { error: Some(why.clone()), ..nothing });
                continue;
            }
        };
        let registered = match (registered(found), mode) {
            (Ok(registered), _) => registered,
            // One typing mistake must not destroy a registry that a person wrote.
            (Err(why), SyncMode::Write | SyncMode::Report) => {
                let error = format!("{why}; it stays as it is: {}", registry_remedy(&nothing.dir));
                answers.push(RegistrySyncReport { error: Some(error), ..nothing });
                continue;
            }
            (Err(_), SyncMode::WriteOver) => RegistryFile::default(),
        };
        let differences = registered.differences(&found.checked.tools, &found.files);
        let written = match mode {
            SyncMode::Report => false,
            SyncMode::Write | SyncMode::WriteOver => {
                let directory = &found.directory.path;
                let path = directory.join(REGISTRY_FILE_NAME);
                let text = RegistryFile::from_tools(&found.checked.tools).render();
                let is_changed = !read_registry_text(&path).is_ok_and(|present| present == text);
                if is_changed {
                    let replace = || {
                        let temporary = directory
                            .join(format!(".{REGISTRY_FILE_NAME}.{}.tmp", std::process::id()));
                        let mut file = File::create(&temporary)?;
                        let written =
                            file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
                        let replaced = written.and_then(|()| fs::rename(&temporary, &path));
                        if replaced.is_err() {
                            // A partly written file must not stay behind.
                            let _ = fs::remove_file(&temporary);
                        }
                        replaced
                    };
                    check_replaceable(&path).and_then(|()| replace()).map_err(|err| {
                        CommandError::failed(format!("{} cannot be written: {err}", path.display()))
                    })?;
                }
                is_changed
            }
        };
        let problems = found.checked.problems.iter();
        let errors = problems.filter(|it| it.severity == haft_python::ToolFileSeverity::Error);
        let mut left_out: Vec<String> = errors.map(|problem| problem.file.clone()).collect();
        left_out.dedup();
        answers.push(RegistrySyncReport { written, differences, left_out, ..nothing });
    }
    let is_well = |answer: &RegistrySyncReport| {
        let differs = mode == SyncMode::Report && !answer.differences.is_empty();
        answer.error.is_none() && answer.left_out.is_empty() && !differs
    };
    let status =
        if answers.iter().all(is_well) { CommandStatus::Done } else { CommandStatus::Failed };
    cx.print_answer(&answers, || answers.iter().map(|answer| text(answer, mode)).collect())?;
    Ok(status)
}

/// Returns the list of a directory, or why it cannot be used.
fn registered(found: &PythonToolSource) -> Result<RegistryFile, String> {
    match &found.registry {
        ToolRegistry::Missing => Ok(RegistryFile::default()),
        ToolRegistry::Listed(registry) => Ok(registry.clone()),
        ToolRegistry::Unusable(why) => {
            let path = found.directory.path.join(REGISTRY_FILE_NAME);
            Err(format!("{} cannot be used: {why}", shown(&path)))
        }
    }
}

/// Returns the advice about a registry that cannot be used.
pub(super) fn registry_remedy(dir: &Path) -> String {
    if check_replaceable(&dir.join(REGISTRY_FILE_NAME)).is_err() {
        return "remove it first".to_owned();
    }
    let dir = quote::shell(&shown(dir));
    format!("mend it, or write it anew with haft registry sync --force {dir}")
}

/// Refuses to replace anything but a regular file, which has another purpose.
fn check_replaceable(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => {
            Err(io::Error::other("there is something that is no regular file: remove it first"))
        }
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(err) => Err(err),
    }
}

fn text(answer: &RegistrySyncReport, mode: SyncMode) -> String {
    let path = shown(&answer.registry);
    let mut text: String =
        answer.differences.iter().map(|difference| format!("{difference}\n")).collect();
    if let Some(error) = &answer.error {
        return format!("{}: error: {error}\n", shown(&answer.dir));
    }
    if !answer.left_out.is_empty() {
        let dir = quote::shell(&shown(&answer.dir));
        text.push_str(&format!(
            "left out, because of errors: {}; see haft registry check {dir}\n",
            answer.left_out.join(", ")
        ));
    }
    let result = match (mode, answer.written, answer.differences.is_empty()) {
        (SyncMode::Write | SyncMode::WriteOver, true, _) => format!("wrote {path}\n"),
        (SyncMode::Write | SyncMode::WriteOver, false, _) | (SyncMode::Report, _, true) => {
            format!("{path} is what the files say\n")
        }
        (SyncMode::Report, _, false) => {
            format!("{path} differs from the files; nothing was written\n")
        }
    };
    text + &result
}
