//! What the Python tools of a manifest may do, said when it is trusted: the manifest names directories, and their files say
//! the rest. Whether the tools do what they say is not looked at.

use std::path::PathBuf;

use haft_contract::{Effect, RequirementSet};
use haft_python::CheckedTool;
use serde::Serialize;

use crate::arguments::setting_args::SettingArgs;
use crate::commands::registry::scan_entries;
use crate::error::CommandError;
use crate::views::path_text::{counted, shown};
use haft_app::host::AppHost;
use haft_app::manifest::{ManifestFile, PythonEntry};
use haft_app::python::PythonToolSource;
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

/// Returns what the directories that a manifest names hold.
pub(super) async fn directories(
    file: &ManifestFile,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<Vec<TrustedDirectoryReport>, CommandError> {
    let config = Some(file.path().to_owned());
    let args = SettingArgs { config, python: Vec::new(), ..setting_args.clone() };
    // As it will hold: what cannot hold need not be trusted.
    let settings = settings::resolve(&args.overrides(), host)?;
    let surveyed = scan_entries(&settings, settings.python.entries.clone(), host).await?;
    Ok(surveyed.into_iter().map(|one| answer(one.entry, one.contents)).collect())
}

fn answer(entry: PythonEntry, found: Result<PythonToolSource, String>) -> TrustedDirectoryReport {
    let dir = entry.dir;
    match found {
        Err(why) => TrustedDirectoryReport { dir, files: 0, tools: Vec::new(), problem: Some(why) },
        Ok(found) => {
            let tools = found.checked.tools.into_iter().map(tool_answer).collect();
            TrustedDirectoryReport { dir, files: found.files.len(), tools, problem: None }
        }
    }
}

fn tool_answer(tool: CheckedTool) -> TrustedToolReport {
    let CheckedTool { id, effect, dangerous, permissions, .. } = tool;
    TrustedToolReport { tool: id.to_string(), effect, dangerous, requires: permissions.requires }
}

/// Returns what is said of the directories; nothing if there are none.
pub(super) fn text(directories: &[TrustedDirectoryReport]) -> String {
    if directories.is_empty() {
        return String::new();
    }
    let head = "\nits Python tools are trusted as well, and so is what will be in these directories later:";
    directories.iter().fold(head.to_owned(), |text, one| text + &text_of(one))
}

fn text_of(directory: &TrustedDirectoryReport) -> String {
    let dir = shown(&directory.dir);
    if let Some(problem) = &directory.problem {
        return format!("\n  {dir}: {problem}");
    }
    let lines = directory.tools.iter().filter_map(|tool| Some((tool, tool_effects(tool)?)));
    let lines: Vec<String> =
        lines.map(|(tool, doings)| format!("\n    {}: {doings}", tool.tool)).collect();
    let mut text = format!(
        "\n  {dir}: {}, {}, of which {} only",
        counted(directory.files, "file"),
        counted(directory.tools.len(), "tool"),
        match directory.tools.len() - lines.len() {
            1 => "1 reads".to_owned(),
            count => format!("{count} read"),
        }
    );
    text.extend(lines.iter().take(TRUSTED_TOOLS_LISTED_MAX).map(String::as_str));
    if lines.len() > TRUSTED_TOOLS_LISTED_MAX {
        let rest = lines.len() - TRUSTED_TOOLS_LISTED_MAX;
        let dir = quote::shell(&dir);
        text.push_str(&format!("\n    and {rest} more: haft registry list {dir}"));
    }
    text
}

/// Says what a tool may do beyond reading, if there is anything.
fn tool_effects(tool: &TrustedToolReport) -> Option<String> {
    let requires = &tool.requires;
    let lists = [
        ("writes", &requires.fs.write),
        ("reaches", &requires.net.hosts),
        ("needs", &requires.capabilities),
    ];
    let lists = lists.into_iter().filter(|(_, names)| !names.is_empty());
    let mut doings: Vec<String> =
        lists.map(|(verb, names)| format!("{verb} {}", names.join(" and "))).collect();
    if doings.is_empty() && tool.effect != Effect::Read {
        doings.push("has a side effect".to_owned());
    }
    if tool.dangerous {
        doings.push("is dangerous".to_owned());
    }
    (!doings.is_empty()).then(|| doings.join(", "))
}
