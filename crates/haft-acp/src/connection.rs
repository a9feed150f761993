//! The connection to an editor: which requests it may make, and what it is answered. Requests that take time are worked on
//! beside each other, so that a prompt can be cancelled; what a session is, is not known here.

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, CloseSessionRequest, CloseSessionResponse,
    ConfigOptionUpdate, CurrentModeUpdate, Implementation, InitializeRequest, InitializeResponse,
    ListSessionsRequest, LoadSessionRequest, LoadSessionResponse, McpServer, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, ResumeSessionRequest,
    ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities, SessionConfigOptionValue,
    SessionListCapabilities, SessionResumeCapabilities, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, JsonRpcResponse, on_receive_notification, on_receive_request,
};
use haft::Runtime;
use haft_agent::{AgentHost, FoundAgents};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::editor::Editor;
use crate::failure::invalid;
use crate::modes::{AGENT_OPTION, modes, options};
use crate::prompt;
use crate::sessions::{Open, Sessions};
use crate::transport::lines;

/// What an editor is served with.
pub struct ServeParts {
    /// The host, made with the editor's asker and watcher.
    pub host: Arc<AgentHost>,
    /// The host's runtime.
    pub runtime: Runtime,
    /// The host's agents.
    pub agents: Arc<FoundAgents>,
    /// The agent that sessions are begun with.
    pub agent: String,
    /// What the model can read, in tokens.
    pub context_tokens: u64,
    /// Writes a time, in milliseconds since the epoch, as RFC 3339 has it.
    pub time: fn(u64) -> String,
}

/// Why an editor is not served any more, though it did not end the connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// What came is no message of the protocol, or cannot be read.
    #[error("the connection to the editor broke: {0}")]
    Broken(String),
    /// The editor does not read what it is told.
    #[error("the editor does not read what it is told, so the connection was ended")]
    Unread,
}

/// Serves an editor until it ends the connection, or `shutdown` is cancelled. Turns that are under way then are stopped, and what
/// they came to is recorded when this returns.
pub async fn serve(
    editor: &Editor,
    parts: ServeParts,
    input: impl AsyncRead + Send + 'static,
    output: impl AsyncWrite + Send + 'static,
    shutdown: CancellationToken,
) -> Result<(), ServeError> {
    let sessions = Arc::new(Sessions::new(Arc::clone(&editor.desk), parts));
    let front = Front { sessions: Arc::clone(&sessions), tasks: TaskTracker::new() };
    let outgoing = Arc::clone(&editor.desk.outgoing);
    let transport = lines(input, output, Arc::clone(&outgoing));
    let served = tokio::select! {
        biased;
        () = shutdown.cancelled() => Ok(()),
        () = outgoing.unread() => Err(ServeError::Unread),
        served = connect(front.clone(), transport) => {
            served.map_err(|err| ServeError::Broken(why(&err)))
        }
    };
    sessions.close_all().await;
    front.tasks.close();
    front.tasks.wait().await;
    // What was being opened meanwhile is open by now.
    sessions.close_all().await;
    served
}

/// Returns what a connection ended with: the SDK keeps it beside the name of the code.
fn why(err: &Error) -> String {
    let said = err.data.as_ref().and_then(serde_json::Value::as_str);
    said.map_or_else(|| err.to_string(), str::to_owned)
}

