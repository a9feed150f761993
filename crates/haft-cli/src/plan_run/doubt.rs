//! Calls that were cancelled and may have happened all the same. The driver of a plan leaves it open how much of a
//! cancelled call was done; the journal knows which of them somebody has to look after before the run goes on.

use haft_contract::Effect;
use haft_journal::{CallQuery, Journal, Status};
use haft_plan::drive::{Doubt, Driven};
use haft_plan::{CheckedPlan, NodeId, NodeStatus};

use crate::call_name;
use crate::error::CommandError;

/// Adds to what became of a plan the cancelled calls of which nobody knows whether they happened.
pub(super) async fn of_cancelled(
    mut driven: Driven,
    journal: &dyn Journal,
    plan: &CheckedPlan,
) -> Result<Driven, CommandError> {
    let mut doubts = Vec::new();
    for id in cancelled(&driven, plan) {
        doubts.extend(open_call(&driven, id, journal).await?);
    }
    driven.doubts.extend(doubts);
    driven.doubts.sort_by_key(|doubt| doubt.node);
    Ok(driven)
}

/// Returns the nodes that were cancelled and call a tool that is not safe to repeat.
fn cancelled(driven: &Driven, plan: &CheckedPlan) -> Vec<NodeId> {
    let nodes = driven.trace.nodes.iter().zip(plan.nodes());
    let cancelled = nodes.filter(|(traced, node)| {
        traced.status == NodeStatus::Cancelled && node.contract().effect == Effect::Once
    });
    cancelled.map(|(traced, _)| traced.id).collect()
}

/// Returns the call that a node made, if it may have happened.
async fn open_call(
    driven: &Driven,
    id: NodeId,
    journal: &dyn Journal,
) -> Result<Option<Doubt>, CommandError> {
    let timing = driven.timings.nodes.iter().find(|timing| timing.id == id);
    let Some(call) = timing.and_then(|timing| timing.call.as_deref()) else { return Ok(None) };
    let rows = journal.calls(CallQuery::of_call(call_name::parse(call)?)).await?;
    let is_open = rows.iter().any(|row| row.status == Status::Unknown && row.verdict.is_none());
    Ok(is_open.then(|| Doubt {
        node: id,
        call: Some(call.to_owned()),
        text: format!(
            "call {call} was cancelled while it ran, so it may or may not have happened. It is not repeated. Find out \
             which, then say so with: haft runs settle {call} happened|not-happened|retry"
        ),
    }))
}
