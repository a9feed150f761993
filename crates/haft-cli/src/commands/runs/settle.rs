//! `haft runs settle`: records a person's verdict about a call in doubt.

use clap::Args;
use haft_journal::{CallStatus, Journal, JournalError, SettlementVerdict};
use haft_plan::drive::nodes_using_call;

use super::addressed::AddressedCall;
use super::dead_holders;
use crate::arguments::call_address;
use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::arguments::latest::unknown_run_error;
use crate::arguments::named_values::named_values;
use crate::error::{CommandError, CommandErrorKind, CommandResult, CommandStatus};
use crate::settlement::record_verdict;

/// Settle a call that may or may not have happened
///
/// haft answers such a call with IN_DOUBT until you settle it. A resume (haft resume, haft call --resume replay, or
/// haft/resume over MCP) follows your verdict. The verdict is final, except for retry, which leaves the call in doubt until
/// it was repeated.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft runs settle nightly/main/0/1/3 happened
  haft runs settle nightly/main/0/1/3 happened --result '{\"order\": 17}'
  haft runs settle nightly/main/0/1/3 not-happened")]
pub(super) struct RunsSettleArgs {
    /// The call: run/node/iteration/attempt/seq, as haft runs show spells it
    call: String,
    /// The verdict
    #[arg(value_parser = named_values([
        (
            "happened",
            "It happened: a resume answers it from the record and does not execute it",
            SettlementVerdict::Happened,
        ),
        (
            "not-happened",
            "It did not happen: a resume executes it",
            SettlementVerdict::NotHappened,
        ),
        (
            "retry",
            "It may have happened, and a resume executes it all the same",
            SettlementVerdict::Retry,
        ),
    ]))]
    verdict: SettlementVerdict,
    /// The answer of the call, as JSON, @FILE to read it from a file, or - for standard input
    ///
    /// A resume answers with it as it is: haft does not check its form. If nodes of a plan use the answer of the call,
    /// happened needs it.
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
}

/// Settles a call in the journal, `None` if there is none yet.
pub(super) async fn run(
    args: RunsSettleArgs,
    journal: Option<&dyn Journal>,
    cx: &CliContext,
) -> CommandResult {
    let call = call_address::parse(&args.call)?;
    let result = match (&args.result, args.verdict) {
        (None, _) => None,
        (Some(given), SettlementVerdict::Happened) => Some(input::read_json(given, "result")?),
        (Some(_), SettlementVerdict::NotHappened | SettlementVerdict::Retry) => {
            let message = "--result goes with happened: what did not happen answered nothing";
            return Err(CommandError::usage(message));
        }
    };
    let journal = journal.ok_or_else(|| unknown_run_error(call.scope.run.as_str()))?;
    dead_holders::abandon_dead_runs(journal, |holder| holder.run == call.scope.run).await?;
    if args.verdict == SettlementVerdict::Happened && result.is_none() {
        // The verdict is final, and nodes of a plan that use the answer could never be called without it.
        let users = nodes_using_call(journal, &call).await.map_err(CommandError::failed)?;
        let nodes: Vec<String> = users.iter().map(ToString::to_string).collect();
        let users = match nodes.as_slice() {
            [] => None,
            [one] => Some(format!("node {one} of its plan uses")),
            many => Some(format!("nodes {} of its plan use", many.join(", "))),
        };
        if let Some(users) = users {
            let message = format!(
                "{users} what call {call} answered: say what that was with --result, as JSON"
            );
            let hint = format!("haft runs settle {call} happened --result JSON");
            return Err(CommandError::usage(message).hint(hint));
        }
    }
    let row = match record_verdict(journal, &call, args.verdict, result).await {
        Err(JournalError::NotInDoubt { status: CallStatus::Intended, .. }) => {
            let run = &call.scope.run;
            let holder = journal.lease_holders().await?.into_iter().find(|it| it.run == *run);
            let place = holder.map_or("another process".to_owned(), |it| it.owner.location);
            return Err(CommandError::failed(format!(
                "call {call} is not in doubt yet: {place} has its run and may still record how it ended; wait for that \
                 process, or end it"
            ))
            .kind(CommandErrorKind::Held)
            .hint(format!("haft runs show {run}")));
        }
        settled => settled?,
    };
    let meaning = match args.verdict {
        SettlementVerdict::Happened => {
            "counts as succeeded: a resume answers it from the record and does not execute it"
        }
        SettlementVerdict::NotHappened => {
            "counts as failed: a resume executes it, with the same idempotency key"
        }
        SettlementVerdict::Retry => {
            "is repeated by a resume although it may have happened, with the same idempotency key"
        }
    };
    let tool = &row.tool;
    cx.print_answer(&AddressedCall::from(&row), || format!("{call} ({tool}) {meaning}"))?;
    Ok(CommandStatus::Done)
}
