//! `haft registry add`: writes a `[[python]]` entry at the end of haft.toml. The rest of the file stays as it is, and so does
//! its trust.

use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use clap::Args;
use haft_python::{ToolFileProblem, ToolFileSeverity};
use serde::Serialize;

use super::check::{self, RegistryCheckReport as Check};
use super::directory_scan::{ScannedDirectory, scan_entries};
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult};
use crate::manifest_edit::{ManifestEdit, ManifestPlace};
use crate::views::output;
use crate::views::path_text::shown;
use haft_app::host::AppHost;
use haft_app::manifest::PythonEntry;
use haft_app::python::PythonDirectories;
use haft_app::settings::EffectiveSettings;
use haft_app::{python, quote, settings};

/// The directory beside haft.toml for tools that lie elsewhere.
const TOOLS_DIRECTORY: &str = "tools";

/// The directory to add.
#[derive(Args)]
pub(crate) struct RegistryAddArgs {
    /// Directory of Python tools
    dir: PathBuf,
    /// A Python, or the directory of a virtual environment; the python3 on PATH unless given
    #[arg(long, value_name = "PYTHON")]
    interpreter: Option<PathBuf>,
    /// Directory that holds the top package, for files that are modules of one
    #[arg(long, value_name = "DIR")]
    package_root: Option<PathBuf>,
    /// Accepted for older scripts: haft.toml stays trusted without a question
    #[arg(long, hide = true)]
    yes: bool,
}

#[derive(Serialize)]
struct RegistryAddReport<'a> {
    manifest: &'a Path,
    /// Whether the manifest was made.
    created: bool,
    /// Whether the entry holds.
    trusted: bool,
    check: Check<'a>,
}

/// Offers the Python tool of a file, or those of a directory, from now on.
pub(crate) async fn add_path(
    path: &Path,
    settings: &EffectiveSettings,
    cx: &CliContext,
) -> CommandResult {
    let given = cx.host.working_directory()?.join(path);
    let file = given
        .canonicalize()
        .map_err(|err| CommandError::usage(format!("{} cannot be used: {err}", path.display())))?;
    if file.is_dir() {
        return run(RegistryAddArgs::of_directory(file), cx).await;
    }
    if file.extension().is_none_or(|extension| extension != "py") {
        let message =
            format!("{} is no Python tool: expected a file whose name ends in .py", path.display());
        return Err(CommandError::usage(message).hint("haft tools add FILE.py"));
    }
    let edit = ManifestEdit::open(ManifestPlace::Workspace, &cx.setting_args, &cx.host)?;
    let home = edit.file.directory().canonicalize().map_err(|err| {
        CommandError::usage(format!("{} cannot be used: {err}", edit.file.directory().display()))
    })?;
    let manifest = edit.file.parse()?;
    let known = manifest.python.into_iter().map(|entry| entry.resolve_paths(&home));
    let known: Vec<PythonEntry> = known.collect();
    let parent = file.parent().unwrap_or(&home).to_owned();
    let is_known = |directory: &Path| known.iter().any(|entry| entry.is_at(directory));
    let has_own_directory = is_known(&parent) || parent != home && parent.starts_with(&home);
    let directory = if has_own_directory { parent } else { home.join(TOOLS_DIRECTORY) };
    let copy = if has_own_directory { None } else { copy_into(&file, &directory)? };
    let entry = known.iter().find(|entry| entry.is_at(&directory)).cloned();
    let entry = entry.unwrap_or_else(|| PythonEntry::of_directory(directory.clone()));
    if let Err(err) = check_file(&file, entry, settings, &cx.host).await {
        // Nothing is changed because of a file that cannot be used.
        if let Some(copy) = copy {
            copy.take_back();
        }
        return Err(err);
    }
    if let Some(copy) = &copy {
        output::print_note(format_args!("copied {} to {}", file.display(), shown(&copy.path)));
    }
    if is_known(&directory) {
        return check::run(Some(&directory), cx).await;
    }
    run(RegistryAddArgs::of_directory(directory), cx).await
}

