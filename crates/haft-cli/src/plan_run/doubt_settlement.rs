//! Asking the person at the terminal what became of the calls that a plan is in doubt about, so that it can go on at
//! once. Where nobody is, haft runs settle is told the same.

use std::ops::ControlFlow;

use haft_journal::{CallQuery, Journal};
use haft_plan::drive::{InDoubtNode, PlanEnding, PlanRunResult, nodes_using_call};

use crate::arguments::call_address;
use crate::asking::ask_choice;
use crate::asking::indent_untrusted;
use crate::error::CommandError;
use crate::settlement::{VerdictArg, record_verdict};
use crate::views::output;
use haft_app::journal_location::JournalLocation;

/// What may have become of a call, in the words of the question.
const VERDICT_OPTIONS: &[&str] = &["happened", "not happened", "repeat it", "leave it"];

/// Asks about each call that a plan left in doubt, whatever else became of it, and returns whether something was said about
/// one of them. Whoever stopped the plan wants no questions.
pub(crate) async fn settle_doubts(
    driven: &PlanRunResult,
    place: &JournalLocation,
) -> Result<bool, CommandError> {
    let is_over = match driven.trace.ending {
        PlanEnding::Finished
        | PlanEnding::Halted { .. }
        | PlanEnding::InDoubt
        | PlanEnding::Deadlock { .. } => true,
        PlanEnding::Stopped | PlanEnding::Aborted => false,
    };
    if !is_over || driven.doubts.is_empty() {
        return Ok(false);
    }
    let journal = place.open().await?;
    let mut is_settled = false;
    for doubt in &driven.doubts {
        match settle_doubt(doubt, &*journal).await? {
            ControlFlow::Continue(settled) => is_settled |= settled,
            ControlFlow::Break(()) => return Ok(false),
        }
    }
    Ok(is_settled)
}

/// Returns whether something was said about a call, or that nothing more is to be asked.
async fn settle_doubt(
    doubt: &InDoubtNode,
    journal: &dyn Journal,
) -> Result<ControlFlow<(), bool>, CommandError> {
    let Some(name) = doubt.call.as_deref() else { return Ok(ControlFlow::Continue(false)) };
    let call = call_address::parse(name)?;
    let rows = journal.calls(CallQuery::of_call(call.clone())).await?;
    let Some(row) = rows.into_iter().next_back() else { return Ok(ControlFlow::Continue(false)) };
    let question = format!(
        "\nNode {} called {}, and nobody knows whether it happened: call {name}.\n\nInput:\n{}\n\
         What happened is not executed again, and its answer stays unknown unless you say it\n\
         with haft runs settle --result. What did not happen is executed, and so is what\n\
         you want repeated.\n\nWhat became of it?",
        doubt.node,
        row.tool,
        indent_untrusted(&[row.input])
    );
    let chosen = tokio::select! {
        chosen = ask_choice(&question, VERDICT_OPTIONS) => chosen.flatten(),
        // Whoever interrupts the question leaves all as it is; signals are not about the plan any more.
        _ = tokio::signal::ctrl_c() => {
            output::print_note("");
            return Ok(ControlFlow::Break(()));
        }
    };
    let said = match chosen {
        Some(0) => VerdictArg::Happened,
        Some(1) => VerdictArg::NotHappened,
        Some(2) => VerdictArg::Retry,
        _ => return Ok(ControlFlow::Continue(false)),
    };
    let users = nodes_using_call(journal, &call).await.map_err(CommandError::failed)?;
    if said == VerdictArg::Happened && !users.is_empty() {
        output::print_note(format_args!(
            "Other nodes use what it answered, so it stays in doubt until you say that:\n  \
             haft runs settle {name} happened --result JSON"
        ));
        return Ok(ControlFlow::Continue(false));
    }
    record_verdict(journal, &call, said, None).await?;
    Ok(ControlFlow::Continue(true))
}
