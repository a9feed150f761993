//! A person's verdict about a call in doubt, and its record in the journal.

use std::fmt;

use haft::{Clock as _, SystemClock};
use haft_contract::{CallAddress, Envelope, EnvelopeMetadata};
use haft_journal::{
    CallRow, CallStatus, Journal, JournalError, SettledBy, Settlement, SettlementVerdict,
};
use haft_plan::NodeId;
use haft_plan::drive::nodes_using_call;
use serde_json::Value;

use super::abandon_dead_runs;

/// Why a verdict about a call was not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettleError {
    /// Nodes of a plan use the answer of the call, and the verdict has none.
    #[error("{} what call {call} answered", NodesUsing(nodes))]
    NeedsResult {
        /// The call.
        call: CallAddress,
        /// The nodes.
        nodes: Vec<NodeId>,
    },
    /// The process that makes the call may still record how it ends.
    #[error(
        "call {call} is not in doubt yet: {location} has its run and may still record how it ended; wait for that process, \
         or end it"
    )]
    StillHeld {
        /// The call.
        call: CallAddress,
        /// Where the process runs.
        location: String,
    },
    /// The plan of the run could not be read.
    #[error("{0}")]
    Plan(String),
    /// The journal failed, or the call is not in doubt.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// The nodes of a plan that use an answer, in words.
struct NodesUsing<'a>(&'a [NodeId]);

impl fmt::Display for NodesUsing<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        match nodes.as_slice() {
            [one] => write!(formatter, "node {one} of its plan uses"),
            many => write!(formatter, "nodes {} of its plan use", many.join(", ")),
        }
    }
}

/// Records a person's verdict about a call, and returns the row of the settled call. A run whose process is dead is taken
/// over first, because its open calls are in doubt only then.
///
/// # Errors
///
/// Fails if the journal does. Records nothing in all cases of [`SettleError`].
pub async fn settle_call(
    journal: &dyn Journal,
    call: &CallAddress,
    verdict: SettlementVerdict,
    result: Option<Value>,
) -> Result<CallRow, SettleError> {
    abandon_dead_runs(journal, |holder| holder.run == call.scope.run).await?;
    if verdict == SettlementVerdict::Happened && result.is_none() {
        // The verdict is final, and nodes of a plan that use the answer could never be called without it.
        let nodes = nodes_using_call(journal, call).await;
        let nodes = nodes.map_err(|err| SettleError::Plan(err.to_string()))?;
        if !nodes.is_empty() {
            return Err(SettleError::NeedsResult { call: call.clone(), nodes });
        }
    }
    match record_verdict(journal, call, verdict, result).await {
        Err(JournalError::NotInDoubt { status: CallStatus::Intended, .. }) => {
            let holders = journal.lease_holders().await?;
            let holder = holders.into_iter().find(|it| it.run == call.scope.run);
            let location = holder.map_or("another process".to_owned(), |it| it.owner.location);
            Err(SettleError::StillHeld { call: call.clone(), location })
        }
        settled => Ok(settled?),
    }
}

/// Records the verdict, and returns the row of the settled call.
///
/// # Errors
///
/// Fails if the journal does, and if the call is not in doubt.
pub async fn record_verdict(
    journal: &dyn Journal,
    call: &CallAddress,
    verdict: SettlementVerdict,
    result: Option<Value>,
) -> Result<CallRow, JournalError> {
    let metadata =
        EnvelopeMetadata { call_id: Some(call.to_string()), ..EnvelopeMetadata::default() };
    let error =
        |text: &str| Envelope::Error { error_text: text.to_owned(), metadata: metadata.clone() };
    // A resume answers the call with this envelope.
    let envelope = match verdict {
        SettlementVerdict::Happened => {
            let unknown =
                "an operator found out that this call happened; what it answered is not known";
            let data = result.unwrap_or_else(|| Value::from(unknown));
            Envelope::Output { data, metadata }
        }
        SettlementVerdict::NotHappened => {
            error("an operator found out that this call did not happen")
        }
        SettlementVerdict::Retry => {
            error("an operator wants this call repeated, although it may have happened")
        }
    };
    let settlement = Settlement {
        call: call.clone(),
        verdict,
        by: SettledBy::Operator,
        envelope,
        settled_at_ms: SystemClock.now_ms(),
    };
    journal.resolve(settlement).await
}