/// Checks that the tool of a file can be offered. `entry` is its directory, or the one that holds a copy of the file.
async fn check_file(
    file: &Path,
    entry: PythonEntry,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<(), CommandError> {
    let directory = entry.dir.clone();
    let mut entries = settings.python.entries.clone();
    entries.retain(|known| !known.is_at(&directory));
    entries.push(entry);
    let scanned = scan_entries(settings, entries, host).await?;
    let scanned = scanned.into_iter().find(|one| one.entry.is_at(&directory));
    let Some(ScannedDirectory { contents, .. }) = scanned else { return Ok(()) };
    let found = contents.map_err(CommandError::usage)?;
    let name = file.file_name().unwrap_or_default();
    let errors =
        found.checked.problems.iter().filter(|problem| {
            problem.severity == ToolFileSeverity::Error && *problem.file == *name
        });
    let errors: Vec<String> = errors
        .map(|problem| ToolFileProblem { file: shown(file), ..problem.clone() }.to_string())
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    let again = format!("haft tools add {}", quote::shell(&shown(file)));
    let message = format!(
        "{} is no tool that can be offered, so nothing was changed\n{}",
        shown(file),
        errors.join("\n")
    );
    Err(CommandError::failed(message).hint(again))
}

/// A file that was copied, which is taken back if it is no tool.
struct CopiedFile {
    path: PathBuf,
    /// The directory, if it was made for the file.
    made: Option<PathBuf>,
}

impl CopiedFile {
    /// Removes the copy, and the directory that was made for it.
    fn take_back(self) {
        // Files that cannot be removed are named by the next try.
        let _ = std::fs::remove_file(&self.path);
        if let Some(directory) = &self.made {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

/// Copies a file into a directory, which is made if it is not there. Overwrites nothing. Returns `None` if the same file lies
/// there already.
fn copy_into(file: &Path, directory: &Path) -> Result<Option<CopiedFile>, CommandError> {
    let name = file.file_name().expect("a file has a name");
    let (copy, failed) = (directory.join(name), |err: &dyn std::fmt::Display| {
        CommandError::failed(format!("{} cannot be written: {err}", directory.join(name).display()))
    });
    let text = std::fs::read(file)
        .map_err(|err| CommandError::usage(format!("{} cannot be read: {err}", file.display())))?;
    let made = (!directory.exists()).then(|| directory.to_owned());
    std::fs::create_dir_all(directory).map_err(|err| failed(&err))?;
    let new = std::fs::OpenOptions::new().write(true).create_new(true).open(&copy);
    match new {
        Ok(mut new) => {
            let copied = CopiedFile { path: copy, made };
            if let Err(err) = new.write_all(&text) {
                copied.take_back();
                return Err(failed(&err));
            }
            Ok(Some(copied))
        }
        Err(err) if err.kind() == std::io::ErrorKind::AlreadyExists => {
            if std::fs::read(&copy).is_ok_and(|known| known == text) {
                return Ok(None);
            }
            let (from, to) = (shown(file), shown(&copy));
            let message = format!(
                "{to} exists already with another content and is left as it is: edit it, or put {from} in its place"
            );
            let again = format!("cp {} {}", quote::shell(&from), quote::shell(&to));
            Err(CommandError::usage(message).hint(again))
        }
        Err(err) => Err(failed(&err)),
    }
}

impl RegistryAddArgs {
    /// Returns the arguments that add a directory, with the python3 on PATH.
    fn of_directory(dir: PathBuf) -> Self {
        Self { dir, interpreter: None, package_root: None, yes: false }
    }
}

/// Runs the command.
pub(super) async fn run(args: RegistryAddArgs, cx: &CliContext) -> CommandResult {
    let edit = ManifestEdit::open(ManifestPlace::Workspace, &cx.setting_args, &cx.host)?;
    let file = &edit.file;
    let current = cx.host.working_directory()?;
    // Paths as the manifest should have them: relative to its directory, if they lie inside.
    let written = |path: &Path| -> PathBuf {
        // The last name is not resolved: an interpreter finds its environment by the link that started it.
        let absolute = current.join(path);
        let parent = absolute.parent().and_then(|parent| parent.canonicalize().ok());
        let place = match (parent, absolute.components().next_back()) {
            (Some(parent), Some(Component::Normal(name))) => parent.join(name),
            _ => absolute.canonicalize().unwrap_or(absolute),
        };
        match place.strip_prefix(file.directory()) {
            Ok(inside) if inside.as_os_str().is_empty() => PathBuf::from("."),
            Ok(inside) => inside.to_owned(),
            Err(_) => place,
        }
    };
    let interpreter = args.interpreter.as_deref().map(|named| {
        let is_bare = named.components().count() == 1 && !current.join(named).exists();
        if is_bare { named.to_owned() } else { written(named) }
    });
    let entry = PythonEntry {
        interpreter,
        package_root: args.package_root.as_deref().map(written),
        ..PythonEntry::of_directory(written(&args.dir))
    };
    let placed = entry.clone().resolve_paths(file.directory());
    if !placed.dir.is_dir() {
        let message = format!(
            "{} is no directory: expected one that holds Python tools",
            placed.dir.display()
        );
        return Err(CommandError::usage(message));
    }
    let manifest = file.parse()?;
    let roots =
        settings::roots(&cx.setting_args.overrides(), &manifest, file.directory(), &cx.host)?;
    let mut known = manifest.python.into_iter().map(|known| known.resolve_paths(file.directory()));
    if known.any(|known| known.is_at(&placed.dir)) {
        let message = format!("{} is in {} already", shown(&placed.dir), file.path().display());
        return Err(CommandError::usage(message).hint("haft registry check"));
    }
    let alone = PythonDirectories { entries: vec![placed.clone()] };
    alone.protection(roots.iter(), &manifest.sandbox.unprotect)?;
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    python::directory(&placed, &roots, &cx.host).map_err(CommandError::usage)?;
    let paths = [
        ("dir", Some(&entry.dir)),
        ("interpreter", entry.interpreter.as_ref()),
        ("package_root", entry.package_root.as_ref()),
    ];
    let lines = paths.into_iter().filter_map(|(key, path)| {
        let path = toml::Value::String(path?.to_string_lossy().into_owned());
        Some(format!("{key} = {path}\n"))
    });
    let entry = format!("[[python]]\n{}", lines.collect::<String>());
    let text = edit.with_entry(&entry)?;
    let changed = edit.write(text)?;
    let mut settings = cx.resolve_settings()?;
    let entries = &mut settings.python.entries;
    entries.retain(|known| !known.is_at(&placed.dir));
    entries.push(placed.clone());
    let mut scanned = scan_entries(&settings, settings.python.entries.clone(), &cx.host).await?;
    scanned.retain(|one| one.entry.is_at(&placed.dir));
    let check = Check::of(&scanned);
    let status = check.status();
    let (created, trusted) = (changed.is_new, changed.is_trusted);
    let answer = RegistryAddReport { manifest: changed.file.path(), created, trusted, check };
    cx.print_answer(&answer, || {
        let verb = if created { "wrote" } else { "added to" };
        let (path, note) = (answer.manifest.display(), changed.trust_note());
        format!("{verb} {path}\n{entry}\n{}{note}", answer.check.text())
    })?;
    Ok(status)
}
