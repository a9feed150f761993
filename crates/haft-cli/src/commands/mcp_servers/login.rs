//! `haft mcp login`: the user logs in to a server at its issuer, so that haft may act in the user's name. haft prints the
//! address and opens nothing. The redirect comes to a port of this machine, or the user pastes its address.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::time::Duration;

use clap::Args;
use haft_mcp::RedirectListener;
use serde_json::json;

use crate::arguments::cli_context::CliContext;
use crate::asking::ANSWER_BYTES_MAX;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;
use haft_app::{id, mcp_servers};

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

/// Runs the command.
pub(super) async fn run(args: &McpLoginArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let name = &args.name;
    let entry = settings.mcp.entries.get(name).ok_or_else(|| super::unknown(name, &settings))?;
    let logins = cx.host.state().mcp_logins();
    let authorization =
        mcp_servers::authorization(name, entry, &logins, &cx.host).map_err(CommandError::usage)?;
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
    output::print_note(haft_contract::escape_controls(&text));
    // The thread may wait for a line for ever; the process does not wait for it.
    let pasted = async {
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
    };
    let unfinished = |why: &str| CommandError::failed(format!("the login was not finished{why}"));
    // The redirect comes to the port, or the user pastes its address.
    let redirected = tokio::select! {
        answer = listener.answer(&login) => answer.map_err(CommandError::failed),
        pasted = pasted, if io::stdin().is_terminal() => {
            pasted.ok_or_else(|| unfinished(": the input has ended"))
        }
        () = tokio::time::sleep(Duration::from_millis(LOGIN_MS_MAX)) => {
            Err(unfinished(" within 15 minutes"))
        }
        _ = tokio::signal::ctrl_c() => Err(unfinished(": interrupted")),
    }?;
    let finished = login.finish(&redirected).await;
    finished.map_err(|err| CommandError::failed(format!("mcp server {name}: {err}")))?;
    let issuer = login.issuer();
    let answer = json!({"name": name, "issuer": issuer, "scopes": login.scopes()});
    cx.print_answer(&answer, || {
        format!("logged in to {name} at {issuer}\nsee whether it works: haft mcp test {name}\n")
    })?;
    Ok(CommandStatus::Done)
}
