//! Calls that were stopped and may have happened all the same: those that were cancelled, and those because of whose end the plan
//! was halted. The driver of a plan leaves it open how much of such a call was done; the journal knows which of them
//! somebody has to look after before the run goes on.

use haft_contract::{Effect, ErrorCode, RefusalGrounds, RefusalSource, Remedy};
use haft_journal::{CallQuery, CallStatus, Journal};
use haft_plan::drive::{InDoubtNode, PlanRunResult};
use haft_plan::{CheckedNode, CheckedPlan, NodeId, NodeStatus, OnFail, TracedNode};

use crate::arguments::call_address;
use crate::error::CommandError;

/// Adds to what became of a plan the calls that ended before anybody knows whether they happened.
pub(super) async fn add_interrupted_calls(
    mut driven: PlanRunResult,
    journal: &dyn Journal,
    plan: &CheckedPlan,
) -> Result<PlanRunResult, CommandError> {
    let mut doubts = Vec::new();
    for (id, how) in interrupted_nodes(&driven, plan) {
        if let Some(call) = unsettled_call(&driven, id, journal).await? {
            let text = format!(
                "call {call} {how}, so it may or may not have happened. It is not repeated."
            );
            let refusal = RefusalGrounds::new(RefusalSource::Journal)
                .with_remedy(Remedy::Settle(call.clone()))
                .into_refusal(ErrorCode::InDoubt, text.clone());
            let (call, refusal) = (Some(call), Some(Box::new(refusal)));
            doubts.push(InDoubtNode { node: id, call, text, refusal });
        }
    }
    driven.doubts.extend(doubts);
    driven.doubts.sort_by_key(|doubt| doubt.node);
    Ok(driven)
}

/// Returns the nodes whose calls may have been stopped in the middle, with what became of them.
fn interrupted_nodes(driven: &PlanRunResult, plan: &CheckedPlan) -> Vec<(NodeId, &'static str)> {
    let nodes = driven.trace.nodes.iter().zip(plan.nodes());
    nodes
        .filter_map(|(traced, node)| Some((traced.id, interruption_words(traced, node)?)))
        .collect()
}

/// Returns how a call that is not safe to repeat was stopped, if it was. Where the plan was to go on whatever becomes of the
/// node, its failure stays one.
fn interruption_words(traced: &TracedNode, node: &CheckedNode) -> Option<&'static str> {
    if node.contract().effect != Effect::Once {
        return None;
    }
    match (traced.status, node.on_fail()) {
        (NodeStatus::Cancelled, _) => Some("was cancelled while it ran"),
        (NodeStatus::Failed, OnFail::Halt) => Some("was begun and did not come to its end"),
        (NodeStatus::Failed, OnFail::Continue) => None,
        (
            NodeStatus::Succeeded | NodeStatus::Skipped | NodeStatus::InDoubt | NodeStatus::Pending,
            _,
        ) => None,
    }
}

/// Returns the call that a node made, if it may have happened.
async fn unsettled_call(
    driven: &PlanRunResult,
    id: NodeId,
    journal: &dyn Journal,
) -> Result<Option<String>, CommandError> {
    let timing = driven.timings.nodes.iter().find(|timing| timing.id == id);
    let Some(call) = timing.and_then(|timing| timing.call.clone()) else { return Ok(None) };
    let rows = journal.calls(CallQuery::of_call(call_address::parse(&call)?)).await?;
    let is_open = rows.iter().any(|row| row.status == CallStatus::Unknown && row.verdict.is_none());
    Ok(is_open.then_some(call))
}
