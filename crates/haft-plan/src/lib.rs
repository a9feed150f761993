//! Plans: parse, check, schedule and drive a graph of tool calls.
//!
//! A model or a person writes a [`Plan`] once. [`parse`] reads it, [`check`] decides whether it is valid as a whole and
//! says everything that is wrong with it at once, in words that a plan can be repaired by. Only a [`CheckedPlan`] is
//! executed, and nobody but the tools has a say in it from then on.
#![deny(missing_docs)]

mod check;
mod checked;
mod draw;
pub mod drive;
pub mod limits;
mod near;
mod parse;
mod plan;
pub mod planner;
mod problem;
mod reference;
mod schedule;
mod schema;
mod tools;
mod trace;

pub use parse::parse;
pub use plan::{Node, NodeId, OnFail, Plan};

pub use check::{check, check_text};
pub use checked::{CheckedNode, CheckedPlan, Input};
pub use problem::{Code, Problem};
pub use tools::{Catalogue, KnownTool, Tools};

pub use draw::{Charset, Graph};

pub use reference::{Path, Reference, ReferenceError, Segment, Source, Template, Unresolved};

pub use trace::{NodeError, NodeStatus, NodeTiming, Timings, Trace, TracedNode};
