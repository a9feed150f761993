//! The tool `plan_exit`: an agent that plans hands its plan over to the agent that carries plans out, after a person agreed. The tool
//! itself only asks. The module `handover` changes the agent of the session.

use haft_contract::{
    Cx, Effect, Envelope, ErrorCode, ListingCondition, QuestionOption, Tool, ToolError, ToolKind,
    UserQuestion,
};
use haft_journal::MessagePart;
use serde_json::{Value, json};

use crate::limits::HANDED_PLAN_CHARS_MAX;

/// The id of the tool.
const PLAN_EXIT: &str = "plan_exit";
/// The agent that carries plans out.
pub(crate) const PLAN_EXECUTOR: &str = "build";
/// The answer of a person who agrees.
const AGREE: &str = "Carry it out";
/// The answer of a person who does not.
const STAY: &str = "Keep planning";

/// Returns the tool by which an agent hands its plan over. Only an agent whose list of tools names it has it.
pub fn plan_exit_tool() -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "plan": {
                "type": "string",
                "minLength": 1,
                "maxLength": HANDED_PLAN_CHARS_MAX,
                "description": "The whole plan, as another agent needs it to carry it out."
            }
        },
        "required": ["plan"],
        "additionalProperties": false
    });
    Tool::new(PLAN_EXIT)
        .description(
            "Hand the plan over to the agent build, which can change files. The user is asked first. Call it alone, once the \
             plan is complete and the user wants it carried out. If the user does not agree, go on with the plan.",
        )
        .kind(ToolKind::Other)
        .effect(Effect::Read)
        .example_output(json!({"agreed": true}))
        .only_if_named()
        .listed_if(ListingCondition::CanAsk)
        .execute_json(parameters, |input: Value, cx: Cx| async move {
            let plan = input.get("plan").and_then(Value::as_str).unwrap_or_default();
            let option = |label: &str, description: &str| QuestionOption {
                label: label.to_owned(),
                description: Some(description.to_owned()),
            };
            let question = UserQuestion {
                question: format!("{plan}\n\nCarry out this plan?"),
                header: Some("Plan".to_owned()),
                options: vec![
                    option(AGREE, "The agent build takes over and may change files."),
                    option(STAY, "Nothing is changed."),
                ],
                multi_select: false,
            };
            tokio::select! {
                biased;
                () = cx.cancellation().cancelled() => {
                    let message = "the question was withdrawn before it was answered";
                    Err(ToolError::new(ErrorCode::ProcessAborted, message))
                }
                answers = cx.questions().ask(vec![question]) => {
                    let answer = answers?.into_iter().flatten().collect::<Vec<_>>().join(", ");
                    Ok(match answer == AGREE {
                        true => json!({"agreed": true}),
                        false => json!({"agreed": false, "answer": answer}),
                    })
                }
            }
        })
}

/// Returns the plan that a person agreed to, if one of these parts of a message is such a call.
pub(crate) fn agreed_plan(parts: &[MessagePart]) -> Option<String> {
    parts.iter().filter(|part| part.tool.as_deref() == Some(PLAN_EXIT)).find_map(|part| {
        let answer: Envelope = serde_json::from_str(part.output_json.as_deref()?).ok()?;
        let Envelope::Output { data, .. } = answer else { return None };
        let input: Value = serde_json::from_str(part.input_json.as_deref()?).ok()?;
        let is_agreed = data.get("agreed").and_then(Value::as_bool) == Some(true);
        input.get("plan").and_then(Value::as_str).filter(|_| is_agreed).map(str::to_owned)
    })
}

/// Returns the prompt for the agent that carries the plan out.
pub(crate) fn handover_prompt(plan: &str) -> String {
    format!("I agree to this plan. Carry it out now.\n\n{plan}")
}
