//! `haft sessions fork`: begins a session that shares the beginning of another.

use clap::Args;
use haft_journal::MessageId;

use crate::agent_error::agent_command_error;
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::latest::{self, find_session};
use crate::error::{CommandError, CommandResult, CommandStatus};
use haft_app::compose;
use haft_app::settings::EffectiveSettings;

/// Begin a session that shares the beginning of another
///
/// Prints the name of the new session, which haft agent --resume continues. No call is made again or undone. The other
/// session stays as it is, even if another process holds it.
#[derive(Args)]
pub(super) struct SessionsForkArgs {
    /// The session, as haft sessions list shows it, or last for the one used last in this workspace
    #[arg(add = candidates::sessions())]
    session: String,
    /// Last message that is shared, as haft sessions show shows it; all of them unless given
    #[arg(long, value_name = "MESSAGE")]
    through: Option<String>,
}

pub(super) async fn run(
    args: &SessionsForkArgs,
    settings: &EffectiveSettings,
    cx: &CliContext,
) -> CommandResult {
    let through = args.through.as_deref().map(MessageId::parse).transpose();
    let through = through.map_err(|err| {
        CommandError::usage(err)
            .hint(format!("haft sessions show {}", haft_app::quote::shell(&args.session)))
    })?;
    let work = compose::agent::silent_host(settings, &cx.host).await?;
    let root = latest::workspace(settings)?;
    let id = find_session(&args.session, &root, &**work.runtime.journal()).await?;
    let forked = work.host.fork(&id, through.as_ref()).await.map_err(agent_command_error);
    let row = match forked {
        Ok(mut chat) => chat.row().await.map_err(agent_command_error),
        Err(err) => Err(err),
    };
    work.close().await;
    let row = row?;
    cx.print_answer(&row, || row.id.to_string())?;
    Ok(CommandStatus::Done)
}
