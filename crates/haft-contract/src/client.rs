//! What a call may ask of the program that made it: an MCP client can show a form of the tool's own, ask its model, and say
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
    /// What tells it apart from the others that are made with it.
    pub name: String,
    /// What is asked for.
    pub method: ClientRequestMethod,
    /// With which parameters, as the protocol has them.
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
        let message = "whoever made this call cannot be asked for anything while it runs";
        Box::pin(async move { Err(ToolError::new(ErrorCode::Unavailable, message)) })
    }
}
