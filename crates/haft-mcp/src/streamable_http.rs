//! MCP over streamable HTTP, as a service that the listener mounts at a path. Each client of the older era gets its own
//! session of haft and its own run. Requests of the newer era, which has no sessions, share one. The listener decides who may
//! send requests, how large they are and how long they take: nothing here looks at Host, Origin or tokens.

mod http_handler;
mod http_sessions;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use haft_contract::BoxFuture;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use self::http_handler::HttpRequestHandler;
use self::http_sessions::{HttpSessions, expire_in_background};
use crate::handler::McpServerHandler;
use crate::limits::{
    FLUSH_MS_MAX, GRACE_MS, HTTP_SESSION_SPARE_MS, HTTP_SESSIONS_MAX, KEEP_ALIVE_MS,
    MESSAGE_BYTES_MAX, SETTLE_MS_MAX,
};
use crate::server_parts::{McpServerFactory, McpServerParts};

const SESSION_HEADER: &str = "mcp-session-id";
const JSON_TYPE: &str = "application/json";
/// The code of JSON-RPC for a body that is not JSON.
const PARSE_ERROR: i32 = -32_700;
/// The code of JSON-RPC for JSON that is no message.
const INVALID_REQUEST: i32 = -32_600;

/// MCP over HTTP for any number of clients.
pub struct HttpServer {
    service: StreamableHttpService<HttpRequestHandler, HttpSessions>,
    sessions: Arc<HttpSessions>,
    stateless_handler: Arc<McpServerHandler>,
    background_tasks: TaskTracker,
    /// Requests that are not answered yet.
    pending_answers: TaskTracker,
    shutdown: CancellationToken,
}

impl HttpServer {
    /// Returns a server. Requests without a session reach `stateless`; `open` is called for each session. The caller
    /// must be in an async runtime, in which background tasks run until the server is shut down.
    pub fn new(stateless: McpServerParts, open: McpServerFactory) -> Self {
        let closed = CancellationToken::new();
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            // The SDK would prime the streams of every client. The sessions prime those of clients that know of it.
            .with_sse_retry(None)
            .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
            .with_sse_keep_alive(Some(Duration::from_millis(KEEP_ALIVE_MS)))
            .with_cancellation_token(closed.clone());
        let stateless = Arc::new(McpServerHandler::new(stateless));
        let tending = TaskTracker::new();
        let sessions = Arc::new(HttpSessions::new(open, tending.clone(), closed.clone()));
        expire_in_background(&tending, &stateless, &closed);
        let idle = Arc::clone(&sessions);
        let until = closed.clone();
        tending.spawn(async move {
            tokio::select! {
                never = idle.end_idle() => match never {},
                () = until.cancelled() => {}
            }
        });
        let shared = Arc::clone(&stateless);
        let service = StreamableHttpService::new(
            move || Ok(HttpRequestHandler::new(Arc::clone(&shared))),
            Arc::clone(&sessions),
            config,
        );
        let answering = TaskTracker::new();
        Self {
            service,
            sessions,
            stateless_handler: stateless,
            background_tasks: tending,
            pending_answers: answering,
            shutdown: closed,
        }
    }

    /// Returns the service that answers requests, to be mounted at a path.
    pub fn service(&self) -> HttpEndpoint {
        let (inner, answering) = (self.service.clone(), self.pending_answers.clone());
        HttpEndpoint { inner, sessions: Arc::clone(&self.sessions), pending_answers: answering }
    }

    /// Ends all sessions: calls that are about to end still answer, others are told to stop and recorded. From then on
    /// requests are turned away.
    pub async fn shut_down(&self) {
        sleep(Duration::from_millis(GRACE_MS)).await;
        tokio::join!(self.stateless_handler.end(), self.sessions.end_all());
        // The last answers are on their way to the clients.
        self.pending_answers.close();
        let _ = timeout(Duration::from_millis(SETTLE_MS_MAX), self.pending_answers.wait()).await;
        sleep(Duration::from_millis(FLUSH_MS_MAX)).await;
        self.shutdown.cancel();
        self.background_tasks.close();
        self.background_tasks.wait().await;
    }
}

/// Answers requests. Cloning is cheap; all clones are the same server.
#[derive(Clone)]
pub struct HttpEndpoint {
    inner: StreamableHttpService<HttpRequestHandler, HttpSessions>,
    sessions: Arc<HttpSessions>,
    pending_answers: TaskTracker,
}

impl Service<Request<Bytes>> for HttpEndpoint {
    type Response = Response<BoxBody<Bytes, Infallible>>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let server = self.clone();
        Box::pin(self.pending_answers.track_future(async move {
            // The SDK answers everything but this: too many sessions, and the end of unknown sessions.
            let session = request.headers().get(SESSION_HEADER).map(HeaderValue::to_str);
            let is_end = request.method() == Method::DELETE;
            match session {
                // Requests of the newer era say their method in a header, and their body is not parsed.
                None if request.method() == Method::POST
                    && !request.headers().contains_key("mcp-method")
                    && serde_json::from_slice::<Value>(request.body()).is_ok_and(|message| {
                        message.get("method").is_some_and(|name| name == "initialize")
                    }) =>
                {
                    if server.sessions.is_closing() {
                        let text = "the server is about to end\n".to_owned();
                        return Ok(plain_text_response(StatusCode::SERVICE_UNAVAILABLE, text));
                    }
                    if !server.sessions.has_room().await {
                        let text = format!(
                            "there are {HTTP_SESSIONS_MAX} sessions, which is the limit, and each of them is in use: \
                             end one with DELETE, or come back later\n"
                        );
                        let mut response =
                            plain_text_response(StatusCode::SERVICE_UNAVAILABLE, text);
                        let seconds = HeaderValue::from(HTTP_SESSION_SPARE_MS.div_ceil(1_000));
                        response.headers_mut().insert(RETRY_AFTER, seconds);
                        return Ok(response);
                    }
                }
                Some(Ok(id)) if is_end && !server.sessions.contains(id) => {
                    let text = "there is no such session\n".to_owned();
                    return Ok(plain_text_response(StatusCode::NOT_FOUND, text));
                }
                None | Some(_) => {}
            }
            let (body, is_json) = (request.body().clone(), has_json_type(request.headers()));
            let mut response = server.inner.handle(request.map(Full::new)).await;
            // The SDK answers so to a body that is no message, too.
            if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
                return Ok(malformed_message_response(&body));
            }
            // Clients take «accepted» for a failure to end a session.
            if is_end && response.status() == StatusCode::ACCEPTED {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            Ok(response)
        }))
    }
}

/// Returns whether a request says that its body is JSON.
fn has_json_type(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON_TYPE)
}

/// Returns the answer to a body that is no message of JSON-RPC.
fn malformed_message_response(body: &[u8]) -> Response<BoxBody<Bytes, Infallible>> {
    let (code, message) = match serde_json::from_slice::<Value>(body) {
        Err(err) if body.is_empty() => (PARSE_ERROR, format!("the body is empty: {err}")),
        Err(err) => (PARSE_ERROR, format!("the body is not JSON: {err}")),
        Ok(Value::Array(_)) => {
            (INVALID_REQUEST, "batches are not supported: send one message per request".to_owned())
        }
        Ok(_) => (INVALID_REQUEST, "the body is not a message of JSON-RPC 2.0".to_owned()),
    };
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    let mut response = plain_text_response(StatusCode::BAD_REQUEST, error.to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON_TYPE));
    response
}

fn plain_text_response(status: StatusCode, text: String) -> Response<BoxBody<Bytes, Infallible>> {
    let mut response = Response::new(Full::new(Bytes::from(text)).boxed());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
