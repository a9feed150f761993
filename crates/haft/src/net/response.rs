//! The response to a request: its head, its content in pieces, and the error if no response came.

use std::error::Error;

use haft_contract::{BoxFuture, ErrorCode, NetBody, ToolError};
use tokio_util::sync::CancellationToken;

use super::stopped_error;
use super::target::HttpTarget;

/// The content of an answer, until the call is to stop.
pub(super) struct ResponseBody {
    /// The response, whose head was read.
    pub(super) response: reqwest::Response,
    /// Cancelled when the call is to stop.
    pub(super) stop: CancellationToken,
    /// The time limit of the call in milliseconds, for the error message.
    pub(super) timeout_ms: u64,
}

impl NetBody for ResponseBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, ToolError>> {
        Box::pin(async move {
            let piece = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Err(stopped_error(self.timeout_ms)),
                piece = self.response.chunk() => piece,
            };
            let piece = piece.map_err(|err| {
                let message =
                    format!("the content ended early or cannot be read: {}", causes(&err));
                ToolError::new(ErrorCode::Unavailable, message)
            })?;
            Ok(piece.map(Vec::from))
        })
    }
}

/// Returns the status and the header fields of an answer.
pub(super) fn status_and_headers(response: &reqwest::Response) -> (u16, Vec<(String, String)>) {
    let fields = response.headers().iter().filter_map(|(name, value)| {
        Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
    });
    (response.status().as_u16(), fields.collect())
}

/// Says why there is no answer. The client's own words repeat the URL, which is not for everybody who reads errors.
pub(super) fn request_error(target: &HttpTarget, err: reqwest::Error) -> ToolError {
    let (host, port) = (target.host.bracketed(), target.port);
    let err = err.without_url();
    if err.is_builder() {
        let message = format!("{host} cannot be asked so: {}", causes(&err));
        return ToolError::new(ErrorCode::InvalidInput, message);
    }
    let what = if err.is_connect() {
        format!("cannot connect to {host} port {port}")
    } else {
        format!("{host} port {port} gave no answer")
    };
    ToolError::new(ErrorCode::Unavailable, format!("{what}: {}", causes(&err)))
}

/// Returns the innermost cause, which is the one that says something, and what the client makes of it.
fn causes(err: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = err;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}
