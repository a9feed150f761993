//! The journal through its public interface: what every backend promises, and what only a file can do.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod conformance;
mod crash;
mod fixture;
mod group_commit;
mod model;
mod opening;
mod small_disk;
mod two_journals;
mod view;
