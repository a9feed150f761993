//! The outcome of an attempt for its node: whether another attempt could succeed, and the entry of the trace.

use haft::{PendingRecord, RunError};
use haft_contract::{
    Effect, Envelope, EnvelopeMetadata, ErrorCode, Refusal, RefusalGrounds, Remedy,
};
use serde::Serialize;
use serde_json::Value;

use super::attempt::AttemptAnswer;
use crate::checked::CheckedNode;
use crate::node_id::NodeId;
use crate::reference::ReferenceError;
use crate::schedule::NodeAttemptEnding;
use crate::trace::{NodeError, NodeTiming, TracedNode};

/// A call that may or may not have happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InDoubtNode {
    /// The node that made it.
    pub node: NodeId,
    /// The journal's name of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// A description of the doubt. Once the call is settled, the run can be resumed.
    pub text: String,
    /// The refusal with the remedies that lift the doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Box<Refusal>>,
}

/// How an attempt ended, with what is told of it.
pub(super) struct NodeOutcome {
    ending: NodeAttemptEnding,
    output: Option<Value>,
    error: Option<NodeError>,
    metadata: EnvelopeMetadata,
    /// The description of a call in doubt.
    doubt_text: Option<String>,
}

impl NodeOutcome {
    /// Returns what an answer means, and the record that is on its way, if one is; or why haft cannot say what happened.
    pub(super) fn from_answer(
        how: AttemptAnswer,
        node: &CheckedNode,
    ) -> Result<(Self, Option<PendingRecord>), RunError> {
        let (answer, recording, is_cancelled) = match how {
            AttemptAnswer::Called { answer, is_cancelled } => {
                let (answer, recording) = (*answer)?;
                (answer, Some(recording), is_cancelled)
            }
            AttemptAnswer::Recalled(answer) => (*answer, None, false),
            AttemptAnswer::Refused { refusal, call_in_doubt: None } => {
                let text = refusal.because.clone();
                let mut refused = Self::failed(NodeAttemptEnding::Refused, refusal.code, text);
                if let Some(error) = &mut refused.error {
                    error.refusal = Some(refusal);
                }
                return Ok((refused, None));
            }
            AttemptAnswer::Refused { refusal, call_in_doubt: Some(call) } => {
                // A probe could come to execute the call, so there is none.
                let tool = &node.contract().id;
                let doubt = format!(
                    "in doubt: {tool} was begun as call {call} and its end is unknown, so it may or may not have happened. \
                     If it did not it would be made now, but {}",
                    refusal.because
                );
                let Refusal { decided_by, remedies, .. } = *refusal;
                let refusal = RefusalGrounds { decided_by, remedies }
                    .with_remedy(Remedy::Settle(call.to_string()))
                    .into_refusal(ErrorCode::InDoubt, doubt.clone());
                let metadata = EnvelopeMetadata {
                    call_id: Some(call.to_string()),
                    refusal: Some(Box::new(refusal)),
                    ..EnvelopeMetadata::default()
                };
                let (ending, text) = (NodeAttemptEnding::InDoubt, in_doubt_text(node));
                let in_doubt = Self::failed(ending, ErrorCode::InDoubt, text);
                return Ok((Self { metadata, doubt_text: Some(doubt), ..in_doubt }, None));
            }
            AttemptAnswer::NotCalled => {
                let (how, metadata) = (NodeAttemptEnding::Cancelled, EnvelopeMetadata::default());
                let cancelled =
                    Self { ending: how, output: None, error: None, metadata, doubt_text: None };
                return Ok((cancelled, None));
            }
        };
        let outcome = match answer {
            Envelope::Output { data, metadata } => {
                let how = NodeAttemptEnding::Succeeded;
                Self { ending: how, output: Some(data), error: None, metadata, doubt_text: None }
            }
            Envelope::Error { error_text, metadata } => {
                Self::from_error(error_text, metadata, is_cancelled, node)
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
    pub(super) fn from_reference_error(err: &ReferenceError, is_cut: bool) -> Self {
        let mut text = err.to_string();
        if is_cut {
            text.push_str(
                " (that output was over the limit of its tool, and this is what was left of it: ask the tool for less, or refer \
                 to head)",
            );
        }
        Self::failed(NodeAttemptEnding::Refused, ErrorCode::InvalidInput, text)
    }

    fn from_error(
        text: String,
        metadata: EnvelopeMetadata,
        is_cancelled: bool,
        node: &CheckedNode,
    ) -> Self {
        let code = metadata.code.unwrap_or(ErrorCode::ToolFailed);
        let (how, code, told, doubt) = if code == ErrorCode::InDoubt {
            (NodeAttemptEnding::InDoubt, code, in_doubt_text(node), Some(text))
        } else if is_cancelled && code == ErrorCode::ProcessAborted {
            (NodeAttemptEnding::Cancelled, code, text, None)
        } else if metadata.timeout_ms == Some(node.timeout_ms) {
            // The tool's own text would differ from machine to machine.
            let seconds = node.timeout_ms / 1_000;
            let mut text = format!(
                "node {} took longer than its timeout of {seconds} s and was stopped",
                node.id()
            );
            if node.contract().effect == Effect::Once {
                text.push_str("; its effect may or may not have happened: check before repeating");
            }
            (NodeAttemptEnding::Failed, ErrorCode::ToolTimeout, text, None)
        } else if is_final(code) {
            (NodeAttemptEnding::Refused, code, text, None)
        } else {
            (NodeAttemptEnding::Failed, code, text, None)
        };
        // Where a call stood that was cancelled depends on time, and says nothing about the node; but what may have
        // happened must be told.
        let is_told = how != NodeAttemptEnding::Cancelled || node.contract().effect == Effect::Once;
        // A refusal in doubt names the call, which differs from run to run. It is reported with the doubt.
        let refusal = if doubt.is_none() { metadata.refusal.clone() } else { None };
        let error = is_told.then_some(NodeError { code, text: told, refusal });
        Self { ending: how, output: None, error, metadata, doubt_text: doubt }
    }

    fn failed(how: NodeAttemptEnding, code: ErrorCode, text: String) -> Self {
        let error = Some(NodeError { code, text, refusal: None });
        Self {
            ending: how,
            output: None,
            error,
            metadata: EnvelopeMetadata::default(),
            doubt_text: None,
        }
    }

    /// Returns the output of an attempt that succeeded.
    pub(super) fn succeeded_output(&self) -> Option<&Value> {
        self.output.as_ref().filter(|_| self.ending == NodeAttemptEnding::Succeeded)
    }

    pub(super) fn with_ending(self, ending: NodeAttemptEnding) -> Self {
        Self { ending, ..self }
    }

    /// Returns the outcome of the same call as a failure of its node.
    pub(super) fn into_failure(
        self,
        ending: NodeAttemptEnding,
        code: ErrorCode,
        text: String,
    ) -> Self {
        Self { metadata: self.metadata, ..Self::failed(ending, code, text) }
    }

    pub(super) fn ending(&self) -> NodeAttemptEnding {
        self.ending
    }

    pub(super) fn timing(&self, id: NodeId) -> NodeTiming {
        NodeTiming {
            id,
            call: self.metadata.call_id.clone(),
            duration_ms: self.metadata.duration_ms,
            replayed: self.metadata.replayed,
        }
    }

    pub(super) fn in_doubt_node(&self, node: NodeId) -> Option<InDoubtNode> {
        let text = self.doubt_text.clone()?;
        let (call, refusal) = (self.metadata.call_id.clone(), self.metadata.refusal.clone());
        Some(InDoubtNode { node, call, text, refusal })
    }

    /// Writes into the trace how the attempt ended. One that was cancelled does not count.
    pub(super) fn write_to_trace(self, traced: &mut TracedNode) {
        let before = traced.error.take();
        match self.ending {
            NodeAttemptEnding::Succeeded
            | NodeAttemptEnding::Repeats
            | NodeAttemptEnding::Failed
            | NodeAttemptEnding::Refused => {
                traced.retried.extend(before);
                traced.attempts += 1;
                traced.output = self.output;
                traced.truncated = self.metadata.truncated;
                traced.error = self.error;
            }
            NodeAttemptEnding::InDoubt => {
                traced.retried.extend(before);
                traced.error = self.error;
            }
            NodeAttemptEnding::Cancelled => traced.error = self.error.or(before),
        }
    }
}

fn in_doubt_text(node: &CheckedNode) -> String {
    let tool = &node.contract().id;
    format!("{tool} was begun and its end is unknown, so it may or may not have happened")
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
