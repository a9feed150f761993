//! The pipeline as callers in Rust meet it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod asking;
mod bounds;
mod catalog;
mod chats;
mod durability;
mod execution;
mod faulty;
mod inquiring;
mod journal;
mod locked;
mod narrowing;
#[path = "../../../haft-journal/tests/it/postgres_proxy.rs"]
mod postgres_proxy;
#[path = "../../../haft-journal/tests/it/postgres_server.rs"]
#[expect(dead_code, reason = "the tests of the journal itself use more of it")]
mod postgres_server;
mod processes;
mod protected;
mod refusals;
mod residents;
mod searching;
mod server;
mod simulation;
mod small_disk;
mod snapshots;
mod stage;
mod truncation;
mod unheard;
mod watchdogs;
mod workspaces;
