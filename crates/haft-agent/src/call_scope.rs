//! The attempt that the calls of a session are made in. It is the session's own run, or, for the session of a plan's agent node,
//! the attempt of that node in the run of the plan. This module reads and records nothing.

use haft::TaskAttempt;
use haft_contract::{AttemptAddress, RunId};
use haft_journal::{SessionId, SessionRow};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The metadata in the row of a session that does the work of an agent node.
#[derive(Serialize, Deserialize)]
struct PlanNodeNote {
    plan_node: AttemptAddress,
}

/// Returns the attempt of an agent node whose work a session does, if it does such work.
pub fn plan_node_of(row: &SessionRow) -> Option<AttemptAddress> {
    let PlanNodeNote { plan_node } = serde_json::from_str(&row.metadata_json).ok()?;
    // A model chooses the metadata of a task, but never the parent.
    (row.parent_id.as_ref() == Some(&SessionId::standing_for(&plan_node.run))).then_some(plan_node)
}

/// The metadata in the row of a session that does the task of a call of a client.
#[derive(Serialize, Deserialize)]
struct RunTaskNote {
    /// The run of the call.
    task_of: RunId,
    /// Notes of the client.
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// Returns the run for whose call a session works, if that run is no session itself.
pub fn caller_run_of(row: &SessionRow) -> Option<RunId> {
    let of_task = || serde_json::from_str::<RunTaskNote>(&row.metadata_json).ok();
    let run = plan_node_of(row).map(|node| node.run).or_else(|| of_task().map(|it| it.task_of))?;
    (row.parent_id.as_ref() == Some(&SessionId::standing_for(&run))).then_some(run)
}

/// Returns the metadata of a session that does the task of a call of a client.
pub(crate) fn run_task_metadata(run: &RunId, metadata: Map<String, Value>) -> String {
    serde_json::to_string(&RunTaskNote { task_of: run.clone(), metadata })
        .expect("metadata has text keys")
}

/// Returns the metadata of a session that does the work of an agent node.
pub(crate) fn plan_node_metadata(plan_node: &AttemptAddress) -> String {
    serde_json::to_string(&PlanNodeNote { plan_node: plan_node.clone() })
        .expect("an address has text keys")
}

/// Returns the attempt that the calls of a session are made in.
pub(crate) fn call_scope(row: &SessionRow) -> AttemptAddress {
    plan_node_of(row).unwrap_or_else(|| AttemptAddress::first_of_run(row.id.run()))
}

/// Returns an attempt as calls name it inside their run.
pub(crate) fn task_attempt(scope: &AttemptAddress) -> TaskAttempt {
    let AttemptAddress { run: _, node, iteration, attempt } = scope;
    TaskAttempt { node: node.clone(), iteration: *iteration, attempt: *attempt }
}
