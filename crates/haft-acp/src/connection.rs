//! The connection to an editor: its requests and their responses. Slow requests run concurrently, so that the editor can cancel a
//! prompt. The module `sessions` does the work.

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthenticateRequest, AuthenticateResponse, CancelNotification,
    CloseSessionRequest, CloseSessionResponse, ConfigOptionUpdate, CurrentModeUpdate,
    Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest, LoadSessionRequest,
    LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse, PromptCapabilities,
    PromptRequest, PromptResponse, ResumeSessionRequest, ResumeSessionResponse,
    SessionCapabilities, SessionCloseCapabilities, SessionConfigOption, SessionConfigOptionValue,
    SessionId, SessionListCapabilities, SessionModeState, SessionResumeCapabilities, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, Error, ErrorCode, JsonRpcResponse, on_receive_notification, on_receive_request,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::editor::{Editor, EditorConnection};
use crate::errors::{error, invalid_params, not_open_error};
use crate::modes::{AGENT_OPTION, modes, options};
use crate::open_session::OpenSession;
use crate::preparation::AcpPartsProvider;
use crate::prompt;
use crate::sessions::AcpSessions;
use crate::transport::lines;

/// The reason that haft ended the connection to an editor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcpServeError {
    /// A message is not of the protocol, or cannot be read.
    #[error("the connection to the editor broke: {0}")]
    Broken(String),
    /// The editor does not read its messages.
    #[error("the editor does not read what it is told, so the connection was ended")]
    NotReading,
}

