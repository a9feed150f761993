//! Calls that were stopped and may have happened all the same: cancelled calls, and the failed call that halted the plan.
//! The driver of a plan does not know how far such a call got. The journal knows which calls a person must settle before
//! the run resumes.

use haft_contract::{Effect, ErrorCode, RefusalGrounds, RefusalSource, Remedy};
use haft_journal::{CallQuery, CallStatus, Journal};
use haft_plan::drive::{InDoubtNode, PlanRunResult};
use haft_plan::{CheckedPlan, NodeStatus, OnFail};

use crate::arguments::call_address;
use crate::error::CommandError;

/// Adds to the result of a plan the calls that may or may not have happened.
pub(super) async fn add_interrupted_calls(
    mut driven: PlanRunResult,
    journal: &dyn Journal,
    plan: &CheckedPlan,
) -> Result<PlanRunResult, CommandError> {
    let mut doubts = Vec::new();
    for (traced, node) in driven.trace.nodes.iter().zip(plan.nodes()) {
        let how = match (traced.status, node.on_fail()) {
            _ if node.contract().effect != Effect::Once => continue,
            (NodeStatus::Cancelled, _) => "was cancelled while it ran",
            (NodeStatus::Failed, OnFail::Halt) => "was begun and did not come to its end",
            // The plan continues after this failure, so the failure stays one.
            (NodeStatus::Failed, OnFail::Continue) => continue,
            (
                NodeStatus::Succeeded
                | NodeStatus::Skipped
                | NodeStatus::InDoubt
                | NodeStatus::Pending,
                _,
            ) => continue,
        };
        let id = traced.id;
        let timing = driven.timings.nodes.iter().find(|timing| timing.id == id);
        let Some(call) = timing.and_then(|timing| timing.call.clone()) else { continue };
        let rows = journal.calls(CallQuery::of_call(call_address::parse(&call)?)).await?;
        if !rows.iter().any(|row| row.status == CallStatus::Unknown && row.verdict.is_none()) {
            continue;
        }
        let text =
            format!("call {call} {how}, so it may or may not have happened. It is not repeated.");
        let refusal = RefusalGrounds::new(RefusalSource::Journal)
            .with_remedy(Remedy::Settle(call.clone()))
            .into_refusal(ErrorCode::InDoubt, text.clone());
        let (call, refusal) = (Some(call), Some(Box::new(refusal)));
        doubts.push(InDoubtNode { node: id, call, text, refusal });
    }
    driven.doubts.extend(doubts);
    driven.doubts.sort_by_key(|doubt| doubt.node);
    Ok(driven)
}
