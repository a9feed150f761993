//! The runtime that AI agents' tools run in.
//!
//! A [`Runtime`] holds what all calls share: the tools, the roots, the rules, the journal. A [`Connection`] is one
//! front end that talks to it; a [`Run`] is one piece of durable work; [`Run::call`] passes one call through the
//! pipeline, which is the only way to execute a tool. These are its stages:
//!
#![doc = include_str!("../docs/stages.md")]
//!
#![doc = include_str!("../docs/example.md")]
#![deny(missing_docs)]

mod ask;
mod background;
mod call;
mod catalog;
mod clock;
mod connection;
mod connection_state;
mod effects;
mod explain;
mod file_problem;
mod files;
mod front_matter;
mod granted_places;
mod input_schema;
mod instructions;
pub mod limits;
mod model_view;
mod net;
mod network_settings;
mod operator_program;
mod panic;
mod pipeline;
mod process_registry;
mod project;
mod questions;
mod recorded_ask;
mod recover;
mod registry;
mod restrictions;
mod roots;
mod run;
mod run_error;
mod runtime;
mod runtime_event;
mod sandbox;
mod shared;
mod shell;
mod sidecar;
mod skills;
mod snapshots;
mod stopwatch;
mod suggestions;
mod terminal_text;
mod tool_index;
mod trained_names;
mod wait_log;
mod watchdog;
mod webhook;

pub use background::{
    ReadOnlyBackgroundProcesses, ServerProcessError, ServerProcessLauncher, ServerProcessParts,
    ServerProcesses,
};
pub use call::{Call, TaskAttempt};
pub use catalog::{Catalog, CatalogWatcher};
pub use connection::Connection;
pub use connection_state::{
    CLIENT_SETTING, ConnectionOptions, PLAN_FRONT_END, ToolListing, ToolListingWatcher,
};
pub use explain::{AccessExplanation, CallExplanation};
pub use granted_places::AD_HOC_PATTERN;
pub use model_view::{ModelView, SHOWN_CHARS_DEFAULT, SHOWN_CHARS_MIN};
pub use net::AddressError;
pub use network_settings::NetworkSettings;
pub use operator_program::{OperatorProgram, OperatorProgramError};
pub use pipeline::{PendingRecord, ResumeMode, RetryWarning};
pub use recover::RunRecovery;
pub use restrictions::Restrictions;
pub use run::{Run, ToolAsk, ToolAskEnd};
pub use run_error::{Divergence, RunError};
pub use runtime::Runtime;
pub use runtime_event::{AskOpened, RuntimeEvent, RuntimeEventObserver};
pub use sandbox::{ConfineMode, ReadablePaths, Sandbox};
pub use shared::{CallLimits, OwnerGoneCheck, RepeatPolicy, RuntimeError, RuntimeParts};

pub use input_schema::{
    InputSchema, InputViolation, InputViolationKind, OpenValue, OpenValues, part_at, shown_value,
};
pub use registry::{Registry, RegistryError, UntrustedTools};
pub use roots::{WorkspaceRoots, WorkspaceRootsError};
pub use suggestions::{near_matches, plain_name};
pub use terminal_text::terminal_text;
pub use tool_index::ToolRanking;

pub use ask::{
    Ask, AskAnswer, AskKind, AskMismatch, Asker, Elicitation, ElicitationReply, HeadlessAsker,
    ShownAsk, WaitingAsker, parse_answers,
};
pub use clock::{Clock, SystemClock};
pub use file_problem::{FileProblem, ProblemSeverity};
pub use front_matter::{
    FrontMatter, FrontMatterFault, FrontMatterField, FrontMatterKind, FrontMatterValue,
};
pub use instructions::{InstructionFile, Instructions, load_instructions};
pub use project::ProjectRules;
pub use skills::{
    BundledSkill, FoundSkills, Skill, SkillSearchPaths, SkillSource, check_skills, find_skills,
    load_skill,
};
pub use snapshots::{
    CallSelection, PendingEffect, RootChanges, SnapshotError, SnapshotHistory,
    SnapshotHistoryError, Snapshots, SnapshotsPruned, WorkspaceSnapshots,
};
pub use watchdog::{ProgramWatchdog, ReferenceWatchdog, Watchdog, WatchdogVerdict, WatchedCall};
pub use webhook::{Webhook, WebhookError};
