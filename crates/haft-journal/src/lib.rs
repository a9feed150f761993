//! The record of every call: what was about to happen, and what happened. One trait, [`Journal`], with SQLite and
//! memory behind it. An effect's intent is on disk before the effect runs and its outcome before anyone hears
//! of it, so a process can die at any instruction and the next one knows where it stood.
//!
//! The journal stores what it is given: cutting bodies down to digests, numbering calls, reading the clock and
//! deciding whether a recorded call may stand in for a new one are the runtime's work.
//!
//! ```
//! # use haft_contract::{CallId, CallKey, Effect, Envelope, Metadata, RunId, Scope};
//! # use haft_journal::{CallQuery, Journal, MemoryJournal, NewRun, Outcome, PlannedCall, Status};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let journal = MemoryJournal::new();
//! let run = NewRun {
//!     id: RunId::parse("r1")?,
//!     front_end: "cli".to_owned(),
//!     root: "/project".to_owned(),
//!     started_at_ms: 1_000,
//!     version: "0.1.0".to_owned(),
//! };
//! let scope = Scope::of_run(run.id.clone());
//! journal.begin_run(run).await?;
//!
//! let key = CallKey::first(&scope, "write", r#"{"path":"a"}"#);
//! let call = PlannedCall {
//!     id: CallId { scope, seq: 1 },
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
//! let rows = journal.calls(CallQuery::default()).await?;
//! assert_eq!(rows[0].status, Status::Succeeded);
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```
#![deny(missing_docs)]

mod call;
mod entry;
mod error;
mod journal;
pub mod limits;
mod memory;
mod query;
mod row;
mod sqlite;

pub use journal::Journal;
pub use memory::MemoryJournal;
pub use sqlite::SqliteJournal;

pub use call::{Intent, NewRun, Outcome, PlannedCall, Status};
pub use query::{CallOrder, CallQuery, RunQuery};
pub use row::{AttemptState, CallRow, RunRow};

pub use error::JournalError;
