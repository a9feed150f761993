//! The record of every call: what was about to happen, and what happened. One trait, [`Journal`], with SQLite,
//! PostgreSQL and memory behind it. An effect's intent is on disk before the effect runs and its outcome before anyone hears
//! of it, so a process can die at any instruction and the next one knows where it stood. One process at a time
//! advances a run: a [`Lease`] says which, and the epoch in it keeps out one that was taken for dead. What a person and an
//! agent said to each other is kept beside the calls that were made for it: [`Chats`].
//!
//! The journal stores what it is given: cutting bodies down to digests, numbering calls, reading the clock and
//! deciding whether a recorded call may stand in for a new one are the runtime's work.
//!
//! ```
//! # use haft_contract::{CallId, CallKey, Effect, Envelope, Metadata, RunId, Scope};
//! # use haft_journal::{CallQuery, Claim, Journal, MemoryJournal, NewRun, Outcome, Owner, PlannedCall, Status};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let journal = MemoryJournal::new();
//! let run = NewRun {
//!     id: RunId::parse("r1")?,
//!     front_end: "cli".to_owned(),
//!     root: "/project".to_owned(),
//!     started_at_ms: 1_000,
//!     version: "0.1.0".to_owned(),
//!     settings: "{}".to_owned(),
//! };
//! let scope = Scope::of_run(run.id.clone());
//! let owner = Owner { id: "4f1c".to_owned(), place: "process 12 on box".to_owned() };
//! let lease = journal.open_run(run, Claim { owner, now_ms: 1_000, lasts_ms: 30_000 }).await?;
//!
//! let key = CallKey::first(&scope, "write", r#"{"path":"a"}"#);
//! let call = PlannedCall {
//!     id: CallId { scope, seq: 1 },
//!     epoch: lease.epoch,
//!     tool: "write".to_owned(),
//!     effect: Effect::Once,
//!     first_key: key,
//!     call_key: key,
//!     input: r#"{"path":"a"}"#.to_owned(),
//!     accesses: "[]".to_owned(),
//!     driver_call_id: None,
//!     started_at_ms: 1_001,
//! };
//! let intent = journal.intend(call).await?;
//! // The effect happens here.
//! let envelope = Envelope::Output { data: "ok".into(), metadata: Metadata::default() };
//! let outcome = Outcome { status: Status::Succeeded, envelope, finished_at_ms: 1_004 };
//! journal.settle(intent, outcome).await?;
//!
//! journal.close_run(lease).await?;
//!
//! let rows = journal.calls(CallQuery::default()).await?;
//! assert_eq!(rows[0].status, Status::Succeeded);
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```
#![deny(missing_docs)]

mod call;
mod chat;
mod entry;
mod error;
mod inspection;
mod journal;
mod lease;
pub mod limits;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod query;
mod row;
mod settlement;
mod snapshot;
mod sqlite;
mod upkeep;

pub use journal::{Answer, Journal, Settled};
pub use lease::{Claim, Holder, Lease, Owner};
pub use memory::MemoryJournal;
#[cfg(feature = "postgres")]
pub use postgres::PostgresJournal;
pub use sqlite::SqliteJournal;

pub use call::{Intent, NewRun, Outcome, PlannedCall, Status};
pub use chat::{
    ChatFirmness, ChatId, ChatIdError, ChatMessage, ChatMode, ChatPart, ChatQuery, ChatRecord,
    ChatRole, ChatSession, ChatStatus, Chats, MessageFinish, MessageId, MessageKind, MessageQuery,
    PartId, PartKind, PartState, TokenCounts,
};
pub use query::{CallOrder, CallQuery, RunQuery};
pub use row::{
    AttemptState, CallRow, EarlierEffect, EarlierEffects, LateOutcome, RecordedCall, RunRow,
    UnheardCall,
};
pub use settlement::{SettledBy, Settlement, Verdict};
pub use snapshot::SnapshotNote;
pub use upkeep::{Due, Finding, Pruned, Retention};

pub use error::JournalError;
