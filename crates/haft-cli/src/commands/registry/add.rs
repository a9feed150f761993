//! `haft registry add`: writes a `[[python]]` entry at the end of haft.toml. The rest of the file stays as it is. The user
//! decides whether the file stays trusted.

use std::path::{Component, Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::check::RegistryCheckReport as Check;
use super::directory_scan::scan_entries;
use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::manifest_edit::ManifestEdit;
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::manifest::{ManifestFile, PythonEntry};
use haft_app::python::PythonDirectories;
use haft_app::{python, settings};

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
    /// Trust the changed haft.toml again without asking, if it was trusted
    #[arg(long)]
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

/// Runs the command.
pub(super) async fn run(
    args: RegistryAddArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let edit = ManifestEdit::open(setting_args, host)?;
    let entry = manifest_entry(&args, &edit.file, host)?;
    let placed = entry.clone().resolve_paths(edit.file.directory());
    check_usable(&placed, &edit.file, setting_args, host)?;
    let text = edit.with_entry(&text_of(&entry))?;
    let changed = edit.write(text, args.yes).await?;
    let mut settings = settings::resolve(&setting_args.overrides(), host)?;
    let entries = &mut settings.python.entries;
    entries.retain(|known| !known.is_at(&placed.dir));
    entries.push(placed.clone());
    let mut surveyed = scan_entries(&settings, settings.python.entries.clone(), host).await?;
    surveyed.retain(|one| one.entry.is_at(&placed.dir));
    let check = Check::of(&surveyed);
    let status = check.status();
    let (created, trusted) = (changed.is_new, changed.is_trusted);
    let answer = RegistryAddReport { manifest: changed.file.path(), created, trusted, check };
    if setting_args.json {
        output::write_json(&answer)?;
    } else {
        let verb = if created { "wrote" } else { "added to" };
        let head = format!("{verb} {}\n{}\n", answer.manifest.display(), text_of(&entry));
        output::write_data(&output::escape_controls(&(head + &answer.check.text())))?;
    }
    Ok(status)
}

/// Returns the entry with paths as the manifest should have them: relative to its directory, if they lie inside.
fn manifest_entry(
    args: &RegistryAddArgs,
    file: &ManifestFile,
    host: &AppHost,
) -> Result<PythonEntry, CommandError> {
    let current = host.working_directory()?;
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
    Ok(PythonEntry {
        interpreter,
        package_root: args.package_root.as_deref().map(written),
        ..PythonEntry::of_directory(written(&args.dir))
    })
}

/// Refuses an entry that cannot be used, or that the manifest has already.
fn check_usable(
    placed: &PythonEntry,
    file: &ManifestFile,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<(), CommandError> {
    if !placed.dir.is_dir() {
        let message = format!(
            "{} is no directory: expected one that holds Python tools",
            placed.dir.display()
        );
        return Err(CommandError::usage(message));
    }
    let manifest = file.parse()?;
    let roots = settings::roots(&setting_args.overrides(), &manifest, file.directory(), host)?;
    let mut known = manifest.python.into_iter().map(|known| known.resolve_paths(file.directory()));
    if known.any(|known| known.is_at(&placed.dir)) {
        let message = format!(
            "{} is in {} already",
            crate::views::path_text::shown(&placed.dir),
            file.path().display()
        );
        return Err(CommandError::usage(message).hint("haft registry check"));
    }
    let alone = PythonDirectories { entries: vec![placed.clone()], has_untrusted: false };
    alone.protection(roots.iter(), &manifest.sandbox.unprotect)?;
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    python::directory(placed, &roots, host).map(drop).map_err(CommandError::usage)
}

fn text_of(entry: &PythonEntry) -> String {
    let paths = [
        ("dir", Some(&entry.dir)),
        ("interpreter", entry.interpreter.as_ref()),
        ("package_root", entry.package_root.as_ref()),
    ];
    let lines = paths.into_iter().filter_map(|(key, path)| {
        let path = toml::Value::String(path?.to_string_lossy().into_owned());
        Some(format!("{key} = {path}\n"))
    });
    format!("[[python]]\n{}", lines.collect::<String>())
}
