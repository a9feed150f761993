//! Notes for a call that resumes an attempt: there is nothing to resume, or a later attempt exists. None of them is an error: a supervisor may use one command line for the first start and all later ones.

use haft::{ResumeMode, Run, RunError, TaskAttempt};
use haft_contract::AttemptAddress;
use haft_journal::{CallOrder, CallQuery, Journal, RunQuery};

use crate::views::output;

/// Prints a note about anything that the caller may not expect.
pub(super) async fn print_resume_notes(
    journal: &dyn Journal,
    run: &Run,
    place: &TaskAttempt,
    resume: ResumeMode,
) -> Result<(), RunError> {
    let TaskAttempt { node, iteration, attempt } = place;
    match resume {
        ResumeMode::Continue => {
            let of_task = |order: CallOrder| CallQuery {
                node: Some(node.clone()),
                iteration: Some(*iteration),
                limit: 1,
                order,
                ..CallQuery::of_run(run.id().clone())
            };
            let run = run.id();
            let first = journal.calls(of_task(CallOrder::Address)).await?;
            let is_first = first.first().is_none_or(|first| first.scope.attempt > *attempt);
            if *attempt > 1 && is_first {
                output::print_note(format_args!(
                    "this is attempt {attempt} of {node}/{iteration} in run {run}, and none before it was recorded"
                ));
                return Ok(());
            }
            let latest = journal.calls(of_task(CallOrder::Latest)).await?;
            if let Some(later) = latest.first().filter(|latest| latest.scope.attempt > *attempt) {
                let later = later.scope.attempt;
                output::print_note(format_args!(
                    "this goes on with attempt {attempt} of {node}/{iteration} in run {run}, although attempt {later} was \
                     begun since"
                ));
            }
        }
        ResumeMode::Replay | ResumeMode::Rejudge => {
            let run = run.id();
            let scope = AttemptAddress {
                run: run.clone(),
                node: node.clone(),
                iteration: *iteration,
                attempt: *attempt,
            };
            let calls = CallQuery { limit: 1, ..CallQuery::of_attempt(scope) };
            if journal.calls(calls).await?.is_empty() {
                let query = RunQuery { run: Some(run.clone()), ..RunQuery::default() };
                let what = if journal.runs(query).await?.is_empty() {
                    format!("run {run}")
                } else {
                    format!("attempt {attempt} of {node}/{iteration} in run {run}")
                };
                output::print_note(format_args!(
                    "nothing was recorded of {what}, so there is nothing to recall: it begins now"
                ));
            }
        }
    }
    Ok(())
}
