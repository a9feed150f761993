//! One attempt of one node: whether it may be made at all, and its call. How long the call may take is the pipeline's
//! business, which is told the node's timeout.

use std::sync::Arc;

use haft::{Asker, Call, Recording, Run, RunError};
use haft_contract::{CallId, Contract, Envelope};
use tokio_util::sync::CancellationToken;

use super::danger::{Asked, Permits};
use crate::plan::NodeId;

/// One attempt of one node.
pub(super) struct Attempt {
    pub(super) node: NodeId,
    pub(super) run: Run,
    pub(super) call: Call,
    pub(super) contract: Arc<Contract>,
    pub(super) asker: Option<Arc<dyn Asker>>,
    /// Who decides about a dangerous tool; nothing where the answer is recorded for certain.
    pub(super) permits: Option<Arc<Permits>>,
    /// What an earlier process began and may have happened. It is executed if a look shows that it did not.
    pub(super) doubtful: Option<CallId>,
    /// The number that the call would have.
    pub(super) seq: u32,
    /// Cancelled when the plan does not want the answer any longer.
    pub(super) cancellation: CancellationToken,
}

/// How an attempt came to its end.
pub(super) struct Answered {
    pub(super) node: NodeId,
    pub(super) how: How,
}

pub(super) enum How {
    /// The call came to its end, of itself or because it was told to.
    Called { answer: Box<Result<(Envelope, Recording), RunError>>, is_cancelled: bool },
    /// An earlier process was answered so and went on; nothing was called.
    Remembered(Box<Envelope>),
    /// The tool is dangerous and was not allowed; nothing was called.
    Refused { message: String, doubtful: Option<CallId> },
    /// It was cancelled before the call was made.
    NotCalled,
}

impl Attempt {
    /// Makes the attempt.
    pub(super) async fn make(self) -> Answered {
        let node = self.node;
        let decided = match &self.permits {
            None => Ok(()),
            Some(permits) => {
                let asked = Asked {
                    contract: &self.contract,
                    call_id: self.call_id(),
                    input: crate::trace::shown_inputs(&self.call.input, &self.contract).to_string(),
                };
                tokio::select! {
                    biased;
                    () = self.cancellation.cancelled() => {
                        return Answered { node, how: How::NotCalled };
                    }
                    decided = permits.decide(asked) => decided,
                }
            }
        };
        let how = match decided {
            Ok(()) => self.call().await,
            Err(message) => How::Refused { message, doubtful: self.doubtful },
        };
        Answered { node, how }
    }

    fn call_id(&self) -> String {
        let place = &self.call.place;
        let (run, seq) = (self.run.id(), self.seq);
        format!("{run}/{}/{}/{}/{seq}", place.node, place.iteration, place.attempt)
    }

    async fn call(self) -> How {
        let Self { run, mut call, asker, cancellation, .. } = self;
        call.cancellation = cancellation.clone();
        call.asker = asker;
        let answer = Box::new(run.call_ahead(call).await);
        How::Called { answer, is_cancelled: cancellation.is_cancelled() }
    }
}
