//! The answer of a person to an ask of a simulated history, before it is given.

/// An answer that is about to be given.
#[derive(Clone, Debug)]
pub(super) struct PlannedReply {
    /// The name of the ask.
    pub(super) ask: String,
    /// The SHA-256 of what the person was shown.
    pub(super) shown_sha256: String,
    /// Whether the person was shown something else than the ask shows.
    pub(super) is_mistaken: bool,
}
