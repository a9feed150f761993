//! `haft sessions rewind`: sets the end of a session aside.

use clap::Args;
use haft_journal::MessageId;
use serde_json::json;

use crate::agent_error::agent_command_error;
use crate::arguments::candidates;
use crate::arguments::cli_context::CliContext;
use crate::arguments::latest::{self, find_session};
use crate::error::{CommandError, CommandResult, CommandStatus};
use haft_app::compose;
use haft_app::settings::EffectiveSettings;

/// Set a message and all that followed aside
///
/// The agent does not read them any more. Nothing is deleted (haft sessions show --rewound), and no call is undone: haft undo
/// does that.
#[derive(Args)]
pub(super) struct SessionsRewindArgs {
    /// The session, as haft sessions list shows it, or last for the one used last in this workspace
    #[arg(add = candidates::sessions())]
    session: String,
    /// First message that is set aside, as haft sessions show shows it
    message: String,
}

pub(super) async fn run(
    args: &SessionsRewindArgs,
    settings: &EffectiveSettings,
    cx: &CliContext,
) -> CommandResult {
    let from = MessageId::parse(&args.message).map_err(|err| {
        CommandError::usage(err)
            .hint(format!("haft sessions show {}", haft_app::quote::shell(&args.session)))
    })?;
    let work = compose::agent::silent_host(settings, &cx.host).await?;
    let root = latest::workspace(settings)?;
    let id = find_session(&args.session, &root, &**work.runtime.journal()).await?;
    let rewound = match work.host.open(&id).await {
        Ok(mut chat) => chat.rewind(&from).await,
        Err(err) => Err(err),
    };
    work.close().await;
    let count = rewound.map_err(agent_command_error)?;
    let answer = json!({"session": id, "from": from, "messages": count});
    cx.print_answer(&answer, || match count {
        0 => format!("nothing of {id} is set aside that was not before"),
        1 => format!("1 message of {id} is set aside"),
        _ => format!("{count} messages of {id} are set aside"),
    })?;
    Ok(CommandStatus::Done)
}
