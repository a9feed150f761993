//! The provider client against local servers that speak the providers' protocols, correctly and
//! incorrectly.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod encryption;
mod faults;
mod keys;
mod scripted;
mod server;
mod wires;
