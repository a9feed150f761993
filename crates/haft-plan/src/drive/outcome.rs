//! What the answer to an attempt means for its node: whether another attempt could fare better, and what the trace says.

use haft::{Recording, RunError};
use haft_contract::{CallId, Effect, Envelope, ErrorCode, Metadata};
use serde_json::Value;

use super::Doubt;
use super::attempt::How;
use crate::checked::CheckedNode;
use crate::plan::NodeId;
use crate::reference::ReferenceError;
use crate::schedule::Ended;
use crate::trace::{NodeError, NodeTiming, TracedNode};

/// How an attempt ended, with what is told of it.
pub(super) struct Outcome {
    how: Ended,
    output: Option<Value>,
    error: Option<NodeError>,
    metadata: Metadata,
    /// What the driver is told about a call in doubt.
    doubt: Option<String>,
}

impl Outcome {
    /// Returns what an answer means, and the record that is on its way, if one is; or why haft cannot say what happened.
    pub(super) fn of(how: How, node: &CheckedNode) -> Result<(Self, Option<Recording>), RunError> {
        let (answer, recording, is_cancelled) = match how {
            How::Called { answer, is_cancelled } => {
                let (answer, recording) = (*answer)?;
                (answer, Some(recording), is_cancelled)
            }
            How::Remembered(answer) => (*answer, None, false),
            How::Refused { message, doubtful: None } => {
                let refused = Self::failed(Ended::Refused, ErrorCode::PermissionDenied, message);
                return Ok((refused, None));
            }
            How::Refused { message, doubtful: Some(call) } => {
                return Ok((Self::unexplored(&call, &message, node), None));
            }
            How::NotCalled => {
                let (how, metadata) = (Ended::Cancelled, Metadata::default());
                let cancelled = Self { how, output: None, error: None, metadata, doubt: None };
                return Ok((cancelled, None));
            }
        };
        let outcome = match answer {
            Envelope::Output { data, metadata } => {
                let how = Ended::Succeeded;
                Self { how, output: Some(data), error: None, metadata, doubt: None }
            }
            Envelope::Error { error_text, metadata } => {
                Self::of_error(error_text, metadata, is_cancelled, node)
            }
        };
        Ok((outcome, recording))
    }

    /// Returns what the tool printed in this process.
    pub(super) fn log(&self) -> Option<String> {
        self.metadata.log.clone().filter(|_| !self.metadata.replayed)
    }

    /// Returns the outcome of a node that could not be called because one of its references names nothing.
    /// `is_cut` is whether it led into an output that was cut.
    pub(super) fn of_reference(err: &ReferenceError, is_cut: bool) -> Self {
        let mut text = err.to_string();
        if is_cut {
            text.push_str(
                " (that output was over the limit of its tool, and this is what was left of it: ask the tool for less, or refer \
                 to head)",
            );
        }
        Self::failed(Ended::Refused, ErrorCode::InvalidInput, text)
    }

    fn of_error(text: String, metadata: Metadata, is_cancelled: bool, node: &CheckedNode) -> Self {
        let code = metadata.code.unwrap_or(ErrorCode::ToolFailed);
        let (how, code, told, doubt) = if code == ErrorCode::InDoubt {
            (Ended::InDoubt, code, in_doubt_text(node), Some(text))
        } else if is_cancelled && code == ErrorCode::ProcessAborted {
            (Ended::Cancelled, code, text, None)
        } else if metadata.timeout_ms == Some(node.timeout_ms()) {
            // Where the tool stood when its time was over depends on the machine, and so does what it says of that.
            (Ended::Failed, ErrorCode::ToolTimeout, timeout_text(node), None)
        } else if is_final(code) {
            (Ended::Refused, code, text, None)
        } else {
            (Ended::Failed, code, text, None)
        };
        // Where a call stood that was cancelled depends on time, and says nothing about the node; but what may have
        // happened must be told.
        let is_told = how != Ended::Cancelled || node.contract().effect == Effect::Once;
        let error = is_told.then_some(NodeError { code, text: told });
        Self { how, output: None, error, metadata, doubt }
    }

    /// Returns the outcome of a call in doubt into which nobody may look, because that could come to execute it.
    fn unexplored(call: &CallId, message: &str, node: &CheckedNode) -> Self {
        let tool = &node.contract().id;
        let doubt = format!(
            "in doubt: {tool} was begun as call {call} and nobody knows how it ended, so it may or may not have happened. \
             If it did not it would be made now, but {message}. Or find out which, and say so with: \
             haft runs settle {call} happened|not-happened|retry"
        );
        let metadata = Metadata { call_id: Some(call.to_string()), ..Metadata::default() };
        let in_doubt = Self::failed(Ended::InDoubt, ErrorCode::InDoubt, in_doubt_text(node));
        Self { metadata, doubt: Some(doubt), ..in_doubt }
    }

    fn failed(how: Ended, code: ErrorCode, text: String) -> Self {
        let error = Some(NodeError { code, text });
        Self { how, output: None, error, metadata: Metadata::default(), doubt: None }
    }

    pub(super) fn how(&self) -> Ended {
        self.how
    }

    pub(super) fn timing(&self, id: NodeId) -> NodeTiming {
        NodeTiming {
            id,
            call: self.metadata.call_id.clone(),
            duration_ms: self.metadata.duration_ms,
            replayed: self.metadata.replayed,
        }
    }

    pub(super) fn doubt(&self, node: NodeId) -> Option<Doubt> {
        let text = self.doubt.clone()?;
        Some(Doubt { node, call: self.metadata.call_id.clone(), text })
    }

    /// Writes into the trace how the attempt ended. One that was cancelled does not count.
    pub(super) fn note(self, traced: &mut TracedNode) {
        let before = traced.error.take();
        match self.how {
            Ended::Succeeded | Ended::Failed | Ended::Refused => {
                traced.retried.extend(before);
                traced.attempts += 1;
                traced.output = self.output;
                traced.truncated = self.metadata.truncated;
                traced.error = self.error;
            }
            Ended::InDoubt => {
                traced.retried.extend(before);
                traced.error = self.error;
            }
            Ended::Cancelled => traced.error = self.error.or(before),
        }
    }
}

fn in_doubt_text(node: &CheckedNode) -> String {
    let tool = &node.contract().id;
    format!("{tool} was begun and nobody knows how it ended, so it may or may not have happened")
}

fn timeout_text(node: &CheckedNode) -> String {
    let seconds = node.timeout_ms() / 1_000;
    let mut text =
        format!("node {} took longer than its timeout of {seconds} s and was stopped", node.id());
    if node.contract().effect == Effect::Once {
        text.push_str("; its effect may or may not have happened: check before repeating");
    }
    text
}

/// Returns whether another attempt would end in the same way, whatever the tool does: the call was refused.
pub(super) fn is_final(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::ToolNotFound
            | ErrorCode::InvalidInput
            | ErrorCode::CapabilityDenied
            | ErrorCode::PermissionDenied
            | ErrorCode::WatchdogDenied
            | ErrorCode::SandboxUnavailable
            | ErrorCode::Headless
            | ErrorCode::QuotaExceeded
            | ErrorCode::DepthExceeded
    )
}
