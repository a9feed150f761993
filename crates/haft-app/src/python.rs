//! The Python tools of the configured directories: found, read and judged whenever tools are put together. If a file has
//! a problem, it is left out and a notice says why. This module runs no tool.

pub mod directories;
mod protection;
mod registry;
mod text_cache;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use haft::{ReadOnlyBackgroundProcesses, Registry};
use haft_contract::ToolId;
use haft_python::{
    CheckedDirectory, CheckedTool, ProblemCode, SourceFile, ToolDirectory, ToolFileProblem,
    ToolFileSeverity, WorkerOptions,
};

use crate::app_error::AppError;
use crate::host::AppHost;
use crate::host_paths::{OutsideError, canonical_outside_roots};
use crate::manifest::PythonEntry;
use crate::permission_names;
pub use directories::PythonDirectories;
pub use registry::{REGISTRY_FILE_NAME, ToolRegistry, read_registry_text};
pub use text_cache::KeyedTextCache;

/// Lines about files that are left out, of one directory, when tools are put together.
pub const PYTHON_WARNINGS_MAX: usize = 10;
/// The interpreter unless one is named.
const INTERPRETER: &str = "python3";

/// Finds Python tools: it reads their METADATA and checks them.
pub struct PythonToolFinder {
    /// Starts the processes that read.
    pub residents: ReadOnlyBackgroundProcesses,
    /// The results of earlier readings.
    pub readings: KeyedTextCache,
    /// The canonical directories that calls may reach: what lies in them is not what reads.
    pub roots: Vec<PathBuf>,
    /// Whether nothing confines the processes of tools.
    pub is_unconfined: bool,
    /// Where the interpreters are looked for.
    pub host: AppHost,
}

/// A directory and what was found in it.
pub struct PythonToolSource {
    /// The directory, with the interpreter that was found.
    pub directory: ToolDirectory,
    /// Its files.
    pub files: Vec<SourceFile>,
    /// The tools, and what is wrong with files.
    pub checked: CheckedDirectory,
    /// The list of the tools to offer.
    pub registry: ToolRegistry,
    /// How its processes live.
    pub options: WorkerOptions,
}

impl PythonToolSource {
    /// Returns the tools that are offered.
    pub fn offered_tools(&self) -> impl Iterator<Item = &CheckedTool> {
        self.checked.tools.iter().filter(|tool| self.registry.offers(tool))
    }
}

impl PythonToolFinder {
    /// Returns what is in a directory, or why nothing of it can be used. `taken` are the ids of other tools.
    async fn find(
        &self,
        entry: &PythonEntry,
        taken: &[ToolId],
    ) -> Result<PythonToolSource, String> {
        let directory = directory(entry, &self.roots, &self.host)?;
        let listing = directory.list().map_err(|err| err.to_string())?;
        let readings =
            haft_python::read_metadata(&directory, &listing.files, &self.residents, &self.readings);
        let readings = readings.await.map_err(|err| err.message)?;
        let files = listing.files.iter().cloned().zip(readings).collect();
        let mut checked = haft_python::check_tool_files(&directory, files, taken);
        checked.problems.extend(listing.problems);
        let registry = ToolRegistry::read(&directory.path);
        if let ToolRegistry::Listed(_) = registry {
            let left_out = checked.tools.iter().filter(|tool| !registry.offers(tool));
            checked.problems.extend(left_out.map(not_listed));
        }
        checked.problems.sort();
        if let Some(problem) =
            checked.problems.iter().find(|it| it.code == ProblemCode::Interpreter)
        {
            return Err(format!(
                "{}: {}; name a newer one as interpreter of the [[python]] entry",
                directory.parser_interpreter.display(),
                problem.message
            ));
        }
        if self.is_unconfined {
            checked.tools = checked.tools.into_iter().map(CheckedTool::unconfined).collect();
        }
        let (files, options) = (listing.files, options(entry));
        Ok(PythonToolSource { directory, files, checked, registry, options })
    }

    /// Returns what is in all directories, compared with one another. `taken` are the ids of other tools.
    ///
    /// # Errors
    ///
    /// The result of a directory is an error if the directory or an interpreter for it cannot be used.
    pub async fn find_all(
        &self,
        entries: &[PythonEntry],
        taken: &[ToolId],
    ) -> Vec<Result<PythonToolSource, String>> {
        let mut found = Vec::with_capacity(entries.len());
        for entry in entries {
            found.push(self.find(entry, taken).await);
        }
        let mut checked: Vec<&mut CheckedDirectory> =
            found.iter_mut().flatten().map(|source| &mut source.checked).collect();
        haft_python::compare_directories(&mut checked);
        found
    }

