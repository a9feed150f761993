//! `haft runs settle`: what became of a call in doubt, according to whoever types it.

use clap::Args;
use haft_contract::CallAddress;
use haft_journal::{CallStatus, Journal, JournalError};
use haft_plan::drive::nodes_using_call;

use super::addressed::AddressedCall;
use super::{dead_holders, unknown_run_error};
use crate::arguments::call_address;
use crate::arguments::input;
use crate::error::{self, CommandError, CommandErrorKind};
use crate::settlement::{VerdictArg, record_verdict};
use crate::views::output;

/// Say what became of a call that may or may not have happened
///
/// Such a call is answered with IN_DOUBT until somebody finds out. A resume (haft resume, haft call --resume replay,
/// or haft/resume over MCP) goes by what is said here. What was said is final, but for retry, which leaves the call in doubt until it was
/// repeated.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs settle nightly/main/0/1/3 happened
  haft runs settle nightly/main/0/1/3 happened --result '{\"order\": 17}'
  haft runs settle nightly/main/0/1/3 not-happened")]
pub(super) struct RunsSettleArgs {
    /// The call: run/node/iteration/attempt/seq, as haft runs show spells it
    call: String,
    /// What became of it
    #[arg(value_enum)]
    verdict: VerdictArg,
    /// What the call answered, as JSON, @FILE to read it from a file, or - for standard input
    ///
    /// It is answered as it is given: nobody compares it with what the tool's own answers look like. Where nodes of a plan refer
    /// to what the call answered, happened needs it.
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
}

/// Settles a call in the journal, `None` if there is none yet.
pub(super) async fn run(
    args: RunsSettleArgs,
    journal: Option<&dyn Journal>,
    json: bool,
) -> Result<error::CommandStatus, CommandError> {
    let call = call_address::parse(&args.call)?;
    let result = match (&args.result, args.verdict) {
        (None, _) => None,
        (Some(given), VerdictArg::Happened) => Some(input::read_result(given)?),
        (Some(_), VerdictArg::NotHappened | VerdictArg::Retry) => {
            let message = "--result goes with happened: what did not happen answered nothing";
            return Err(CommandError::usage(message));
        }
    };
    let journal = journal.ok_or_else(|| unknown_run_error(call.scope.run.as_str()))?;
    dead_holders::abandon_dead_runs(journal, |holder| holder.run == call.scope.run).await?;
    if args.verdict == VerdictArg::Happened && result.is_none() {
        warn_unused_result(journal, &call).await?;
    }
    let row = match record_verdict(journal, &call, args.verdict, result).await {
        Err(JournalError::NotInDoubt { status: CallStatus::Intended, .. }) => {
            return Err(still_running_error(journal, &call).await?);
        }
        settled => settled?,
    };
    if json {
        output::write_json(&AddressedCall::from(&row))?;
    } else {
        let meaning = verdict_words(args.verdict);
        output::write_data(&format!("{call} ({}) {meaning}", output::escape_controls(&row.tool)))?;
    }
    Ok(error::CommandStatus::Done)
}

/// Nodes of a plan that refer to what the call answered could not be called, and what was said is final.
async fn warn_unused_result(journal: &dyn Journal, call: &CallAddress) -> Result<(), CommandError> {
    let users = nodes_using_call(journal, call).await.map_err(CommandError::failed)?;
    let nodes: Vec<String> = users.iter().map(ToString::to_string).collect();
    let who = match nodes.as_slice() {
        [] => return Ok(()),
        [one] => format!("node {one} of its plan uses"),
        many => format!("nodes {} of its plan use", many.join(", ")),
    };
    let message =
        format!("{who} what call {call} answered: say what that was with --result, as JSON");
    Err(CommandError::usage(message)
        .hint(format!("haft runs settle {call} happened --result JSON")))
}

/// Says that a call is still being executed, and by whom.
async fn still_running_error(
    journal: &dyn Journal,
    call: &CallAddress,
) -> Result<CommandError, CommandError> {
    let holders = journal.lease_holders().await?;
    let holder = holders.into_iter().find(|holder| holder.run == call.scope.run);
    let place = holder.map_or("another process".to_owned(), |holder| holder.owner.location);
    let run = &call.scope.run;
    Ok(CommandError::failed(format!(
        "call {call} is not in doubt yet: {place} has its run and may still record how it ended; wait for that process, \
         or end it"
    ))
    .kind(CommandErrorKind::Held)
    .hint(format!("haft runs show {run}")))
}

fn verdict_words(said: VerdictArg) -> &'static str {
    match said {
        VerdictArg::Happened => {
            "counts as succeeded: a resume answers it from the record and does not execute it"
        }
        VerdictArg::NotHappened => {
            "counts as failed: a resume executes it, with the same idempotency key"
        }
        VerdictArg::Retry => {
            "is repeated by a resume although it may have happened, with the same idempotency key"
        }
    }
}
