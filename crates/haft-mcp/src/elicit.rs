//! A question put to a client of the older era: a request of the server, while the client's own request waits. The
//! question goes away with the call that it is about.

use std::time::Duration;

use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, RequestId, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use rmcp::{Peer, RoleServer};
use tokio::time::timeout;

use crate::asking::Asked;
use crate::counterpart;
use crate::limits::{FLUSH_MS_MAX, QUESTION_MS_MAX};
use crate::question::Titles;

/// Puts the question to the client and hands over what it says. Returns what there is to say about the answer.
pub(crate) async fn elicit(
    peer: &Peer<RoleServer>,
    mut asked: Asked,
    titles: Titles,
) -> Option<String> {
    let Some(form) = asked.form(titles) else {
        pass_on(peer, asked).await;
        return None;
    };
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(Duration::from_millis(QUESTION_MS_MAX));
    let sent = tokio::select! {
        biased;
        () = asked.withdrawn() => return None,
        sent = peer.send_cancellable_request(request, options) => sent,
    };
    let response = match sent {
        Err(err) => Err(err),
        Ok(handle) => {
            let question = handle.id.clone();
            tokio::select! {
                biased;
                () = asked.withdrawn() => return withdraw(peer, question).await,
                response = handle.await_response() => response,
            }
        }
    };
    settle(asked, response)
}

/// Passes on what a tool asks of the client itself.
async fn pass_on(peer: &Peer<RoleServer>, mut asked: Asked) {
    let Asked::Requests(pending) = &asked else { return };
    let requests = pending.about.clone();
    let answers = tokio::select! {
        biased;
        () = asked.withdrawn() => return,
        answers = counterpart::ask(peer, &requests) => answers,
    };
    asked.answer_requests(answers);
}

/// Tells the client that its answer is not wanted any more.
async fn withdraw(peer: &Peer<RoleServer>, question: RequestId) -> Option<String> {
    let reason = "the call was cancelled".to_owned();
    let sent = peer.notify_cancelled(CancelledNotificationParam::new(Some(question), Some(reason)));
    // A client that is gone, or does not read, is not waited for.
    let _ = timeout(Duration::from_millis(FLUSH_MS_MAX), sent).await;
    None
}

/// Hands over what the client said, or that it said nothing.
fn settle(asked: Asked, response: Result<ClientResult, ServiceError>) -> Option<String> {
    match response {
        Ok(ClientResult::ElicitResult(result)) => asked.hear(&result),
        Ok(_) => asked.fail("answered the question in a form that no answer has"),
        Err(ServiceError::Timeout { .. }) => {
            asked.fail(&format!("did not answer the question within {QUESTION_MS_MAX} ms"))
        }
        Err(ServiceError::McpError(err)) => {
            asked.fail(&format!("answered the question with an error: {}", err.message))
        }
        Err(err) => asked.fail(&format!("could not be asked: {err}")),
    }
}
