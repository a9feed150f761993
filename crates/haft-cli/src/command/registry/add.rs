//! `haft registry add`: a `[[python]]` entry at the end of haft.toml. What stands there is not touched, not even its spaces;
//! whether the file is trusted afterwards is for the user to say.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use clap::Args;
use haft::{Clock as _, SystemClock};
use serde::Serialize;

use super::check::Answer as Check;
use super::survey::survey_of;
use crate::cli::SettingArgs;
use crate::confirm::confirmed;
use crate::error::{CommandError, Status};
use crate::manifest::{FILE_NAME, ManifestFile, PythonEntry};
use crate::python::PythonDirectories;
use crate::state::State;
use crate::trust::Trust;
use crate::{output, python, settings};

/// What is added.
#[derive(Args)]
pub(crate) struct AddArgs {
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
struct Answer<'a> {
    manifest: &'a Path,
    /// Whether the manifest was made.
    created: bool,
    /// Whether the entry holds.
    trusted: bool,
    check: Check<'a>,
}

/// What a manifest is before something is added to it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Absent,
    /// It is named, and holds for that.
    Named,
    Trusted,
    Untrusted,
}

/// Runs the command.
pub(super) async fn run(
    args: AddArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let trust = Trust::new(state.trust());
    let (file, before) = manifest(setting_args, &trust)?;
    let entry = entry(&args, &file)?;
    let placed = entry.clone().placed(file.directory());
    check_usable(&placed, &file, setting_args)?;
    let changed = with_entry(&file, &entry)?;
    write(&changed).map_err(|err| {
        CommandError::usage(format!("{} cannot be written: {err}", changed.path().display()))
    })?;
    let is_trusted = match before {
        Before::Absent | Before::Named => true,
        Before::Trusted => args.yes || is_confirmed(&changed).await,
        Before::Untrusted => false,
    };
    // That what nobody trusts does not hold is said where the settings are found out.
    if is_trusted && before != Before::Named {
        trust.grant(&changed, SystemClock.now_ms())?;
    }
    let mut settings = settings::resolve(setting_args, state)?;
    let entries = &mut settings.python.entries;
    entries.retain(|known| !known.is_at(&placed.dir));
    entries.push(placed.clone());
    let mut surveyed = survey_of(&settings, settings.python.entries.clone(), state).await?;
    surveyed.retain(|one| one.entry.is_at(&placed.dir));
    let check = Check::of(&surveyed);
    let status = check.status();
    let created = before == Before::Absent;
    let answer = Answer { manifest: changed.path(), created, trusted: is_trusted, check };
    if setting_args.json {
        output::json(&answer)?;
    } else {
        let verb = if created { "wrote" } else { "added to" };
        let head = format!("{verb} {}\n{}\n", answer.manifest.display(), text_of(&entry));
        output::data(&output::visible(&(head + &answer.check.text())))?;
    }
    Ok(status)
}

/// Returns the manifest that the entry goes into, which may not be there yet.
fn manifest(
    setting_args: &SettingArgs,
    trust: &Trust,
) -> Result<(ManifestFile, Before), CommandError> {
    match settings::find_manifest(setting_args)? {
        Some(file) => {
            let before = match (trust.holds(&file), setting_args.config.is_some()) {
                (true, _) => Before::Trusted,
                (false, true) => Before::Named,
                (false, false) => Before::Untrusted,
            };
            Ok((file, before))
        }
        None => {
            let directory = match &setting_args.root {
                Some(root) => root.clone(),
                None => settings::working_directory()?,
            };
            let directory = directory.canonicalize().map_err(|err| {
                CommandError::usage(format!("{} cannot be used: {err}", directory.display()))
            })?;
            let file = ManifestFile::of_text(directory.join(FILE_NAME), String::new());
            Ok((file, Before::Absent))
        }
    }
}

/// Returns the entry with paths as they are best written into the manifest: from its directory, where they lie within.
fn entry(args: &AddArgs, file: &ManifestFile) -> Result<PythonEntry, CommandError> {
    let current = settings::working_directory()?;
    let written = |path: &Path| -> PathBuf {
        // The last name is left as it is: an interpreter knows its environment by the link that it is.
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

/// Refuses an entry of which nothing could be used, or which is there already.
fn check_usable(
    placed: &PythonEntry,
    file: &ManifestFile,
    setting_args: &SettingArgs,
) -> Result<(), CommandError> {
    if !placed.dir.is_dir() {
        let message = format!(
            "{} is no directory: expected one that holds Python tools",
            placed.dir.display()
        );
        return Err(CommandError::usage(message));
    }
    let manifest = file.parse()?;
    let roots = settings::roots(setting_args, &manifest, file.directory())?;
    let mut known = manifest.python.into_iter().map(|known| known.placed(file.directory()));
    if known.any(|known| known.is_at(&placed.dir)) {
        let message =
            format!("{} is in {} already", python::shown(&placed.dir), file.path().display());
        return Err(CommandError::usage(message).hint("haft registry check"));
    }
    let alone = PythonDirectories { entries: vec![placed.clone()], has_untrusted: false };
    alone.protection(roots.iter(), &manifest.sandbox.unprotect)?;
    let roots: Vec<PathBuf> = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    python::directory(placed, &roots).map(drop).map_err(CommandError::usage)
}

/// Returns the manifest with the entry at its end, if that is a manifest.
fn with_entry(file: &ManifestFile, entry: &PythonEntry) -> Result<ManifestFile, CommandError> {
    let entry = text_of(entry);
    let text = file.text();
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let changed = ManifestFile::of_text(file.path().to_owned(), format!("{text}{gap}{entry}"));
    // The list may be written in one line, to which no entry of its own can be added.
    changed.parse().map(|_| changed).map_err(|err| {
        CommandError::usage(format!(
            "the entry cannot be put at the end of {}, so nothing was changed: put it in by hand, as\n\n{entry}\n{}",
            file.path().display(),
            err.message
        ))
    })
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

/// Writes the manifest whole or not at all, with the permissions that it has.
fn write(file: &ManifestFile) -> io::Result<()> {
    // A link stays one: what it leads to is replaced.
    let path = file.path().canonicalize().unwrap_or_else(|_| file.path().to_owned());
    let permissions: Option<Permissions> =
        fs::metadata(&path).ok().map(|found| found.permissions());
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut new = File::create(&temporary)?;
    let written = new.write_all(file.text().as_bytes()).and_then(|()| new.sync_all());
    let placed = written
        .and_then(|()| permissions.map_or(Ok(()), |found| new.set_permissions(found)))
        .and_then(|()| fs::rename(&temporary, &path));
    if placed.is_err() {
        // What is half written is of no use to anybody.
        let _ = fs::remove_file(&temporary);
    }
    placed
}

/// Asks whether the manifest is to be trusted as it is now. Where nobody can be asked it is not.
async fn is_confirmed(file: &ManifestFile) -> bool {
    let path = output::visible(&file.path().to_string_lossy());
    let question = format!("{path} was trusted and has changed. Trust it again?");
    confirmed(&question).await.unwrap_or(false)
}