    /// Tries the tools that METADATA calls deterministic, and adds what differs to the problems of their directory.
    /// Without a sandbox nothing is tried.
    pub async fn try_deterministic_tools<'s>(
        &self,
        sources: impl Iterator<Item = &'s mut PythonToolSource>,
    ) {
        for source in sources.filter(|_| !self.is_unconfined) {
            let checked = &mut source.checked;
            let found = haft_python::try_deterministic_tools(
                &source.directory,
                &checked.tools,
                &self.residents,
            );
            checked.problems.extend(found.await);
            checked.problems.sort();
        }
    }
}

/// Adds the tools of all directories to a registry, and says which files are left out; returns whether any are. Several
/// parts of a command may put tools together; it is said once.
///
/// # Errors
///
/// Fails if two tools have one id. A directory or a file that cannot be used is no error: it is left out.
pub async fn add_tools(
    registry: &mut Registry,
    directories: &[PythonEntry],
    finder: &PythonToolFinder,
    host: &AppHost,
) -> Result<bool, AppError> {
    let mut left_out = false;
    let found = finder.find_all(directories, &taken_ids(registry)).await;
    for (entry, found) in directories.iter().zip(found) {
        match found {
            Ok(found) => {
                left_out |= warn_of_errors(&entry.dir, &found.checked.problems, host);
                warn_of_missing_keys(&entry.dir, &found.checked.problems, host);
                left_out |= warn_of_registry(&entry.dir, &found, host);
                let offered: Vec<CheckedTool> = found.offered_tools().cloned().collect();
                for tool in haft_python::tools(&found.directory, &offered, found.options) {
                    registry.add(tool)?;
                }
            }
            Err(why) => {
                left_out = true;
                tracing::warn!(
                    "the Python tools in {} are left out: {why}",
                    host.shown_path(&entry.dir)
                );
            }
        }
    }
    Ok(left_out)
}

/// Returns the problem of a tool that the list of its directory does not name.
fn not_listed(tool: &CheckedTool) -> ToolFileProblem {
    ToolFileProblem {
        file: tool.source.name.clone(),
        line: None,
        field: None,
        severity: ToolFileSeverity::Warning,
        code: ProblemCode::NotListed,
        message: format!("{REGISTRY_FILE_NAME} does not list {}, so it is not offered", tool.id),
        mend: format!(
            "add it to {REGISTRY_FILE_NAME}, or remove {REGISTRY_FILE_NAME} to offer all tools"
        ),
    }
}

