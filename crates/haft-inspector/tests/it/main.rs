//! The inspector over real sockets, byte by byte: who gets in, what the pages show of a journal, and what a person can change.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod guard;
mod running;
mod views;
