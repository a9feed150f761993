//! `haft sessions fork`: another session with the same beginning.

use clap::Args;
use haft_journal::MessageId;

use crate::agent_run::failure;
use crate::cli::SettingArgs;
use crate::compose;
use crate::error::{CommandError, Status};
use crate::latest::{self, named_session};
use crate::output;
use crate::settings::Settings;
use crate::state::State;

/// Begin a session that shares the beginning of another
///
/// Prints the name of the new one; haft agent --resume goes on with it. Nothing that was done is done again or undone, and the
/// other session stays as it is, also if another process has it.
#[derive(Args)]
pub(super) struct ForkArgs {
    /// The session, as haft sessions list shows it, or last for the one used last in this workspace
    session: String,
    /// Last message that is shared, as haft sessions show shows it; all of them unless given
    #[arg(long, value_name = "MESSAGE")]
    through: Option<String>,
}

pub(super) async fn run(
    args: &ForkArgs,
    setting_args: &SettingArgs,
    settings: &Settings,
    state: &State,
) -> Result<Status, CommandError> {
    let through = args.through.as_deref().map(MessageId::parse).transpose();
    let through = through.map_err(|err| {
        CommandError::usage(err)
            .hint(format!("haft sessions show {}", crate::quote::shell(&args.session)))
    })?;
    let work = compose::agent::silent_host(settings, state).await?;
    let root = latest::workspace(settings)?;
    let id = named_session(&args.session, &root, &**work.runtime.journal()).await?;
    let forked = work.host.fork(&id, through.as_ref()).await.map_err(failure);
    let row = match forked {
        Ok(mut chat) => chat.row().await.map_err(failure),
        Err(err) => Err(err),
    };
    work.close().await;
    let row = row?;
    if setting_args.json {
        output::json(&row)?
    } else {
        output::data(row.id.as_str())?
    }
    Ok(Status::Done)
}
