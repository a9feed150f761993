//! Requests of a tool to the client itself: forms, answers of the client's model, its directories. They use the same channels as
//! questions. Several are sent at once, their parameters and answers are not inspected, and a client gets only requests that it
//! declares.

use std::time::Duration;

use haft_contract::{ClientRequest, ClientRequestMethod, ErrorCode, ToolError};
use rmcp::model::{ClientCapabilities, InputRequest, InputRequests, ServerRequest};
use rmcp::service::PeerRequestOptions;
use rmcp::{ErrorData, Peer, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::limits::QUESTION_MS_MAX;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeclaredClientCapabilities {
    pub(crate) forms: bool,
    /// Whether the client opens pages.
    pub(crate) urls: bool,
    sampling: bool,
    roots: bool,
}

impl DeclaredClientCapabilities {
    /// A client that declares elicitation without saying of what kind means forms, which were the only kind once.
    pub(crate) fn of(client: &ClientCapabilities) -> Self {
        let forms = client.elicitation.as_ref();
        Self {
            forms: forms.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none()),
            urls: forms.is_some_and(|kinds| kinds.url.is_some()),
            sampling: declares(client, "sampling"),
            roots: declares(client, "roots"),
        }
    }

    pub(crate) fn is_any_declared(self) -> bool {
        self.forms || self.urls || self.sampling || self.roots
    }

    pub(crate) fn is_declared(self, method: ClientRequestMethod) -> bool {
        match method {
            ClientRequestMethod::Form => self.forms,
            ClientRequestMethod::Sampling => self.sampling,
            ClientRequestMethod::Roots => self.roots,
        }
    }
}

/// The SDK marks fields for what the newest protocol calls old; clients of all ages declare them.
fn declares(client: &ClientCapabilities, capability: &str) -> bool {
    serde_json::to_value(client).is_ok_and(|declared| declared.get(capability).is_some())
}

/// Returns the error of a protocol that has one for a client that lacks something.
pub(crate) fn missing_capability_error(method: ClientRequestMethod) -> ErrorData {
    let required = json!({ capability_name(method): {} });
    let required = serde_json::from_value::<ClientCapabilities>(required);
    ErrorData::missing_required_client_capability(required.unwrap_or_default())
}

/// Returns the requests as a newer client takes them.
pub(crate) fn input_requests(requests: &[ClientRequest]) -> Result<InputRequests, String> {
    let pairs =
        requests.iter().map(|one| Ok((one.name.clone(), wire_request::<InputRequest>(one)?)));
    pairs.collect()
}

/// Returns the answers to the requests in their order; `None` while one of them is missing.
pub(crate) fn ordered_answers<'a>(
    requests: &[ClientRequest],
    answer: impl Fn(&str) -> Option<&'a Value>,
) -> Option<Vec<Value>> {
    let answers = requests.iter().map(|one| answer(&one.name).filter(|value| value.is_object()));
    answers.map(|answer| answer.cloned()).collect()
}

/// Asks an older client one request after the other.
pub(crate) async fn request_in_turn(
    peer: &Peer<RoleServer>,
    requests: &[ClientRequest],
) -> Result<Vec<Value>, ToolError> {
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        let request =
            wire_request::<ServerRequest>(request).map_err(|what| client_request_error(&what))?;
        let options = PeerRequestOptions::with_timeout(Duration::from_millis(QUESTION_MS_MAX));
        let sent = peer.send_cancellable_request(request, options).await;
        let answer = match sent {
            Ok(handle) => handle.await_response().await,
            Err(err) => Err(err),
        };
        let answer =
            answer.map_err(|err| client_request_error(&format!("did not answer: {err}")))?;
        let answer = serde_json::to_value(answer);
        answers
            .push(answer.map_err(|err| client_request_error(&format!("answered no JSON: {err}")))?);
    }
    Ok(answers)
}

pub(crate) fn client_request_error(what: &str) -> ToolError {
    ToolError::new(ErrorCode::ToolFailed, format!("the client {what}"))
}

fn wire_request<T: DeserializeOwned>(request: &ClientRequest) -> Result<T, String> {
    let method = match request.method {
        ClientRequestMethod::Form => "elicitation/create",
        ClientRequestMethod::Sampling => "sampling/createMessage",
        ClientRequestMethod::Roots => "roots/list",
    };
    let message = match request.method {
        ClientRequestMethod::Roots => json!({ "method": method }),
        ClientRequestMethod::Form | ClientRequestMethod::Sampling => {
            json!({ "method": method, "params": request.params })
        }
    };
    serde_json::from_value(message)
        .map_err(|err| format!("was not asked: the params of {method} have not its form: {err}"))
}

/// Returns the name by which a client declares that it takes such requests.
pub(crate) fn capability_name(method: ClientRequestMethod) -> &'static str {
    match method {
        ClientRequestMethod::Form => "elicitation",
        ClientRequestMethod::Sampling => "sampling",
        ClientRequestMethod::Roots => "roots",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_shown_by_clients_that_say_so_or_say_nothing_else() {
        let check = |declared: Value, expected: [bool; 4]| {
            let client: ClientCapabilities = serde_json::from_value(declared.clone()).unwrap();
            let DeclaredClientCapabilities { forms, urls, sampling, roots } =
                DeclaredClientCapabilities::of(&client);
            assert_eq!([forms, urls, sampling, roots], expected, "{declared}");
        };
        check(json!({}), [false; 4]);
        check(json!({"elicitation": {}}), [true, false, false, false]);
        check(json!({"elicitation": {"form": {}}}), [true, false, false, false]);
        check(json!({"elicitation": {"form": {}, "url": {}}}), [true, true, false, false]);
        check(json!({"elicitation": {"url": {}}}), [false, true, false, false]);
        check(json!({"sampling": {}, "roots": {}}), [false, false, true, true]);
    }

    #[test]
    fn a_request_is_answered_when_all_of_it_is() {
        let request = |name: &str| ClientRequest {
            name: name.to_owned(),
            method: ClientRequestMethod::Roots,
            params: Value::Null,
        };
        let requests = [request("a"), request("b")];
        let check = |given: Value, expect: Option<Vec<Value>>| {
            assert_eq!(ordered_answers(&requests, |name| given.get(name)), expect, "{given}");
        };
        check(json!({"b": {"x": 1}, "a": {}, "c": {}}), Some(vec![json!({}), json!({"x": 1})]));
        check(json!({"a": {}}), None);
        check(json!({"a": {}, "b": 12345}), None);
    }
}
