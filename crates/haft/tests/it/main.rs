//! The pipeline as callers in Rust meet it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod asking;
mod bounds;
mod durability;
mod execution;
mod faulty;
mod journal;
mod protected;
mod refusals;
mod simulation;
mod snapshots;
mod stage;
mod truncation;
mod watchdogs;
