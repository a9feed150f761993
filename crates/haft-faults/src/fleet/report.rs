//! The subject and the result of a simulation: its options, what it counted, and the promise that was broken.

use std::fmt;

/// One simulated history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetOptions {
    /// The seed, from which everything follows.
    pub seed: u64,
    /// How many machines there are.
    pub workers: usize,
    /// How many calls are made, at least.
    pub calls: usize,
    /// A rule that is broken on purpose.
    pub broken_rule: Option<BrokenRule>,
}

/// A rule that a simulation breaks on purpose, to show that it would be noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenRule {
    /// The journal takes the records of a former owner.
    Fencing,
    /// A takeover leaves the calls of the former owner open.
    OpenCalls,
    /// A process executes a call in doubt that no person settled.
    Doubt,
}

/// How often each thing happened in a simulated history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetCounts {
    /// Runs that ended.
    pub runs: u64,
    /// Runs that wait for a settlement which does not come.
    pub waiting: u64,
    /// Calls that were executed and recorded.
    pub calls: u64,
    /// Calls that a later process recalled.
    pub recalled: u64,
    /// Machines and processes that were killed.
    pub kills: u64,
    /// Machines that stood still.
    pub pauses: u64,
    /// Machines that lost the journal, the engine, or both.
    pub partitions: u64,
    /// Commits whose answer was lost with the connection.
    pub cuts: u64,
    /// Clocks that were set.
    pub clocks: u64,
    /// Runs that another process took over.
    pub takeovers: u64,
    /// Records of former owners that the journal refused.
    pub refused: u64,
    /// Calls that a person settled.
    pub settled: u64,
    /// Answers of persons that the owner of the run received.
    pub answers: u64,
    /// The virtual time, in milliseconds.
    pub virtual_ms: u64,
}

/// A promise that was broken in a simulated history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetFailure {
    /// The history.
    pub options: FleetOptions,
    /// When, in virtual milliseconds.
    pub at_ms: u64,
    /// The promise, and how it was broken.
    pub reason: String,
}

impl fmt::Display for FleetFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FleetOptions { seed, workers, calls, .. } = self.options;
        write!(
            f,
            "seed {seed} with {workers} workers and {calls} calls, after {} virtual ms: {}",
            self.at_ms, self.reason
        )
    }
}

impl std::error::Error for FleetFailure {}

impl FleetCounts {
    /// Adds the counts of another history.
    pub fn add_history(&mut self, other: &Self) {
        self.runs += other.runs;
        self.waiting += other.waiting;
        self.calls += other.calls;
        self.recalled += other.recalled;
        self.kills += other.kills;
        self.pauses += other.pauses;
        self.partitions += other.partitions;
        self.cuts += other.cuts;
        self.clocks += other.clocks;
        self.takeovers += other.takeovers;
        self.refused += other.refused;
        self.settled += other.settled;
        self.answers += other.answers;
        self.virtual_ms += other.virtual_ms;
    }
}

impl fmt::Display for FleetCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} calls in {} runs, {} recalled; {} kills, {} pauses, {} partitions, {} cut commits, {} clocks set; {} takeovers, {} refused records, \
             {} settlements, {} runs that wait for one, {} answered asks; {} virtual minutes",
            self.calls,
            self.runs,
            self.recalled,
            self.kills,
            self.pauses,
            self.partitions,
            self.cuts,
            self.clocks,
            self.takeovers,
            self.refused,
            self.settled,
            self.waiting,
            self.answers,
            self.virtual_ms / 60_000
        )
    }
}
