//! The access of a manifest's Python tools, printed when the manifest is trusted. The manifest names directories, and their
//! files declare the access. haft does not check that the tools keep to it.

use std::path::PathBuf;

use haft_contract::{Effect, RequirementSet};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::arguments::setting_args::SettingArgs;
use crate::commands::registry::{ScannedDirectory, scan_entries};
use crate::error::CommandError;
use crate::views::path_text::{counted, shown};
use haft_app::manifest::ManifestFile;
use haft_app::{quote, settings};

/// Tools of one directory that are listed with what they may do.
pub(crate) const TRUSTED_TOOLS_LISTED_MAX: usize = 50;

/// One directory.
#[derive(Serialize)]
pub(super) struct TrustedDirectoryReport {
    dir: PathBuf,
    /// Files that may be tools.
    files: usize,
    tools: Vec<TrustedToolReport>,
    /// Why nothing of it can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// One tool.
#[derive(Serialize)]
struct TrustedToolReport {
    tool: String,
    effect: Effect,
    dangerous: bool,
    requires: RequirementSet,
}

/// Returns the tools in the directories that a manifest names.
pub(super) async fn directories(
    file: &ManifestFile,
    cx: &CliContext,
) -> Result<Vec<TrustedDirectoryReport>, CommandError> {
    let config = Some(file.path().to_owned());
    let args = SettingArgs { config, python: Vec::new(), ..cx.setting_args.clone() };
    // Resolved as if the manifest were trusted, so that only usable directories are listed.
    let settings = settings::resolve(&args.overrides(), &cx.host)?;
    let scanned = scan_entries(&settings, settings.python.entries.clone(), &cx.host).await?;
    let report = |ScannedDirectory { entry, contents }| match contents {
        Err(why) => {
            let problem = Some(why);
            TrustedDirectoryReport { dir: entry.dir, files: 0, tools: Vec::new(), problem }
        }
        Ok(found) => {
            let tools = found.checked.tools.into_iter().map(|tool| TrustedToolReport {
                tool: tool.id.to_string(),
                effect: tool.effect,
                dangerous: tool.dangerous,
                requires: tool.permissions.requires,
            });
            let (dir, files) = (entry.dir, found.files.len());
            TrustedDirectoryReport { dir, files, tools: tools.collect(), problem: None }
        }
    };
    Ok(scanned.into_iter().map(report).collect())
}

/// Returns the lines about the directories, each with its tools. Empty without directories.
pub(super) fn text(directories: &[TrustedDirectoryReport]) -> String {
    if directories.is_empty() {
        return String::new();
    }
    let mut text =
        "\nits Python tools are trusted as well, and so is what will be in these directories later:"
            .to_owned();
    for directory in directories {
        let dir = shown(&directory.dir);
        if let Some(problem) = &directory.problem {
            text.push_str(&format!("\n  {dir}: {problem}"));
            continue;
        }
        // Tools with access beyond reading have a line each.
        let lines = directory.tools.iter().filter_map(|tool| {
            let requires = &tool.requires;
            let lists = [
                ("writes", &requires.fs.write),
                ("reaches", &requires.net.hosts),
                ("needs", &requires.capabilities),
            ];
            let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
            let mut effects: Vec<String> =
                lists.map(|(verb, names)| format!("{verb} {}", names.join(" and "))).collect();
            if effects.is_empty() && tool.effect != Effect::Read {
                effects.push("has a side effect".to_owned());
            }
            if tool.dangerous {
                effects.push("is dangerous".to_owned());
            }
            let is_listed = !effects.is_empty();
            is_listed.then(|| format!("\n    {}: {}", tool.tool, effects.join(", ")))
        });
        let lines: Vec<String> = lines.collect();
        text.push_str(&format!(
            "\n  {dir}: {}, {}, of which {} only",
            counted(directory.files, "file"),
            counted(directory.tools.len(), "tool"),
            match directory.tools.len() - lines.len() {
                1 => "1 reads".to_owned(),
                count => format!("{count} read"),
            }
        ));
        text.extend(lines.iter().take(TRUSTED_TOOLS_LISTED_MAX).map(String::as_str));
        if lines.len() > TRUSTED_TOOLS_LISTED_MAX {
            let rest = lines.len() - TRUSTED_TOOLS_LISTED_MAX;
            let dir = quote::shell(&dir);
            text.push_str(&format!("\n    and {rest} more: haft registry list {dir}"));
        }
    }
    text
}
