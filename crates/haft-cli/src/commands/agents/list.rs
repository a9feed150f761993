//! `haft agents list`: the agents with where they come from and what they hide.

use std::path::Path;

use haft_agent::{AgentMode, AgentSource, ShadowedAgent, find_agents};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::output;
use crate::views::path_text::shown_with_home;
use crate::views::table::table;
use haft_app::compose::agent_paths;

#[derive(Serialize)]
struct AgentListEntry<'a> {
    name: &'a str,
    description: &'a str,
    mode: AgentMode,
    source: AgentSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    /// Agents of the same name that are farther.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hides: Vec<&'a ShadowedAgent>,
}

/// Runs the command.
pub(super) fn run(cx: &CliContext) -> CommandResult {
    let found = find_agents(&agent_paths(&cx.resolve_settings()?, &cx.host));
    if !found.problems.is_empty() {
        let message = match found.problems.len() {
            1 => "something is wrong with an agent".to_owned(),
            count => format!("{count} things are wrong with agents"),
        };
        output::print_warning(&message, Some("haft agents check"));
    }
    let listed = found.iter().map(|agent| AgentListEntry {
        name: &agent.name,
        description: &agent.description,
        mode: agent.mode,
        source: agent.source,
        file: agent.file.as_deref(),
        model: agent.model.as_deref(),
        hides: found.hidden.iter().filter(|hidden| hidden.name == agent.name).collect(),
    });
    let listed: Vec<AgentListEntry<'_>> = listed.collect();
    let home = cx.host.home().and_then(|home| home.canonicalize().ok());
    let place = |file: &Path| shown_with_home(file, home.as_deref());
    let rows = listed.iter().map(|one| {
        let hides = one.hides.iter().map(|hidden| {
            hidden.file.as_deref().map_or_else(|| "the bundled one".to_owned(), place)
        });
        let hides: Vec<String> = hides.collect();
        let description = match hides.as_slice() {
            [] => one.description.to_owned(),
            hides => format!("{} (hides {})", one.description, hides.join(" and ")),
        };
        let file = one.file.map_or_else(|| "(bundled)".to_owned(), place);
        vec![one.name.to_owned(), one.mode.as_str().to_owned(), file, description]
    });
    cx.print_answer(&listed, || table(&["AGENT", "MODE", "FILE", "DESCRIPTION"], rows))?;
    Ok(CommandStatus::Done)
}
