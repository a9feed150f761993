//! Evidence about the history of a call. Only the modules of `history` make it.

/// Evidence that the call repeats nothing that an earlier attempt did, or repeats it knowingly.
pub(in crate::pipeline) struct Unrepeated {
    /// The warning about earlier calls, if the answer is to have one.
    pub(super) retry_warning: Option<String>,
}

/// Evidence that the call did not happen before, as far as can be known, or is to be made again.
pub(in crate::pipeline) struct History {
    /// The warning about earlier calls, if the answer is to have one.
    pub(super) retry_warning: Option<String>,
}

impl History {
    /// Returns the warning about earlier calls like this one, for the answer.
    pub(in crate::pipeline) fn into_retry_warning(self) -> Option<String> {
        self.retry_warning
    }
}
