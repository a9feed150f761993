//! A question put to a client of the older era: a request of the server, while the client's own request waits. The
//! question goes away with the call that it is about.

use std::time::Duration;

use haft::Ask;
use rmcp::model::{
    CancelledNotificationParam, ClientResult, ElicitRequest, RequestId, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use rmcp::{Peer, RoleServer};
use tokio::time::timeout;

use crate::asking::Asked;
use crate::limits::{FLUSH_MS_MAX, QUESTION_MS_MAX};
use crate::question::{Heard, Titles, form, heard, rejected};

/// Puts the question to the client and hands over what it says. Returns what there is to say about the answer.
pub(crate) async fn elicit(
    peer: &Peer<RoleServer>,
    mut asked: Asked,
    titles: Titles,
) -> Option<String> {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(&asked.ask, titles)));
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
    let Heard { answer, note } = understood(response, &asked.ask);
    asked.answer(answer);
    note
}

/// Tells the client that its answer is not wanted any more.
async fn withdraw(peer: &Peer<RoleServer>, question: RequestId) -> Option<String> {
    let reason = "the call was cancelled".to_owned();
    let sent = peer.notify_cancelled(CancelledNotificationParam::new(Some(question), Some(reason)));
    // A client that is gone, or does not read, is not waited for.
    let _ = timeout(Duration::from_millis(FLUSH_MS_MAX), sent).await;
    None
}

fn understood(response: Result<ClientResult, ServiceError>, ask: &Ask) -> Heard {
    match response {
        Ok(ClientResult::ElicitResult(result)) => heard(&result, ask),
        Ok(_) => rejected("answered the question in a form that no answer has"),
        Err(ServiceError::Timeout { .. }) => {
            rejected(&format!("did not answer the question within {QUESTION_MS_MAX} ms"))
        }
        Err(ServiceError::McpError(err)) => {
            rejected(&format!("answered the question with an error: {}", err.message))
        }
        Err(err) => rejected(&format!("could not be asked: {err}")),
    }
}
