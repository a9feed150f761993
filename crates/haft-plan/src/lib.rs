//! Plans: parse, check, schedule and drive a graph of tool calls.
//!
//! A model or a person writes a [`Plan`] once. [`parse`] reads it, [`check`] decides whether it is valid as a whole and
//! says everything that is wrong with it at once, in words that a plan can be repaired by. Only a [`CheckedPlan`] is
//! executed, and from then on only the tools decide about it.
#![deny(missing_docs)]

mod check;
mod checked;
mod draw;
pub mod drive;
mod drive_limits;
pub mod limits;
mod message_text;
mod near_names;
mod node_id;
mod node_tools;
mod parse;
mod plan;
pub mod planner;
mod problem;
mod reference;
mod schedule;
mod schema;
mod tools;
mod trace;
mod workflow;

pub use node_id::NodeId;
pub use parse::parse;
pub use plan::{AgentWork, OnFail, Plan, PlanNode, PlanWork, RepeatUntil};

pub use workflow::{AddedTask, Task, Workflow};

pub use check::{check, check_text};
pub use checked::{CheckedNode, CheckedPlan, PlanInput};
pub use problem::{Code, PlanProblem};
pub use tools::{PlanTool, PlanToolCatalogue, PlanToolLookup};

pub use draw::{DrawingCharset, PlanGraph, PlanNodeMark};

pub use reference::{
    InputTemplate, Reference, ReferenceError, ReferencePath, ReferencePathSegment, ReferenceSource,
    UnresolvedReason,
};

pub use trace::{NodeError, NodeStatus, NodeTiming, PlanTimings, PlanTrace, TracedNode};
