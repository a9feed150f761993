//! What a tool asks of the client itself: forms of its own, answers of the client's model, its directories. They take the
//! ways that questions take; here is what is different: several go at once, their parameters and answers pass unread,
//! and what a client does not declare it is not asked for.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_contract::{BoxFuture, Client, ClientMethod, ClientRequest, ErrorCode, ToolError};
use rmcp::model::{ClientCapabilities, InputRequest, InputRequests, ServerRequest};
use rmcp::service::PeerRequestOptions;
use rmcp::{ErrorData, Peer, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::asking::{Asked, hand_over};
use crate::limits::QUESTION_MS_MAX;

/// What a client declares that it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Takes {
    pub(crate) forms: bool,
    sampling: bool,
    roots: bool,
}

impl Takes {
    /// A client that declares elicitation without saying of what kind means forms, which were the only kind once.
    pub(crate) fn of(client: &ClientCapabilities) -> Self {
        let forms = client.elicitation.as_ref();
        Self {
            forms: forms.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none()),
            sampling: declares(client, "sampling"),
            roots: declares(client, "roots"),
        }
    }

    pub(crate) fn anything(self) -> bool {
        self.forms || self.sampling || self.roots
    }

    pub(crate) fn takes(self, method: ClientMethod) -> bool {
        match method {
            ClientMethod::Form => self.forms,
            ClientMethod::Sampling => self.sampling,
            ClientMethod::Roots => self.roots,
        }
    }
}

/// The SDK marks fields for what the newest protocol calls old; clients of all ages declare them.
fn declares(client: &ClientCapabilities, capability: &str) -> bool {
    serde_json::to_value(client).is_ok_and(|declared| declared.get(capability).is_some())
}

/// The client of one request, as the tool that it calls sees it.
pub(crate) struct Counterpart {
    pub(crate) takes: Takes,
    pub(crate) questions: mpsc::Sender<Asked>,
    /// What the tool asked for that the client does not take.
    pub(crate) missing: Arc<OnceLock<ClientMethod>>,
}

impl Client for Counterpart {
    fn takes(&self, method: ClientMethod) -> bool {
        self.takes.takes(method)
    }

    fn request(
        &self,
        requests: Vec<ClientRequest>,
    ) -> BoxFuture<'_, Result<Vec<Value>, ToolError>> {
        Box::pin(async move {
            if let Some(missing) = requests.iter().find(|one| !self.takes.takes(one.method)) {
                let _ = self.missing.set(missing.method);
                let message = format!(
                    "the client does not declare {}, which this tool needs",
                    capability(missing.method)
                );
                return Err(ToolError::new(ErrorCode::Unavailable, message));
            }
            input_requests(&requests).map_err(|what| unanswered(&what))?;
            let answered = hand_over(&self.questions, requests, Asked::Requests).await;
            answered.unwrap_or_else(|| Err(unanswered("is not there any more")))
        })
    }
}

/// Returns the error of a protocol that has one for a client that lacks something.
pub(crate) fn lacks(method: ClientMethod) -> ErrorData {
    let required = json!({ capability(method): {} });
    let required = serde_json::from_value::<ClientCapabilities>(required);
    ErrorData::missing_required_client_capability(required.unwrap_or_default())
}

/// Returns the requests as a newer client takes them.
pub(crate) fn input_requests(requests: &[ClientRequest]) -> Result<InputRequests, String> {
    let pairs = requests.iter().map(|one| Ok((one.name.clone(), wire::<InputRequest>(one)?)));
    pairs.collect()
}

/// Returns the answers to the requests in their order; `None` while one of them is missing.
pub(crate) fn answers<'a>(
    requests: &[ClientRequest],
    answer: impl Fn(&str) -> Option<&'a Value>,
) -> Option<Vec<Value>> {
    let answers = requests.iter().map(|one| answer(&one.name).filter(|value| value.is_object()));
    answers.map(|answer| answer.cloned()).collect()
}

/// Asks an older client one request after the other.
pub(crate) async fn ask(
    peer: &Peer<RoleServer>,
    requests: &[ClientRequest],
) -> Result<Vec<Value>, ToolError> {
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        let request = wire::<ServerRequest>(request).map_err(|what| unanswered(&what))?;
        let options = PeerRequestOptions::with_timeout(Duration::from_millis(QUESTION_MS_MAX));
        let sent = peer.send_cancellable_request(request, options).await;
        let answer = match sent {
            Ok(handle) => handle.await_response().await,
            Err(err) => Err(err),
        };
        let answer = answer.map_err(|err| unanswered(&format!("did not answer: {err}")))?;
        let answer = serde_json::to_value(answer);
        answers.push(answer.map_err(|err| unanswered(&format!("answered no JSON: {err}")))?);
    }
    Ok(answers)
}

pub(crate) fn unanswered(what: &str) -> ToolError {
    ToolError::new(ErrorCode::ToolFailed, format!("the client {what}"))
}

fn wire<T: DeserializeOwned>(request: &ClientRequest) -> Result<T, String> {
    let method = match request.method {
        ClientMethod::Form => "elicitation/create",
        ClientMethod::Sampling => "sampling/createMessage",
        ClientMethod::Roots => "roots/list",
    };
    let message = match request.method {
        ClientMethod::Roots => json!({ "method": method }),
        ClientMethod::Form | ClientMethod::Sampling => {
            json!({ "method": method, "params": request.params })
        }
    };
    serde_json::from_value(message)
        .map_err(|err| format!("was not asked: the params of {method} have not its form: {err}"))
}

fn capability(method: ClientMethod) -> &'static str {
    match method {
        ClientMethod::Form => "elicitation",
        ClientMethod::Sampling => "sampling",
        ClientMethod::Roots => "roots",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_shown_by_clients_that_say_so_or_say_nothing_else() {
        let check = |declared: Value, expected: [bool; 3]| {
            let client: ClientCapabilities = serde_json::from_value(declared.clone()).unwrap();
            let Takes { forms, sampling, roots } = Takes::of(&client);
            assert_eq!([forms, sampling, roots], expected, "{declared}");
        };
        check(json!({}), [false; 3]);
        check(json!({"elicitation": {}}), [true, false, false]);
        check(json!({"elicitation": {"form": {}}}), [true, false, false]);
        check(json!({"elicitation": {"form": {}, "url": {}}}), [true, false, false]);
        check(json!({"elicitation": {"url": {}}}), [false; 3]);
        check(json!({"sampling": {}, "roots": {}}), [false, true, true]);
    }

    #[test]
    fn a_request_is_answered_when_all_of_it_is() {
        let request = |name: &str| ClientRequest {
            name: name.to_owned(),
            method: ClientMethod::Roots,
            params: Value::Null,
        };
        let requests = [request("a"), request("b")];
        let check = |given: Value, expect: Option<Vec<Value>>| {
            assert_eq!(answers(&requests, |name| given.get(name)), expect, "{given}");
        };
        check(json!({"b": {"x": 1}, "a": {}, "c": {}}), Some(vec![json!({}), json!({"x": 1})]));
        check(json!({"a": {}}), None);
        check(json!({"a": {}, "b": 12345}), None);
    }
}
