//! The configured MCP servers: how many tools each listed last, and known problems. No server is started; `haft mcp test`
//! does that.

use serde::Serialize;

use crate::error::CommandError;
use haft_app::compose;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct ServerReport {
    pub(super) name: String,
    /// How many tools it listed last, if it ever did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<usize>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

/// Looks at all servers that are used.
pub(super) fn server_reports(
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Result<Vec<ServerReport>, CommandError> {
    let Some(bridge) = compose::bridge(settings, host)? else { return Ok(Vec::new()) };
    let known = bridge.servers().statuses().into_iter();
    Ok(known
        .map(|known| ServerReport { name: known.name, tools: known.tools, problem: known.problem })
        .collect())
}
