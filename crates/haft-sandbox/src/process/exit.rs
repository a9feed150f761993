//! How a command ended, and which bound it met, as values. What the end means is for whoever ran it to say.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// A bound that a command met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exceeded {
    /// Memory: the kernel ended one of its processes, or all of it was ended.
    Memory,
    /// Processes and threads: one more was refused.
    Processes,
}
