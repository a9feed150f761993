//! The time of a call, as calls see it that are made for this one. How long it is, and what is done when it is over, is the
//! runtime's business.

/// The time that a call has.
pub trait CallTime: Send + Sync {
    /// Pauses the time until the returned value is dropped, so that a person can take any time to answer a question.
    fn pause(&self) -> TimePause;
}

/// Pauses the time of a call until it is dropped.
pub type TimePause = Box<dyn Send + Sync>;

/// A time without a limit.
impl CallTime for () {
    fn pause(&self) -> TimePause {
        Box::new(())
    }
}
