//! The plan itself is kept with its run, so that the run can be resumed from the journal alone. It is the input of the run's
//! first call, to a tool of haft that does nothing. The journal stores the input of a call before the call executes, so the
//! plan is stored before any node starts, and a resume with another plan diverges. A plan that is too long for one row is cut
//! into parts, one call each. A plan that is too long altogether is refused before any part is kept.
//!
//! The plan is kept as it was written, with the order of its fields and the texts that its nodes write. For the calls of the
//! nodes, the journal redacts such texts: it keeps only their size and hash. A run cannot be resumed from a hash. A user who
//! does not want a text in the journal gives it in a file.

use haft::{Call, Run, TaskAttempt};
use haft_contract::{CallAddress, Cx, Effect, Envelope, RunId, Tool, ToolError, canonical_json};
use haft_journal::{CallOrder, CallQuery, CallRow, CallStatus, Journal, JournalError};
use serde_json::{Value, json};

use super::error::PlanRunError;
use super::node_scope::node_of;
use crate::drive_limits::{KEPT_PART_BYTES_MAX, KEPT_PLAN_BYTES_MAX};
use crate::node_id::NodeId;
use crate::plan::Plan;

/// The id of the tool that keeps plans.
pub const PLAN_TOOL: &str = "plan";
/// The node in which a run keeps its plan.
const PLAN_NODE: &str = "plan";

/// Returns the tool that keeps a plan with its run. Front ends that drive plans register it, allow it, and do not
/// offer it to models.
pub fn plan_tool() -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "part": {"type": "integer"},
            "parts": {"type": "integer"}
        },
        "required": ["text", "part", "parts"],
        "additionalProperties": false
    });
    Tool::new(PLAN_TOOL)
        .description("Keeps the plan of a run with the run. Made by haft when it drives a plan.")
        .effect(Effect::Idempotent)
        .execute_json(parameters, |input: Value, _: Cx| async move {
            Ok::<_, ToolError>(json!({"part": input.get("part"), "parts": input.get("parts")}))
        })
}

/// Keeps a plan and its input with a run, or finds that they are kept already.
pub(super) async fn record_plan(
    run: &Run,
    plan: &Plan,
    input: Option<&Value>,
) -> Result<(), PlanRunError> {
    for (iteration, row) in plan_call_inputs(plan, input)?.into_iter().enumerate() {
        let iteration = u32::try_from(iteration).unwrap_or(u32::MAX);
        let place = TaskAttempt { node: PLAN_NODE.to_owned(), iteration, attempt: 1 };
        let call = Call { task_attempt: place, ..Call::new(PLAN_TOOL, row) };
        if let Envelope::Error { error_text, .. } = run.call(call).await? {
            return Err(PlanRunError::NotRecorded { run: run.id().clone(), message: error_text });
        }
    }
    Ok(())
}

/// Returns whether a run came no further than to keep this very plan, or part of it: then nothing of it was executed, and
/// it is as good as a new one.
pub(super) async fn has_only_this_plan(
    journal: &dyn Journal,
    run: &RunId,
    plan: &Plan,
    input: Option<&Value>,
) -> Result<bool, PlanRunError> {
    let parts: Vec<String> = plan_call_inputs(plan, input)?.iter().map(canonical_json).collect();
    let query = CallQuery::of_run(run.clone());
    let is_part = |row: &CallRow| {
        let place = usize::try_from(row.scope.iteration).unwrap_or(usize::MAX);
        row.scope.node == PLAN_NODE && row.tool == PLAN_TOOL && parts.get(place) == Some(&row.input)
    };
    Ok(all_calls(journal, query).await?.iter().all(is_part))
}

