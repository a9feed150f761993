//! The provider client against servers on this machine that speak the providers' wires, well and badly.
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
