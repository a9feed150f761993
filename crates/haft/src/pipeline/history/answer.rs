//! The answer to the question whether a call happened before.

use haft_contract::Envelope;

use crate::pipeline::refusal::PipelineStop;

/// Whether a call happened before.
pub(in crate::pipeline) enum HistoryAnswer<T> {
    /// The call did not happen before, as far as haft knows, or is to be executed again.
    Fresh(T),
    /// The call happened before, and this was its answer.
    Answer(Box<Envelope>),
    /// The call may have happened or is still executing, so haft does not execute it now.
    Hold(HoldReason),
}

/// Why a call is not executed now.
pub(in crate::pipeline) enum HoldReason {
    /// Its first execution is not over, or its outcome is in doubt. The first execution has a row, so this call gets
    /// none.
    Unsettled(Box<Envelope>),
    /// An earlier attempt made the call, or called its tool. The refusal is recorded.
    Refused(PipelineStop),
}

impl<T> HistoryAnswer<T> {
    /// Returns the value for the next stage, or the stop of the pipeline.
    pub(in crate::pipeline) fn into_fresh(self) -> Result<T, PipelineStop> {
        match self {
            Self::Fresh(fresh) => Ok(fresh),
            Self::Answer(envelope) | Self::Hold(HoldReason::Unsettled(envelope)) => {
                Err(PipelineStop::Answered(envelope))
            }
            Self::Hold(HoldReason::Refused(stop)) => Err(stop),
        }
    }
}
