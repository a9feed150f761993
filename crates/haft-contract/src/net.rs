//! The network as a tool sees it: one request at a time, to a host that the call was granted. An implementation of [`Net`]
//! resolves names, judges addresses and makes connections. A redirect is an answer like any other: to follow it, the tool
//! sends another request.

use crate::{BoxFuture, ErrorCode, ToolError};

/// Sends requests to the hosts that the call's grant reaches, within the call's time.
pub trait Net: Send + Sync {
    /// Sends one request, and returns the answer when its head has come. A redirect is not followed.
    fn send(&self, request: NetRequest) -> BoxFuture<'_, Result<NetResponse, ToolError>>;
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetRequest {
    /// The method.
    pub method: Method,
    /// The absolute `http` or `https` URL.
    pub url: String,
    /// Header fields, beside those that every request has. Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The content.
    pub body: Option<Vec<u8>>,
}

/// The method of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// Asks for the content.
    #[default]
    Get,
    /// Sends the content of the request.
    Post,
}

/// The head of an answer, and the way to the rest.
pub struct NetResponse {
    /// The status, such as 200.
    pub status: u16,
    /// Header fields in the order of arrival. Names in lower case; a value that is no text is left out.
    pub headers: Vec<(String, String)>,
    /// The content.
    pub body: Box<dyn NetBody>,
}

/// The content of an answer as it comes, decompressed.
pub trait NetBody: Send {
    /// Waits for the next piece; nothing follows the last one. A caller that needs no more drops the body.
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, ToolError>>;
}

impl NetRequest {
    /// Returns the request for the content at `url`.
    pub fn get(url: impl Into<String>) -> Self {
        Self { method: Method::Get, url: url.into(), headers: Vec::new(), body: None }
    }
}

impl NetResponse {
    /// Returns the first value of a header field, whose name is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut named = self.headers.iter().filter(|(field, _)| field == name);
        named.next().map(|(_, value)| value.as_str())
    }
}

/// A host without a network.
impl Net for () {
    fn send(&self, request: NetRequest) -> BoxFuture<'_, Result<NetResponse, ToolError>> {
        let message = format!("{:?} cannot be asked: there is no network here", request.url);
        Box::pin(async { Err(ToolError::new(ErrorCode::NetworkDisabled, message)) })
    }
}
