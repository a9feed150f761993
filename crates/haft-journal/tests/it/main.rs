//! The journal through its public interface: what every backend promises, and what only a file can do.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod chat_fixture;
mod clock;
mod conformance;
mod crash;
mod fixture;
mod group_commit;
mod history;
mod model;
mod opening;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres_chats;
#[cfg(feature = "postgres")]
mod postgres_proxy;
#[cfg(feature = "postgres")]
mod postgres_server;
mod power_cut;
mod pruning;
mod small_disk;
mod soundness;
mod two_journals;
mod view;
