//! The vocabulary of tools: the contract that a tool publishes, its calls, the surfaces that it uses, and the envelope of
//! its answer. Pure data and traits: nothing in this crate touches a file, a process, a clock or the network. The runtime
//! does, and implements the traits in [`surface`](crate::Fs).
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
mod address;
mod alias;
mod background_process;
mod backoff;
mod call_waits;
mod client;
mod content;
mod content_digest;
mod context;
mod contract;
mod document;
mod effect;
mod enforcement;
mod envelope;
mod envelope_metadata;
mod error_code;
mod host;
mod id;
mod invisible;
mod key;
pub mod limits;
mod net;
mod output;
mod output_gap;
mod refusal;
mod requirement;
mod schema;
mod subagent;
mod surface;
mod time;
mod tool;
mod withheld;

pub use access::{Access, CommandLine, PartialWord};
pub use alias::{ParameterAlias, UsedAlias};
pub use contract::{
    ConnectionStore, Contract, ListingCondition, OutputLimit, ShellParameter, ToolMetadata,
    ToolOrigin,
};
pub use effect::{Effect, ToolKind};
pub use tool::{DefinitionError, ProbeResult, Tool, ToolBuilder};

pub use backoff::FailureBackoff;
pub use client::{ClientRequest, ClientRequestMethod, ClientRequester};
pub use context::{
    CallAttempt, CallProgress, Cx, CxParts, LogLevel, LogLine, ProgressSink, Subagents,
};
pub use surface::{
    BoxFuture, DirectoryEntry, FileChange, FileChangeError, FilePath, FileStamp, Fs, FsEntryKind,
    OpenRegularFile, Precondition, ProcessEnding, Shell, ShellOutcome, ShellRequest, Todo,
    TodoPriority, TodoStatus, TodoStore, signal_text,
};

pub use background_process::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, CHANNEL_DESCRIPTOR,
    ChannelRead, ProcessChannel, ProcessFileAccess, ProcessHostAccess, ProcessWriteAccess,
};

pub use host::{
    HEADLESS_TEXT, LoadedSkill, QuestionOption, Questions, Quotas, SkillSummary, Skills, ToolIndex,
    ToolMatch, UserQuestion,
};
pub use net::{Method, Net, NetBody, NetRequest, NetResponse};
pub use schema::schema_of;
pub use subagent::{
    NO_SUBAGENTS_TEXT, SubagentAnswer, SubagentCall, SubagentSummary, SubagentTask,
};
pub use time::{CallTime, TimePause};

pub use call_waits::CallWaits;
pub use content::{ContentPart, ResourceBody};
pub use document::OutputDocument;
pub use enforcement::{ConfinementLevel, EnforcedConfinement, OutboundConnection};
pub use envelope::Envelope;
pub use envelope_metadata::EnvelopeMetadata;
pub use error_code::ErrorCode;
pub use invisible::{clean, cut, end_of, escape_controls, is_invisible};
pub use output::{
    ConfinementReport, Excerpt, FailedAt, FilePart, IntoOutput, OutputBody, ToolError, ToolOutput,
};
pub use output_gap::OutputGap;
pub use refusal::{AllowingRule, DecidingRule, Refusal, RefusalGrounds, RefusalSource, Remedy};
pub use withheld::{WithheldAccess, WithheldPath};

pub use address::{AttemptAddress, CallAddress, CallAddressError, RunId};
pub use content_digest::ContentDigest;
pub use id::{IdError, LOCKED_IDS, ToolId};
pub use key::{CallKey, canonical_json, sha256_hex};
pub use requirement::{
    ArgPattern, FsRequirement, NetRequirement, PatternVariables, RequirementSet, ShellRequirement,
    UnknownVariable,
};
