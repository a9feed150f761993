//! The way to a server that runs elsewhere: one request over HTTP for each message, in both eras of the protocol. Sessions,
//! streams and what goes into which header are the SDK's business; how much is read, what is sent along and to whom, and
//! whether a message may have arrived that was not answered, is decided here.

mod events;
mod remote;

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use haft::Networking;
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
pub(super) use self::remote::{RemoteLink, remote};
use super::limits::{REMOTE_REFUSAL_BYTES_MAX, SERVER_MESSAGE_BYTES_MAX};
use super::oauth::{Authorization, challenge};
use super::web::{self, BodyError, body, is_safe, words};
use haft_contract::{clean, cut};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Headers that are the protocol's, and nobody else's.
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
/// Longest word of a server about a refusal that is shown, in characters.
const REASON_CHARS_MAX: usize = 300;

/// A server that runs elsewhere, as it is configured.
pub struct Remote {
    /// Its name, for the errors that say what to do.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// What it is sent with every request; the values may be secrets.
    pub headers: Vec<(String, String)>,
    /// How it is reached.
    pub networking: Networking,
    /// The logins to it, unless a header says who haft is.
    pub authorization: Option<Arc<Authorization>>,
}

/// Why a message got no answer, and whether it may have arrived.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(super) struct Failed {
    pub(super) why: String,
    pub(super) reached: Reached,
}

/// Whether a server may have acted on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// It has not.
    No,
    /// It may have.
    Perhaps,
}

type Answered<T> = Result<T, StreamableHttpError<Failed>>;

/// Sends the messages.
#[derive(Clone)]
pub(super) struct HttpWay {
    parts: Arc<Parts>,
}

struct Parts {
    name: String,
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    authorization: Option<Arc<Authorization>>,
}

impl HttpWay {
    /// Returns the way to a server, or why there is none.
    pub(super) fn new(remote: &Remote) -> Result<Self, String> {
        let url = Url::parse(&remote.url).map_err(|err| format!("its url is none: {err}"))?;
        if url.host().is_none() || !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{url} is no address of a server: expected https://HOST/PATH"));
        }
        if !remote.headers.is_empty() && !is_safe(&url) {
            return Err(format!("its headers would go to {url} unencrypted: use https"));
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &remote.headers {
            let (name, value) = header(name, value)?;
            headers.insert(name, value);
        }
        let client = web::client(&remote.networking, &url)?;
        let (name, authorization) = (remote.name.clone(), remote.authorization.clone());
        Ok(Self { parts: Arc::new(Parts { name, client, url, headers, authorization }) })
    }

