//! `haft asks`: the questions whether a call may execute, of all processes on the journal. Each subcommand has a file below
//! `asks/`.

mod answer;
mod list;
mod show;

use clap::{Args, Subcommand};
use haft_app::records::{self, FindAskError};
use haft_app::settings;
use haft_journal::{AskRow, AskState, Journal};

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandErrorKind, CommandResult};

/// List and answer the questions whether calls may execute
///
/// A call that a person must allow waits for an answer, whichever front end made it. The first answer counts: one through its
/// front end, or one given here. haft shows only asks of the journal that the settings of this directory name.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft asks list
  haft asks show ask_7f3c9a01be42
  haft asks allow ask_7f3c9a01be42
  haft asks allow ask_7f3c9a01be42 --always
  haft asks allow ask_7f3c9a01be42 --edit @input.json
  haft asks reject ask_7f3c9a01be42 --words 'use cargo nextest instead'")]
pub(crate) struct AsksArgs {
    #[command(subcommand)]
    command: AsksCommand,
}

#[derive(Subcommand)]
enum AsksCommand {
    List(list::AsksListArgs),
    Show(show::AsksShowArgs),
    Allow(answer::AsksAllowArgs),
    Reject(answer::AsksRejectArgs),
}

/// Runs the command.
pub(crate) async fn run(args: AsksArgs, cx: &CliContext) -> CommandResult {
    let durability = settings::resolve_durability(&cx.setting_args.overrides(), &cx.host)?;
    let place = &durability.journal;
    match args.command {
        AsksCommand::List(args) => {
            list::run(&args, place.open_to_read().await?.as_deref(), cx).await
        }
        AsksCommand::Show(args) => {
            show::run(&args, place.open_to_read().await?.as_deref(), cx).await
        }
        AsksCommand::Allow(args) if !place.is_missing() => {
            answer::allow(args, &*place.open().await?, cx).await
        }
        AsksCommand::Reject(args) if !place.is_missing() => {
            answer::reject(args, &*place.open().await?, cx).await
        }
        AsksCommand::Allow(answer::AsksAllowArgs { ask, .. })
        | AsksCommand::Reject(answer::AsksRejectArgs { ask, .. }) => {
            Err(find_error(FindAskError::Unknown(ask)))
        }
    }
}

/// Returns the ask that a command names.
async fn find(name: &str, journal: Option<&dyn Journal>) -> Result<AskRow, CommandError> {
    match journal {
        Some(journal) => records::find_ask(journal, name).await.map_err(find_error),
        None => Err(find_error(FindAskError::Unknown(name.to_owned()))),
    }
}

fn find_error(err: FindAskError) -> CommandError {
    match err {
        FindAskError::Journal(err) => err.into(),
        FindAskError::Unknown(_) | FindAskError::Ambiguous(..) => {
            CommandError::usage(err).kind(CommandErrorKind::UnknownAsk).hint("haft asks list")
        }
    }
}

/// Says how an ask stands, in words.
fn state_in_words(ask: &AskRow) -> String {
    match (&ask.answer, ask.state) {
        (Some(answer), _) => {
            let arrived = match answer.received_at_ms {
                Some(_) => "",
                None => "; the process that asked has not received it",
            };
            format!("{} by {} through {}{arrived}", answer.verdict, answer.by, answer.through)
        }
        (None, AskState::Expired) => {
            "expired: no answer came in time, so the call was denied".to_owned()
        }
        (None, AskState::Withdrawn) => {
            "withdrawn: the call was cancelled, or its process ended".to_owned()
        }
        (None, AskState::Pending | AskState::Answered) => ask.state.to_string(),
    }
}
