//! `haft mcp list`: lists the configured servers and starts none. The tools of a server are known after its first start.

use haft_contract::RequirementSet;
use serde::Serialize;

use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use crate::views::table::table;
use haft_app::host::AppHost;
use haft_app::manifest::ServerEntry;
use haft_app::mcp_servers::grant_summary;
use haft_app::{compose, quote, settings};

#[derive(Serialize)]
struct McpServerListEntry {
    name: String,
    enabled: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Its grants, if it is started here.
    #[serde(skip_serializing_if = "Option::is_none")]
    granted: Option<RequirementSet>,
    #[serde(skip)]
    granted_words: String,
    /// How many tools it listed last, if it ever did.
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<usize>,
    /// Why it cannot be used, if that is known without starting it.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Serialize)]
struct McpListReport {
    servers: Vec<McpServerListEntry>,
}

/// Runs the command.
pub(super) fn run(
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let bridge = compose::bridge(&settings, host)?;
    let known = bridge.map_or_else(Vec::new, |bridge| bridge.servers().statuses());
    let listed = |(name, entry): (&'_ String, &'_ ServerEntry)| {
        let known = known.iter().find(|known| known.name == *name);
        McpServerListEntry {
            name: name.clone(),
            enabled: entry.is_enabled(),
            command: entry.words().cloned().collect(),
            url: entry.url.clone(),
            granted: entry.url.is_none().then(|| entry.requires.clone()),
            granted_words: match entry.url {
                Some(_) => "-".to_owned(),
                None => grant_summary(entry),
            },
            tools: known.and_then(|known| known.tools),
            problem: known.and_then(|known| known.problem.clone()),
        }
    };
    let answer = McpListReport { servers: settings.mcp.entries.iter().map(listed).collect() };
    if setting_args.json {
        output::write_json(&answer)?;
    } else if answer.servers.is_empty() {
        output::write_data("no MCP servers are configured; see haft mcp add --help\n")?;
    } else {
        let rows = answer.servers.iter().map(row);
        let text = table(&["NAME", "TOOLS", "GRANTED", "SERVER"], rows);
        let problems = answer.servers.iter().filter_map(|listed| {
            Some(format!("\n{}: {}\n", listed.name, listed.problem.as_ref()?))
        });
        let problems: String = problems.collect();
        output::write_data(&output::escape_controls(&format!("{text}\n{problems}")))?;
    }
    Ok(CommandStatus::Done)
}

/// Returns the cells of a server.
fn row(listed: &McpServerListEntry) -> Vec<String> {
    let tools = match (listed.enabled, listed.tools) {
        (false, _) => "off".to_owned(),
        (true, Some(tools)) => tools.to_string(),
        (true, None) => "?".to_owned(),
    };
    let words: Vec<String> =
        listed.command.iter().map(|word| quote::shell(word).to_string()).collect();
    let server = listed.url.clone().unwrap_or_else(|| words.join(" "));
    vec![listed.name.clone(), tools, listed.granted_words.clone(), server]
}
