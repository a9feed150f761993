//! `haft runs settle`: records a person's verdict about a call in doubt.

use clap::Args;
use haft_app::records::{self, SettleError};
use haft_journal::{Journal, SettlementVerdict};

use super::addressed::AddressedCall;
use super::find_named_call;
use crate::arguments::call_address::CallName;
use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::arguments::latest::no_journal_error;
use crate::arguments::named_values::named_values;
use crate::error::{CommandError, CommandErrorKind, CommandResult, CommandStatus};

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
    /// The call: a run and a number, such as last/3, or run/node/iteration/attempt/seq
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
    let name = CallName::parse(&args.call)?;
    let result = match (&args.result, args.verdict) {
        (None, _) => None,
        (Some(given), SettlementVerdict::Happened) => Some(input::read_json(given, "result")?),
        (Some(_), SettlementVerdict::NotHappened | SettlementVerdict::Retry) => {
            let message = "--result goes with happened: what did not happen answered nothing";
            return Err(CommandError::usage(message));
        }
    };
    let journal = journal.ok_or_else(|| no_journal_error(&name.run))?;
    let call = find_named_call(&name, journal, cx).await?;
    let row = match records::settle_call(journal, &call, args.verdict, result).await {
        Ok(row) => row,
        Err(err @ SettleError::NeedsResult { .. }) => {
            let hint = format!("haft runs settle {call} happened --result JSON");
            let message = format!("{err}: say what that was with --result, as JSON");
            return Err(CommandError::usage(message).hint(hint));
        }
        Err(err @ SettleError::StillHeld { .. }) => {
            return Err(CommandError::failed(err)
                .kind(CommandErrorKind::Held)
                .hint(format!("haft runs show {}", call.scope.run)));
        }
        Err(SettleError::Journal(err)) => return Err(err.into()),
        Err(err) => return Err(CommandError::failed(err)),
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
