//! The way to a place inside a value, kept on the stack while the value is walked, and written only when it is
//! reported: most walks find nothing to report.

use super::path::{ReferencePathSegment, is_plain};

/// The way to a place inside a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueLocation<'t> {
    before: Option<&'t ValueLocation<'t>>,
    step: ValueLocationStep<'t>,
}

#[derive(Clone, Copy, Debug)]
enum ValueLocationStep<'t> {
    Whole(&'t str),
    Name(&'t str),
    Index(usize),
}

impl<'t> ValueLocation<'t> {
    /// Returns the way to the whole, which messages call `name`.
    pub(crate) fn of_whole(name: &'t str) -> Self {
        Self { before: None, step: ValueLocationStep::Whole(name) }
    }

    /// Returns the way to the field `name` of this place.
    pub(crate) fn field<'s>(&'s self, name: &'s str) -> ValueLocation<'s> {
        ValueLocation { before: Some(self), step: ValueLocationStep::Name(name) }
    }

    /// Returns the way to the item `index` of this place.
    pub(crate) fn item(&self, index: usize) -> ValueLocation<'_> {
        ValueLocation { before: Some(self), step: ValueLocationStep::Index(index) }
    }

    /// Returns how many steps beneath the whole the place is.
    pub(super) fn depth(&self) -> usize {
        self.before.map_or(0, |before| before.depth() + 1)
    }

    /// Returns whether the way leads into that field of the whole.
    pub(crate) fn is_within_field(&self, field: &str) -> bool {
        match (self.before, self.step) {
            (Some(whole), ValueLocationStep::Name(name)) if whole.before.is_none() => name == field,
            (Some(before), _) => before.is_within_field(field),
            (None, _) => false,
        }
    }

    /// Returns the way as messages write it: `inputs.items[0]["a.b"]`.
    pub(crate) fn written(&self) -> String {
        let mut text = self.before.map(Self::written).unwrap_or_default();
        match self.step {
            ValueLocationStep::Whole(name) => text.push_str(name),
            ValueLocationStep::Name(name) => text.push_str(&named(name).to_string()),
            ValueLocationStep::Index(index) => {
                text.push_str(&ReferencePathSegment::Index(index).to_string())
            }
        }
        text
    }

    /// Returns the way as a JSON pointer, in which the whole has no name.
    pub(super) fn pointer(&self) -> String {
        let mut text = self.before.map(Self::pointer).unwrap_or_default();
        match self.step {
            ValueLocationStep::Whole(_) => {}
            ValueLocationStep::Name(name) => {
                text.push_str(&format!("/{}", name.replace('~', "~0").replace('/', "~1")))
            }
            ValueLocationStep::Index(index) => text.push_str(&format!("/{index}")),
        }
        text
    }
}

/// Returns the step of a path to the field `name`.
pub(crate) fn named(name: &str) -> ReferencePathSegment {
    if is_plain(name) {
        ReferencePathSegment::Name(name.to_owned())
    } else {
        ReferencePathSegment::Quoted(name.to_owned())
    }
}
