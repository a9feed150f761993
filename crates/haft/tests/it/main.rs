//! The pipeline as callers in Rust meet it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod asking;
mod asks;
mod background;
mod bounds;
mod catalog;
mod dangerous;
mod durability;
mod eliciting;
mod execution;
mod faulty;
mod journal;
mod locked;
mod outside;
#[path = "../../../haft-journal/tests/it/postgres_proxy.rs"]
mod postgres_proxy;
#[path = "../../../haft-journal/tests/it/postgres_server.rs"]
#[expect(dead_code, reason = "the tests of the journal itself use more of it")]
mod postgres_server;
mod processes;
mod protected;
mod refusals;
mod restrictions;
mod searching;
mod server;
mod sessions;
mod simulation;
mod small_disk;
mod snapshots;
mod stage;
mod truncation;
mod unacknowledged;
mod watchdogs;
mod workspaces;
