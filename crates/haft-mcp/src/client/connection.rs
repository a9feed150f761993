//! One connection to a server: the handshake, the list of its tools, and the calls. It lives as long as its server does;
//! whether another connection follows is decided elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use haft_contract::Cx;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, InputRequest, InputRequiredResult,
    InputResponses, JsonObject, ListToolsRequest, PaginatedRequestParams, ProtocolVersion,
    ServerResult, SubscriptionFilter,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt, PeerRequestOptions, RunningService, ServiceError,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{error::Elapsed, timeout};

use super::forms::{FormFiller, fill_form};
use super::handler::{McpClientHandler, ProgressListeners};
use super::http::{HttpSendError, RequestDelivery};
use super::limits::{
    SERVER_LIST_MS_MAX, SERVER_PAGES_MAX, SERVER_ROUNDS_MAX, SERVER_START_MS_MAX, SERVER_STUCK_MS,
};
use super::server_link::McpServerLink;
use super::tool_list::{McpToolList, ProtocolEra, ToolListReader};
use haft_contract::{clean, cut};

/// Longest name or version of a server that is shown, in characters.
const ABOUT_CHARS_MAX: usize = 100;

pub(super) struct McpClientConnection {
    running: RunningService<RoleClient, McpClientHandler>,
    pub(super) link: McpServerLink,
    form_filler: Option<Arc<dyn FormFiller>>,
    listeners: Arc<ProgressListeners>,
    tools_changed: Arc<Notify>,
    /// The calls that wait for an answer.
    calls_waiting: AtomicUsize,
}

