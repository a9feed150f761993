//! Whether and how the client of one request can be asked, and the way of a question from the pipeline to whoever serves
//! that request. Two eras, two ways: older clients take requests of the server while their own waits; newer ones take
//! the question as the answer to their request, and repeat the request with what was said.

use std::sync::{Arc, OnceLock};

use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply};
use haft_contract::{BoxFuture, ClientRequestMethod};
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use tokio::sync::mpsc;

use crate::approval_form::EnumTitleStyle;
use crate::client_requester::McpClientRequester;
use crate::client_requests::DeclaredClientCapabilities;
use crate::pending_ask::{PendingClientAsk, send_and_wait};
use crate::request_state::CallBinding;

/// How the client of one request can be asked, and for what.
pub(crate) struct AskSupport {
    pub(crate) method: AskMethod,
    capabilities: DeclaredClientCapabilities,
}

/// How a client can be asked.
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
        Self { method: way, capabilities: takes }
    }

    /// Returns what asks this client, and where its questions come out.
    pub(crate) fn open_channel(&self) -> AskChannel {
        // A call asks one thing and then waits, so a second place would stay empty.
        let (questions, asked) = mpsc::channel(1);
        let asker: Option<Arc<dyn Asker>> = match &self.method {
            AskMethod::ServerRequest(_) if self.capabilities.forms => {
                Some(Arc::new(SequentialFormAsker(questions.clone())))
            }
            AskMethod::InputRequired(_) if self.capabilities.forms => {
                Some(Arc::new(ConcurrentFormAsker(questions.clone())))
            }
            AskMethod::Unsupported | AskMethod::ServerRequest(_) | AskMethod::InputRequired(_) => {
                None
            }
        };
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

/// The lines between a call and its client.
pub(crate) struct AskChannel {
    /// Asks the person, if the client shows forms.
    pub(crate) asker: Option<Arc<dyn Asker>>,
    /// Asks the client itself.
    pub(crate) client: Arc<McpClientRequester>,
    /// Where questions come out.
    pub(crate) pending_asks: mpsc::Receiver<PendingClientAsk>,
    /// What the call asked for that the client does not take.
    pub(crate) missing_capability: Arc<OnceLock<ClientRequestMethod>>,
}

/// Asks a client that is told one question after the other.
struct SequentialFormAsker(mpsc::Sender<PendingClientAsk>);

/// Asks a client that may need the answer to one of its requests before it answers the question of another.
struct ConcurrentFormAsker(mpsc::Sender<PendingClientAsk>);

impl Asker for SequentialFormAsker {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(ask_approval(&self.0, ask))
    }

    fn elicit(&self, inquiry: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(ask_questions(&self.0, inquiry))
    }
}

impl Asker for ConcurrentFormAsker {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(ask_approval(&self.0, ask))
    }

    fn elicit(&self, inquiry: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(ask_questions(&self.0, inquiry))
    }

    fn asks_one_at_a_time(&self) -> bool {
        false
    }
}

async fn ask_approval(questions: &mpsc::Sender<PendingClientAsk>, ask: Ask) -> AskAnswer {
    send_and_wait(questions, ask, PendingClientAsk::Approval).await.unwrap_or(AskAnswer::Unanswered)
}

async fn ask_questions(
    questions: &mpsc::Sender<PendingClientAsk>,
    inquiry: Elicitation,
) -> ElicitationReply {
    send_and_wait(questions, inquiry, PendingClientAsk::Questions)
        .await
        .unwrap_or(ElicitationReply::Unanswered)
}
