//! A prompt that is filled in for a client. Where the prompt has to know something first, an older client is asked while it
//! waits, and a newer one told to come back; the prompt is asked anew each time with all that is known by then.

use haft_contract::ClientRequest;
use rmcp::model::{
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, InputRequiredResult,
    ProtocolVersion,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};

use crate::client_requests::{self, DeclaredClientCapabilities};
use crate::limits::PROMPT_ROUNDS_MAX;
use crate::resource_provider::{McpPromptResult, McpResourceProvider, message};

/// Fills a prompt in.
pub(crate) async fn get(
    offerings: &dyn McpResourceProvider,
    request: GetPromptRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<GetPromptResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    check_required(offerings, &request.name, &arguments)?;
    let given = request.input_responses.unwrap_or_default().into_iter();
    let mut answers: Map<String, Value> = given.filter(|(_, value)| value.is_object()).collect();
    for rounds in 0..=PROMPT_ROUNDS_MAX {
        match offerings.prompt(&request.name, &arguments, &answers) {
            None => return Err(unknown(&request.name)),
            Some(McpPromptResult::Messages(parts)) => {
                let messages = parts.into_iter().map(message).collect();
                return Ok(GetPromptResult::new(messages).into());
            }
            Some(McpPromptResult::Requests(_)) if rounds == PROMPT_ROUNDS_MAX => break,
            Some(McpPromptResult::Requests(requests)) => {
                check_capabilities(&requests, cx)?;
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

fn check_required(
    offerings: &dyn McpResourceProvider,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<(), ErrorData> {
    let prompt = offerings.prompts().into_iter().find(|prompt| prompt.name == name);
    let prompt = prompt.ok_or_else(|| unknown(name))?;
    let is_missing = |argument: &str| !arguments.contains_key(argument);
    let missing = prompt.arguments.iter().find(|one| one.is_required && is_missing(&one.name));
    match missing {
        None => Ok(()),
        Some(missing) => {
            let message = format!("prompt {name:?} needs the argument {:?}", missing.name);
            Err(ErrorData::invalid_params(message, None))
        }
    }
}

/// A client is not asked for what it does not declare.
fn check_capabilities(
    requests: &[ClientRequest],
    cx: &RequestContext<RoleServer>,
) -> Result<(), ErrorData> {
    let takes = cx
        .client_capabilities()
        .map(|client| DeclaredClientCapabilities::of(&client))
        .unwrap_or_default();
    match requests.iter().find(|one| !takes.is_declared(one.method)) {
        None => Ok(()),
        Some(request) => Err(client_requests::missing_capability_error(request.method)),
    }
}

fn unknown(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("no prompt is called {name:?}: see prompts/list"), None)
}

fn internal(what: String) -> ErrorData {
    ErrorData::internal_error(what, None)
}
