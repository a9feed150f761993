//! Inputs whose references were read, and what becomes of them when the outputs are known.

use std::borrow::Cow;
use std::fmt;

use haft::{Open, OpenPlaces};
use serde_json::Value;

use super::path::Path;
use super::read::{foreign, pieces};
use super::resolve::Resolving;
use super::trail::Trail;
use crate::limits::{INPUTS_DEPTH_MAX, RESOLVED_BYTES_MAX};
use crate::plan::NodeId;

type Visit<'f> = dyn FnMut(&Trail<'_>, &Reference) + 'f;

/// A value that may hold references: `{{STEPS.<id>.<path>}}` to the output of an earlier node, `{{INPUT.<path>}}` to
/// the input of the plan.
///
/// - A text that is one reference and nothing else becomes what the reference names, whatever its type. Inside a
///   longer text a reference becomes text: texts bare, everything else as compact JSON.
/// - A path is made of names and indices: `items.0.name`, `items[0].name`. A name with a blank, a dot, a bracket, a
///   brace, a quote or a backslash in it stands in quotes: `["a.b"]`, `['total sum']`. Without a path the whole is
///   meant: `{{STEPS.0}}`. Blanks inside the braces, at either end, do not matter.
/// - Every other `{{` is refused, as a placeholder that was left. Two literal braces are written `\{{`. Of several
///   backslashes before `{{`, and only there, every two are one.
/// - Names of fields cannot hold references.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(Part);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    Literal(Value),
    Whole(Reference),
    Text(Vec<Piece>),
    Array(Vec<Part>),
    Object(Vec<(String, Part)>),
}

/// A piece of a text that holds references.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Literal(String),
    Reference(Reference),
}

/// Names a part of an earlier node's output or of the plan's input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// What it reaches into.
    pub source: Source,
    /// Which part of it.
    pub path: Path,
}

/// What a reference reaches into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The output of a node.
    Step(NodeId),
    /// The input of the plan.
    Input,
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
    pub why: Unresolved,
}

/// Says why a reference names nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unresolved {
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
        /// What is there, and which names are near.
        found: String,
    },
    /// Together the references bring in too much.
    #[error(
        "brings in too much: the references of one node together are at most {RESOLVED_BYTES_MAX} bytes"
    )]
    TooLarge,
}

/// Says which text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TemplateError {
    /// Where it stands, as `inputs.path`.
    pub(crate) field: String,
    pub(crate) malformed: Malformed,
}

/// Says why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// Double braces that hold no reference.
    Placeholder(String),
    /// A reference with a mistake in it.
    Reference(String),
    /// Objects and arrays are nested too deeply.
    Depth,
}

impl Template {
    /// Reads the references in `value`, and returns what could not be read beside the rest. `field` is the name that
    /// messages give to the whole.
    pub(crate) fn read(value: &Value, field: &str) -> (Self, Vec<TemplateError>) {
        let mut reading = Reading::default();
        let part = reading.part(value, &Trail::of_whole(field));
        (Self(part), reading.errors)
    }

    /// Calls `visit` with each reference and where it stands.
    pub(crate) fn each_reference(&self, field: &str, visit: &mut Visit<'_>) {
        self.0.each_reference(&Trail::of_whole(field), visit);
    }

    /// Returns whether there is no reference in it.
    pub fn is_literal(&self) -> bool {
        self.0.is_literal()
    }

    /// Returns the value with every reference replaced by what it names. A node's output is the data of its envelope.
    pub fn resolve<'v>(
        &self,
        outputs: &dyn Fn(NodeId) -> Option<&'v Value>,
        input: Option<&'v Value>,
    ) -> Result<Value, ReferenceError> {
        Resolving::new(outputs, input).part(&self.0, &Trail::of_whole("inputs"))
    }

    /// Returns the value as far as it is known without outputs, and which of its texts are not. References stand in it
    /// as they are written, but for those to a given input, which are replaced where they name something.
    pub(crate) fn preview(&self, input: Option<&Value>) -> (Cow<'_, Value>, OpenPlaces) {
        let mut open = OpenPlaces::new();
        let value = match &self.0 {
            Part::Literal(value) => Cow::Borrowed(value),
            part => Cow::Owned(part.preview(input, &Trail::of_whole(""), &mut open)),
        };
        (value, open)
    }

    /// Returns the value as it would be written in a plan.
    pub fn to_value(&self) -> Value {
        self.0.to_value()
    }
}

/// What was found while references are read.
#[derive(Default)]
struct Reading {
    errors: Vec<TemplateError>,
}

impl Reading {
    fn part(&mut self, value: &Value, at: &Trail<'_>) -> Part {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Part::Literal(value.clone()),
            Value::String(text) => self.text(text, at),
            Value::Array(_) | Value::Object(_) if at.depth() == INPUTS_DEPTH_MAX => {
                self.fail(at, Malformed::Depth)
            }
            Value::Array(items) => {
                let parts = items.iter().enumerate();
                array_of(parts.map(|(index, item)| self.part(item, &at.item(index))).collect())
            }
            Value::Object(fields) => {
                let parts = fields.iter();
                object_of(
                    parts
                        .map(|(name, field)| (name.clone(), self.field(name, field, at)))
                        .collect(),
                )
            }
        }
    }

    fn text(&mut self, text: &str, at: &Trail<'_>) -> Part {
        if let Some(malformed) = foreign(text) {
            return self.fail(at, malformed);
        }
        if !text.contains("{{") {
            return Part::Literal(Value::String(text.to_owned()));
        }
        let (pieces, malformed) = pieces(text);
        for malformed in malformed {
            self.fail(at, malformed);
        }
        match pieces.as_slice() {
            [] => Part::Literal(Value::String(String::new())),
            [Piece::Reference(reference)] => Part::Whole(reference.clone()),
            [Piece::Literal(literal)] => Part::Literal(Value::String(literal.clone())),
            _ => Part::Text(pieces),
        }
    }

    fn field(&mut self, name: &str, value: &Value, at: &Trail<'_>) -> Part {
        let part = self.part(value, &at.field(name));
        if name.contains("{{") {
            let why =
                format!("the name {name:?} holds double braces, and names cannot hold references");
            return self.fail(at, Malformed::Placeholder(why));
        }
        part
    }

    fn fail(&mut self, at: &Trail<'_>, malformed: Malformed) -> Part {
        self.errors.push(TemplateError { field: at.written(), malformed });
        Part::Literal(Value::Null)
    }
}

