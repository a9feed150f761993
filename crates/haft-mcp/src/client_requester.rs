//! The client of one request, as the tool that it calls sees it: the tool's requests go to the client, and a client is not
//! asked for what it does not declare.

use std::sync::{Arc, OnceLock};

use haft_contract::{
    BoxFuture, ClientRequest, ClientRequestMethod, ClientRequester, ErrorCode, ToolError,
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::client_requests::{
    DeclaredClientCapabilities, capability_name, client_request_error, input_requests,
};
use crate::pending_ask::{PendingClientAsk, send_and_wait};

/// The client of one request, as the tool that it calls sees it.
pub(crate) struct McpClientRequester {
    pub(crate) capabilities: DeclaredClientCapabilities,
    pub(crate) ask_sender: mpsc::Sender<PendingClientAsk>,
    /// What the tool asked for that the client does not take.
    pub(crate) missing_capability: Arc<OnceLock<ClientRequestMethod>>,
}

impl ClientRequester for McpClientRequester {
    fn supports(&self, method: ClientRequestMethod) -> bool {
        self.capabilities.is_declared(method)
    }

    fn request(
        &self,
        requests: Vec<ClientRequest>,
    ) -> BoxFuture<'_, Result<Vec<Value>, ToolError>> {
        Box::pin(async move {
            if let Some(missing) =
                requests.iter().find(|one| !self.capabilities.is_declared(one.method))
            {
                let _ = self.missing_capability.set(missing.method);
                let message = format!(
                    "the client does not declare {}, which this tool needs",
                    capability_name(missing.method)
                );
                return Err(ToolError::new(ErrorCode::Unavailable, message));
            }
            input_requests(&requests).map_err(|what| client_request_error(&what))?;
            let answered =
                send_and_wait(&self.ask_sender, requests, PendingClientAsk::Requests).await;
            answered.unwrap_or_else(|| Err(client_request_error("is not there any more")))
        })
    }
}
