//! The runtime that AI agents' tools run in.
//!
//! A [`Runtime`] holds what all calls share: the tools, the roots, the rules, the journal. A [`Session`] is one
//! front end that talks to it; a [`Run`] is one piece of durable work; [`Run::call`] passes one call through the
//! pipeline, which is the only way to execute a tool:
//!
//! ```text
//! Call -> recall -> validate -> repeat -> capable -> permit -> watch -> probe -> intend -> execute -> truncate -> record -> Envelope
//! ```
//!
#![doc = include_str!("../docs/example.md")]
#![deny(missing_docs)]

mod ask;
mod call;
mod catalog;
mod clock;
mod effects;
mod explain;
mod file_problem;
mod files;
mod front_matter;
mod input_schema;
mod instructions;
pub mod limits;
mod narrowing;
mod net;
mod pipeline;
mod project;
mod questions;
mod recover;
mod registry;
mod resident;
mod roots;
mod run;
mod runtime;
mod sandbox;
mod session;
mod shell;
mod sidecar;
mod skills;
mod snapshots;
mod stopwatch;
mod suggestion;
mod tool_index;
mod watchdog;

pub use call::{Call, Place};
pub use catalog::{Catalog, CatalogChanges};
pub use explain::{AccessExplanation, Explanation};
pub use narrowing::Narrowing;
pub use net::{AddressError, Networking};
pub use pipeline::Recording;
pub use recover::Recovered;
pub use resident::{Extension, ExtensionError, ExtensionParts, Extensions, ReadOnlyResidents};
pub use run::{Divergence, Resume, RetryWarning, Run, RunError};
pub use runtime::{IsGone, Limits, OnRepeat, Runtime, RuntimeError, RuntimeParts};
pub use sandbox::{Confine, ReadablePlaces, Sandbox};
pub use session::{Listing, ListingChanges, PLAN_FRONT_END, Session, SessionOptions, is_adopted};

pub use input_schema::{InputSchema, Open, OpenPlaces, Violated, Violation, part_at, shown_value};
pub use registry::{Registry, RegistryError};
pub use roots::{Roots, RootsError};
pub use suggestion::{near_matches, plain_name};
pub use tool_index::ToolRanking;

pub use ask::{Answer, Ask, Asker, Headless, Inquiry, Reply};
pub use clock::{Clock, SystemClock};
pub use file_problem::{FileProblem, ProblemSeverity};
pub use front_matter::{FrontField, FrontKind, FrontMatter, FrontMatterFault, FrontValue};
pub use instructions::{InstructionFile, Instructions, instructions};
pub use project::ProjectRules;
pub use skills::{
    BundledSkill, FoundSkills, Skill, SkillPlaces, SkillSource, check_skills, find_skills,
    load_skill,
};
pub use snapshots::{
    EffectAhead, HistoryError, RootChanges, Selection, SnapshotError, SnapshotHistory, Snapshots,
    SnapshotsPruned, WorkspaceSnapshots,
};
pub use watchdog::{ProgramWatchdog, ReferenceWatchdog, Verdict, Watchdog, WatchedCall};
