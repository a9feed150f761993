//! The HTTP client of a remote server: one request for each message, in both eras of the protocol. The SDK handles sessions,
//! streams and most headers. This limits how much is read, decides which secrets are sent to which address, and tells whether
//! a message without an answer may have arrived.

mod events;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use haft::NetworkSettings;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{RequestBuilder, Response, Url};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use self::events::events;
use super::http_client::{
    self, REASON_CHARS_MAX, ResponseBodyError, error_text, is_safe, read_body,
};
use super::limits::{REMOTE_REFUSAL_BYTES_MAX, SERVER_MESSAGE_BYTES_MAX};
use super::oauth::{Authorization, challenge};
use haft_contract::{clean, cut};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Headers that only the protocol sets.
const OWN_HEADERS: [&str; 8] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-session-id",
    "transfer-encoding",
];

/// The configuration of a remote server.
pub struct RemoteMcpServer {
    /// Where it is.
    pub url: String,
    /// Headers of every request; the values may be secrets.
    pub headers: Vec<(String, String)>,
    /// How it is reached.
    pub networking: NetworkSettings,
    /// The logins to it, unless a header says who haft is.
    pub authorization: Option<Arc<Authorization>>,
}

/// Why a message got no answer, and whether it may have arrived.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(super) struct HttpSendError {
    pub(super) why: String,
    pub(super) delivery: RequestDelivery,
}

/// Whether a server may have acted on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestDelivery {
    NotDelivered,
    MaybeDelivered,
}

type StreamableHttpResult<T> = Result<T, StreamableHttpError<HttpSendError>>;

#[derive(Clone)]
pub(super) struct McpHttpClient {
    client: reqwest::Client,
    pub(super) url: Url,
    headers: HeaderMap,
    authorization: Option<Arc<Authorization>>,
}

impl McpHttpClient {
    /// Returns the way to a server, or why there is none.
    pub(super) fn new(remote: &RemoteMcpServer) -> Result<Self, String> {
        let url = Url::parse(&remote.url).map_err(|err| format!("its url is none: {err}"))?;
        if url.host().is_none() || !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{url} is no address of a server: expected https://HOST/PATH"));
        }
        if !remote.headers.is_empty() && !is_safe(&url) {
            return Err(format!("its headers would go to {url} unencrypted: use https"));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &remote.headers {
            let parsed = HeaderName::from_bytes(name.as_bytes());
            let parsed =
                parsed.map_err(|_| format!("header {name:?} has no name that HTTP knows"))?;
            if OWN_HEADERS.contains(&parsed.as_str()) || parsed.as_str().starts_with("mcp-") {
                return Err(format!("header {name} is the protocol's own"));
            }
            // The value may be a secret, and is not shown.
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                format!("the value of header {name} cannot be sent: it has line ends or the like")
            })?;
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        let client = http_client::http_client(&remote.networking, &url)?;
        let authorization = remote.authorization.clone();
        Ok(Self { client, url, headers, authorization })
    }

    /// Sends a request with what says who haft is, and once more with another token if that one is not taken.
    async fn send(
        &self,
        request: impl Fn() -> RequestBuilder + Send + Sync,
    ) -> Result<Response, HttpSendError> {
        let authorization = self.authorization.as_deref();
        let token = authorization.and_then(Authorization::token);
        let response = self.send_with(request(), token.as_deref()).await?;
        let Some(authorization) = authorization else { return Ok(response) };
        match response.status() {
            StatusCode::UNAUTHORIZED => {
                authorization.refused(challenge(response.headers()));
                let Some(used) = token else { return Err(self.login_needed_error()) };
                let Some(token) = authorization.renewed(&used).await else {
                    return Err(self.login_needed_error());
                };
                let response = self.send_with(request(), Some(&token)).await?;
                match response.status() {
                    StatusCode::UNAUTHORIZED => Err(self.login_needed_error()),
                    _ => Ok(response),
                }
            }
            StatusCode::FORBIDDEN => match challenge(response.headers()) {
                Some(challenge) if challenge.is_scope_missing => {
                    authorization.refused(Some(challenge));
                    Err(self.login_needed_error())
                }
                Some(_) | None => Ok(response),
            },
            _ => Ok(response),
        }
    }

    async fn send_with(
        &self,
        request: RequestBuilder,
        token: Option<&str>,
    ) -> Result<Response, HttpSendError> {
        let mut request = request.headers(self.headers.clone());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.map_err(|err| {
            let reached = if err.is_connect() || err.is_builder() {
                RequestDelivery::NotDelivered
            } else {
                RequestDelivery::MaybeDelivered
            };
            HttpSendError {
                why: format!("it cannot be asked: {}", error_text(&err)),
                delivery: reached,
            }
        })
    }

    fn login_needed_error(&self) -> HttpSendError {
        let has_login = self.authorization.as_ref().is_some_and(|known| known.is_logged_in());
        let why = match has_login {
            false => "it wants to know who asks, and there is no login",
            true => "the login to it does not hold any more, or allows too little",
        };
        let why = why.to_owned();
        HttpSendError { why, delivery: RequestDelivery::NotDelivered }
    }
}

