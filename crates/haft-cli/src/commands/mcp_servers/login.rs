//! `haft mcp login`: the user logs in to a server at its issuer, so that haft may act in the user's name. haft prints the
//! address and opens nothing. The redirect comes to a port of this machine, or the user pastes its address.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::time::Duration;

use clap::Args;
use haft_mcp::{Login, RedirectListener};
use serde::Serialize;

use crate::arguments::setting_args::SettingArgs;
use crate::asking::ANSWER_BYTES_MAX;
use crate::error::{CommandError, CommandStatus};
use crate::views::output;
use haft_app::host::AppHost;
use haft_app::{id, mcp_servers, settings};

/// Time to log in to an MCP server, in milliseconds.
///
/// Limit (MCP): the login fails.
pub(crate) const LOGIN_MS_MAX: u64 = 15 * 60 * 1_000;

/// Where to log in.
#[derive(Args)]
pub(crate) struct McpLoginArgs {
    /// Name of the server
    name: String,
}

#[derive(Serialize)]
struct McpLoginReport<'a> {
    name: &'a str,
    /// The server that vouches for the user.
    issuer: &'a str,
    /// The requested scopes.
    scopes: &'a [String],
}

/// Runs the command.
pub(super) async fn run(
    args: &McpLoginArgs,
    setting_args: &SettingArgs,
    host: &AppHost,
) -> Result<CommandStatus, CommandError> {
    let settings = settings::resolve(&setting_args.overrides(), host)?;
    let name = &args.name;
    let entry = settings.mcp.entries.get(name).ok_or_else(|| super::unknown(name))?;
    let logins = host.state().mcp_logins();
    let authorization =
        mcp_servers::authorization(name, entry, &logins, host).map_err(CommandError::usage)?;
    let port = entry.oauth.redirect_port.unwrap_or(0);
    let listener = RedirectListener::open(port).await.map_err(|err| {
        CommandError::failed(format!("port {port} of this machine cannot be listened on: {err}"))
    })?;
    let login = authorization.begin_login(&listener.uri(), id::random_bytes()?).await;
    let login = login.map_err(|err| CommandError::failed(format!("mcp server {name}: {err}")))?;
    let mut text = format!("Open this address in a browser, and agree:\n\n  {}\n\n", login.url);
    if io::stdin().is_terminal() {
        let uri = listener.uri();
        text.push_str(&format!(
            "If the browser runs on another machine, it ends at an address that begins with\n{uri} and shows nothing: paste that address here.\n"
        ));
    }
    output::print_note(output::escape_controls(&text));
    let redirected = wait_for_redirect(&login, &listener).await?;
    let finished = login.finish(&redirected).await;
    finished.map_err(|err| CommandError::failed(format!("mcp server {name}: {err}")))?;
    let answer = McpLoginReport { name, issuer: login.issuer(), scopes: login.scopes() };
    if setting_args.json {
        output::write_json(&answer)?;
    } else {
        let text = format!(
            "logged in to {name} at {}\nsee whether it works: haft mcp test {name}\n",
            answer.issuer
        );
        output::write_data(&output::escape_controls(&text))?;
    }
    Ok(CommandStatus::Done)
}

/// Waits for the address that the browser ends at, wherever it comes from.
async fn wait_for_redirect(
    login: &Login,
    listener: &RedirectListener,
) -> Result<String, CommandError> {
    let time = tokio::time::sleep(Duration::from_millis(LOGIN_MS_MAX));
    tokio::select! {
        answer = listener.answer(login) => answer.map_err(CommandError::failed),
        pasted = read_pasted_address(), if io::stdin().is_terminal() => {
            pasted.ok_or_else(|| CommandError::failed("the login was not finished: the input has ended"))
        }
        () = time => Err(CommandError::failed("the login was not finished within 15 minutes")),
        _ = tokio::signal::ctrl_c() => {
            Err(CommandError::failed("the login was not finished: interrupted"))
        }
    }
}

async fn read_pasted_address() -> Option<String> {
    // The thread may wait for a line for ever; the process does not wait for it.
    let reading = tokio::task::spawn_blocking(|| {
        loop {
            let mut line = String::new();
            let read = io::stdin().lock().take(4 * ANSWER_BYTES_MAX).read_line(&mut line);
            match read {
                Ok(bytes) if bytes > 0 && line.trim().is_empty() => {}
                Ok(bytes) if bytes > 0 => return Some(line.trim().to_owned()),
                Ok(_) | Err(_) => return None,
            }
        }
    });
    reading.await.ok().flatten()
}
