//! An editor, played by the client side of the SDK, talks to agents over a pipe; the model is a scripted server on this
//! machine, and the tools are the real ones.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod asking;
mod choosing;
mod opening;
mod stage;
mod turns;
