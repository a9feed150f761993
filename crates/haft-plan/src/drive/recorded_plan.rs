//! The plan itself is kept with its run, so that the run can be resumed from the journal alone. It is the input of the run's
//! first call, to a tool of haft that does nothing. The journal stores the input of a call before the call executes, so the
//! plan is stored before any node starts, and a resume with another plan diverges. A plan that is too long for one row is cut
//! into parts, one call each. A plan that is too long altogether is refused before any part is kept.
//!
//! The plan is kept as it was written, with the order of its fields. The rows of the journal have no contents: in place of the
//! texts that nodes write, and of the input of the plan, they hold size and SHA-256. A run cannot be resumed from a hash, so
//! the whole text lies in the content store until the run has ended. A plan without contents and input is kept in the rows
//! alone. So are the plans of older versions, which are read and resumed as they are.

use haft::{Call, Run, TaskAttempt};
use haft_contract::{
    CallAddress, ContentDigest, Cx, Effect, Envelope, RunId, Tool, ToolError, canonical_json,
};
use haft_journal::{CallOrder, CallQuery, CallRow, CallStatus, Journal, JournalError};
use serde_json::{Value, json};

use super::error::PlanRunError;
use super::node_scope::node_of;
use crate::checked::CheckedPlan;
use crate::drive_limits::{KEPT_PART_BYTES_MAX, KEPT_PLAN_BYTES_MAX};
use crate::node_id::NodeId;
use crate::node_tools::AGENT_NODE_TOOL;
use crate::plan::{Plan, PlanWork};
use crate::reference::{InputTemplate, ReferenceSource};

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
            "parts": {"type": "integer"},
            "contents": {"type": "object"}
        },
        "required": ["text", "part", "parts"],
        "additionalProperties": false
    });
    Tool::new(PLAN_TOOL)
        .description("Keeps the plan of a run with the run. Made by haft when it drives a plan.")
        .effect(Effect::Idempotent)
        .internal()
        .execute_json(parameters, |input: Value, _: Cx| async move {
            Ok::<_, ToolError>(json!({"part": input.get("part"), "parts": input.get("parts")}))
        })
}

/// A plan and its input as a run keeps them.
struct KeptPlan {
    /// The inputs of the calls that keep the part for the rows.
    inputs: Vec<Value>,
    /// The whole text, if the rows do not have all of it.
    content: Option<String>,
}

impl KeptPlan {
    fn of(plan: &CheckedPlan, input: Option<&Value>) -> Result<Self, PlanRunError> {
        let whole = plan_text(plan.plan(), input);
        let shown = shown_plan(plan);
        if input.is_none() && shown == *plan.plan() {
            return Self::in_rows(plan, input);
        }
        if whole.len() > KEPT_PLAN_BYTES_MAX {
            return Err(PlanRunError::TooLarge { bytes: whole.len() });
        }
        let input = input.map(|input| ContentDigest::of_value(input).to_value());
        let mut inputs = part_inputs(&plan_text(&shown, input.as_ref()))?;
        let digest = ContentDigest::of(&whole).to_value();
        for fields in inputs.iter_mut().filter_map(Value::as_object_mut) {
            fields.insert(CONTENTS.to_owned(), digest.clone());
        }
        Ok(Self { inputs, content: Some(whole) })
    }

    /// Returns the plan as older versions kept it, and as one without contents is kept.
    fn in_rows(plan: &CheckedPlan, input: Option<&Value>) -> Result<Self, PlanRunError> {
        Ok(Self { inputs: part_inputs(&plan_text(plan.plan(), input))?, content: None })
    }
}

/// The field of a call that keeps a plan, with the digest of the text that lies apart.
const CONTENTS: &str = "contents";

/// Returns the text of a plan with its input. A text, because the order of fields can matter to tools, and the journal sorts the
/// fields of inputs.
fn plan_text(plan: &Plan, input: Option<&Value>) -> String {
    let mut whole = json!({"plan": plan});
    if let (Some(input), Value::Object(fields)) = (input, &mut whole) {
        fields.insert("input".to_owned(), input.clone());
    }
    whole.to_string()
}

/// Returns the plan without contents. References stay, so that the plan still shows which nodes depend on each other.
fn shown_plan(plan: &CheckedPlan) -> Plan {
    let mut shown = plan.plan().clone();
    for (node, checked) in shown.nodes.iter_mut().zip(plan.nodes()) {
        let contract = checked.contract();
        let PlanWork::Call { inputs: Value::Object(inputs), .. } = &mut node.work else { continue };
        if contract.redacted.is_empty() {
            continue;
        }
        // An unknown name can be an alias of a redacted parameter.
        let properties = contract.parameters.get("properties");
        let is_plain = |name: &String| {
            !contract.redacted.contains(name) && properties.and_then(|all| all.get(name)).is_some()
        };
        for (_, value) in inputs.iter_mut().filter(|(name, _)| !is_plain(name)) {
            let ContentDigest { bytes, sha256 } = ContentDigest::of_value(value);
            let (template, _) = InputTemplate::read(value, "inputs");
            let mut text = format!("[{bytes} bytes, SHA-256 {sha256}]");
            template.each_reference("inputs", &mut |_, reference| {
                if let ReferenceSource::Step(id) = reference.source {
                    text.push_str(&format!(" {{{{STEPS.{id}}}}}"));
                }
            });
            *value = text.into();
        }
    }
    shown
}

