//! `haft mcp list`: the servers of the settings. None is started; of one that never was, it is not known which tools it has.

use haft_contract::RequirementSet;
use haft_mcp::KnownServer;
use serde::Serialize;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::manifest::ServerEntry;
use crate::mcp_servers::granted;
use crate::settings::Settings;
use crate::state::State;
use crate::table::table;
use crate::{compose, output, quote, settings};

#[derive(Serialize)]
struct Listed {
    name: String,
    enabled: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// What it is granted, where it is started here.
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
struct Answer {
    servers: Vec<Listed>,
}

/// Runs the command.
pub(super) fn run(setting_args: &SettingArgs, state: &State) -> Result<Status, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    let known = known(&settings, state)?;
    let listed = |(name, entry): (&'_ String, &'_ ServerEntry)| {
        let known = known.iter().find(|known| known.name == *name);
        Listed {
            name: name.clone(),
            enabled: entry.is_enabled(),
            command: entry.words().cloned().collect(),
            url: entry.url.clone(),
            granted: entry.url.is_none().then(|| entry.requires.clone()),
            granted_words: match entry.url {
                Some(_) => "-".to_owned(),
                None => granted(entry),
            },
            tools: known.and_then(|known| known.tools),
            problem: known.and_then(|known| known.problem.clone()),
        }
    };
    let answer = Answer { servers: settings.mcp.entries.iter().map(listed).collect() };
    if setting_args.json {
        output::json(&answer)?;
    } else if answer.servers.is_empty() {
        output::data("no MCP servers are configured; see haft mcp add --help\n")?;
    } else {
        let rows = answer.servers.iter().map(row);
        let text = table(&["NAME", "TOOLS", "GRANTED", "SERVER"], rows);
        let problems = answer.servers.iter().filter_map(|listed| {
            Some(format!("\n{}: {}\n", listed.name, listed.problem.as_ref()?))
        });
        let problems: String = problems.collect();
        output::data(&output::visible(&format!("{text}\n{problems}")))?;
    }
    Ok(Status::Done)
}

/// Returns what is known of the servers that are used.
fn known(settings: &Settings, state: &State) -> Result<Vec<KnownServer>, CommandError> {
    let bridge = compose::bridge(settings, state)?;
    Ok(bridge.map_or_else(Vec::new, |bridge| bridge.servers().known()))
}

fn row(listed: &Listed) -> Vec<String> {
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
