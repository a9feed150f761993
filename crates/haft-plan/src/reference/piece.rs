//! References, the parts of a value that hold them, and the mistakes in them.

use std::fmt;

use serde_json::Value;

use super::path::ReferencePath;
use crate::limits::RESOLVED_BYTES_MAX;
use crate::node_id::NodeId;

/// Names a part of an earlier node's output or of the plan's input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The value that it reaches into.
    pub source: ReferenceSource,
    /// Which part of it.
    pub path: ReferencePath,
}

/// The value that a reference reaches into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReferenceSource {
    /// The output of a node.
    Step(NodeId),
    /// The input of the plan.
    Input,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum InputTemplatePart {
    Literal(Value),
    Whole(Reference),
    Text(Vec<InputTemplatePiece>),
    Array(Vec<InputTemplatePart>),
    Object(Vec<(String, InputTemplatePart)>),
}

/// A piece of a text that holds references.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum InputTemplatePiece {
    Literal(String),
    Reference(Reference),
}

/// Says which reference of a node's inputs names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reference} {why}")]
pub struct ReferenceError {
    /// Where it stands, as `inputs.path`.
    pub field: String,
    /// The reference.
    pub reference: Reference,
    /// Why it names nothing.
    pub why: UnresolvedReason,
}

/// Says why a reference names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnresolvedReason {
    /// The node has no output.
    #[error("names nothing: node {0} has no output")]
    NoOutput(NodeId),
    /// The plan has no input.
    #[error("names nothing: the plan was given no input")]
    NoInput,
    /// The output or input has no such part.
    #[error("names nothing: {reached} is {found}")]
    NoSuchPart {
        /// The part of the reference that names something, as text.
        reached: String,
        /// The value there, and similar names.
        found: String,
    },
    /// Together the references bring in too much.
    #[error(
        "brings in too much: the references of one node together are at most {RESOLVED_BYTES_MAX} bytes"
    )]
    TooLarge,
    /// The value begins with a dash, among the arguments of a command.
    #[error(
        "begins with a dash, so that the program would take it for an option: put the word -- before it, if the program knows \
         it, or give a value that does not begin with a dash, such as ./-x for a file"
    )]
    TakenForOption,
}

/// Says which text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputTemplateError {
    /// Where it stands, as `inputs.path`.
    pub(crate) field: String,
    pub(crate) malformed: InputTemplateFault,
}

/// Says why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum InputTemplateFault {
    /// Double braces that hold no reference.
    Placeholder(String),
    /// A reference with a mistake in it.
    Reference(String),
    /// Objects and arrays are nested too deeply.
    Depth,
}

impl Reference {
    /// Returns what the reference names inside the whole that it reaches into.
    pub(crate) fn part_of<'v>(&self, whole: &'v Value) -> Result<&'v Value, UnresolvedReason> {
        self.path.follow(whole).map_err(|missing| {
            let reached = format!("{}{}", self.source, missing.reached);
            UnresolvedReason::NoSuchPart { reached, found: missing.found }
        })
    }
}

impl fmt::Display for ReferenceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(id) => write!(f, "STEPS.{id}"),
            Self::Input => f.write_str("INPUT"),
        }
    }
}

impl fmt::Display for Reference {
    /// Writes the reference as it stands in a plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{{{}{}}}}}", self.source, self.path)
    }
}