async fn connect(
    front: Front,
    transport: impl agent_client_protocol::ConnectTo<Agent> + 'static,
) -> Result<(), Error> {
    /// A handler that hands a request over to a method of the front.
    macro_rules! handler {
        ($method:ident, $request:ty, $response:ty) => {{
            let front = front.clone();
            async move |request: $request,
                        responder: Responder<$response>,
                        _: ConnectionTo<Client>| {
                let beginning = front.clone();
                front.answer(responder, async move { beginning.$method(request).await });
                Ok(())
            }
        }};
    }
    let introduced = front.clone();
    let prompted = front.clone();
    let cancelled = front.clone();
    Agent
        .v1()
        .name("haft")
        .on_receive_request(
            async move |request: InitializeRequest, responder, connection| {
                responder.respond(introduced.initialize(request, connection))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(begin, NewSessionRequest, NewSessionResponse),
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(load, LoadSessionRequest, LoadSessionResponse),
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(resume, ResumeSessionRequest, ResumeSessionResponse),
            on_receive_request!(),
        )
        .on_receive_request(handler!(list, ListSessionsRequest, _), on_receive_request!())
        .on_receive_request(
            handler!(close, CloseSessionRequest, CloseSessionResponse),
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(set_mode, SetSessionModeRequest, SetSessionModeResponse),
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(set_option, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse),
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, _: ConnectionTo<Client>| {
                prompted.prompt(&request, responder)
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: CancelNotification, _: ConnectionTo<Client>| {
                if let Ok(open) = cancelled.sessions.find(&notification.session_id) {
                    open.cancel();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(transport)
        .await
}

/// Answers requests.
#[derive(Clone)]
struct Front {
    sessions: Arc<Sessions>,
    /// Requests that are worked on.
    tasks: TaskTracker,
}

/// An answer, and what is said in a session right after it: before it, the editor may not know the session.
struct Answered<T> {
    response: T,
    after: Option<After>,
}

struct After {
    open: Arc<Open>,
    updates: Vec<SessionUpdate>,
    notice: Option<String>,
}

impl<T> From<T> for Answered<T> {
    fn from(response: T) -> Self {
        Self { response, after: None }
    }
}

impl Front {
    /// Works on a request beside others, and answers it.
    fn answer<T: JsonRpcResponse + Send + 'static>(
        &self,
        responder: Responder<T>,
        work: impl Future<Output = Result<Answered<T>, Error>> + Send + 'static,
    ) {
        let sessions = Arc::clone(&self.sessions);
        self.tasks.spawn(async move {
            // An editor that is gone is answered nothing.
            match work.await {
                Err(err) => drop(responder.respond_with_error(err)),
                Ok(Answered { response, after }) => {
                    let _ = responder.respond(response);
                    let Some(After { open, updates, notice }) = after else { return };
                    sessions.desk.say(&open.id, updates);
                    if let Some(notice) = notice {
                        sessions.desk.notice(&open.id, &notice);
                    }
                }
            }
        });
    }

    fn initialize(
        &self,
        request: InitializeRequest,
        connection: ConnectionTo<Client>,
    ) -> InitializeResponse {
        let desk = &self.sessions.desk;
        desk.connect(connection, self.sessions.parts.runtime.roots().clone());
        desk.introduce(request.client_capabilities);
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().embedded_context(true))
            .session_capabilities(sessions);
        let haft = Implementation::new("haft", env!("CARGO_PKG_VERSION")).title("haft".to_owned());
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(haft)
    }

    async fn begin(
        &self,
        request: NewSessionRequest,
    ) -> Result<Answered<NewSessionResponse>, Error> {
        let open = self.sessions.begin(&request.cwd).await?;
        let (agents, agent) = (&self.sessions.parts.agents, open.agent());
        let response = NewSessionResponse::new(open.id.to_string())
            .modes(modes(agents, &agent))
            .config_options(options(agents, &agent));
        let notice = ignored(&request.mcp_servers, &request.additional_directories);
        Ok(Answered { response, after: Some(After { open, updates: Vec::new(), notice }) })
    }

    async fn load(
        &self,
        request: LoadSessionRequest,
    ) -> Result<Answered<LoadSessionResponse>, Error> {
        let open = self.sessions.resume(&request.session_id, &request.cwd).await?;
        self.sessions.replay(&open).await?;
        let (agents, agent) = (&self.sessions.parts.agents, open.agent());
        let response = LoadSessionResponse::new()
            .modes(modes(agents, &agent))
            .config_options(options(agents, &agent));
        let notice = ignored(&request.mcp_servers, &request.additional_directories);
        Ok(Answered { response, after: Some(After { open, updates: Vec::new(), notice }) })
    }

    async fn resume(
        &self,
        request: ResumeSessionRequest,
    ) -> Result<Answered<ResumeSessionResponse>, Error> {
        let open = self.sessions.resume(&request.session_id, &request.cwd).await?;
        let (agents, agent) = (&self.sessions.parts.agents, open.agent());
        let response = ResumeSessionResponse::new()
            .modes(modes(agents, &agent))
            .config_options(options(agents, &agent));
        let notice = ignored(&request.mcp_servers, &request.additional_directories);
        Ok(Answered { response, after: Some(After { open, updates: Vec::new(), notice }) })
    }

    async fn list(
        &self,
        request: ListSessionsRequest,
    ) -> Result<Answered<agent_client_protocol::v1::schema::ListSessionsResponse>, Error> {
        self.sessions.list(&request).await.map(Answered::from)
    }

    async fn close(
        &self,
        request: CloseSessionRequest,
    ) -> Result<Answered<CloseSessionResponse>, Error> {
        let open = self.sessions.find(&request.session_id)?;
        self.sessions.close(&open).await;
        Ok(CloseSessionResponse::new().into())
    }

    async fn set_mode(
        &self,
        request: SetSessionModeRequest,
    ) -> Result<Answered<SetSessionModeResponse>, Error> {
        let open = self.sessions.find(&request.session_id)?;
        self.sessions.change_agent(&open, &request.mode_id.0).await?;
        let options = options(&self.sessions.parts.agents, &open.agent());
        let updates = vec![SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options))];
        let after = Some(After { open, updates, notice: None });
        Ok(Answered { response: SetSessionModeResponse::new(), after })
    }

    async fn set_option(
        &self,
        request: SetSessionConfigOptionRequest,
    ) -> Result<Answered<SetSessionConfigOptionResponse>, Error> {
        let open = self.sessions.find(&request.session_id)?;
        let value = match request.value {
            SessionConfigOptionValue::ValueId { value }
                if &*request.config_id.0 == AGENT_OPTION =>
            {
                value
            }
            _ => {
                let option = &request.config_id.0;
                return Err(invalid(format!(
                    "there is no option {option:?} with such values: expected {AGENT_OPTION:?} and the name of an agent"
                )));
            }
        };
        self.sessions.change_agent(&open, &value.0).await?;
        let agent = open.agent();
        let options = options(&self.sessions.parts.agents, &agent);
        let updates = vec![SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(agent))];
        let after = Some(After { open, updates, notice: None });
        Ok(Answered { response: SetSessionConfigOptionResponse::new(options), after })
    }

    /// Begins a turn before the next message of the editor is looked at, which may cancel it.
    fn prompt(
        &self,
        request: &PromptRequest,
        responder: Responder<PromptResponse>,
    ) -> Result<(), Error> {
        let begun = self.sessions.find(&request.session_id).and_then(|open| {
            let text = prompt::text(&request.prompt).map_err(invalid)?;
            Ok((self.sessions.begin_turn(&open)?, text))
        });
        let (turn, text) = match begun {
            Ok(begun) => begun,
            Err(err) => return responder.respond_with_error(err),
        };
        let (sessions, withdrawn) = (Arc::clone(&self.sessions), responder.cancellation());
        self.answer(responder, async move {
            let stop = turn.stop.clone();
            let mut turning = std::pin::pin!(sessions.have(turn, text));
            let end = tokio::select! {
                end = &mut turning => end,
                () = withdrawn.cancelled() => {
                    stop.cancel();
                    turning.await
                }
            };
            end.map(|reason| PromptResponse::new(reason).into())
        });
        Ok(())
    }
}

/// Says what of an editor's wishes for a session is not done.
fn ignored(servers: &[McpServer], directories: &[PathBuf]) -> Option<String> {
    let mut ignored = Vec::new();
    if !servers.is_empty() {
        ignored.push(
            "haft does not start the MCP servers that the editor is set up with: those that agents may use are named in haft.toml \
             (haft mcp add).",
        );
    }
    if !directories.is_empty() {
        ignored.push(
            "haft does not work in the further directories that the editor names: roots in haft.toml adds directories.",
        );
    }
    (!ignored.is_empty()).then(|| ignored.join("\n"))
}
