//! `task`: hands a task to a subagent. The host knows the subagents and runs them. Each call of a subagent is judged like
//! any other.

use haft_contract::limits::{
    TASK_METADATA_BYTES_MAX, TASK_MS, TASK_NAME_CHARS_MAX, TASK_PROMPT_CHARS_MAX,
};
use haft_contract::{
    Cx, Effect, ErrorCode, ProbeResult, SubagentAnswer, SubagentCall, SubagentTask, Tool,
    ToolError, ToolKind,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::aliases;

#[cfg(test)]
mod tests;

/// The note for a model about a task that runs in the background.
const BEGUN_NOTE: &str = "it works in the background; what comes of it is told when it ends, so do not wait for it and do \
                          not ask again";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskInput {
    /// The name of the subagent, as the description of this tool lists it.
    #[schemars(length(min = 1, max = TASK_NAME_CHARS_MAX))]
    subagent_type: String,
    /// The task, and everything that the subagent needs to know for it. It sees nothing of this conversation.
    #[schemars(length(min = 1, max = TASK_PROMPT_CHARS_MAX))]
    prompt: String,
    /// Whether to go on without waiting for it. Its end is told later.
    #[serde(default)]
    background: bool,
    /// Data that is stored with the task.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
}

#[derive(Serialize)]
struct TaskOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    /// The subagent's calls, if it has no session.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<SubagentCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

pub(crate) fn task() -> Tool {
    Tool::new("task")
        .description(
            "Have a subagent do a task, and get the last thing that it says. It works by itself, with its own tools, and \
             may do nothing that is not allowed here. For work that can be told in full and whose way there does not matter, \
             such as to search through much, or to do several things at once; not for what one or two calls do.",
        )
        .kind(ToolKind::Other)
        .example_output(json!({"output": "what the subagent said last", "session_id": "ses_01"}))
        .effect(Effect::Once)
        .aliases(aliases::TASK)
        .delegates()
        .dangerous()
        // The host limits the subagent itself.
        .timeout_ms(|_: &TaskInput| Some(TASK_MS))
        .probe(|input: TaskInput, cx: Cx| async move {
            let resumed = cx.subagents().resume(wanted(input)?, &cx).await?;
            Ok::<_, ToolError>(match resumed {
                Some(answer) => ProbeResult::Happened(answered(answer)),
                None => ProbeResult::NotHappened,
            })
        })
        .execute_with(|input: TaskInput, cx: Cx| async move {
            Ok::<_, ToolError>(answered(cx.subagents().delegate(wanted(input)?, &cx).await?))
        })
}

/// Returns the requested task, unless it is blank or its metadata is too large.
fn wanted(input: TaskInput) -> Result<SubagentTask, ToolError> {
    let TaskInput { subagent_type, prompt, background, metadata } = input;
    let refused = |message: String| ToolError::new(ErrorCode::InvalidInput, message).not_begun();
    if prompt.trim().is_empty() {
        return Err(refused("prompt is blank: say what the subagent is to do".to_owned()));
    }
    let bytes = metadata.as_ref().map_or(0, |it| Value::Object(it.clone()).to_string().len());
    if bytes > TASK_METADATA_BYTES_MAX {
        return Err(refused(format!(
            "metadata is {bytes} bytes as JSON: expected {TASK_METADATA_BYTES_MAX} at most (TASK_METADATA_BYTES_MAX); \
             what the subagent has to know belongs into prompt"
        )));
    }
    Ok(SubagentTask { subagent_type, prompt, background, metadata, ..SubagentTask::default() })
}

fn answered(answer: SubagentAnswer) -> TaskOutput {
    match answer {
        SubagentAnswer::Done { output, session_id, calls } => {
            TaskOutput { output: Some(output), session_id, calls, note: None }
        }
        SubagentAnswer::Begun { session_id } => TaskOutput {
            output: None,
            session_id: Some(session_id),
            calls: Vec::new(),
            note: Some(BEGUN_NOTE),
        },
    }
}
