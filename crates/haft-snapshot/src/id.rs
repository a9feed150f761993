//! Names of objects: the BLAKE3 hash of their bytes. A tree's and a content's name are two types, so that neither is taken
//! for the other; nothing here reads or writes an object.

use std::fmt;
use std::str::FromStr;

/// How many bytes a name has.
pub(crate) const ID_BYTES: usize = 32;

/// The name of any object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectId(pub(crate) [u8; ID_BYTES]);

/// Names the state of a workspace, or of a directory in it.
///
/// Two equal trees have the same name, whenever and wherever they were recorded. Its text form is 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub(crate) ObjectId);

/// Names the bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub(crate) ObjectId);

/// A text that names no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no snapshot; expected {} hexadecimal digits", 2 * ID_BYTES)]
pub struct ParseIdError {
    text: String,
}

impl ObjectId {
    /// Returns the name of an object that holds `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> ObjectId {
        ObjectId(*blake3::hash(bytes).as_bytes())
    }

    pub(crate) fn parse(text: &str) -> Option<ObjectId> {
        // Upper case would be a second spelling of the same name.
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        blake3::Hash::from_hex(text).ok().map(|hash| ObjectId(*hash.as_bytes()))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl FromStr for TreeId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<TreeId, ParseIdError> {
        let id = ObjectId::parse(text).ok_or_else(|| ParseIdError { text: text.to_owned() })?;
        Ok(TreeId(id))
    }
}

impl fmt::Display for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for TreeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TreeId({self})")
    }
}

impl fmt::Debug for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentId({self})")
    }
}
