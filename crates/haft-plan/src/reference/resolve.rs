//! Replaces references by what they name.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::template::{Part, Piece, Reference, ReferenceError, Source, Unresolved};
use super::trail::Trail;
use crate::limits::RESOLVED_BYTES_MAX;
use crate::plan::NodeId;

/// What is known while references are replaced.
pub(super) struct Resolving<'r, 'v> {
    outputs: &'r dyn Fn(NodeId) -> Option<&'v Value>,
    input: Option<&'v Value>,
    bytes_left: usize,
}

impl<'r, 'v> Resolving<'r, 'v> {
    pub(super) fn new(
        outputs: &'r dyn Fn(NodeId) -> Option<&'v Value>,
        input: Option<&'v Value>,
    ) -> Self {
        Self { outputs, input, bytes_left: RESOLVED_BYTES_MAX }
    }

    pub(super) fn part(&mut self, part: &Part, at: &Trail<'_>) -> Result<Value, ReferenceError> {
        match part {
            Part::Literal(value) => Ok(value.clone()),
            Part::Whole(reference) => {
                let value = self.value(reference).map_err(|why| error(at, reference, why))?;
                self.take(size_of(value)).map_err(|why| error(at, reference, why))?;
                Ok(value.clone())
            }
            Part::Text(pieces) => self.text(pieces, at).map(Value::String),
            Part::Array(parts) => {
                let parts = parts.iter().enumerate();
                parts.map(|(index, part)| self.part(part, &at.item(index))).collect()
            }
            Part::Object(parts) => {
                let mut fields = Map::new();
                for (name, part) in parts {
                    fields.insert(name.clone(), self.part(part, &at.field(name))?);
                }
                Ok(Value::Object(fields))
            }
        }
    }

    fn text(&mut self, pieces: &[Piece], at: &Trail<'_>) -> Result<String, ReferenceError> {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => text.push_str(literal),
                Piece::Reference(reference) => {
                    let value = self.value(reference).map_err(|why| error(at, reference, why))?;
                    let rendered = rendered(value);
                    self.take(rendered.len()).map_err(|why| error(at, reference, why))?;
                    text.push_str(&rendered);
                }
            }
        }
        Ok(text)
    }

    fn value(&self, reference: &Reference) -> Result<&'v Value, Unresolved> {
        let whole = match reference.source {
            Source::Step(id) => (self.outputs)(id).ok_or(Unresolved::NoOutput(id)),
            Source::Input => self.input.ok_or(Unresolved::NoInput),
        };
        reference.part_of(whole?)
    }

    fn take(&mut self, bytes: usize) -> Result<(), Unresolved> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(Unresolved::TooLarge)?;
        Ok(())
    }
}

fn error(at: &Trail<'_>, reference: &Reference, why: Unresolved) -> ReferenceError {
    ReferenceError { field: at.written(), reference: reference.clone(), why }
}

/// Writes a value into a text: texts bare, everything else as compact JSON.
fn rendered(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Cow::Owned(value.to_string())
        }
    }
}

/// Returns about how many bytes a copy of the value takes.
fn size_of(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size_of).sum(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| name.len() + size_of(field)).sum()
        }
    };
    inside + size_of_val(value)
}