/// Returns the inputs of the calls that keep a plan.
fn plan_call_inputs(plan: &Plan, input: Option<&Value>) -> Result<Vec<Value>, PlanRunError> {
    let mut whole = json!({"plan": plan});
    if let (Some(input), Value::Object(fields)) = (input, &mut whole) {
        fields.insert("input".to_owned(), input.clone());
    }
    // A text, because the order of fields can matter to tools, and the journal sorts the fields of inputs.
    let text = whole.to_string();
    if text.len() > KEPT_PLAN_BYTES_MAX {
        return Err(PlanRunError::TooLarge { bytes: text.len() });
    }
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (part, after) = rest.split_at(rest.floor_char_boundary(KEPT_PART_BYTES_MAX));
        parts.push(part);
        rest = after;
    }
    let count = parts.len();
    let numbered = parts.into_iter().enumerate();
    Ok(numbered
        .map(|(place, text)| json!({"text": text, "part": place + 1, "parts": count}))
        .collect())
}

/// Returns the nodes that use what a call answered, if it is one that a plan made.
pub async fn nodes_using_call(
    journal: &dyn Journal,
    call: &CallAddress,
) -> Result<Vec<NodeId>, PlanRunError> {
    let Some(node) = node_of(&call.scope.node).filter(|_| call.scope.iteration == 0) else {
        return Ok(Vec::new());
    };
    let kept = recorded_plan(journal, &call.scope.run).await?;
    Ok(kept.map_or_else(Vec::new, |(plan, _)| plan.nodes_using(node)))
}

/// Returns the plan that a run keeps, and its input; nothing if it keeps none.
pub async fn recorded_plan(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Option<(Plan, Option<Value>)>, PlanRunError> {
    let unreadable = |message: String| PlanRunError::Unreadable { run: run.clone(), message };
    let query = CallQuery { node: Some(PLAN_NODE.to_owned()), ..CallQuery::of_run(run.clone()) };
    let mut inputs: Vec<(u32, Value)> = Vec::new();
    for row in all_calls(journal, query).await? {
        // The input of a call that was only begun is on disk as well.
        let is_kept = match row.status {
            CallStatus::Succeeded | CallStatus::Unknown | CallStatus::Intended => true,
            CallStatus::Failed | CallStatus::Refused => false,
        };
        if !is_kept || row.tool != PLAN_TOOL {
            continue;
        }
        let input = serde_json::from_str(&row.input).map_err(|err| unreadable(err.to_string()))?;
        inputs.push((row.scope.iteration, input));
    }
    inputs.sort_by_key(|(iteration, _)| *iteration);
    // A call that was made again has a second row with the same input.
    inputs.dedup_by_key(|(iteration, _)| *iteration);
    let Some((_, first)) = inputs.first() else { return Ok(None) };
    let expected = first.get("parts").and_then(Value::as_u64).unwrap_or_default();
    let (mut text, mut found) = (String::new(), 0);
    for (_, part) in &inputs {
        let piece = part.get("text").and_then(Value::as_str);
        text.push_str(piece.ok_or_else(|| unreadable("a part of it has no text".to_owned()))?);
        found += 1;
    }
    if found != expected {
        return Err(PlanRunError::Incomplete { run: run.clone(), found, expected });
    }
    let whole: Value = serde_json::from_str(&text).map_err(|err| unreadable(err.to_string()))?;
    let plan = whole.get("plan").cloned().unwrap_or_default();
    let plan = serde_json::from_value(plan).map_err(|err| unreadable(err.to_string()))?;
    Ok(Some((plan, whole.get("input").cloned())))
}

/// Returns all calls that a query asks for, however many there are.
pub(super) async fn all_calls(
    journal: &dyn Journal,
    query: CallQuery,
) -> Result<Vec<CallRow>, JournalError> {
    let mut query = CallQuery { order: CallOrder::Change, ..query };
    let mut calls = Vec::new();
    loop {
        let more = journal.calls(query.clone()).await?;
        let Some(last) = more.last() else { return Ok(calls) };
        query.after_change = Some(last.change);
        calls.extend(more);
    }
}
