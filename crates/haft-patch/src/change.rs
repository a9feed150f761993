//! The change that the input of a tool describes, so that front ends can show it. The names of the fields decide, not the
//! tool: a new tool that uses these names is shown without a change to any front end.

/// The change that the input of a tool describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescribedChange<'i> {
    /// A passage is replaced: the fields `old_string` and `new_string`.
    Passage {
        /// The file.
        path: Option<&'i str>,
        /// The passage.
        old: &'i str,
        /// The text in its place.
        new: &'i str,
    },
    /// A patch is applied: the field `patch`.
    Patch {
        /// The file, if the patch need not name one.
        path: Option<&'i str>,
        /// The patch as it was written.
        patch: &'i str,
    },
    /// A file gets a new text: the field `content`.
    Content {
        /// The file.
        path: Option<&'i str>,
        /// The text.
        new: &'i str,
    },
}

impl<'i> DescribedChange<'i> {
    /// Returns the change that an input describes. `field` returns the text of a field. Call this only for the input of
    /// a tool that changes files.
    pub fn from_fields(field: impl Fn(&str) -> Option<&'i str>) -> Option<Self> {
        let path = field("path");
        if let Some(old) = field("old_string") {
            return Some(Self::Passage { path, old, new: field("new_string").unwrap_or_default() });
        }
        if let Some(patch) = field("patch") {
            return Some(Self::Patch { path, patch });
        }
        field("content").map(|new| Self::Content { path, new })
    }
}
