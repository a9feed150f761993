//! `haft asks`: the questions to a person, of all processes on the journal: whether a call may execute, and questions of tools and
//! plans. Each subcommand has a file below `asks/`.

mod answer;
mod list;
mod show;

use clap::{Args, Subcommand};
use haft::{AskKind, ShownAsk};
use haft_app::records::{self, FindAskError};
use haft_app::settings;
use haft_journal::{AskRow, AskState, AskVerdict, Journal};

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandErrorKind, CommandResult};

/// List and answer the questions to a person: whether calls may execute, and those of tools and plans
///
/// A call that a person must allow waits for an answer, whichever front end made it. So does a question of an agent (the tool
/// question), and a node of a plan that asks a person. The first answer counts: one through its front end, or one given here.
/// haft shows only asks of the journal that the settings of this directory name.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft asks list
  haft asks show ask_7f3c9a01be42
  haft asks allow ask_7f3c9a01be42
  haft asks allow ask_7f3c9a01be42 --always
  haft asks allow ask_7f3c9a01be42 --edit @input.json
  haft asks reject ask_7f3c9a01be42 --words 'use cargo nextest instead'
  haft asks answer ask_51d0c83e9f27 yes")]
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
    Answer(answer::AsksAnswerArgs),
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
        AsksCommand::Answer(args) if !place.is_missing() => {
            answer::answer_questions(args, &*place.open().await?, cx).await
        }
        AsksCommand::Allow(answer::AsksAllowArgs { ask, .. })
        | AsksCommand::Answer(answer::AsksAnswerArgs { ask, .. })
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
            let verdict = verdict_in_words(ask, answer.verdict);
            format!("{verdict} by {} through {}{arrived}", answer.by, answer.through)
        }
        (None, AskState::Expired) => {
            let end = if is_question(ask) { "" } else { ", so the call was denied" };
            format!("expired: no answer came in time{end}")
        }
        (None, AskState::Withdrawn) => {
            "withdrawn: the call was cancelled, or its process ended".to_owned()
        }
        (None, AskState::Pending | AskState::Answered) => ask.state.to_string(),
    }
}

/// Returns whether an ask is a question of a tool or of a plan, whose answer allows nothing.
fn is_question(ask: &AskRow) -> bool {
    ShownAsk::parse(&ask.summary).is_some_and(|shown| shown.kind == AskKind::Question)
}

/// Returns the meaning of an answer for its ask.
fn verdict_in_words(ask: &AskRow, verdict: AskVerdict) -> &'static str {
    match verdict {
        AskVerdict::Once if is_question(ask) => "answered",
        verdict => verdict.as_str(),
    }
}
