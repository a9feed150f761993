//! The requests of a call to the program that made it: an MCP client can show a form of the tool, ask its model, and say
//! which directories it works in. Tools that want an answer of a person in words use [`Questions`](crate::Questions), which every
//! front end has; this is for programs that embed haft behind a protocol and know what their clients can do. Parameters
//! and answers are the protocol's own, unchecked.

use serde_json::Value;

use crate::{BoxFuture, ErrorCode, ToolError};

/// Something that a client can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientRequestMethod {
    /// A form for the person behind it.
    Form,
    /// An answer of its model.
    Sampling,
    /// The directories that it works in.
    Roots,
}

/// One request to a client.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientRequest {
    /// Its name among the requests that are made together.
    pub name: String,
    /// The kind of the request.
    pub method: ClientRequestMethod,
    /// The parameters of the protocol.
    pub params: Value,
}

/// The program that made a call.
pub trait ClientRequester: Send + Sync {
    /// Returns whether the client says that it takes such requests.
    fn supports(&self, method: ClientRequestMethod) -> bool;

    /// Makes all the requests at once, and returns the answers in their order. A client that does not take one of them is
    /// asked for none. Dropping the future withdraws the requests.
    fn request(&self, requests: Vec<ClientRequest>)
    -> BoxFuture<'_, Result<Vec<Value>, ToolError>>;
}

/// A client that cannot be asked.
impl ClientRequester for () {
    fn supports(&self, _: ClientRequestMethod) -> bool {
        false
    }

    fn request(&self, _: Vec<ClientRequest>) -> BoxFuture<'_, Result<Vec<Value>, ToolError>> {
        let message = "the client that made this call takes no requests while the call runs";
        Box::pin(async move { Err(ToolError::new(ErrorCode::Unavailable, message)) })
    }
}