/// Keeps a plan and its input with a run, or finds that they are kept already. Returns whether contents lie apart.
pub(super) async fn record_plan(
    (run, journal): (&Run, &dyn Journal),
    plan: &CheckedPlan,
    input: Option<&Value>,
) -> Result<bool, PlanRunError> {
    let mut kept = KeptPlan::of(plan, input)?;
    if kept.content.is_some() {
        let recorded = kept_parts(journal, run.id()).await?;
        if recorded.first().is_some_and(|(_, first)| first.get(CONTENTS).is_none()) {
            kept = KeptPlan::in_rows(plan, input)?;
        }
    }
    let lies_apart = kept.content.is_some();
    // On disk before the row that names it.
    if let Some(content) = kept.content {
        run.keep_content(content).await?;
    }
    for (iteration, row) in kept.inputs.into_iter().enumerate() {
        let iteration = u32::try_from(iteration).unwrap_or(u32::MAX);
        let place = TaskAttempt { node: PLAN_NODE.to_owned(), iteration, attempt: 1 };
        let call = Call { task_attempt: place, ..Call::new(PLAN_TOOL, row) };
        if let Envelope::Error { error_text, .. } = run.call(call).await? {
            return Err(PlanRunError::NotRecorded { run: run.id().clone(), message: error_text });
        }
    }
    Ok(lies_apart)
}

/// Returns whether a run came no further than to keep this very plan, or part of it: then nothing of it was executed, and
/// it is as good as a new one.
pub(super) async fn has_only_this_plan(
    journal: &dyn Journal,
    run: &RunId,
    plan: &CheckedPlan,
    input: Option<&Value>,
) -> Result<bool, PlanRunError> {
    let rows = all_calls(journal, CallQuery::of_run(run.clone())).await?;
    let are_parts_of = |kept: KeptPlan| {
        let parts: Vec<String> = kept.inputs.iter().map(canonical_json).collect();
        rows.iter().all(|row| {
            let place = usize::try_from(row.scope.iteration).unwrap_or(usize::MAX);
            row.scope.node == PLAN_NODE
                && row.tool == PLAN_TOOL
                && parts.get(place) == Some(&row.input)
        })
    };
    Ok(are_parts_of(KeptPlan::of(plan, input)?) || are_parts_of(KeptPlan::in_rows(plan, input)?))
}

/// Returns the inputs of the calls that keep a text.
fn part_inputs(text: &str) -> Result<Vec<Value>, PlanRunError> {
    if text.len() > KEPT_PLAN_BYTES_MAX {
        return Err(PlanRunError::TooLarge { bytes: text.len() });
    }
    let mut parts = Vec::new();
    let mut rest = text;
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

/// Returns the nodes that use what a call answered, if it is one that a plan made. A call that an agent made in its node is none.
pub async fn nodes_using_call(
    journal: &dyn Journal,
    call: &CallAddress,
) -> Result<Vec<NodeId>, PlanRunError> {
    let Some(node) = node_of(&call.scope.node) else {
        return Ok(Vec::new());
    };
    let Some((plan, _)) = recorded_plan(journal, &call.scope.run).await? else {
        return Ok(Vec::new());
    };
    let work = plan.nodes.get(node.index()).map(|node| &node.work);
    if matches!(work, Some(PlanWork::Agent(_))) {
        let rows = journal.calls(CallQuery::of_call(call.clone())).await?;
        if rows.iter().all(|row| row.tool != AGENT_NODE_TOOL) {
            return Ok(Vec::new());
        }
    }
    Ok(plan.nodes_using(node))
}

/// Returns the plan that a run keeps, and its input; nothing if it keeps none. Of a run that has ended, the plan has sizes and
/// hashes in place of contents, and so has the input.
pub async fn recorded_plan(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Option<(Plan, Option<Value>)>, PlanRunError> {
    Ok(read_plan(journal, run).await?.map(|(plan, input, _)| (plan, input)))
}

/// Says whether a plan that was read back is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlanContents {
    /// It is.
    Whole,
    /// Its contents are not in the content store, because the run has ended or because they were lost.
    Absent,
}

/// Returns the plan that a run keeps, with its input, and whether they are whole.
pub(super) async fn read_plan(
    journal: &dyn Journal,
    run: &RunId,
) -> Result<Option<(Plan, Option<Value>, PlanContents)>, PlanRunError> {
    let unreadable = |message: String| PlanRunError::Unreadable { run: run.clone(), message };
    let inputs = kept_parts(journal, run).await?;
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
    let mut contents = PlanContents::Whole;
    if let Some(digest) = first.get(CONTENTS) {
        let digest = serde_json::from_value(digest.clone());
        let digest = digest.map_err(|err| unreadable(err.to_string()))?;
        match journal.content(run, &digest).await? {
            Some(whole) => text = whole,
            None => contents = PlanContents::Absent,
        }
    }
    let whole: Value = serde_json::from_str(&text).map_err(|err| unreadable(err.to_string()))?;
    let plan = whole.get("plan").cloned().unwrap_or_default();
    let plan = serde_json::from_value(plan).map_err(|err| unreadable(err.to_string()))?;
    Ok(Some((plan, whole.get("input").cloned(), contents)))
}

/// Returns the inputs of the calls that keep the plan of a run, each with its place.
async fn kept_parts(journal: &dyn Journal, run: &RunId) -> Result<Vec<(u32, Value)>, PlanRunError> {
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
    Ok(inputs)
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
