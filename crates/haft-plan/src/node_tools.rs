//! The tools behind the nodes that call no tool of the user: `plan.agent` gives a task to an agent, and `plan.person` asks a
//! person. Such a node is a call like any other, so that it is judged, recorded, recalled and resumed in the same way. Only the
//! driver of a plan calls these tools.

use haft_contract::limits::{QUESTION_CHARS_MAX, QUESTION_LABEL_CHARS_MAX, QUESTION_OPTIONS_MAX};
use haft_contract::{
    Access, Cx, Effect, ErrorCode, QuestionOption, RequirementSet, SubagentAnswer, SubagentTask,
    Tool, ToolError, UserQuestion,
};
use serde_json::{Value, json};

/// The id of the tool that gives the task of an agent node to its agent.
pub const AGENT_NODE_TOOL: &str = "plan.agent";
/// The id of the tool that asks the question of a person node.
pub const PERSON_NODE_TOOL: &str = "plan.person";

/// The capability to give a task to an agent. It has the name of the tool by which a model does so, so that a rule about that
/// tool holds for agent nodes too, in each scope.
const TASK_CAPABILITY: &str = "task";

/// Returns the tool behind agent nodes. Its calls reach agents through [`Cx::subagents`].
///
/// A call continues the session that an earlier process began for the same attempt. It is therefore safe to repeat. The calls
/// of the agent are recorded one by one.
pub(crate) fn agent_node_tool() -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "agent": {"type": "string", "minLength": 1},
            "prompt": {"type": "string", "minLength": 1},
            "tools": {"type": "array", "items": {"type": "string"}},
            "output": {"type": ["object", "boolean"]},
            "max_steps": {"type": "integer", "minimum": 1}
        },
        "required": ["agent", "prompt"],
        "additionalProperties": false
    });
    Tool::new(AGENT_NODE_TOOL)
        .description(
            "Gives the task of a plan's node to an agent. haft calls it when it drives a plan.",
        )
        .effect(Effect::Idempotent)
        .requires(RequirementSet {
            capabilities: vec![TASK_CAPABILITY.to_owned()],
            ..RequirementSet::default()
        })
        .accesses(|_: &Value| vec![Access::Named { name: TASK_CAPABILITY.to_owned() }])
        .delegates()
        .internal()
        .execute_json(parameters, |input: Value, cx: Cx| async move {
            let has_schema = input.get("output").is_some();
            match cx.subagents().delegate(agent_task(&input), &cx).await? {
                SubagentAnswer::Done { output, .. } if has_schema => serde_json::from_str(&output)
                    .map_err(|err| {
                        let message = format!("the answer of the agent is not JSON: {err}");
                        ToolError::new(ErrorCode::ToolBadOutput, message)
                    }),
                SubagentAnswer::Done { output, .. } => Ok(Value::String(output)),
                SubagentAnswer::Begun { session_id } => {
                    let message = format!("the agent went on in the background, as {session_id}");
                    Err(ToolError::new(ErrorCode::ToolFailed, message))
                }
            }
        })
}

/// Returns the task of an input that satisfies the tool's schema.
fn agent_task(input: &Value) -> SubagentTask {
    let text =
        |field: &str| input.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let texts = |list: &Vec<Value>| {
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let max_steps = input.get("max_steps").and_then(Value::as_u64);
    SubagentTask {
        subagent_type: text("agent"),
        prompt: text("prompt"),
        tools: input.get("tools").and_then(Value::as_array).map(texts),
        output: input.get("output").cloned(),
        max_steps: max_steps.and_then(|steps| u32::try_from(steps).ok()),
        ..SubagentTask::default()
    }
}

/// Returns the tool behind person nodes. The answer is the text that the person chose or wrote.
pub(crate) fn person_node_tool() -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "minLength": 1, "maxLength": QUESTION_CHARS_MAX},
            "options": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": QUESTION_LABEL_CHARS_MAX},
                "maxItems": QUESTION_OPTIONS_MAX
            }
        },
        "required": ["question"],
        "additionalProperties": false
    });
    Tool::new(PERSON_NODE_TOOL)
        .description(
            "Asks a person the question of a plan's node. haft calls it when it drives a plan.",
        )
        .effect(Effect::Idempotent)
        .internal()
        .execute_json(parameters, |input: Value, cx: Cx| async move {
            let options = input.get("options").and_then(Value::as_array).into_iter().flatten();
            let options = options
                .filter_map(Value::as_str)
                .map(|label| QuestionOption { label: label.to_owned(), description: None });
            let question = UserQuestion {
                question: input
                    .get("question")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
                header: None,
                options: options.collect(),
                multi_select: false,
            };
            let answers = cx.questions().ask(vec![question]).await.map_err(|err| match err.code {
                // The call was cancelled, or its process lost the run.
                ErrorCode::ProcessAborted => err,
                // The question stays open, as after an interrupt: a resume of the run asks again.
                _ => {
                    let message =
                        "the question was not answered. The next resume of the run asks it again";
                    ToolError::new(ErrorCode::ProcessAborted, message)
                }
            })?;
            let answer = answers.into_iter().flatten().collect::<Vec<_>>().join(", ");
            Ok::<_, ToolError>(Value::String(answer))
        })
}
