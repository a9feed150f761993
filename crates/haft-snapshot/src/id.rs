//! Names of objects: the BLAKE3 hash of their bytes. Trees and contents have separate types, so
//! that they are not confused. Nothing here reads or writes an object.

use std::fmt;
use std::str::FromStr;

/// Length of a name in bytes.
pub(crate) const ID_BYTES: usize = 32;

/// The name of any object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectId(pub(crate) [u8; ID_BYTES]);

/// Identifies the state of a workspace, or of a directory in it.
///
/// Equal trees have the same name, whenever and wherever they were recorded. Its text form is 64
/// hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub(crate) ObjectId);

/// Identifies the bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub(crate) ObjectId);

/// A text is not the name of a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` names no snapshot; expected {} hexadecimal digits", 2 * ID_BYTES)]
pub struct ParseTreeIdError {
    text: String,
}

impl ObjectId {
    /// Returns the name of an object with these bytes.
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
    type Err = ParseTreeIdError;

    fn from_str(text: &str) -> Result<TreeId, ParseTreeIdError> {
        let id = ObjectId::parse(text).ok_or_else(|| ParseTreeIdError { text: text.to_owned() })?;
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
