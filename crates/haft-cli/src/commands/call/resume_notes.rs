//! Notes for a call that resumes an attempt: earlier attempts made risky calls, there is nothing to resume, or a later
//! attempt exists. None of them is an error: a supervisor may use one command line for the first start and all later ones.

use haft::{ResumeMode, Run, RunError, TaskAttempt};
use haft_contract::{AttemptAddress, RunId};
use haft_journal::{CallOrder, CallQuery, Journal, JournalError, RunQuery};

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
            // Only this mode repeats calls of an earlier attempt.
            if let Some(warning) = run.retry_warning(place).await? {
                output::print_warning(&warning.to_string(), None);
            }
            if let Some(note) = note_attempts(journal, run.id(), place).await? {
                output::print_note(note);
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

/// Returns a note if the attempt is not the latest one, or if no attempt before it was recorded.
async fn note_attempts(
    journal: &dyn Journal,
    run: &RunId,
    place: &TaskAttempt,
) -> Result<Option<String>, JournalError> {
    let TaskAttempt { node, iteration, attempt } = place;
    let of_task = |order: CallOrder| CallQuery {
        node: Some(node.clone()),
        iteration: Some(*iteration),
        limit: 1,
        order,
        ..CallQuery::of_run(run.clone())
    };
    let first = journal.calls(of_task(CallOrder::Address)).await?;
    let first = first.first().map(|call| call.scope.attempt);
    if *attempt > 1 && first.is_none_or(|first| first > *attempt) {
        return Ok(Some(format!(
            "this is attempt {attempt} of {node}/{iteration} in run {run}, and none before it was recorded"
        )));
    }
    let latest = journal.calls(of_task(CallOrder::Latest)).await?;
    let later = latest.first().map(|call| call.scope.attempt).filter(|latest| latest > attempt);
    Ok(later.map(|later| {
        format!(
            "this goes on with attempt {attempt} of {node}/{iteration} in run {run}, although attempt {later} was begun \
             since"
        )
    }))
}