pub(super) enum McpCallAnswer {
    Result(Value),
    /// The server refused the request, for this reason.
    Refused(String),
    /// The server wants something first that it does not get.
    NeedsInput(&'static str),
    Stopped,
    /// The server was not even asked, and why.
    NotSent(String),
    /// The connection broke off before there was an answer, and why.
    Lost(String),
}

impl McpClientConnection {
    /// Connects to the server, or returns why that is not possible.
    pub(super) async fn open(
        (transport, way): (impl Transport<RoleClient> + 'static, McpServerLink),
        (roots, forms): (Vec<std::path::PathBuf>, Option<Arc<dyn FormFiller>>),
        known_era: Option<ProtocolEra>,
    ) -> Result<Self, McpOpenError> {
        let (listeners, changed) = (Arc::<ProgressListeners>::default(), Arc::<Notify>::default());
        let (told, heard) = (Arc::clone(&changed), Arc::clone(&listeners));
        let handler = McpClientHandler {
            roots,
            form_filler: forms.clone(),
            listeners: heard,
            tools_changed: told,
        };
        let lifecycle = match known_era {
            // A server that is known to need a handshake is not asked for anything else first.
            Some(ProtocolEra::Handshake) => ClientLifecycleMode::Initialize,
            Some(ProtocolEra::Stateless) | None => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        };
        // Boxed, because the future of the SDK is large.
        let opening = Box::pin(handler.serve_with_lifecycle(transport, lifecycle));
        let opening = async { opening.await.map_err(|err| err.to_string()) };
        match timeout(Duration::from_millis(SERVER_START_MS_MAX), opening).await {
            Ok(Ok(running)) => Ok(Self {
                running,
                link: way,
                form_filler: forms,
                listeners,
                tools_changed: changed,
                calls_waiting: AtomicUsize::new(0),
            }),
            Ok(Err(why)) => {
                let fault = way.last_fault.borrow().clone();
                if let Some(fault) = fault.filter(|_| way.is_remote()) {
                    return Err(McpOpenError::Refused(fault));
                }
                if way.is_over() {
                    return Err(McpOpenError::Ended(way.end_reason().await));
                }
                let why = cut(&clean(&why), 10 * ABOUT_CHARS_MAX);
                Err(McpOpenError::Refused(format!("no understanding was come to: {why}")))
            }
            Err(Elapsed { .. }) => Err(McpOpenError::Refused(format!(
                "it did not answer within {SERVER_START_MS_MAX} ms after its start"
            ))),
        }
    }

    pub(super) async fn list(&self) -> Result<McpToolList, String> {
        let listing = async {
            let mut reader = ToolListReader::default();
            let mut cursor: Option<String> = None;
            for page in 0.. {
                if page == SERVER_PAGES_MAX {
                    reader.mark_incomplete();
                    break;
                }
                let params = PaginatedRequestParams::default().with_cursor(cursor.take());
                let request = ListToolsRequest::with_param(params);
                // The SDK does not answer this from its cache.
                let request = ClientRequest::ListToolsRequest(request);
                let answer = self.running.peer().send_request(request).await;
                let answer = answer.map_err(|err| match err {
                    ServiceError::McpError(err) => {
                        let why = cut(&clean(&err.message), 10 * ABOUT_CHARS_MAX);
                        format!("it does not list its tools: {why}")
                    }
                    err => err.to_string(),
                })?;
                cursor = reader.read_page(&serde_json::to_value(answer).unwrap_or_default())?;
                if cursor.is_none() {
                    break;
                }
            }
            Ok::<_, String>(reader.finish(self.era()))
        };
        match timeout(Duration::from_millis(SERVER_LIST_MS_MAX), listing).await {
            Ok(Ok(listing)) => Ok(listing),
            Ok(Err(_)) if self.is_over() => Err(self.link.end_reason().await),
            Ok(Err(why)) => Err(why),
            Err(Elapsed { .. }) => {
                Err(format!("it did not list its tools within {SERVER_LIST_MS_MAX} ms"))
            }
        }
    }

    pub(super) async fn wait_for_tools_change(&self) {
        let about = self.running.peer().peer_info();
        let tools = about.and_then(|about| about.capabilities.tools.clone());
        let is_announced = tools.and_then(|tools| tools.list_changed) == Some(true);
        if self.era() == ProtocolEra::Stateless && is_announced {
            let filter = SubscriptionFilter::builder().tools_list_changed().build();
            if let Ok(mut told) = self.running.peer().listen(filter).await
                && matches!(told.next().await, Ok(Some(_)))
            {
                return;
            }
        }
        self.tools_changed.notified().await;
    }

    pub(super) async fn call(&self, tool: &str, arguments: JsonObject, cx: &Cx) -> McpCallAnswer {
        self.calls_waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = WaitingCall(&self.calls_waiting);
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for round in 0..SERVER_ROUNDS_MAX {
            let wanted = match self.call_once(params.clone(), cx).await {
                // The effects of an earlier round are unknown.
                Ok(McpCallAnswer::NotSent(why)) if round > 0 => return McpCallAnswer::Lost(why),
                Ok(answer) => return answer,
                Err(wanted) => wanted,
            };
            let (forms, requests) = (self.form_filler.as_deref(), wanted.input_requests);
            let filling = async {
                let mut inputs = InputResponses::new();
                for (name, wanted) in requests.unwrap_or_default() {
                    let InputRequest::Elicitation(wanted) = wanted else { return None };
                    let params = serde_json::to_value(wanted.params).ok()?;
                    inputs.insert(name, fill_form(forms?, &params).await);
                }
                forms.map(|_| inputs)
            };
            let inputs = tokio::select! {
                inputs = filling => inputs,
                () = cx.cancellation().cancelled() => return McpCallAnswer::Stopped,
            };
            let Some(inputs) = inputs else {
                return McpCallAnswer::NeedsInput("asks for input, which haft gives to no server");
            };
            params.input_responses = Some(inputs);
            params.request_state = wanted.request_state;
        }
        McpCallAnswer::NeedsInput("asks for input again and again")
    }

    /// Makes one round of a call. A request of the server for input is an error.
    async fn call_once(
        &self,
        params: CallToolRequestParams,
        cx: &Cx,
    ) -> Result<McpCallAnswer, InputRequiredResult> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self.running.peer().send_cancellable_request(request, options).await;
        let Ok(mut handle) = sent else {
            return Ok(McpCallAnswer::NotSent(self.link.end_reason().await));
        };
        let _listening = self.listeners.register(handle.progress_token.clone(), cx.clone());
        let answered = tokio::select! {
            biased;
            answered = &mut handle.rx => answered,
            () = cx.cancellation().cancelled() => {
                // The server may be gone; haft does not wait for the answer any more.
                let _ = handle.cancel(Some("the call was stopped".to_owned())).await;
                return Ok(McpCallAnswer::Stopped);
            }
        };
        Ok(match answered {
            Ok(Ok(ServerResult::InputRequiredResult(wanted))) => return Err(wanted),
            Ok(Ok(ServerResult::CreateTaskResult(_))) => McpCallAnswer::NeedsInput(
                "answers with a task to be asked after, which haft does not do",
            ),
            Ok(Ok(result)) => {
                McpCallAnswer::Result(serde_json::to_value(result).unwrap_or_default())
            }
            Ok(Err(ServiceError::McpError(err))) => {
                McpCallAnswer::Refused(err.message.into_owned())
            }
            Ok(Err(ServiceError::TransportSend(err))) => {
                match err.error.downcast_ref::<HttpSendError>() {
                    Some(HttpSendError { why, delivery: RequestDelivery::NotDelivered }) => {
                        McpCallAnswer::NotSent(why.clone())
                    }
                    Some(HttpSendError { why, delivery: RequestDelivery::MaybeDelivered }) => {
                        McpCallAnswer::Lost(why.clone())
                    }
                    None => McpCallAnswer::NotSent(self.link.end_reason().await),
                }
            }
            Ok(Err(_)) | Err(_) if self.link.is_remote() && !self.is_over() => {
                McpCallAnswer::Lost("its answer broke off".to_owned())
            }
            Ok(Err(_)) | Err(_) => McpCallAnswer::Lost(self.link.end_reason().await),
        })
    }

