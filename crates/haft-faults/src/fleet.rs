//! A simulated fleet: machines that drive runs over one journal, an engine that gives runs to machines, and a person who settles calls
//! in doubt. Machines are killed, stand still past their leases, lose the journal or the engine, and have wrong clocks. All of it
//! happens in virtual time and follows from a seed, without threads and without a real clock.
//!
//! The journal is the real machine over its store in memory. The decisions of a driver about recorded calls are written
//! here a second time, in short: the tests of the crate `haft` simulate the pipeline itself. After each step, the journal is compared with what
//! really happened:
//!
//! 1. Each intent is executed at most once. No call with an effect that must not be repeated is executed again before a person
//!    settled it.
//! 2. The journal takes no record of a process that is not the owner of the run.
//! 3. Each call that was open when its process went is in doubt or answered.
//! 4. Each run ends, or waits for a settlement.
//! 5. Of the answers to an ask, the first valid one counts, and only the owner of the run receives it.

mod agenda;
mod asking;
mod audit;
mod drive;
mod engine;
mod history;
mod machine;
mod poll;
mod process;
mod reply;
mod report;
mod shaky_store;
mod truth;

pub use report::{BrokenRule, FleetCounts, FleetFailure, FleetOptions};

/// Calls of one simulated history, which lie in memory with their rows.
pub const HISTORY_CALLS_MAX: usize = 100_000;

/// Simulates one history to its end.
///
/// # Errors
///
/// Returns the first promise that was broken. The same options always lead to the same answer.
pub fn simulate_fleet(options: FleetOptions) -> Result<FleetCounts, FleetFailure> {
    history::FleetHistory::new(options).unfold()
}
