//! `question`: asks the person behind the front end. The answers allow nothing: they are text for the model, and a call
//! that needs approval is asked about as if this tool had not been called.

use haft_contract::limits::QUESTIONS_MAX;
use haft_contract::{
    Cx, Effect, ErrorCode, ListingCondition, Tool, ToolError, ToolKind, UserQuestion,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QuestionInput {
    /// The questions, in this order.
    #[schemars(length(min = 1, max = QUESTIONS_MAX))]
    questions: Vec<UserQuestion>,
}

#[derive(Serialize, JsonSchema)]
struct QuestionOutput {
    /// For each question, in order: the labels chosen or the user's own words; empty if it was passed over.
    answers: Vec<Vec<String>>,
}

pub(crate) fn question() -> Tool {
    Tool::new("question")
        .description(
            "Ask the user, and wait for the answers. Ask only what you cannot find out yourself, and not for permission, \
             which haft asks for. Put all questions into one call. The user can always answer in other words.",
        )
        .kind(ToolKind::Other)
        .example_output(json!({"answers": [["what the user chose or wrote"]]}))
        .effect(Effect::Read)
        .listed_if(ListingCondition::CanAsk)
        .output::<QuestionOutput>()
        .execute_with(|asked: QuestionInput, cx: Cx| async move {
            asked.questions.iter().enumerate().try_for_each(|(place, one)| check(place, one))?;
            let answers = cx.questions().ask(asked.questions).await?;
            Ok::<_, ToolError>(QuestionOutput { answers })
        })
}

/// Refuses a question that cannot be answered, or whose answers could not be told apart.
fn check(place: usize, one: &UserQuestion) -> Result<(), ToolError> {
    let mut labels: Vec<&str> = one.options.iter().map(|option| option.label.trim()).collect();
    labels.sort_unstable();
    let twice = labels.windows(2).find(|pair| pair.first() == pair.last());
    let why = if one.question.trim().is_empty() {
        "the question is blank".to_owned()
    } else if labels.contains(&"") {
        "an option's label is blank".to_owned()
    } else if let Some(label) = twice.and_then(|pair| pair.first()) {
        format!("two options have the label {label:?}: give each its own")
    } else {
        return Ok(());
    };
    Err(ToolError::new(ErrorCode::InvalidInput, format!("questions[{place}]: {why}")))
}

#[cfg(test)]
mod tests;
