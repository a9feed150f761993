//! The end of a command and the limit that it reached, as values. The caller decides what the end
//! means.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProcessExit {
    /// It exited with this status.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
}

/// A limit that a command reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExceededLimit {
    /// Memory: the kernel killed one of its processes, or the whole command was killed.
    Memory,
    /// Processes and threads: the kernel refused to create another one.
    Processes,
}
