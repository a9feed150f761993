//! The directories of a subcommand, each with its content. For a directory that cannot be used, the content is the reason.

use std::path::Path;

use haft::Registry;

use crate::arguments::cli_context::CliContext;
use crate::error::CommandError;
use crate::next_step;
use haft_app::compose;
use haft_app::host::AppHost;
use haft_app::manifest::PythonEntry;
use haft_app::python::{self, PythonToolSource};
use haft_app::settings::EffectiveSettings;

/// One directory.
pub(crate) struct ScannedDirectory {
    /// As it is configured.
    pub(crate) entry: PythonEntry,
    /// Its content, or why it cannot be used.
    pub(crate) contents: Result<PythonToolSource, String>,
}

/// Looks at the directory that is named, or else at all that are configured.
pub(super) async fn scan_directories(
    named: Option<&Path>,
    cx: &CliContext,
) -> Result<Vec<ScannedDirectory>, CommandError> {
    scan_named_directories(named, cx).await.map(|(_, scanned)| scanned)
}

/// Looks at directories like [`scan_directories`], and tries the tools that METADATA calls deterministic.
pub(super) async fn try_directories(
    named: Option<&Path>,
    cx: &CliContext,
) -> Result<Vec<ScannedDirectory>, CommandError> {
    let (settings, mut scanned) = scan_named_directories(named, cx).await?;
    let found = scanned.iter_mut().filter_map(|one| one.contents.as_mut().ok());
    compose::finder(&settings, &cx.host)?.try_deterministic_tools(found).await;
    Ok(scanned)
}

async fn scan_named_directories(
    named: Option<&Path>,
    cx: &CliContext,
) -> Result<(EffectiveSettings, Vec<ScannedDirectory>), CommandError> {
    let settings = cx.resolve_settings()?;
    let named = named.map(|dir| cx.host.working_directory().map(|place| place.join(dir)));
    let named = named.transpose()?;
    if let Some(dir) = named.as_deref().filter(|dir| !dir.is_dir()) {
        let message = format!("{} is no directory", dir.display());
        return Err(CommandError::usage(message).hint("haft registry check"));
    }
    if named.is_none() && settings.python.entries.is_empty() {
        let untrusted = settings.untrusted.iter().find(|untrusted| untrusted.names.has_python);
        return Err(match untrusted {
            Some(untrusted) => {
                let file = untrusted.file.display();
                let message =
                    format!("the directories of Python tools in {file} are not trusted yet");
                CommandError::usage(message).hint(next_step::command_of(&untrusted.next()))
            }
            None => {
                let message =
                    "no directory of Python tools is configured: name one, or add one to haft.toml";
                CommandError::usage(message).hint("haft registry add tools")
            }
        });
    }
    let mut entries = settings.python.entries.clone();
    if let Some(dir) = named.as_deref()
        && !entries.iter().any(|entry| entry.is_at(dir))
    {
        entries = vec![PythonEntry::of_directory(dir.to_owned())];
    }
    let mut scanned = scan_entries(&settings, entries, &cx.host).await?;
    if let Some(dir) = named.as_deref() {
        scanned.retain(|one| one.entry.is_at(dir));
    }
    Ok((settings, scanned))
}

/// Looks at directories in the order of registration, and compares them with one another.
pub(crate) async fn scan_entries(
    settings: &EffectiveSettings,
    entries: Vec<PythonEntry>,
    host: &AppHost,
) -> Result<Vec<ScannedDirectory>, CommandError> {
    let finder = compose::finder(settings, host)?;
    let taken = python::taken_ids(&Registry::new(haft_tools::tools(
        settings.profile,
        &haft_tools::ToolOptions::default(),
    ))?);
    let found = finder.find_all(&entries, &taken).await;
    let scanned = |(entry, contents)| ScannedDirectory { entry, contents };
    Ok(entries.into_iter().zip(found).map(scanned).collect())
}