    /// Sends a request with what says who haft is, and once more with another token if that one is not taken.
    async fn send(
        &self,
        request: impl Fn() -> RequestBuilder + Send + Sync,
    ) -> Result<Response, Failed> {
        let authorization = self.parts.authorization.as_deref();
        let token = authorization.and_then(Authorization::token);
        let response = self.send_with(request(), token.as_deref()).await?;
        let Some(authorization) = authorization else { return Ok(response) };
        match response.status() {
            StatusCode::UNAUTHORIZED => {
                authorization.refused(challenge(response.headers()));
                let Some(used) = token else { return Err(self.login_wanted()) };
                let Some(token) = authorization.renewed(&used).await else {
                    return Err(self.login_wanted());
                };
                let response = self.send_with(request(), Some(&token)).await?;
                match response.status() {
                    StatusCode::UNAUTHORIZED => Err(self.login_wanted()),
                    _ => Ok(response),
                }
            }
            StatusCode::FORBIDDEN => match challenge(response.headers()) {
                Some(challenge) if challenge.is_scope_missing => {
                    authorization.refused(Some(challenge));
                    Err(self.login_wanted())
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
    ) -> Result<Response, Failed> {
        let mut request = request.headers(self.parts.headers.clone());
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.map_err(|err| {
            let reached =
                if err.is_connect() || err.is_builder() { Reached::No } else { Reached::Perhaps };
            Failed { why: format!("it cannot be asked: {}", words(&err)), reached }
        })
    }

    fn login_wanted(&self) -> Failed {
        let name = &self.parts.name;
        let has_login = self.parts.authorization.as_ref().is_some_and(|known| known.is_logged_in());
        let why = match has_login {
            false => format!(
                "it wants to know who asks, and nobody has logged in: haft mcp login {name}"
            ),
            true => format!(
                "the login to it does not hold any more, or allows too little: haft mcp login {name}"
            ),
        };
        Failed { why, reached: Reached::No }
    }

    fn posting(
        &self,
        body: Vec<u8>,
        session: Option<Arc<str>>,
        headers: &HashMap<HeaderName, HeaderValue>,
    ) -> impl Fn() -> RequestBuilder + Send + Sync {
        let headers: HeaderMap =
            headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        move || {
            let mut request = self
                .parts
                .client
                .post(self.parts.url.clone())
                .headers(headers.clone())
                .header(ACCEPT, "application/json, text/event-stream")
                .header(CONTENT_TYPE, "application/json")
                .body(body.clone());
            if let Some(session) = &session {
                request = request.header(SESSION, &**session);
            }
            request
        }
    }

    async fn post(
        &self,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<StreamableHttpPostResponse> {
        let has_session = session.is_some();
        let bytes = serde_json::to_vec(&message).map_err(|err| not_sent(err.to_string()))?;
        let asked = Asked::of(message);
        let response = self.send(self.posting(bytes, session, &headers)).await;
        let mut response = response.map_err(StreamableHttpError::Client)?;
        let status = response.status();
        if !status.is_success() {
            return refused(&mut response, &asked, has_session).await;
        }
        let given = response.headers().get(SESSION);
        let given = given.and_then(|session| session.to_str().ok()).map(str::to_owned);
        match (asked.id.is_some(), content_type(&response)) {
            (false, _) => Ok(StreamableHttpPostResponse::Accepted),
            (true, Some(ContentType::Events)) => {
                Ok(StreamableHttpPostResponse::Sse(events(response), given))
            }
            (true, Some(ContentType::Json)) => {
                let bytes = body(&mut response, SERVER_MESSAGE_BYTES_MAX).await.map_err(unread)?;
                let message = asked.answer(&bytes).map_err(perhaps)?;
                Ok(StreamableHttpPostResponse::Json(message, given))
            }
            (true, None) if status == StatusCode::ACCEPTED => {
                Ok(StreamableHttpPostResponse::Accepted)
            }
            (true, None) => Err(perhaps(
                "it answered with what is neither JSON nor a stream of events".to_owned(),
            )),
        }
    }
}

impl StreamableHttpClient for HttpWay {
    type Error = Failed;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<StreamableHttpPostResponse> {
        self.post(message, session, headers).await
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Answered<()> {
        let headers: HeaderMap = headers.into_iter().collect();
        let request = || {
            let request = self.parts.client.delete(self.parts.url.clone());
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
    ) -> Answered<BoxStream<'static, Result<Sse, SseError>>> {
        let headers: HeaderMap = headers.into_iter().collect();
        let request = || {
            let mut request =
                self.parts.client.get(self.parts.url.clone()).headers(headers.clone());
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
                Err(perhaps(format!("it answered with HTTP {status}")))
            }
            // One that has no stream of its own says so in many ways, and works without it.
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }
}

/// What a message asks for.
struct Asked {
    id: Option<RequestId>,
    is_discovery: bool,
}

impl Asked {
    fn of(message: ClientJsonRpcMessage) -> Self {
        match message {
            JsonRpcMessage::Request(request) => Self {
                is_discovery: matches!(request.request, ClientRequest::DiscoverRequest(_)),
                id: Some(request.id),
            },
            JsonRpcMessage::Response(_)
            | JsonRpcMessage::Notification(_)
            | JsonRpcMessage::Error(_) => Self { id: None, is_discovery: false },
        }
    }

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
            // Who could not read a request does not know its number.
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

/// What becomes of an answer that is none.
async fn refused(
    response: &mut Response,
    asked: &Asked,
    has_session: bool,
) -> Answered<StreamableHttpPostResponse> {
    let status = response.status();
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(StreamableHttpError::SessionExpired);
    }
    let said = match content_type(response) {
        Some(ContentType::Events) => Vec::new(),
        Some(ContentType::Json) | None => {
            body(response, REMOTE_REFUSAL_BYTES_MAX).await.unwrap_or_default()
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
        // It is of the other era, in which nobody asks that.
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
    let reached = if status.is_server_error() { Reached::Perhaps } else { Reached::No };
    Err(StreamableHttpError::Client(Failed { why, reached }))
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

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::from_bytes(name.as_bytes());
    let parsed = parsed.map_err(|_| format!("header {name:?} has no name that HTTP knows"))?;
    if OWN_HEADERS.contains(&parsed.as_str()) || parsed.as_str().starts_with("mcp-") {
        return Err(format!("header {name} is the protocol's own"));
    }
    // The value may be a secret, and is not shown.
    let mut value = HeaderValue::from_str(value).map_err(|_| {
        format!("the value of header {name} cannot be sent: it has line ends or the like")
    })?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

fn not_sent(why: String) -> StreamableHttpError<Failed> {
    StreamableHttpError::Client(Failed { why, reached: Reached::No })
}

fn perhaps(why: String) -> StreamableHttpError<Failed> {
    StreamableHttpError::Client(Failed { why, reached: Reached::Perhaps })
}

fn unread(err: BodyError) -> StreamableHttpError<Failed> {
    perhaps(match err {
        BodyError::TooLong(bytes_max) => format!("it answered with more than {bytes_max} bytes"),
        BodyError::Broken(why) => format!("its answer broke off: {why}"),
    })
}
