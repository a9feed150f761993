//! `haft mcp list`: lists the configured servers and starts none. The tools of a server are known after its first start.

use haft_contract::RequirementSet;
use serde::Serialize;
use serde_json::json;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandResult, CommandStatus};
use crate::views::table::table;
use haft_app::manifest::ServerEntry;
use haft_app::mcp_servers::grant_summary;
use haft_app::{compose, quote};

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

/// Runs the command.
pub(super) fn run(cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let bridge = compose::bridge(&settings, &cx.host)?;
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
    let servers: Vec<McpServerListEntry> = settings.mcp.entries.iter().map(listed).collect();
    let untrusted = settings.untrusted.iter().flat_map(|it| it.names.servers.iter());
    let untrusted: Vec<&String> = untrusted.collect();
    let mut answer = json!({ "servers": servers });
    if !untrusted.is_empty() {
        answer["untrusted"] = json!(untrusted);
    }
    cx.print_answer(&answer, || {
        let untrusted: String =
            untrusted.iter().map(|name| format!("{name} is not trusted yet\n")).collect();
        if servers.is_empty() && !untrusted.is_empty() {
            return untrusted;
        }
        if servers.is_empty() {
            return "no MCP servers are configured; see haft mcp add --help\n".to_owned();
        }
        let rows = servers.iter().map(|listed| {
            let tools = match (listed.enabled, listed.tools) {
                (false, _) => "off".to_owned(),
                (true, Some(tools)) => tools.to_string(),
                (true, None) => "?".to_owned(),
            };
            let words: Vec<String> = listed.command.iter().map(|it| quote::shell(it)).collect();
            let server = listed.url.clone().unwrap_or_else(|| words.join(" "));
            vec![listed.name.clone(), tools, listed.granted_words.clone(), server]
        });
        let text = table(&["NAME", "TOOLS", "GRANTED", "SERVER"], rows);
        let problems = servers.iter().filter_map(|listed| {
            Some(format!("\n{}: {}\n", listed.name, listed.problem.as_ref()?))
        });
        format!("{text}\n{}{untrusted}", problems.collect::<String>())
    })?;
    Ok(CommandStatus::Done)
}