/// Says which tools the list of a directory leaves out; returns whether there are any.
fn warn_of_registry(dir: &Path, found: &PythonToolSource, host: &AppHost) -> bool {
    let path = host.shown_path(&dir.join(REGISTRY_FILE_NAME));
    let problems = found.checked.problems.iter();
    let left_out = problems.filter(|problem| problem.code == ProblemCode::NotListed);
    let files: Vec<&str> = left_out.map(|problem| problem.file.as_str()).collect();
    match (&found.registry, files.split_first()) {
        (ToolRegistry::Unusable(why), _) => {
            let dir = host.shown_path(dir);
            tracing::warn!(
                "the Python tools in {dir} are not offered: {path} cannot be used: {why}"
            );
            true
        }
        (ToolRegistry::Listed(_), Some((first, rest))) => {
            let more = match rest.len() {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            tracing::warn!("{path} does not list the tool in {first}{more}, so it is not offered");
            true
        }
        (ToolRegistry::Listed(_) | ToolRegistry::Missing, _) => false,
    }
}

/// Returns the ids that Python tools cannot have: those of other tools, also of other versions of haft.
pub fn taken_ids(registry: &Registry) -> Vec<ToolId> {
    let offered = registry.contracts().map(|contract| contract.id.clone());
    let mut taken: Vec<ToolId> = offered.chain(permission_names::reserved()).collect();
    taken.sort();
    taken.dedup();
    taken
}

/// Says in a line of each file that is left out the first of what is wrong with it; returns whether there is one.
fn warn_of_errors(dir: &Path, problems: &[ToolFileProblem], host: &AppHost) -> bool {
    let mut by_file: BTreeMap<&str, Vec<&ToolFileProblem>> = BTreeMap::new();
    for problem in problems.iter().filter(|problem| problem.severity == ToolFileSeverity::Error) {
        by_file.entry(&problem.file).or_default().push(problem);
    }
    let dir_shown = host.shown_path(dir);
    for (file, problems) in by_file.iter().take(PYTHON_WARNINGS_MAX) {
        let Some(first) = problems.first() else { continue };
        let path = host.shown_path(&dir.join(file));
        let line = first.line.map_or(String::new(), |line| format!(":{line}"));
        let more = match problems.len() - 1 {
            0 => String::new(),
            count => format!(" (and {count} more)"),
        };
        tracing::warn!("{path}{line}: {}{more}; check the tools in {dir_shown}", first.message);
    }
    if by_file.len() > PYTHON_WARNINGS_MAX {
        let rest = by_file.len() - PYTHON_WARNINGS_MAX;
        tracing::warn!("{rest} more Python files are left out; check the tools in {dir_shown}");
    }
    !by_file.is_empty()
}

/// Warns of the tools that cannot tell a repeat of their effect from a new call, as haft does for tools in Rust.
fn warn_of_missing_keys(dir: &Path, problems: &[ToolFileProblem], host: &AppHost) {
    let keyless = problems.iter().filter(|problem| problem.code == ProblemCode::NoKey);
    let paths: Vec<String> =
        keyless.map(|problem| host.shown_path(&dir.join(&problem.file))).collect();
    let Some((first, rest)) = paths.split_first() else { return };
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    tracing::warn!(
        "{first}{more}: a repeat of the effect cannot be distinguished from a new call: let METADATA say \
         \"context\": True and pass the idempotency key on, or \"idempotent\": True if a repeat changes nothing"
    );
}

/// Returns the directory of an entry, with the interpreter that runs its files and the one that reads them. The roots are
/// canonical.
///
/// # Errors
///
/// Fails if the directory or its package root does not exist, and if there is no interpreter that an agent cannot replace.
/// The error is a sentence for the user.
pub fn directory(
    entry: &PythonEntry,
    roots: &[PathBuf],
    host: &AppHost,
) -> Result<ToolDirectory, String> {
    let canonical = |path: &Path, what: &str| {
        let found = path.canonicalize();
        found.map_err(|err| format!("{what} {} cannot be used: {err}", host.shown_path(path)))
    };
    let search_path = host.variable("PATH").unwrap_or_default();
    let named = entry.interpreter.as_deref().unwrap_or(Path::new(INTERPRETER));
    let interpreter = haft_python::find_interpreter(named, &search_path, &|program| {
        is_out_of_reach(program, roots)
    });
    let interpreter = interpreter.map_err(|err| err.to_string())?;
    let reader = reader(&interpreter, &search_path, roots, host)?;
    let mut readable = haft_python::interpreter_paths(&interpreter);
    readable.extend(entry.readable.iter().cloned());
    let package_root = entry.package_root.as_deref();
    Ok(ToolDirectory {
        path: canonical(&entry.dir, "the directory")?,
        package_root: package_root.map(|root| canonical(root, "package_root")).transpose()?,
        interpreter,
        parser_interpreter: reader,
        readable,
    })
}

/// Returns the interpreter that reads METADATA: that of the directory, or the one on PATH if that lies in a root. A process
/// that could replace the reader would decide what tools may do.
fn reader(
    interpreter: &Path,
    search_path: &OsStr,
    roots: &[PathBuf],
    host: &AppHost,
) -> Result<PathBuf, String> {
    let is_out_of_reach = |program: &Path| is_out_of_reach(program, roots);
    if is_out_of_reach(interpreter) {
        return Ok(interpreter.to_owned());
    }
    let named = Path::new(INTERPRETER);
    haft_python::find_interpreter(named, search_path, &is_out_of_reach).map_err(|err| {
        format!(
            "{} can be replaced in or through a root, so METADATA has to be read by another one: {err}",
            host.shown_path(interpreter)
        )
    })
}

/// Returns whether neither an interpreter nor a file that belongs to it lies in a root or is reached through one.
fn is_out_of_reach(program: &Path, roots: &[PathBuf]) -> bool {
    let places = haft_python::interpreter_paths(program);
    let is_inside =
        |place: &PathBuf| canonical_outside_roots(place, roots) == Err(OutsideError::InRoot);
    canonical_outside_roots(program, roots).is_ok() && !places.iter().any(is_inside)
}

/// Returns how the processes of a directory's tools live.
fn options(entry: &PythonEntry) -> WorkerOptions {
    let defaults = WorkerOptions::default();
    WorkerOptions {
        workers_per_file: entry.workers.unwrap_or(defaults.workers_per_file),
        idle_ms: entry.idle_ms.unwrap_or(defaults.idle_ms),
        memory_bytes: entry.memory_bytes,
        ..defaults
    }
}