    /// Returns whether a program answers nothing, although no call keeps it busy. A server with one thread stays so after a call
    /// that it does not stop.
    pub(super) async fn is_stuck(&self) -> bool {
        if self.link.is_remote() || self.calls_waiting.load(Ordering::Relaxed) > 0 {
            return false;
        }
        timeout(Duration::from_millis(SERVER_STUCK_MS), self.list()).await.is_err()
    }

    /// Returns whether the server is not spoken to any more.
    pub(super) fn is_over(&self) -> bool {
        self.link.is_over() || self.running.peer().is_transport_closed()
    }

    /// Returns which protocol is spoken.
    pub(super) fn era(&self) -> ProtocolEra {
        let about = self.running.peer().peer_info();
        match about.is_some_and(|about| about.protocol_version.has_initialize()) {
            true => ProtocolEra::Handshake,
            false => ProtocolEra::Stateless,
        }
    }

    /// Returns the protocol's version, and what the server calls itself.
    pub(super) fn server_info(&self) -> (String, String) {
        let Some(about) = self.running.peer().peer_info() else { return Default::default() };
        let name = about.server_info.as_ref().map_or_else(String::new, |server| {
            cut(&clean(&format!("{} {}", server.name, server.version)), ABOUT_CHARS_MAX)
        });
        let version = cut(&clean(&about.protocol_version.to_string()), ABOUT_CHARS_MAX);
        (version, name)
    }
}

/// Counts a call until it is answered or dropped.
struct WaitingCall<'a>(&'a AtomicUsize);

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Why there is no connection.
pub(super) enum McpOpenError {
    /// The server ended, as some do when they are asked what they do not know.
    Ended(String),
    /// It lived, and there was no understanding.
    Refused(String),
}
