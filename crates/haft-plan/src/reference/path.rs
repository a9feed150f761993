//! A path into a JSON value, as a reference spells it.

use std::fmt;

use serde_json::Value;

use crate::message_text::{listed, shortened};
use crate::near_names::did_you_mean;

/// A path into a JSON value; empty for the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReferencePath(pub(crate) Vec<ReferencePathSegment>);

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReferencePathSegment {
    /// A plain name: a field of an object, or the index of an array where it is a number.
    Name(String),
    /// A name in quotes: a field of an object.
    Quoted(String),
    /// A number in brackets: the index of an array.
    Index(usize),
}

/// Says where a path ends too early, and what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingReferencePart {
    /// The part of the path that leads somewhere.
    pub(crate) reached: ReferencePath,
    /// The value there, and the next step.
    pub(crate) found: String,
}

impl ReferencePath {
    /// Returns what the path names inside `whole`.
    pub(crate) fn follow<'v>(&self, whole: &'v Value) -> Result<&'v Value, MissingReferencePart> {
        let mut at = whole;
        for (depth, segment) in self.0.iter().enumerate() {
            if let Some(part) = segment.follow(at) {
                at = part;
                continue;
            }
            let found = match at {
                Value::Object(fields) if fields.is_empty() => "an object without fields".to_owned(),
                Value::Object(fields) => {
                    let names = || fields.keys().map(String::as_str);
                    let near = match segment {
                        ReferencePathSegment::Name(name) | ReferencePathSegment::Quoted(name) => {
                            did_you_mean(name, names())
                        }
                        ReferencePathSegment::Index(_) => String::new(),
                    };
                    format!("an object with {}{near}", listed(names()))
                }
                Value::Array(items) if items.is_empty() => "an array without items".to_owned(),
                Value::Array(items) => {
                    format!("an array of {} items, from [0] to [{}]", items.len(), items.len() - 1)
                }
                Value::String(text) => {
                    format!("text, which has no fields: {}", shortened(&format!("{text:?}")))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {
                    format!("{at}, which has no fields")
                }
            };
            let reached = Self(self.0.iter().take(depth).cloned().collect());
            return Err(MissingReferencePart { reached, found });
        }
        Ok(at)
    }
}

impl ReferencePathSegment {
    fn follow<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (self, value) {
            (Self::Name(name) | Self::Quoted(name), Value::Object(fields)) => fields.get(name),
            (Self::Name(name), Value::Array(items)) => items.get(index_of(name)?),
            (Self::Index(index), Value::Array(items)) => items.get(*index),
            _ => None,
        }
    }
}

/// Reads a plain name as an index: digits, and no zero before them.
pub(crate) fn index_of(name: &str) -> Option<usize> {
    let is_number =
        name == "0" || (!name.starts_with('0') && name.bytes().all(|one| one.is_ascii_digit()));
    if is_number { name.parse().ok() } else { None }
}

/// Returns whether a name may stand in a path without quotes.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_plain_char)
}

pub(crate) fn is_plain_char(one: char) -> bool {
    one.is_alphanumeric() || one == '_' || one == '-'
}

impl fmt::Display for ReferencePath {
    /// Writes the path as it stands after `STEPS.0`: `.items[0]["a.b"]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|segment| segment.fmt(f))
    }
}

impl fmt::Display for ReferencePathSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, ".{name}"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Quoted(name) => {
                f.write_str("[\"")?;
                for one in name.chars() {
                    if one == '"' || one == '\\' {
                        f.write_str("\\")?;
                    }
                    write!(f, "{one}")?;
                }
                f.write_str("\"]")
            }
        }
    }
}
