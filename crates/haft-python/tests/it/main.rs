//! Python tools as callers meet them: checked from their files, called through the whole pipeline, in confined processes.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod calls;
mod checking;
mod endings;
mod packages;
mod stage;
mod values;
mod workers;
