//! A question put to a client of the older era: a request of the server, while the client's own request waits. The
//! question goes away with the call that it is about.

use std::time::Duration;

use rmcp::model::{
    CancelledNotificationParam, ClientResult, CustomNotification, ElicitRequest,
    ServerNotification, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use rmcp::{Peer, RoleServer};
use serde_json::json;
use tokio::time::timeout;

use crate::approval_form::EnumTitleStyle;
use crate::client_requests;
use crate::limits::{FLUSH_MS_MAX, QUESTION_MS_MAX};
use crate::pending_ask::PendingClientAsk;

/// Says that the person is done with a page. The SDK has no type for it.
const PAGE_DONE: &str = "notifications/elicitation/complete";

/// Puts the question to the client and delivers its answer. Returns a note about the answer, if there is one.
pub(crate) async fn elicit(
    peer: &Peer<RoleServer>,
    mut asked: PendingClientAsk,
    titles: EnumTitleStyle,
) -> Option<String> {
    let Some(form) = asked.elicitation_form(titles) else {
        // The tool asks the client itself.
        let PendingClientAsk::Requests(pending) = &asked else { return None };
        let requests = pending.request.clone();
        let answers = tokio::select! {
            biased;
            () = asked.wait_until_withdrawn() => return None,
            answers = client_requests::request_in_turn(peer, &requests) => answers,
        };
        asked.deliver_request_answers(answers);
        return None;
    };
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let options = PeerRequestOptions::with_timeout(Duration::from_millis(QUESTION_MS_MAX));
    let sent = tokio::select! {
        biased;
        () = asked.wait_until_withdrawn() => return None,
        sent = peer.send_cancellable_request(request, options) => sent,
    };
    let response = match sent {
        Err(err) => Err(err),
        Ok(handle) => {
            let question = handle.id.clone();
            tokio::select! {
                biased;
                () = asked.wait_until_withdrawn() => {
                    let reason = asked.end_elsewhere();
                    let reason = reason.unwrap_or_else(|| "the call was cancelled".to_owned());
                    let param = CancelledNotificationParam::new(Some(question), Some(reason));
                    // A client that is gone, or does not read, is not waited for.
                    let flush = Duration::from_millis(FLUSH_MS_MAX);
                    let _ = timeout(flush, peer.notify_cancelled(param)).await;
                    return None;
                }
                response = handle.await_response() => response,
            }
        }
    };
    match response {
        Ok(ClientResult::ElicitResult(result)) if asked.opened_page_of(&result).is_some() => {
            let page = asked.opened_page_of(&result).map(|ask| ask.id.clone()).unwrap_or_default();
            let peer = peer.clone();
            // The request of the call goes on meanwhile, with its reports. The ask ends at its deadline at the latest.
            tokio::spawn(async move {
                asked.wait_until_withdrawn().await;
                let done =
                    CustomNotification::new(PAGE_DONE, Some(json!({ "elicitationId": page })));
                let done = peer.send_notification(ServerNotification::CustomNotification(done));
                let _ = timeout(Duration::from_millis(FLUSH_MS_MAX), done).await;
            });
            None
        }
        Ok(ClientResult::ElicitResult(result)) => asked.deliver_form_result(&result),
        Ok(_) => asked.deliver_failure("answered the question in a form that no answer has"),
        Err(ServiceError::Timeout { .. }) => asked
            .deliver_failure(&format!("did not answer the question within {QUESTION_MS_MAX} ms")),
        Err(ServiceError::McpError(err)) => {
            asked.deliver_failure(&format!("answered the question with an error: {}", err.message))
        }
        Err(err) => asked.deliver_failure(&format!("could not be asked: {err}")),
    }
}
