//! Replaces references by what they name.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::location::ValueLocation;
use super::piece::{
    InputTemplatePart, InputTemplatePiece, Reference, ReferenceError, ReferenceSource,
    UnresolvedReason,
};
use crate::limits::RESOLVED_BYTES_MAX;
use crate::node_id::NodeId;

/// The values by which references are replaced.
pub(super) struct ReferenceResolver<'r, 'v> {
    outputs: &'r dyn Fn(NodeId) -> Option<&'v Value>,
    input: Option<&'v Value>,
    bytes_left: usize,
}

impl<'r, 'v> ReferenceResolver<'r, 'v> {
    pub(super) fn new(
        outputs: &'r dyn Fn(NodeId) -> Option<&'v Value>,
        input: Option<&'v Value>,
    ) -> Self {
        Self { outputs, input, bytes_left: RESOLVED_BYTES_MAX }
    }

    pub(super) fn part(
        &mut self,
        part: &InputTemplatePart,
        at: &ValueLocation<'_>,
    ) -> Result<Value, ReferenceError> {
        match part {
            InputTemplatePart::Literal(value) => Ok(value.clone()),
            InputTemplatePart::Whole(reference) => {
                let value = self.value(reference).map_err(|why| error(at, reference, why))?;
                self.take(size_of(value)).map_err(|why| error(at, reference, why))?;
                Ok(value.clone())
            }
            InputTemplatePart::Text(pieces) => self.text(pieces, at).map(Value::String),
            InputTemplatePart::Array(parts) => {
                let parts = parts.iter().enumerate();
                parts.map(|(index, part)| self.part(part, &at.item(index))).collect()
            }
            InputTemplatePart::Object(parts) => {
                let mut fields = Map::new();
                for (name, part) in parts {
                    fields.insert(name.clone(), self.part(part, &at.field(name))?);
                }
                Ok(Value::Object(fields))
            }
        }
    }

    fn text(
        &mut self,
        pieces: &[InputTemplatePiece],
        at: &ValueLocation<'_>,
    ) -> Result<String, ReferenceError> {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                InputTemplatePiece::Literal(literal) => text.push_str(literal),
                InputTemplatePiece::Reference(reference) => {
                    let value = self.value(reference).map_err(|why| error(at, reference, why))?;
                    let rendered = rendered(value);
                    self.take(rendered.len()).map_err(|why| error(at, reference, why))?;
                    text.push_str(&rendered);
                }
            }
        }
        Ok(text)
    }

    fn value(&self, reference: &Reference) -> Result<&'v Value, UnresolvedReason> {
        let whole = match reference.source {
            ReferenceSource::Step(id) => (self.outputs)(id).ok_or(UnresolvedReason::NoOutput(id)),
            ReferenceSource::Input => self.input.ok_or(UnresolvedReason::NoInput),
        };
        reference.part_of(whole?)
    }

    fn take(&mut self, bytes: usize) -> Result<(), UnresolvedReason> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(UnresolvedReason::TooLarge)?;
        Ok(())
    }
}

fn error(at: &ValueLocation<'_>, reference: &Reference, why: UnresolvedReason) -> ReferenceError {
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
