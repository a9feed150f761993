//! What was enforced around a process, layer by layer. It is a value, so that it can travel to whoever has to know; it
//! deliberately says nothing of what was asked for.

/// How a layer was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Level {
    /// By the kernel: the process cannot get around it.
    Kernel,
    /// By this crate's own means, which hold for any process that does not work against them on purpose.
    Cooperative,
    /// Not at all.
    None,
}

/// What was enforced around one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Enforced {
    /// Which files can be reached.
    pub filesystem: Level,
    /// Which hosts can be reached.
    pub network: Level,
    /// That no process is left behind, and which others can be seen.
    pub processes: Level,
    /// Which system calls can be made.
    pub system_calls: Level,
    /// How much memory, time and space can be used.
    pub resources: Level,
}

impl Enforced {
    /// What a helper alone does: it keeps the process tree together.
    #[cfg(target_os = "linux")]
    pub(super) const SUPERVISED: Enforced = Enforced {
        filesystem: Level::None,
        network: Level::None,
        processes: Level::Cooperative,
        system_calls: Level::None,
        resources: Level::None,
    };
}
