//! `haft mcp`: the tools for an MCP client over standard input and output. What is spoken there is the business of the
//! MCP crate; this file makes what it serves and ends with it.

use std::io::IsTerminal;
use std::sync::Arc;

use haft::SystemClock;
use haft_mcp::{Server, serve_stdio};

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::placement::{Placement, PlacementArgs};
use crate::state::State;
use crate::{compose, id, output, settings, signals, skills};

/// Runs the command.
pub(crate) async fn run(
    args: &PlacementArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let settings = settings::resolve(setting_args, state)?;
    let Placement { run, place, resume } = args.placement(&settings.scope)?;
    let runtime = compose::runtime(&settings, state).await?;
    compose::recover(&runtime).await?;
    let session = compose::session(&runtime, &settings, "mcp")?;
    // A later connection may recall what was answered in this one, cut outputs included.
    session.keep_outputs();
    if runtime.registry().contract("skill").is_some() {
        skills::warn_of_problems(&session);
    }
    let shutdown = signals::stop_token()?;
    if std::io::stdin().is_terminal() {
        output::aside("waiting for an MCP client on standard input; Ctrl-D ends it");
    }
    let server = Server {
        runtime: runtime.clone(),
        session,
        run,
        place,
        resume,
        clock: Arc::new(SystemClock),
        explain: |err| CommandError::from(err).message,
        state_key: id::random_bytes()?,
        offerings: None,
    };
    let served = serve_stdio(server, shutdown).await.map_err(CommandError::failed);
    runtime.shut_down().await;
    served?;
    Ok(Status::Done)
}
