//! What a tool is: the contract that it publishes, the calls that reach it, the world that it is given and
//! the envelope that it answers with. Pure data and traits: nothing in this crate touches a file, a
//! process, a clock or the network. Those who do implement the traits in [`surface`](crate::Fs).
//!
//! A tool is defined in a few lines:
//!
//! ```
//! use haft_contract::{Cx, Effect, Tool, ToolError};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct PlaceOrder {
//!     sku: String,
//! }
//!
//! let place_order = Tool::new("wholefoods.place_order")
//!     .description("Place a grocery order")
//!     .effect(Effect::Once)
//!     .execute_with(|args: PlaceOrder, cx: Cx| async move {
//!         Ok::<_, ToolError>(format!("ordered {} as {}", args.sku, cx.idempotency_key()))
//!     });
//! assert!(!place_order.metadata().idempotent);
//! ```
#![deny(missing_docs)]

mod access;
mod backoff;
mod client;
mod content;
mod context;
mod contract;
mod document;
mod effect;
mod envelope;
mod error_code;
mod host;
mod id;
mod key;
pub mod limits;
mod net;
mod output;
mod requirement;
mod resident;
mod schema;
mod scope;
mod subagent;
mod surface;
mod time;
mod tool;
mod unseen;

pub use access::{Access, Command};
pub use contract::{Contract, Origin, OutputLimit, ShellLine, ToolMetadata};
pub use effect::{Effect, Kind};
pub use tool::{DefinitionError, Probed, Tool, ToolBuilder};

pub use backoff::Backoff;
pub use client::{Client, ClientMethod, ClientRequest};
pub use context::{Cx, CxParts, LogLevel, LogLine, Progress, ProgressSink};
pub use surface::{
    ApplyError, BoxFuture, Ending, Entry, FileChange, FileKind, FilePath, FileStamp, Fs, OpenFile,
    Precondition, Shell, ShellOutcome, ShellRequest, Todo, TodoPriority, TodoStatus, TodoStore,
};

pub use resident::{
    CHANNEL_DESCRIPTOR, Channel, Received, Resident, ResidentFiles, ResidentHosts, ResidentRequest,
    Residents, Writable,
};

pub use host::{
    HEADLESS_TEXT, LoadedSkill, QuestionOption, Questions, Quotas, SkillSummary, Skills, ToolIndex,
    ToolMatch, UserQuestion,
};
pub use net::{Method, Net, NetBody, NetRequest, NetResponse};
pub use subagent::{
    NO_SUBAGENTS_TEXT, SubagentAnswer, SubagentCall, SubagentSummary, SubagentTask, Subagents,
};
pub use time::{CallTime, TimePause};

pub use content::{Content, ResourceBody};
pub use document::Document;
pub use envelope::{Connection, Enforced, Envelope, Layer, Level, Metadata};
pub use error_code::ErrorCode;
pub use output::{Body, Confined, Excerpt, FailedAt, IntoOutput, Output, ToolError};
pub use unseen::{clean, cut, end_of, is_unseen};

pub use id::{IdError, LOCKED_IDS, ToolId};
pub use key::{CallKey, canonical_json, sha256_hex};
pub use requirement::{
    ArgPattern, FsRequirement, NetRequirement, RequirementSet, ShellRequirement, UnknownVariable,
    Variables,
};
pub use scope::{CallId, RunId, Scope, ScopeError};
