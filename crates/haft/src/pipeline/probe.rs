//! A call that was begun before and whose end nobody saw: the tool is asked whether it happened. This comes after all
//! gates, because a probe reaches the world as the call would.

use std::sync::Arc;

use haft_contract::{Envelope, Metadata, Output, Probed, ToolError};
use haft_journal::{CallRow, Verdict};

use super::execute::{self, Timing};
use super::panic::Contained;
use super::recall;
use super::refusal::Stop;
use super::truncate;
use super::watch::Watched;
use crate::recover;
use crate::run::{RunError, RunState};

/// Returns the call if it is to be executed, or else its answer.
pub(super) async fn probe(
    mut watched: Watched,
    doubtful: Option<Box<CallRow>>,
    run: &RunState,
) -> Result<Result<Watched, Envelope>, Stop> {
    let Some(row) = doubtful else { return Ok(Ok(watched)) };
    let shared = &run.session.shared;
    let record = async |verdict, envelope| {
        recover::resolve(shared, &row, verdict, envelope).await.map_err(RunError::from)
    };
    let metadata = Metadata { call_id: Some(row.id().to_string()), ..Metadata::default() };
    let in_doubt = |watched: &Watched, row: &CallRow| {
        watched.capable().valid().entry().uncount(run);
        recall::in_doubt(row)
    };
    match probed(&watched, run).await {
        Ok(Probed::Happened(output)) => {
            let mut metadata = metadata;
            let data = truncate::apply(output, &mut metadata, &watched, run);
            let row = record(Verdict::Happened, Envelope::Output { data, metadata }).await?;
            recall::hear(&row, run).await?;
            watched.heard(row.seq);
            Ok(Err(recall::answer(&row)?))
        }
        Ok(Probed::NotHappened) => {
            let error_text = "the tool found out that this call did not happen".to_owned();
            let row =
                record(Verdict::NotHappened, Envelope::Error { error_text, metadata }).await?;
            if row.verdict != Some(Verdict::NotHappened) {
                // Somebody else found out something else meanwhile.
                return Ok(Err(in_doubt(&watched, &row)));
            }
            watched.heard(row.seq);
            Ok(Ok(watched))
        }
        Ok(Probed::Unknown) => Ok(Err(in_doubt(&watched, &row))),
        Err(err) => {
            tracing::warn!(call = %row.id(), err = %err.message, "the probe of a call in doubt failed");
            Ok(Err(in_doubt(&watched, &row)))
        }
    }
}

async fn probed(watched: &Watched, run: &RunState) -> Result<Probed<Output>, ToolError> {
    let valid = watched.capable().valid();
    let timing = Timing::of(watched, run);
    let time = Arc::clone(&timing.time);
    let cx = execute::context(watched, run, timing, None, &Arc::default());
    let probing = valid.tool().probe_unguarded(valid.call().input.clone(), cx);
    tokio::select! {
        biased;
        probed = Contained(Box::pin(probing)) => match probed {
            Ok(probed) => probed,
            Err(_panic) => Ok(Probed::Unknown),
        },
        () = time.over() => Ok(Probed::Unknown),
    }
}
