//! `haft mcp logout`: the login to a server forgotten here. Whoever gave it is not told.

use clap::Args;
use serde::Serialize;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::state::State;
use crate::{mcp_servers, output, settings};

/// Where to log out.
#[derive(Args)]
pub(crate) struct LogoutArgs {
    /// Name of the server
    name: String,
}

#[derive(Serialize)]
struct Answer<'a> {
    name: &'a str,
    /// Whether there was a login.
    was_logged_in: bool,
}

/// Runs the command.
pub(super) fn run(
    args: &LogoutArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    let name = &args.name;
    let entry = settings.mcp.entries.get(name).ok_or_else(|| super::unknown(name))?;
    let logins = state.mcp_logins();
    let authorization =
        mcp_servers::authorization(name, entry, &logins).map_err(CommandError::usage)?;
    let answer = Answer { name, was_logged_in: authorization.is_logged_in() };
    authorization.log_out().map_err(|err| {
        CommandError::failed(format!("the login to {name} cannot be forgotten: {err}"))
    })?;
    if setting_args.json {
        output::json(&answer)?;
    } else {
        let text = match answer.was_logged_in {
            true => format!("forgot the login to {name}\n"),
            false => format!("there was no login to {name}\n"),
        };
        output::data(&output::visible(&text))?;
    }
    Ok(Status::Done)
}
