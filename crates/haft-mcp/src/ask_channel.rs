//! Whether and how the client of one request can be asked, and the path of a question from the pipeline to the handler of
//! that request. Clients of the older era take requests of the server while their own request waits. Clients of the newer
//! era take the question as the answer to their request, and repeat the request with the person's answer.

use std::future::pending;
use std::sync::{Arc, OnceLock};

use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply};
use haft_contract::{
    BoxFuture, ClientRequest, ClientRequestMethod, ClientRequester, ErrorCode, ToolError,
};
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::approval_form::EnumTitleStyle;
use crate::client_requests::{
    DeclaredClientCapabilities, capability_name, client_request_error, input_requests,
};
use crate::pending_ask::{EndElsewhere, PendingApproval, PendingClientAsk, send_and_wait};
use crate::request_state::CallBinding;
use crate::server_parts::AskPageFinder;

/// How the client of one request can be asked, and for what.
pub(crate) struct AskSupport {
    pub(crate) method: AskMethod,
    capabilities: DeclaredClientCapabilities,
    /// Finds the pages of asks, if the client opens pages.
    ask_pages: Option<AskPageFinder>,
}

pub(crate) enum AskMethod {
    /// Not at all: it takes nothing.
    Unsupported,
    /// By a request of the server, while its own waits.
    ServerRequest(EnumTitleStyle),
    /// By the answer to its request, which it then repeats.
    InputRequired(CallBinding),
}

impl AskSupport {
    /// Returns what the client of `cx` declares. `binding` says which call its request is for.
    pub(crate) fn of(
        cx: &RequestContext<RoleServer>,
        ask_pages: Option<&AskPageFinder>,
        binding: impl FnOnce() -> CallBinding,
    ) -> Self {
        let takes = cx
            .client_capabilities()
            .map(|client| DeclaredClientCapabilities::of(&client))
            .unwrap_or_default();
        let way = match cx.protocol_version() {
            _ if !takes.is_any_declared() => AskMethod::Unsupported,
            Some(version) if version >= ProtocolVersion::V_2026_07_28 => {
                AskMethod::InputRequired(binding())
            }
            Some(version) if version >= ProtocolVersion::V_2025_11_25 => {
                AskMethod::ServerRequest(EnumTitleStyle::OneOf)
            }
            Some(_) | None => AskMethod::ServerRequest(EnumTitleStyle::EnumNames),
        };
        let ask_pages = ask_pages.filter(|_| takes.urls).cloned();
        Self { method: way, capabilities: takes, ask_pages }
    }

    /// Returns what asks this client, and where its questions come out.
    pub(crate) fn open_channel(&self) -> AskChannel {
        // A call asks one thing and then waits, so a second place would stay empty.
        let (questions, asked) = mpsc::channel(1);
        // A client that only opens pages can be asked while there is an inspector that has them.
        let can_ask = self.capabilities.forms
            || self.ask_pages.as_ref().is_some_and(|find| find("").is_some());
        let asks_one_at_a_time = match &self.method {
            AskMethod::Unsupported => None,
            AskMethod::ServerRequest(_) => Some(true),
            // The client may need the answer to one of its requests before it answers the question of another.
            AskMethod::InputRequired(_) => Some(false),
        };
        let asker = asks_one_at_a_time.filter(|_| can_ask).map(|asks_one_at_a_time| {
            Arc::new(FormAsker {
                asks: questions.clone(),
                asks_one_at_a_time,
                shows_forms: self.capabilities.forms,
                ask_pages: self.ask_pages.clone(),
                ended: Arc::default(),
            }) as Arc<dyn Asker>
        });
        let missing = Arc::default();
        let client = McpClientRequester {
            capabilities: self.capabilities,
            ask_sender: questions,
            missing_capability: Arc::clone(&missing),
        };
        AskChannel {
            asker,
            client: Arc::new(client),
            pending_asks: asked,
            missing_capability: missing,
        }
    }
}

/// Returns whether the client of a request shows forms to a person.
pub(crate) fn can_ask(cx: &RequestContext<RoleServer>) -> bool {
    let declared = cx.client_capabilities();
    declared.is_some_and(|client| DeclaredClientCapabilities::of(&client).forms)
}

/// The lines between a call and its client.
pub(crate) struct AskChannel {
    /// Asks the person, if the client shows forms.
    pub(crate) asker: Option<Arc<dyn Asker>>,
    pub(crate) client: Arc<dyn ClientRequester>,
    pub(crate) pending_asks: mpsc::Receiver<PendingClientAsk>,
    /// The capability that the call needed and the client does not declare.
    pub(crate) missing_capability: Arc<OnceLock<ClientRequestMethod>>,
}

struct FormAsker {
    asks: mpsc::Sender<PendingClientAsk>,
    asks_one_at_a_time: bool,
    shows_forms: bool,
    ask_pages: Option<AskPageFinder>,
    ended: Arc<EndElsewhere>,
}

impl Asker for FormAsker {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async {
            let page = self.ask_pages.as_ref().and_then(|find| find(&ask.id));
            if page.is_none() && !self.shows_forms {
                return AskAnswer::Unanswered;
            }
            let asked = PendingApproval { ask, page };
            let line = (&self.asks, &self.ended);
            match send_and_wait(line, asked, PendingClientAsk::Approval).await {
                Some(Some(answer)) => answer,
                // The answer on the page ends the ask elsewhere.
                Some(None) => pending().await,
                None => AskAnswer::Unanswered,
            }
        })
    }

    fn elicit(&self, inquiry: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async {
            if !self.shows_forms {
                return ElicitationReply::Unanswered;
            }
            let line = (&self.asks, &self.ended);
            let reply = send_and_wait(line, inquiry, PendingClientAsk::Questions).await;
            reply.unwrap_or(ElicitationReply::Unanswered)
        })
    }

    fn note_end(&self, _: &str, how: &str) {
        self.ended.set(how);
    }

    fn asks_one_at_a_time(&self) -> bool {
        self.asks_one_at_a_time
    }
}

/// The client of one request, as the tool that it calls sees it.
struct McpClientRequester {
    capabilities: DeclaredClientCapabilities,
    ask_sender: mpsc::Sender<PendingClientAsk>,
    /// The capability that the tool needed and the client does not declare.
    missing_capability: Arc<OnceLock<ClientRequestMethod>>,
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
            let line = (&self.ask_sender, &Arc::default());
            let answered = send_and_wait(line, requests, PendingClientAsk::Requests).await;
            answered.unwrap_or_else(|| Err(client_request_error("is not there any more")))
        })
    }
}
