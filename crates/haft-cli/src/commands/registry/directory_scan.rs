//! The directories of a subcommand, each with its content. For a directory that cannot be used, the content is the reason.

use std::path::Path;

use haft::Registry;

use crate::arguments::cli_context::CliContext;
use crate::error::CommandError;
use haft_app::host::AppHost;
use haft_app::manifest::PythonEntry;
use haft_app::python::{self, PythonToolSource};
use haft_app::settings::EffectiveSettings;
use haft_app::{compose, quote};

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
    let settings = cx.resolve_settings()?;
    let named = named.map(|dir| cx.host.working_directory().map(|place| place.join(dir)));
    let named = named.transpose()?;
    if let Some(dir) = named.as_deref().filter(|dir| !dir.is_dir()) {
        let message = format!("{} is no directory", dir.display());
        return Err(CommandError::usage(message).hint("haft registry check"));
    }
    if named.is_none() && settings.python.entries.is_empty() {
        return Err(match &settings.manifest {
            Some(manifest) if settings.python.has_untrusted => {
                let message = "the directories of Python tools in the manifest do not hold, because it is not trusted";
                let manifest = quote::shell(&manifest.to_string_lossy());
                CommandError::usage(message).hint(format!("haft trust {manifest}"))
            }
            _ => {
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
    Ok(scanned)
}

/// Looks at directories in the order of registration: of two tools with one name, the first keeps it.
pub(crate) async fn scan_entries(
    settings: &EffectiveSettings,
    entries: Vec<PythonEntry>,
    host: &AppHost,
) -> Result<Vec<ScannedDirectory>, CommandError> {
    let finder = compose::finder(settings, host)?;
    let mut taken = python::taken_ids(&Registry::new(haft_tools::tools(
        settings.profile,
        &haft_tools::ToolOptions::default(),
    ))?);
    let mut scanned = Vec::new();
    for entry in entries {
        let found = finder.find(&entry, &taken).await;
        if let Ok(found) = &found {
            taken.extend(found.checked.tools.iter().map(|tool| tool.id.clone()));
        }
        scanned.push(ScannedDirectory { entry, contents: found });
    }
    Ok(scanned)
}
