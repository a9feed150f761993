//! The way to a place inside a value, kept on the stack while the value is walked, and written only when it is
//! reported: most walks find nothing to report.

use haft_contract::ShellParameter;

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

    /// Returns which word of a command the place is: 0 for the program, else the number of the argument from 1. A place that
    /// is all arguments is the first one.
    pub(crate) fn word_place(&self, line: ShellParameter) -> Option<usize> {
        let pointer = self.pointer();
        let mut steps = pointer.strip_prefix('/')?.split('/');
        match (steps.next()?, steps.next()) {
            (field, None) if field == line.parameter => Some(0),
            (field, None) if field == line.words => Some(1),
            (field, Some(item)) if field == line.words => {
                item.parse::<usize>().ok()?.checked_add(1)
            }
            _ => None,
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
