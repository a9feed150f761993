//! The journal through its public interface: what every backend promises, and what only a file can do.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod clock;
mod conformance;
mod contents;
mod crash;
mod group_commit;
mod history;
#[path = "../../examples/lines_store/store.rs"]
mod lines_store;
mod model;
mod opening;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres_proxy;
#[cfg(feature = "postgres")]
mod postgres_server;
#[cfg(feature = "postgres")]
mod postgres_sessions;
mod power_cut;
mod pruning;
mod small_disk;
mod soundness;
mod two_journals;
mod view;

use haft_journal::conformance::{fixture, session_fixture};