impl StreamableHttpClient for McpHttpClient {
    type Error = HttpSendError;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> StreamableHttpResult<StreamableHttpPostResponse> {
        let bytes = serde_json::to_vec(&message).map_err(|err| {
            let (why, delivery) = (err.to_string(), RequestDelivery::NotDelivered);
            StreamableHttpError::Client(HttpSendError { why, delivery })
        })?;
        let asked = match message {
            JsonRpcMessage::Request(request) => SentHttpMessage {
                is_discovery: matches!(request.request, ClientRequest::DiscoverRequest(_)),
                id: Some(request.id),
            },
            JsonRpcMessage::Response(_)
            | JsonRpcMessage::Notification(_)
            | JsonRpcMessage::Error(_) => SentHttpMessage { id: None, is_discovery: false },
        };
        let headers: HeaderMap = headers.into_iter().collect();
        let request = || {
            let request = self.client.post(self.url.clone()).headers(headers.clone());
            let request = request
                .header(ACCEPT, "application/json, text/event-stream")
                .header(CONTENT_TYPE, "application/json")
                .body(bytes.clone());
            match &session {
                Some(session) => request.header(SESSION, &**session),
                None => request,
            }
        };
        let mut response = self.send(request).await.map_err(StreamableHttpError::Client)?;
        let status = response.status();
        if !status.is_success() {
            return error_response(&mut response, &asked, session.is_some()).await;
        }
        let given = response.headers().get(SESSION);
        let given = given.and_then(|session| session.to_str().ok()).map(str::to_owned);
        match (asked.id.is_some(), content_type(&response)) {
            (false, _) => Ok(StreamableHttpPostResponse::Accepted),
            (true, Some(ContentType::Events)) => {
                Ok(StreamableHttpPostResponse::Sse(events(response), given))
            }
            (true, Some(ContentType::Json)) => {
                let body = read_body(&mut response, SERVER_MESSAGE_BYTES_MAX).await;
                let body = body.map_err(|err| {
                    maybe_delivered_error(match err {
                        ResponseBodyError::TooLong(_) => format!("it answered with {err}"),
                        ResponseBodyError::Broken(why) => format!("its answer broke off: {why}"),
                    })
                })?;
                let message = asked.answer(&body).map_err(maybe_delivered_error)?;
                Ok(StreamableHttpPostResponse::Json(message, given))
            }
            (true, None) if status == StatusCode::ACCEPTED => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            (true, None) => Err(maybe_delivered_error(
                "it answered with what is neither JSON nor a stream of events".to_owned(),
            )),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> StreamableHttpResult<()> {
        let headers: HeaderMap = headers.into_iter().collect();
        let request = || {
            let request = self.client.delete(self.url.clone());
            request.headers(headers.clone()).header(SESSION, &*session)
        };
        let response = self.send(request).await.map_err(StreamableHttpError::Client)?;
        match response.status() {
            status if status.is_success() => Ok(()),
            _ => Err(StreamableHttpError::ServerDoesNotSupportDeleteSession),
        }
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> StreamableHttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        let headers: HeaderMap = headers.into_iter().collect();
        let request = || {
            let mut request = self.client.get(self.url.clone()).headers(headers.clone());
            request = request.header(ACCEPT, "text/event-stream");
            if let Some(session) = &session {
                request = request.header(SESSION, &**session);
            }
            if let Some(last) = &last_event {
                request = request.header(LAST_EVENT, last);
            }
            request
        };
        let resumes = last_event.is_some();
        let response = match self.send(request).await {
            Ok(response) => response,
            Err(failed) if resumes => return Err(StreamableHttpError::Client(failed)),
            Err(_) => return Err(StreamableHttpError::ServerDoesNotSupportSse),
        };
        match (response.status(), content_type(&response)) {
            (StatusCode::OK, Some(ContentType::Events)) => Ok(events(response)),
            (status, _) if resumes && status.is_server_error() => {
                Err(maybe_delivered_error(format!("it answered with HTTP {status}")))
            }
            // Servers without a separate stream say so in many ways, and work without it.
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }
}

/// The parts of a message that its answer needs.
struct SentHttpMessage {
    id: Option<RequestId>,
    is_discovery: bool,
}

impl SentHttpMessage {
    /// Returns the answer in a body, if it is one to what was asked.
    fn answer(&self, body: &[u8]) -> Result<ServerJsonRpcMessage, String> {
        let message = serde_json::from_slice::<ServerJsonRpcMessage>(body);
        let message =
            message.map_err(|err| format!("it answered with what is no message of MCP: {err}"))?;
        let asked = self.id.as_ref().map(number);
        match message {
            JsonRpcMessage::Response(answer) if Some(number(&answer.id)) == asked => {
                Ok(JsonRpcMessage::Response(answer))
            }
            // A server that could not parse a request does not know its number.
            JsonRpcMessage::Error(refusal)
                if refusal.id.is_none() || refusal.id.as_ref().map(number) == asked =>
            {
                Ok(JsonRpcMessage::error(refusal.error, self.id.clone()))
            }
            JsonRpcMessage::Response(_)
            | JsonRpcMessage::Error(_)
            | JsonRpcMessage::Request(_)
            | JsonRpcMessage::Notification(_) => {
                Err("it answered something else than what it was asked".to_owned())
            }
        }
    }
}

/// Returns a number as a text, because some servers send it back as one.
fn number(id: &RequestId) -> String {
    match id {
        RequestId::Number(number) => number.to_string(),
        RequestId::String(text) => text.to_string(),
    }
}

/// Returns the result of a failed request.
async fn error_response(
    response: &mut Response,
    asked: &SentHttpMessage,
    has_session: bool,
) -> StreamableHttpResult<StreamableHttpPostResponse> {
    let status = response.status();
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    let said = match content_type(response) {
        Some(ContentType::Events) => Vec::new(),
        Some(ContentType::Json) | None => {
            read_body(response, REMOTE_REFUSAL_BYTES_MAX).await.unwrap_or_default()
        }
    };
    let is_denied = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    if asked.id.is_some()
        && !is_denied
        && let Ok(answer @ JsonRpcMessage::Error(_)) = asked.answer(&said)
    {
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    if asked.is_discovery && !has_session && status.is_client_error() && !is_denied {
        // The server is of the older era, which has no such request.
        let err = ErrorData::invalid_request(format!("HTTP {status}"), None);
        return Ok(StreamableHttpPostResponse::Json(
            JsonRpcMessage::error(err, asked.id.clone()),
            None,
        ));
    }
    let said = cut(clean(&String::from_utf8_lossy(&said)).trim(), REASON_CHARS_MAX);
    let said = if said.is_empty() { said } else { format!(": {said}") };
    let why = match status {
        StatusCode::UNAUTHORIZED => {
            "it does not take what haft says about who asks (HTTP 401): look at its headers"
                .to_owned()
        }
        status if status.is_redirection() => {
            format!(
                "it leads elsewhere (HTTP {status}), which is not followed: use the address of the server itself"
            )
        }
        status => format!("it answered with HTTP {status}{said}"),
    };
    let reached = if status.is_server_error() {
        RequestDelivery::MaybeDelivered
    } else {
        RequestDelivery::NotDelivered
    };
    Err(StreamableHttpError::Client(HttpSendError { why, delivery: reached }))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ContentType {
    Json,
    Events,
}

fn content_type(response: &Response) -> Option<ContentType> {
    let value = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    let kind = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "application/json" => Some(ContentType::Json),
        "text/event-stream" => Some(ContentType::Events),
        _ => None,
    }
}

fn maybe_delivered_error(why: String) -> StreamableHttpError<HttpSendError> {
    StreamableHttpError::Client(HttpSendError { why, delivery: RequestDelivery::MaybeDelivered })
}
