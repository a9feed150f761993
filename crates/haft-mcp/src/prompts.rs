//! A prompt that is filled in for a client. Where the prompt has to know something first, an older client is asked while it
//! waits, and a newer one told to come back; the prompt is asked anew each time with all that is known by then.

use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult, PromptMessage,
    ProtocolVersion, Role,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

use crate::client_requests::{self, DeclaredClientCapabilities};
use crate::content::content_block;
use crate::limits::PROMPT_ROUNDS_MAX;
use crate::resource_provider::{McpPromptResult, McpResourceProvider};

pub(crate) async fn get(
    offerings: &dyn McpResourceProvider,
    request: GetPromptRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let name = &request.name;
    let unknown = || unknown(name);
    let prompt = offerings.prompts().into_iter().find(|prompt| prompt.name == *name);
    let is_missing = |argument: &str| !arguments.contains_key(argument);
    let mut expected = prompt.ok_or_else(unknown)?.arguments.into_iter();
    if let Some(missing) = expected.find(|one| one.is_required && is_missing(&one.name)) {
        let message = format!("prompt {name:?} needs the argument {:?}", missing.name);
        return Err(ErrorData::invalid_params(message, None));
    }
    let given = request.input_responses.unwrap_or_default().into_iter();
    let mut answers: Map<String, Value> = given.filter(|(_, value)| value.is_object()).collect();
    for rounds in 0..=PROMPT_ROUNDS_MAX {
        match offerings.prompt(name, &arguments, &answers) {
            None => return Err(unknown()),
            Some(McpPromptResult::Messages(parts)) => {
                let message = |part| PromptMessage::new(Role::User, content_block(part));
                return Ok(GetPromptResult::new(parts.into_iter().map(message).collect()).into());
            }
            Some(McpPromptResult::Requests(_)) if rounds == PROMPT_ROUNDS_MAX => break,
            Some(McpPromptResult::Requests(requests)) => {
                // A client is not asked for capabilities that it does not declare.
                let declared = cx.client_capabilities();
                let declared = declared.map(|client| DeclaredClientCapabilities::of(&client));
                let declared = declared.unwrap_or_default();
                if let Some(refused) = requests.iter().find(|one| !declared.is_declared(one.method))
                {
                    return Err(client_requests::missing_capability_error(refused.method));
                }
                if cx.protocol_version() >= Some(ProtocolVersion::V_2026_07_28) {
                    let asked = client_requests::input_requests(&requests).map_err(internal)?;
                    return Ok(InputRequiredResult::new(Some(asked), None).into());
                }
                let asked = client_requests::request_in_turn(&cx.peer, &requests).await;
                let asked = asked.map_err(|err| internal(err.message))?;
                answers.extend(requests.into_iter().map(|one| one.name).zip(asked));
            }
        }
    }
    Err(internal(format!("the prompt asked more than {PROMPT_ROUNDS_MAX} times")))
}

/// Returns the error for a prompt that does not exist.
pub(crate) fn unknown(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("no prompt is called {name:?}: see prompts/list"), None)
}

fn internal(what: String) -> ErrorData {
    ErrorData::internal_error(what, None)
}
