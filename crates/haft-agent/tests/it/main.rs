//! Sessions from end to end, with real tools in separate directories, a journal, and scripted models.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod abort;
mod attacks;
mod background;
mod beside;
mod bounds;
mod compaction;
mod dying;
mod events;
mod failing;
mod forks;
mod handing_over;
mod in_doubt;
mod kill;
mod left;
mod models;
mod postgres;
#[path = "../../../haft-journal/tests/it/postgres_server.rs"]
#[expect(dead_code, reason = "the tests of the journal itself use more of it")]
mod postgres_server;
mod reopening;
mod stage;
mod subagents;
mod turns;
