//! Python tools through the whole pipeline: checked from their files, and called in confined
//! processes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod calls;
mod checking;
mod endings;
mod packages;
mod stage;
mod values;
mod workers;
