//! The results of a plan whose run has ended and whose contents were removed. Nothing can be called without them, and nothing
//! is left to call, so the results are read from the rows of the run.

use std::collections::BTreeMap;

use haft_contract::{Envelope, ErrorCode, RunId, ToolId};
use haft_journal::{CallQuery, CallRow, CallStatus, Journal};

use super::PlanRunResult;
use super::error::PlanRunError;
use super::node_scope::node_of;
use super::recorded_plan::{PlanContents, all_calls, read_plan};
use crate::node_id::NodeId;
use crate::node_tools::AGENT_NODE_TOOL;
use crate::plan::PlanWork;
use crate::schedule::PlanEnding;
use crate::trace::{NodeError, NodeStatus, NodeTiming, PlanTimings, PlanTrace, TracedNode};

/// Returns the results of a plan if its contents are gone because every node has succeeded. Returns `None` if the run keeps no
/// plan, or one that can be driven.
pub async fn finished_plan(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Option<PlanRunResult>, PlanRunError> {
    let Some((plan, _, PlanContents::Absent)) = read_plan(journal, run).await? else {
        return Ok(None);
    };
    let missing = || PlanRunError::ContentsMissing { run: run.clone() };
    let mut rows: BTreeMap<NodeId, Vec<CallRow>> = BTreeMap::new();
    for row in all_calls(journal, CallQuery::of_run(run.clone())).await? {
        if let Some(node) = node_of(&row.scope.node) {
            rows.entry(node).or_default().push(row);
        }
    }
    let (mut nodes, mut timings) = (Vec::new(), Vec::new());
    for node in &plan.nodes {
        let mut of_node = rows.remove(&node.id).unwrap_or_default();
        if let PlanWork::Agent(_) = node.work {
            // The calls of the agent are in the node, too.
            of_node.retain(|row| row.tool == AGENT_NODE_TOOL);
        }
        // The last iteration made the output.
        let iteration = of_node.iter().map(|row| row.scope.iteration).max().unwrap_or_default();
        of_node.retain(|row| row.scope.iteration == iteration);
        of_node.sort_by_key(|row| (row.scope.attempt, row.seq));
        let (mut traced, timing) = succeeded_node(node.id, of_node).ok_or_else(missing)?;
        traced.iterations = iteration.saturating_add(1);
        nodes.push(traced);
        timings.push(timing);
    }
    Ok(Some(PlanRunResult {
        run: run.clone(),
        trace: PlanTrace {
            ending: PlanEnding::Finished,
            final_output_node: plan.final_output_node,
            nodes,
        },
        doubts: Vec::new(),
        timings: PlanTimings { duration_ms: 0, nodes: timings },
    }))
}

/// Returns the results of a node from the rows of its attempts, if it has succeeded.
fn succeeded_node(id: NodeId, rows: Vec<CallRow>) -> Option<(TracedNode, NodeTiming)> {
    let tool = ToolId::parse(&rows.last()?.tool).ok()?;
    let mut traced = TracedNode::new(id, tool);
    let mut timing = None;
    for row in rows {
        let inputs = serde_json::from_str(&row.input).ok();
        match (row.status, row.parsed_envelope().ok().flatten()?) {
            (CallStatus::Succeeded, Envelope::Output { data, metadata }) => {
                traced.status = NodeStatus::Succeeded;
                traced.attempts += 1;
                (traced.inputs, traced.output) = (inputs, Some(data));
                traced.truncated = metadata.truncated;
                timing = Some(NodeTiming {
                    id,
                    call: Some(row.id().to_string()),
                    duration_ms: metadata.duration_ms,
                    replayed: true,
                });
            }
            (CallStatus::Failed, Envelope::Error { error_text, metadata })
                if metadata.code != Some(ErrorCode::ProcessAborted) =>
            {
                traced.attempts += 1;
                let code = metadata.code.unwrap_or(ErrorCode::ToolFailed);
                let refusal = metadata.refusal;
                traced.retried.push(NodeError { code, text: error_text, refusal });
            }
            _ => {}
        }
    }
    Some((traced, timing?))
}
