//! Asks the person at the terminal about the calls that a plan left in doubt, so that the plan can resume at once. Without
//! a terminal, `haft runs settle` takes the same verdicts.

use haft_journal::{CallQuery, SettlementVerdict};
use haft_plan::drive::{PlanEnding, PlanRunResult, nodes_using_call};

use crate::arguments::call_address;
use crate::asking::ask_choice;
use crate::asking::indent_untrusted;
use crate::error::CommandError;
use crate::views::output;
use haft_app::JournalLocation;
use haft_app::records::record_verdict;

/// The possible verdicts about a call, in the words of the question.
const VERDICT_OPTIONS: &[&str] = &["happened", "not happened", "repeat it", "leave it"];

/// Asks about each call that a plan left in doubt, and returns whether the person settled one of them. Asks nothing if the
/// person stopped the plan.
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
        let Some(name) = doubt.call.as_deref() else { continue };
        let call = call_address::parse(name)?;
        let rows = journal.calls(CallQuery::of_call(call.clone())).await?;
        let Some(row) = rows.into_iter().next_back() else { continue };
        let question = format!(
            "\nNode {} called {}, and haft does not know whether it happened: call {name}.\n\nInput:\n{}\n\
             What happened is not executed again, and its answer stays unknown unless you say it\n\
             with haft runs settle --result. What did not happen is executed, and so is what\n\
             you want repeated.\n\nWhat became of it?",
            doubt.node,
            row.tool,
            indent_untrusted(&[row.input])
        );
        let chosen = tokio::select! {
            chosen = ask_choice(&question, VERDICT_OPTIONS) => chosen.flatten(),
            // An interrupt ends the questions and leaves all calls as they are: the plan is over.
            _ = tokio::signal::ctrl_c() => {
                output::print_note("");
                return Ok(false);
            }
        };
        let said = match chosen {
            Some(0) => SettlementVerdict::Happened,
            Some(1) => SettlementVerdict::NotHappened,
            Some(2) => SettlementVerdict::Retry,
            _ => continue,
        };
        let users = nodes_using_call(&*journal, &call).await.map_err(CommandError::failed)?;
        if said == SettlementVerdict::Happened && !users.is_empty() {
            output::print_note(format_args!(
                "Other nodes use what it answered, so it stays in doubt until you say that:\n  \
                 haft runs settle {name} happened --result JSON"
            ));
            continue;
        }
        record_verdict(&*journal, &call, said, None).await?;
        is_settled = true;
    }
    Ok(is_settled)
}
