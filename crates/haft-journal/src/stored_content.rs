//! A text of the content store. Stores keep such texts apart from the rows that name them.

use haft_contract::ContentDigest;

/// A text on its way into the content store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredContent {
    /// The digest that rows have in its place.
    pub(crate) digest: ContentDigest,
    /// The text.
    pub(crate) text: String,
}

impl StoredContent {
    /// Takes a text.
    pub(crate) fn of(text: String) -> Self {
        Self { digest: ContentDigest::of(&text), text }
    }
}
