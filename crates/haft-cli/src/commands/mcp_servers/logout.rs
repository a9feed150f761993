//! `haft mcp logout`: deletes haft's login to a server. The issuer is not notified.

use clap::Args;
use serde::Serialize;

use crate::arguments::setting_args::SettingArgs;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::{mcp_servers, settings};

/// Where to log out.
#[derive(Args)]
pub(crate) struct McpLogoutArgs {
    /// Name of the server
    name: String,
}

#[derive(Serialize)]
struct McpLogoutReport<'a> {
    name: &'a str,
    /// Whether there was a login.
    was_logged_in: bool,
}

/// Runs the command.
pub(super) fn run(
    args: &McpLogoutArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let name = &args.name;
    let entry = settings.mcp.entries.get(name).ok_or_else(|| super::unknown(name))?;
    let logins = host.state().mcp_logins();
    let authorization =
        mcp_servers::authorization(name, entry, &logins, host).map_err(CommandError::usage)?;
    let answer = McpLogoutReport { name, was_logged_in: authorization.is_logged_in() };
    authorization.log_out().map_err(|err| {
        CommandError::failed(format!("the login to {name} cannot be forgotten: {err}"))
    })?;
    if setting_args.json {
        output::write_json(&answer)?;
    } else {
        let text = match answer.was_logged_in {
            true => format!("forgot the login to {name}\n"),
            false => format!("there was no login to {name}\n"),
        };
        output::write_data(&output::escape_controls(&text))?;
    }
    Ok(CommandStatus::Done)
}
