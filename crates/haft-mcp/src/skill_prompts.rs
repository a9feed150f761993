//! Skills as prompts: a person picks one in a client, which fills it in like any prompt. Filling in is a call of the tool `skill`,
//! so rules hold, the journal has it, and the files of the skill can be read afterwards. Nothing here finds or reads skills.

use haft::{Call, Connection};
use haft_contract::{ContentPart, Envelope, SkillSummary};
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, PromptMessage, Role};
use serde_json::{Map, Value, json};

use crate::content::content_block;
use crate::resource_provider::{McpPrompt, McpPromptArgument};
use crate::server_parts::RefusalAdviser;

/// The tool that loads a skill.
const TOOL: &str = "skill";
/// The argument with the person's own words.
const REQUEST: &str = "request";

/// Returns a prompt for each skill of a connection. May block.
pub(crate) fn skill_prompts(connection: &Connection) -> Vec<McpPrompt> {
    let prompt = |skill: SkillSummary| McpPrompt {
        name: skill.name,
        description: skill.description,
        arguments: vec![McpPromptArgument {
            name: REQUEST.to_owned(),
            description: "The work to do with this skill, in your own words".to_owned(),
            is_required: false,
        }],
    };
    connection.skills().into_iter().map(prompt).collect()
}

/// Returns the call that loads a skill.
pub(crate) fn skill_call(name: &str) -> Call {
    Call::new(TOOL, json!({ "name": name }))
}

/// Returns the prompt of a loaded skill: its text, and then the person's own words. The error says why it was not loaded.
pub(crate) fn filled_in(
    name: &str,
    envelope: &Envelope,
    arguments: &Map<String, Value>,
    advise: RefusalAdviser,
) -> Result<GetPromptResult, ErrorData> {
    let text = match envelope {
        Envelope::Output { .. } => envelope.text(),
        Envelope::Error { error_text, metadata } => {
            let advice = metadata.refusal.as_deref().and_then(advise);
            let advice = advice.map(|advice| format!(". {advice}")).unwrap_or_default();
            let message = format!("prompt {name:?} cannot be filled in: {error_text}{advice}");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let request = match arguments.get(REQUEST) {
        None | Some(Value::Null) => None,
        Some(Value::String(request)) => Some(request.clone()).filter(|it| !it.trim().is_empty()),
        Some(_) => {
            let message = format!("prompt {name:?}: expected a text as argument {REQUEST:?}");
            return Err(ErrorData::invalid_params(message, None));
        }
    };
    let message = |text| PromptMessage::new(Role::User, content_block(ContentPart::Text { text }));
    Ok(GetPromptResult::new(std::iter::once(text).chain(request).map(message).collect()))
}
