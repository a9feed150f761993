//! `haft agents list`: the agents with where they come from and what they hide.

use std::path::Path;

use haft_agent::{
    AgentDefinition, AgentMode, AgentRegistry, AgentSource, ShadowedAgent, find_agents,
};
use serde::Serialize;

use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::path_text::shown_with_home;
use crate::views::table::table;
use haft_app::compose::agent_paths;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;

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
pub(super) fn run(
    settings: &EffectiveSettings,
    host: &AppHost,
    is_json: bool,
) -> Result<CommandStatus, CommandError> {
    let found = find_agents(&agent_paths(settings, host));
    if !found.problems.is_empty() {
        let message = match found.problems.len() {
            1 => "something is wrong with an agent".to_owned(),
            count => format!("{count} things are wrong with agents"),
        };
        output::print_warning(&message, Some("haft agents check"));
    }
    let listed: Vec<AgentListEntry<'_>> = found.iter().map(|agent| listed(agent, &found)).collect();
    if is_json {
        output::write_json(&listed)?;
        return Ok(CommandStatus::Done);
    }
    let home = host.home().and_then(|home| home.canonicalize().ok());
    let rows = listed.iter().map(|one| {
        let place = place(one.file, home.as_deref());
        let hides = one.hides.iter().map(|hidden| match &hidden.file {
            Some(file) => self::place(Some(file), home.as_deref()),
            None => "the bundled one".to_owned(),
        });
        let hides: Vec<String> = hides.collect();
        let description = match hides.as_slice() {
            [] => one.description.to_owned(),
            hides => format!("{} (hides {})", one.description, hides.join(" and ")),
        };
        vec![one.name.to_owned(), one.mode.as_str().to_owned(), place, description]
    });
    output::write_data(&output::escape_controls(&table(
        &["AGENT", "MODE", "FILE", "DESCRIPTION"],
        rows,
    )))?;
    Ok(CommandStatus::Done)
}

fn listed<'a>(agent: &'a AgentDefinition, found: &'a AgentRegistry) -> AgentListEntry<'a> {
    AgentListEntry {
        name: &agent.name,
        description: &agent.description,
        mode: agent.mode,
        source: agent.source,
        file: agent.file.as_deref(),
        model: agent.model.as_deref(),
        hides: found.hidden.iter().filter(|hidden| hidden.name == agent.name).collect(),
    }
}

fn place(file: Option<&Path>, home: Option<&Path>) -> String {
    file.map_or_else(|| "(bundled)".to_owned(), |file| shown_with_home(file, home))
}
