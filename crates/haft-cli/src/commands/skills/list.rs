//! `haft skills list`: lists the skills and where they come from.

use std::path::Path;

use haft::{SkillSource, find_skills};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;
use crate::views::path_text::shown_with_home;
use crate::views::table::table;
use haft_app::skills::skill_paths;

#[derive(Serialize)]
struct SkillListEntry<'a> {
    name: &'a str,
    description: &'a str,
    source: SkillSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<&'a Path>,
}

/// Runs the command.
pub(super) fn run(cx: &CliContext) -> CommandResult {
    let found = find_skills(&skill_paths(&cx.resolve_settings()?, &cx.host));
    if !found.problems.is_empty() {
        let message = match found.problems.len() {
            1 => "something is wrong with a skill".to_owned(),
            count => format!("{count} things are wrong with skills"),
        };
        output::print_warning(&message, Some("haft skills check"));
    }
    let skills = found.skills.iter().map(|skill| SkillListEntry {
        name: &skill.name,
        description: &skill.description,
        source: skill.source,
        directory: skill.directory(),
    });
    let listed: Vec<SkillListEntry<'_>> = skills.collect();
    if listed.is_empty() {
        cx.print_answer(&listed, || "no skills".to_owned())?;
        return Ok(CommandStatus::Done);
    }
    let home = cx.host.home().and_then(|home| home.canonicalize().ok());
    let rows = listed.iter().map(|one| {
        let place = match one.directory {
            Some(directory) => shown_with_home(directory, home.as_deref()),
            None => "(bundled)".to_owned(),
        };
        vec![one.name.to_owned(), place, one.description.to_owned()]
    });
    cx.print_answer(&listed, || table(&["SKILL", "DIRECTORY", "DESCRIPTION"], rows))?;
    Ok(CommandStatus::Done)
}