/// Joins parts into an array, which is a literal if they all are.
fn array_of(parts: Vec<Part>) -> Part {
    if !parts.iter().all(Part::is_literal) {
        return Part::Array(parts);
    }
    Part::Literal(parts.into_iter().filter_map(Part::into_literal).collect())
}

/// Joins fields into an object, which is a literal if they all are.
fn object_of(parts: Vec<(String, Part)>) -> Part {
    if !parts.iter().all(|(_, part)| part.is_literal()) {
        return Part::Object(parts);
    }
    let fields = parts.into_iter().filter_map(|(name, part)| Some((name, part.into_literal()?)));
    Part::Literal(Value::Object(fields.collect()))
}

impl Part {
    fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    fn into_literal(self) -> Option<Value> {
        match self {
            Self::Literal(value) => Some(value),
            Self::Whole(_) | Self::Text(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    fn each_reference(&self, at: &Trail<'_>, visit: &mut Visit<'_>) {
        match self {
            Self::Literal(_) => {}
            Self::Whole(reference) => visit(at, reference),
            Self::Text(pieces) => {
                pieces
                    .iter()
                    .filter_map(Piece::reference)
                    .for_each(|reference| visit(at, reference));
            }
            Self::Array(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    part.each_reference(&at.item(index), visit);
                }
            }
            Self::Object(parts) => {
                parts.iter().for_each(|(name, part)| part.each_reference(&at.field(name), visit));
            }
        }
    }

    fn preview(&self, input: Option<&Value>, at: &Trail<'_>, open: &mut OpenPlaces) -> Value {
        match self {
            Self::Literal(value) => value.clone(),
            Self::Whole(reference) => {
                let known = input.filter(|_| reference.source == Source::Input);
                match known.and_then(|input| reference.part_of(input).ok()) {
                    Some(value) => value.clone(),
                    None => {
                        open.insert(at.pointer(), Open::ForAnything);
                        Value::String(reference.to_string())
                    }
                }
            }
            Self::Text(pieces) => {
                open.insert(at.pointer(), Open::ForText);
                Value::String(written(pieces))
            }
            Self::Array(parts) => {
                let parts = parts.iter().enumerate();
                parts.map(|(index, part)| part.preview(input, &at.item(index), open)).collect()
            }
            Self::Object(parts) => {
                let fields = parts
                    .iter()
                    .map(|(name, part)| (name.clone(), part.preview(input, &at.field(name), open)));
                Value::Object(fields.collect())
            }
        }
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Literal(value) => escaped(value),
            Self::Whole(reference) => Value::String(reference.to_string()),
            Self::Text(pieces) => Value::String(written(pieces)),
            Self::Array(parts) => parts.iter().map(Self::to_value).collect(),
            Self::Object(parts) => Value::Object(
                parts.iter().map(|(name, part)| (name.clone(), part.to_value())).collect(),
            ),
        }
    }
}

impl Piece {
    fn reference(&self) -> Option<&Reference> {
        match self {
            Self::Reference(reference) => Some(reference),
            Self::Literal(_) => None,
        }
    }
}

/// Writes every text of a literal so that it reads as itself.
fn escaped(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(written(&[Piece::Literal(text.clone())])),
        Value::Array(items) => items.iter().map(escaped).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(name, field)| (name.clone(), escaped(field))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Writes pieces as the text that they are read from.
pub(super) fn written(pieces: &[Piece]) -> String {
    let mut text = String::new();
    for (place, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Reference(reference) => text.push_str(&reference.to_string()),
            Piece::Literal(literal) => {
                let braces_follow = matches!(pieces.get(place + 1), Some(Piece::Reference(_)));
                write_literal(literal, braces_follow, &mut text);
            }
        }
    }
    text
}

fn write_literal(literal: &str, braces_follow: bool, text: &mut String) {
    let mut rest = literal;
    while let Some(at) = rest.find(['\\', '{']) {
        let (plain, marks) = rest.split_at(at);
        text.push_str(plain);
        let after_backslashes = marks.trim_start_matches('\\');
        let after = after_backslashes.trim_start_matches('{');
        let backslashes = marks.len() - after_backslashes.len();
        let braces = after_backslashes.len() - after.len();
        let opens = braces >= 2 || (braces_follow && after.is_empty());
        text.extend(std::iter::repeat_n('\\', if opens { 2 * backslashes } else { backslashes }));
        text.push_str(&"\\{{".repeat(braces / 2));
        text.extend(std::iter::repeat_n('{', braces % 2));
        rest = after;
    }
    text.push_str(rest);
}

impl Reference {
    /// Returns what the reference names inside the whole that it reaches into.
    pub(crate) fn part_of<'v>(&self, whole: &'v Value) -> Result<&'v Value, Unresolved> {
        self.path.follow(whole).map_err(|missing| {
            let reached = format!("{}{}", self.source, missing.reached);
            Unresolved::NoSuchPart { reached, found: missing.found }
        })
    }
}

impl fmt::Display for Source {
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
