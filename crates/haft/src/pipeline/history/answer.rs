//! The answer to the question whether a call happened before.

use haft_contract::Envelope;

use crate::pipeline::refusal::PipelineStop;

/// Whether a call happened before.
pub(in crate::pipeline) enum HistoryAnswer<T> {
    /// It did not, as far as can be known, or it is to be executed again.
    Fresh(T),
    /// It did, and this was its answer.
    Answer(Box<Envelope>),
    /// It may have happened, or it is happening: it is not executed now.
    Hold(HoldReason),
}

/// Why a call is not executed now.
pub(in crate::pipeline) enum HoldReason {
    /// Its first execution goes on, or its outcome is in doubt. That call has a row, so this one gets none.
    Unsettled(Box<Envelope>),
    /// An earlier attempt made it, or called its tool; the refusal is recorded.
    Refused(PipelineStop),
}

impl<T> HistoryAnswer<T> {
    /// Returns what goes on to the next stage, or why nothing does.
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
