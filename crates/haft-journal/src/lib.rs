//! The record of every call: what was about to happen, and what happened. [`Journal`] is the trait. [`JournalMachine`]
//! implements it once, over a small [store](store::Store): SQLite, PostgreSQL, memory, or one that you write.
//!
//! The intent of an effect is on disk before the effect runs, and its outcome before the caller gets it. So a process can die
//! at any instruction, and the next one knows how far it came. One process at a time advances a run: it has the [`Lease`],
//! and the fencing token in it stops records of a former owner. [Sessions](SessionJournal), the conversations with an agent,
//! are stored beside their calls.
//!
//! A journal stores what it is given. The runtime replaces bodies by digests, numbers calls, reads the clock and decides
//! whether a recorded call may stand in for a new one. Bodies that a resume needs lie in the *content store*, apart from the
//! rows: files beside an SQLite journal, a separate table in PostgreSQL. They go with their run, or as soon as it has ended.
//!
//! ```
//! # use haft_contract::{CallAddress, CallKey, Effect, Envelope, EnvelopeMetadata, RunId, AttemptAddress};
//! # use haft_journal::{CallQuery, LeaseRequest, Journal, MemoryJournal, NewRun, Outcome, LeaseOwner, PlannedCall, CallStatus};
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
//! let scope = AttemptAddress::first_of_run(run.id.clone());
//! let owner = LeaseOwner { id: "4f1c".to_owned(), location: "process 12 on box".to_owned() };
//! let lease = journal.open_run(run, LeaseRequest { owner, now_ms: 1_000, lasts_ms: 30_000 }).await?;
//!
//! let key = CallKey::of_first_call(&scope, "write", r#"{"path":"a"}"#);
//! let call = PlannedCall {
//!     id: CallAddress { scope, seq: 1 },
//!     fencing_token: lease.fencing_token,
//!     tool: "write".to_owned(),
//!     effect: Effect::Once,
//!     first_key: key,
//!     call_key: key,
//!     input: r#"{"path":"a"}"#.to_owned(),
//!     accesses: "[]".to_owned(),
//!     driver_call_id: None,
//!     started_at_ms: 1_001,
//!     announces_effects: false,
//! };
//! let intent = journal.intend(call).await?;
//! // The effect happens here.
//! let envelope = Envelope::Output { data: "ok".into(), metadata: EnvelopeMetadata::default() };
//! let outcome = Outcome { status: CallStatus::Succeeded, envelope, finished_at_ms: 1_004 };
//! journal.settle(intent, outcome).await?;
//!
//! journal.close_run(lease).await?;
//!
//! let rows = journal.calls(CallQuery::default()).await?;
//! assert_eq!(rows[0].status, CallStatus::Succeeded);
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```
#![deny(missing_docs)]

mod ask;
mod ask_journal;
mod call;
mod call_status;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod future;
mod journal;
mod lease;
pub mod limits;
mod machine;
mod maintenance;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
mod query;
mod row;
mod session;
mod session_id;
mod settlement;
mod short_key;
mod snapshot;
mod sql;
mod sqlite;
pub mod store;
mod stored_content;
mod words;
mod worker;

pub use future::{CommitFuture, JournalFuture};
pub use journal::Journal;
pub use lease::{Lease, LeaseHolder, LeaseOwner, LeaseRequest};
pub use machine::JournalMachine;
pub use memory::{MemoryJournal, MemoryStore};
#[cfg(feature = "postgres")]
pub use postgres::PostgresJournal;
pub use sqlite::SqliteJournal;

pub use ask::{
    AskAnswerRow, AskChanges, AskEnd, AskQuery, AskRow, AskState, AskVerdict, NewAsk, NewAskAnswer,
};
pub use ask_journal::AskJournal;
pub use call::{Intent, NewRun, Outcome, PlannedCall};
pub use call_status::CallStatus;
pub use maintenance::{DueRuns, JournalFinding, PrunedRuns, Retention};
pub use query::{CallOrder, CallQuery, RunOrder, RunQuery};
pub use row::{
    AttemptState, CallRow, EarlierEffect, EarlierEffects, LateOutcome, RecordedCall, RunRow,
    UnacknowledgedCall,
};
pub use session::{
    MessageFinish, MessageKind, MessagePart, MessageQuery, MessageRole, PartKind, PartState,
    SessionDurability, SessionJournal, SessionMessage, SessionMode, SessionQuery, SessionRecord,
    SessionRow, SessionStatus, TokenCounts,
};
pub use session_id::{MessageId, PartId, SessionId, SessionIdError};
pub use settlement::{SettledBy, Settlement, SettlementVerdict};
pub use short_key::{is_made_id, short_key};
pub use snapshot::{ChangedRepository, RepositoryPart, SnapshotNote};

pub use error::JournalError;
