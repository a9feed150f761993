//! The time of a call, as calls see it that are made for this one. How long it is, and what is done when it is over, is the
//! runtime's business.

/// The time that a call has.
pub trait CallTime: Send + Sync {
    /// Has the time stand until what is returned is dropped: a person is asked meanwhile, and takes the time that they take.
    fn pause(&self) -> TimePause;
}

/// That the time of a call stands, for as long as somebody has it.
pub type TimePause = Box<dyn Send + Sync>;

/// A time that nobody measures.
impl CallTime for () {
    fn pause(&self) -> TimePause {
        Box::new(())
    }
}
