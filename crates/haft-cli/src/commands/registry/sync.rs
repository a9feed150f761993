//! `haft registry sync`: writes `registry.json`, in the format of Smith, from the METADATA of the files. It replaces the file
//! in one step, and only if the content changes.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use haft_python::{RegistryDifference, RegistryFile};
use rustix::fs::OFlags;
use serde::Serialize;

use super::directory_scan::scan_directories;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::path_text::shown;
use haft_app::python::PythonToolSource;
use haft_app::quote;

/// The registry's name in its directory.
pub(super) const FILE_NAME: &str = "registry.json";
/// Largest registry that is read, in bytes.
pub(crate) const REGISTRY_BYTES_MAX: u64 = 16 * 1024 * 1024;

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

/// The state of a directory's registry.
pub(super) enum RegistryFileState {
    /// There is none.
    Missing,
    /// There is one, with these differences from the files.
    Read(Vec<RegistryDifference>),
    /// There is one that cannot be read.
    Unusable(String),
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
            registry: dir.join(FILE_NAME),
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
        let registered = match (read(&found.directory.path.join(FILE_NAME)), mode) {
            (Ok(registered), _) => registered.unwrap_or_default(),
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
                let path = directory.join(FILE_NAME);
                let text = RegistryFile::from_tools(&found.checked.tools).render();
                let is_changed = !read_text(&path).is_ok_and(|present| present == text);
                if is_changed {
                    let replace = || {
                        let temporary =
                            directory.join(format!(".{FILE_NAME}.{}.tmp", std::process::id()));
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

/// Returns how the registry of a directory differs from its files.
pub(super) fn registry_state(found: &PythonToolSource) -> RegistryFileState {
    match read(&found.directory.path.join(FILE_NAME)) {
        Ok(None) => RegistryFileState::Missing,
        Ok(Some(registry)) => {
            RegistryFileState::Read(registry.differences(&found.checked.tools, &found.files))
        }
        Err(why) => RegistryFileState::Unusable(why),
    }
}

fn read(path: &Path) -> Result<Option<RegistryFile>, String> {
    let unusable = |why: &dyn std::fmt::Display| format!("{} cannot be used: {why}", shown(path));
    let text = match read_text(path) {
        Ok(text) => text,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(unusable(&err)),
    };
    RegistryFile::parse(&text).map(Some).map_err(|err| unusable(&err))
}

/// Returns the text of a regular file of bounded size.
fn read_text(path: &Path) -> io::Result<String> {
    // Without this flag, opening a FIFO would wait for a writer.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(REGISTRY_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes > REGISTRY_BYTES_MAX) {
        return Err(io::Error::other(format!("it has more than {REGISTRY_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|err| {
        let byte = err.utf8_error().valid_up_to() + 1;
        io::Error::other(format!("it is no text in UTF-8, from byte {byte} on"))
    })
}

/// Returns the advice about a registry that cannot be used.
pub(super) fn registry_remedy(dir: &Path) -> String {
    if check_replaceable(&dir.join(FILE_NAME)).is_err() {
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
