//! One attempt of one node: whether it may be made at all, and its call. How long the call may take is the pipeline's
//! business, which is told the node's timeout.

use std::sync::Arc;

use haft::{Asker, Call, PendingRecord, Run, RunError};
use haft_contract::{
    CallAddress, Contract, Envelope, ErrorCode, Refusal, RefusalGrounds, RefusalSource, Remedy,
};
use tokio_util::sync::CancellationToken;

use super::dangerous_tools::{DangerousToolCall, DangerousToolDecisions};
use crate::node_id::NodeId;
use crate::node_tools::PERSON_NODE_TOOL;

/// One attempt of one node.
pub(super) struct NodeAttempt {
    pub(super) node: NodeId,
    pub(super) run: Run,
    pub(super) call: Call,
    pub(super) contract: Arc<Contract>,
    pub(super) asker: Option<Arc<dyn Asker>>,
    /// Whether the answer is recorded for certain.
    pub(super) is_answered: bool,
    /// Who decides about a dangerous tool; nothing where the answer is recorded for certain.
    pub(super) dangerous_tools: Option<Arc<DangerousToolDecisions>>,
    /// A call that an earlier process began and that may have happened. It is executed if a probe shows that it did not.
    pub(super) call_in_doubt: Option<CallAddress>,
    /// The number that the call would have.
    pub(super) seq: u32,
    /// Cancelled when the plan does not want the answer any longer.
    pub(super) cancellation: CancellationToken,
}

/// How an attempt came to its end.
pub(super) struct FinishedAttempt {
    pub(super) node: NodeId,
    pub(super) answer: AttemptAnswer,
}

pub(super) enum AttemptAnswer {
    /// The call came to its end, of itself or because it was told to.
    Called { answer: Box<Result<(Envelope, PendingRecord), RunError>>, is_cancelled: bool },
    /// An earlier process was answered so and went on; nothing was called.
    Recalled(Box<Envelope>),
    /// The tool is dangerous and was not allowed; nothing was called.
    Refused { refusal: Box<Refusal>, call_in_doubt: Option<CallAddress> },
    /// It was cancelled before the call was made.
    NotCalled,
}

impl NodeAttempt {
    /// Makes the attempt.
    pub(super) async fn run(self) -> FinishedAttempt {
        let node = self.node;
        if let Some(refusal) = self.unanswerable_question() {
            let refusal = Box::new(refusal);
            let answer = AttemptAnswer::Refused { refusal, call_in_doubt: None };
            return FinishedAttempt { node, answer };
        }
        let decided = match &self.dangerous_tools {
            None => Ok(Ok(())),
            Some(permits) => {
                let asked = DangerousToolCall {
                    run: &self.run,
                    contract: &self.contract,
                    task_attempt: &self.call.task_attempt,
                    seq: self.seq,
                    input: crate::trace::shown_inputs(&self.call.input, &self.contract),
                };
                tokio::select! {
                    biased;
                    () = self.cancellation.cancelled() => {
                        return FinishedAttempt { node, answer: AttemptAnswer::NotCalled };
                    }
                    decided = permits.decide(asked) => decided,
                }
            }
        };
        let how = match decided {
            Ok(Ok(())) => {
                let Self { run, mut call, asker, cancellation, dangerous_tools, .. } = self;
                call.is_tool_named = dangerous_tools.is_some();
                call.cancellation = cancellation.clone();
                call.asker = asker;
                let answer = Box::new(run.call_before_record(call).await);
                AttemptAnswer::Called { answer, is_cancelled: cancellation.is_cancelled() }
            }
            Ok(Err(refusal)) => AttemptAnswer::Refused {
                refusal: Box::new(refusal),
                call_in_doubt: self.call_in_doubt,
            },
            Err(failure) => {
                AttemptAnswer::Called { answer: Box::new(Err(failure)), is_cancelled: false }
            }
        };
        FinishedAttempt { node, answer: how }
    }

    /// Returns the refusal of a question that no person can answer, here or elsewhere. No call is made, so that a later process
    /// asks.
    fn unanswerable_question(&self) -> Option<Refusal> {
        let can_ask = match &self.asker {
            Some(asker) => asker.is_answerable(),
            None => self.run.can_ask(),
        };
        let asks = self.contract.id.as_str() == PERSON_NODE_TOOL;
        (asks && !can_ask && !self.is_answered).then(|| {
            RefusalGrounds::new(RefusalSource::NoAnswer)
                .with_remedy(Remedy::AnswerQuestion(self.run.id().to_string()))
                .into_refusal(
                    ErrorCode::PermissionDenied,
                    "the node asks a person, and no person can answer here".to_owned(),
                )
        })
    }
}
