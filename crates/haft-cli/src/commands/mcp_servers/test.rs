//! `haft mcp test`: starts one server as a call would, and prints what haft makes of its tools.

use clap::Args;
use haft_contract::{EnforcedConfinement, cut};
use haft_mcp::{McpServerTest, TestedServerTool};
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::table::table;
use haft_app::compose;
use haft_app::manifest::ServerEntry;
use haft_app::mcp_servers::{grant_summary, taken_id_message, unusable};
use haft_app::settings::EffectiveSettings;

/// Longest description in the table, in characters.
const DESCRIPTION_CHARS_MAX: usize = 100;

/// The server to test.
#[derive(Args)]
pub(crate) struct McpTestArgs {
    /// Name of the server
    name: String,
}

#[derive(Serialize)]
struct McpTestReport<'a> {
    name: &'a str,
    protocol: &'a str,
    server: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    enforced: Option<EnforcedConfinement>,
    tools: Vec<TestedMcpTool>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_out: &'a [String],
}

#[derive(Serialize)]
struct TestedMcpTool {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    permission: String,
    effect: &'static str,
    description: String,
}

/// Runs the command.
pub(super) async fn run(args: &McpTestArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    match settings.mcp.entries.get(&args.name) {
        None => return Err(super::unknown(&args.name, &settings)),
        Some(entry) if !entry.is_enabled() => {
            let name = &args.name;
            let message = format!("server {name} is switched off by enabled = false in haft.toml");
            return Err(CommandError::usage(message));
        }
        Some(_) => {}
    }
    // This test needs no tools of other servers.
    let own = EffectiveSettings { mcp: Default::default(), tools: None, ..settings.clone() };
    let registry = compose::registry(&own, &cx.host).await?;
    let bridge = compose::bridge(&settings, &cx.host)?;
    let bridge = bridge.ok_or_else(|| super::unknown(&args.name, &settings))?;
    let tried =
        bridge.servers().test_server(&args.name, &|id| taken_id_message(&registry, id)).await;
    bridge.end().await;
    let entry = settings.mcp.entries.get(&args.name);
    let tried = tried.ok_or_else(|| super::unknown(&args.name, &settings))?;
    let trial = tried.map_err(|err| unusable(&args.name, entry, &err, &cx.host))?;
    let tool = |tried: &'_ TestedServerTool| TestedMcpTool {
        name: tried.name.clone(),
        id: tried.id.as_ref().ok().map(ToString::to_string),
        permission: tried.permission.clone(),
        effect: tried.effect.as_str(),
        description: tried.description.clone(),
    };
    let report = McpTestReport {
        name: &args.name,
        protocol: &trial.protocol,
        server: &trial.server,
        enforced: trial.confined.as_ref().map(|confined| confined.enforced),
        tools: trial.tools.iter().map(tool).collect(),
        left_out: &trial.left_out,
    };
    cx.print_answer(&report, || text(&args.name, &trial, entry))?;
    Ok(CommandStatus::Done)
}

fn text(name: &str, trial: &McpServerTest, entry: Option<&ServerEntry>) -> String {
    let about = if trial.server.trim().is_empty() { "a server" } else { &trial.server };
    let mut text = format!("{name} works: {about}, protocol {}\n", trial.protocol);
    if let Some(confined) = &trial.confined {
        text.push_str(&format!("confined: {}\n", levels(&confined.enforced)));
    }
    if let Some(entry) = entry {
        match &entry.url {
            Some(url) => {
                text.push_str(&format!("runs at {url}, outside of this machine's sandbox\n"))
            }
            None => text.push_str(&format!("granted: {}\n", grant_summary(entry))),
        }
    }
    let usable = trial.tools.iter().filter_map(|tried| Some((tried, tried.id.as_ref().ok()?)));
    let rows = usable.map(|(tried, id)| {
        let description = tried.description.replace('\n', " ");
        vec![
            id.to_string(),
            tried.effect.as_str().to_owned(),
            tried.permission.clone(),
            cut(&description, DESCRIPTION_CHARS_MAX),
        ]
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        text.push_str("\nit has no tools that can be used\n");
    } else {
        let table = table(&["TOOL", "EFFECT", "PERMISSION", "DESCRIPTION"], rows.into_iter());
        text.push_str(&format!("\n{table}\n"));
    }
    if !trial.left_out.is_empty() {
        let lines = trial.left_out.iter().map(|why| format!("  {why}\n"));
        text.push_str(&format!("\nleft out:\n{}", lines.collect::<String>()));
    }
    text
}

fn levels(enforced: &EnforcedConfinement) -> String {
    let value = serde_json::to_value(enforced).unwrap_or_default();
    let levels = value.as_object().into_iter().flatten();
    let level = |(layer, level): (&String, &serde_json::Value)| {
        format!("{} {}", layer.replace('_', " "), level.as_str().unwrap_or("?"))
    };
    levels.map(level).collect::<Vec<_>>().join(", ")
}
