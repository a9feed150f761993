//! `haft mcp logout`: deletes haft's login to a server. The issuer is not notified.

use clap::Args;
use serde_json::json;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use haft_app::mcp_servers;

/// Where to log out.
#[derive(Args)]
pub(crate) struct McpLogoutArgs {
    /// Name of the server
    name: String,
}

/// Runs the command.
pub(super) fn run(args: &McpLogoutArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let name = &args.name;
    let entry = settings.mcp.entries.get(name).ok_or_else(|| super::unknown(name, &settings))?;
    let logins = cx.host.state().mcp_logins();
    let authorization =
        mcp_servers::authorization(name, entry, &logins, &cx.host).map_err(CommandError::usage)?;
    let was_logged_in = authorization.is_logged_in();
    authorization.log_out().map_err(|err| {
        CommandError::failed(format!("the login to {name} cannot be forgotten: {err}"))
    })?;
    let answer = json!({"name": name, "was_logged_in": was_logged_in});
    cx.print_answer(&answer, || match was_logged_in {
        true => format!("forgot the login to {name}\n"),
        false => format!("there was no login to {name}\n"),
    })?;
    Ok(CommandStatus::Done)
}