/// Serves an editor until it ends the connection, or `shutdown` is cancelled. Then haft stops the turns that run, and returns after
/// their ends are recorded.
pub async fn serve(
    editor: &Editor,
    preparation: Arc<dyn AcpPartsProvider>,
    input: impl AsyncRead + Send + 'static,
    output: impl AsyncWrite + Send + 'static,
    shutdown: CancellationToken,
) -> Result<(), AcpServeError> {
    let front = AcpRequestHandler {
        editor: Arc::clone(&editor.desk),
        preparation,
        sessions: Arc::default(),
        tasks: TaskTracker::new(),
    };
    let outgoing = Arc::clone(&editor.desk.outgoing);
    let transport = lines(input, output, Arc::clone(&outgoing));
    let served = tokio::select! {
        biased;
        () = shutdown.cancelled() => Ok(()),
        () = outgoing.wait_until_overfull() => Err(AcpServeError::NotReading),
        () = outgoing.wait_until_hung_up() => Ok(()),
        served = connect(front.clone(), transport) => match served {
            Err(err) if !outgoing.is_closed() => {
                // The SDK keeps the reason beside the name of the code.
                let reason = err.data.as_ref().and_then(serde_json::Value::as_str);
                let reason = reason.map_or_else(|| err.to_string(), str::to_owned);
                Err(AcpServeError::Broken(reason))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    };
    front.close_all().await;
    front.tasks.close();
    front.tasks.wait().await;
    // Requests that ran meanwhile may have opened sessions.
    front.close_all().await;
    served
}

/// A handler that runs a method of the front in a task.
macro_rules! handler {
    ($front:ident, $method:ident, $request:ty, $response:ty) => {{
        let front = $front.clone();
        async move |request: $request, responder: Responder<$response>, _: ConnectionTo<Client>| {
            let beginning = front.clone();
            front.spawn_answer(responder, async move { beginning.$method(request).await });
            Ok(())
        }
    }};
}

async fn connect(
    front: AcpRequestHandler,
    transport: impl agent_client_protocol::ConnectTo<Agent> + 'static,
) -> Result<(), Error> {
    let introduced = front.clone();
    let prompted = front.clone();
    let cancelled = front.clone();
    Agent
        .v1()
        .name("haft")
        .on_receive_request(
            async move |request: InitializeRequest, responder, connection| {
                introduced.editor.connect(connection);
                introduced.editor.set_client_capabilities(request.client_capabilities);
                let sessions = SessionCapabilities::new()
                    .list(SessionListCapabilities::new())
                    .resume(SessionResumeCapabilities::new())
                    .close(SessionCloseCapabilities::new());
                let capabilities = AgentCapabilities::new()
                    .load_session(true)
                    .prompt_capabilities(
                        PromptCapabilities::new().embedded_context(true).image(true),
                    )
                    .session_capabilities(sessions);
                let haft = Implementation::new("haft", env!("CARGO_PKG_VERSION"));
                let response = InitializeResponse::new(ProtocolVersion::V1)
                    .agent_capabilities(capabilities)
                    .agent_info(haft.title("haft".to_owned()));
                responder.respond(response)
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: AuthenticateRequest, responder: Responder<AuthenticateResponse>, _| {
                responder.respond_with_error(invalid_params(NO_LOGIN))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(front, begin, NewSessionRequest, NewSessionResponse),
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(front, load, LoadSessionRequest, LoadSessionResponse),
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(front, resume, ResumeSessionRequest, ResumeSessionResponse),
            on_receive_request!(),
        )
        .on_receive_request(handler!(front, list, ListSessionsRequest, _), on_receive_request!())
        .on_receive_request(
            handler!(front, close, CloseSessionRequest, CloseSessionResponse),
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(front, set_mode, SetSessionModeRequest, SetSessionModeResponse),
            on_receive_request!(),
        )
        .on_receive_request(
            handler!(
                front,
                set_option,
                SetSessionConfigOptionRequest,
                SetSessionConfigOptionResponse
            ),
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
                if let Ok((_, open)) = cancelled.open_session(&notification.session_id) {
                    open.cancel_turn();
                }
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(transport)
        .await
}

/// The error for login requests.
const NO_LOGIN: &str = "there is nothing to log in to: keys of models come from the environment that the editor starts haft with, such as \
                        OPENAI_API_KEY";

/// Answers requests.
#[derive(Clone)]
struct AcpRequestHandler {
    editor: Arc<EditorConnection>,
    preparation: Arc<dyn AcpPartsProvider>,
    /// The sessions, once the parts are prepared.
    sessions: Arc<OnceCell<Arc<AcpSessions>>>,
    /// Requests that run.
    tasks: TaskTracker,
}

/// A response, and the updates of a session that follow it. Before the response, the editor may not know the session.
struct AcpResponse<T> {
    response: T,
    follow_up: Option<SessionFollowUp>,
}

struct SessionFollowUp {
    session: Arc<OpenSession>,
    updates: Vec<SessionUpdate>,
    notices: Vec<String>,
}

impl<T> From<T> for AcpResponse<T> {
    fn from(response: T) -> Self {
        Self { response, follow_up: None }
    }
}

impl AcpRequestHandler {
    /// Runs a request in a task, and sends its response.
    fn spawn_answer<T: JsonRpcResponse + Send + 'static>(
        &self,
        responder: Responder<T>,
        work: impl Future<Output = Result<AcpResponse<T>, Error>> + Send + 'static,
    ) {
        let desk = Arc::clone(&self.editor);
        self.tasks.spawn(async move {
            // Sending fails only if the editor is gone.
            match work.await {
                Err(err) => drop(responder.respond_with_error(err)),
                Ok(AcpResponse { response, follow_up: after }) => {
                    let _ = responder.respond(response);
                    let Some(SessionFollowUp { session: open, updates, notices }) = after else {
                        return;
                    };
                    desk.send_updates(&open.id, updates);
                    for notice in notices {
                        desk.send_notice(&open.id, &notice);
                    }
                }
            }
        });
    }

    /// Returns the sessions, or the reason that the parts cannot be prepared yet.
    async fn sessions(&self) -> Result<&Arc<AcpSessions>, Error> {
        let prepared = self.sessions.get_or_try_init(|| async {
            let parts = self.preparation.prepare().await?;
            Ok(Arc::new(AcpSessions::new(Arc::clone(&self.editor), parts)))
        });
        prepared.await.map_err(|why: String| error(ErrorCode::INTERNAL_ERROR, why))
    }

    /// Returns an open session.
    fn open_session(
        &self,
        session: &SessionId,
    ) -> Result<(&Arc<AcpSessions>, Arc<OpenSession>), Error> {
        let sessions = self.sessions.get().ok_or_else(|| not_open_error(&session.0))?;
        Ok((sessions, sessions.open_session(session)?))
    }

    async fn close_all(&self) {
        if let Some(sessions) = self.sessions.get() {
            sessions.close_all().await;
        }
    }

    async fn begin(
        &self,
        request: NewSessionRequest,
    ) -> Result<AcpResponse<NewSessionResponse>, Error> {
        let sessions = self.sessions().await?;
        let open = sessions.begin(&request.cwd).await?;
        let ignored = ignored_settings(&request.mcp_servers, &request.additional_directories);
        let response = NewSessionResponse::new(open.id.to_string());
        Ok(opened_response(sessions, open, ignored, |modes, options| {
            response.modes(modes).config_options(options)
        }))
    }

    async fn load(
        &self,
        request: LoadSessionRequest,
    ) -> Result<AcpResponse<LoadSessionResponse>, Error> {
        let sessions = self.sessions().await?;
        let open = sessions.resume(&request.session_id, &request.cwd).await?;
        sessions.replay_history(&open).await?;
        sessions.send_saved_title(&open).await;
        let ignored = ignored_settings(&request.mcp_servers, &request.additional_directories);
        Ok(opened_response(sessions, open, ignored, |modes, options| {
            LoadSessionResponse::new().modes(modes).config_options(options)
        }))
    }

    async fn resume(
        &self,
        request: ResumeSessionRequest,
    ) -> Result<AcpResponse<ResumeSessionResponse>, Error> {
        let sessions = self.sessions().await?;
        let open = sessions.resume(&request.session_id, &request.cwd).await?;
        sessions.send_saved_title(&open).await;
        let ignored = ignored_settings(&request.mcp_servers, &request.additional_directories);
        Ok(opened_response(sessions, open, ignored, |modes, options| {
            ResumeSessionResponse::new().modes(modes).config_options(options)
        }))
    }

    async fn list(
        &self,
        request: ListSessionsRequest,
    ) -> Result<AcpResponse<agent_client_protocol::v1::schema::ListSessionsResponse>, Error> {
        self.sessions().await?.list(&request).await.map(AcpResponse::from)
    }

    async fn close(
        &self,
        request: CloseSessionRequest,
    ) -> Result<AcpResponse<CloseSessionResponse>, Error> {
        let (sessions, open) = self.open_session(&request.session_id)?;
        sessions.close(&open).await;
        Ok(CloseSessionResponse::new().into())
    }

    async fn set_mode(
        &self,
        request: SetSessionModeRequest,
    ) -> Result<AcpResponse<SetSessionModeResponse>, Error> {
        let (sessions, open) = self.open_session(&request.session_id)?;
        sessions.change_agent(&open, &request.mode_id.0).await?;
        let (_, options) = agent_choices(sessions, &open);
        let updates = vec![SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options))];
        let after = Some(SessionFollowUp { session: open, updates, notices: Vec::new() });
        Ok(AcpResponse { response: SetSessionModeResponse::new(), follow_up: after })
    }

    async fn set_option(
        &self,
        request: SetSessionConfigOptionRequest,
    ) -> Result<AcpResponse<SetSessionConfigOptionResponse>, Error> {
        let (sessions, open) = self.open_session(&request.session_id)?;
        let value = match request.value {
            SessionConfigOptionValue::ValueId { value }
                if &*request.config_id.0 == AGENT_OPTION =>
            {
                value
            }
            _ => {
                let option = &request.config_id.0;
                let message = format!(
                    "there is no option {option:?} with such values: expected {AGENT_OPTION:?} and the name of an agent"
                );
                return Err(invalid_params(message));
            }
        };
        sessions.change_agent(&open, &value.0).await?;
        let (_, options) = agent_choices(sessions, &open);
        let mode = CurrentModeUpdate::new(open.agent());
        let updates = vec![SessionUpdate::CurrentModeUpdate(mode)];
        let after = Some(SessionFollowUp { session: open, updates, notices: Vec::new() });
        Ok(AcpResponse { response: SetSessionConfigOptionResponse::new(options), follow_up: after })
    }

    /// Begins a turn before the next message of the editor is handled, which may cancel it.
    fn prompt(
        &self,
        request: &PromptRequest,
        responder: Responder<PromptResponse>,
    ) -> Result<(), Error> {
        let begun = self.open_session(&request.session_id).and_then(|(sessions, open)| {
            let prompt = prompt::editor_prompt(&request.prompt).map_err(invalid_params)?;
            Ok((Arc::clone(sessions), sessions.begin_turn(&open)?, prompt))
        });
        let (sessions, turn, prompt) = match begun {
            Ok(begun) => begun,
            Err(err) => return responder.respond_with_error(err),
        };
        let withdrawn = responder.cancellation();
        self.spawn_answer(responder, async move {
            let stop = turn.stop.clone();
            let mut turning = std::pin::pin!(sessions.run_turn(turn, prompt));
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

/// Returns the agents of a session, as modes and as options.
fn agent_choices(
    sessions: &AcpSessions,
    open: &OpenSession,
) -> (SessionModeState, Vec<SessionConfigOption>) {
    let (agents, agent) = (&sessions.parts.agents, open.agent());
    (modes(agents, &agent), options(agents, &agent))
}

/// Returns the response about an opened session. The session's notices follow it.
fn opened_response<T>(
    sessions: &AcpSessions,
    open: Arc<OpenSession>,
    ignored: Option<String>,
    respond: impl FnOnce(SessionModeState, Vec<SessionConfigOption>) -> T,
) -> AcpResponse<T> {
    let (modes, options) = agent_choices(sessions, &open);
    let notices = ignored.into_iter().chain(sessions.parts.notices.iter().cloned()).collect();
    let follow_up = Some(SessionFollowUp { session: open, updates: Vec::new(), notices });
    AcpResponse { response: respond(modes, options), follow_up }
}

/// Returns a notice about the settings of an editor that haft ignores.
fn ignored_settings(servers: &[McpServer], directories: &[PathBuf]) -> Option<String> {
    let mut ignored = Vec::new();
    if !servers.is_empty() {
        ignored.push(
            "haft does not start the MCP servers that the editor is set up with: those that agents may use are named in haft.toml.",
        );
    }
    if !directories.is_empty() {
        ignored.push(
            "haft does not work in the further directories that the editor names: roots in haft.toml adds directories.",
        );
    }
    (!ignored.is_empty()).then(|| ignored.join("\n"))
}
