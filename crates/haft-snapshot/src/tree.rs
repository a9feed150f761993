//! One directory as an object: its entries, sorted by name, each with its state. The entry of a
//! subdirectory names that directory's object. The bytes depend only on the directory, so that equal directories
//! share an object. Decoding rejects all bytes that encoding would not produce. Nothing here
//! touches a file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use haft_sandbox::InodeKind;

use crate::bytes::{ByteReader, ByteWriter};
use crate::id::{ContentId, ID_BYTES, ObjectId, TreeId};
use crate::state::{FileOwner, OmissionReason, OmittedEntry, PathState, RecordedFile};

const MAGIC: &[u8] = b"haft tree 1\n";

/// The bits that make a file run as its owner or group.
pub(crate) const SET_ID: u32 = 0o6000;

const ALL_BITS: u32 = 0o7777;

/// The entries of a directory, sorted by the bytes of their names, each name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TreeObject {
    entries: Vec<TreeEntry>,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    pub(crate) name: OsString,
    pub(crate) node: TreeNode,
}

/// The entry of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TreeNode {
    File(RecordedFile),
    Link { target: OsString },
    Directory { mode: u32, tree: TreeId },
    LeftOut(OmittedEntry),
}

impl TreeNode {
    pub(crate) fn state(&self) -> PathState {
        match self {
            TreeNode::File(file) => PathState::File(*file),
            TreeNode::Link { target } => PathState::Link { target: target.into() },
            TreeNode::Directory { mode, .. } => PathState::Directory { mode: *mode },
            TreeNode::LeftOut(left_out) => PathState::Omitted(*left_out),
        }
    }

    pub(crate) fn tree(&self) -> Option<TreeId> {
        match self {
            TreeNode::Directory { tree, .. } => Some(*tree),
            TreeNode::File(_) | TreeNode::Link { .. } | TreeNode::LeftOut(_) => None,
        }
    }
}

/// Returns whether a name is git's own directory, in any spelling, which is neither recorded nor
/// touched.
pub(crate) fn is_git(name: &OsStr) -> bool {
    name.as_bytes().eq_ignore_ascii_case(b".git")
}

impl TreeObject {
    pub(crate) fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    pub(crate) fn get(&self, name: &OsStr) -> Option<&TreeNode> {
        let at = self.position(name).ok()?;
        self.entries.get(at).map(|entry| &entry.node)
    }

    /// Sets the entry of a name, replacing the previous one.
    pub(crate) fn set(&mut self, name: &OsStr, node: TreeNode) {
        match self.position(name) {
            Ok(at) => self.entries[at].node = node,
            Err(at) => self.entries.insert(at, TreeEntry { name: name.to_owned(), node }),
        }
    }

    pub(crate) fn remove(&mut self, name: &OsStr) {
        if let Ok(at) = self.position(name) {
            self.entries.remove(at);
        }
    }

    fn position(&self, name: &OsStr) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.name.as_bytes().cmp(name.as_bytes()))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut writer = ByteWriter::default();
        writer.raw(MAGIC);
        for entry in &self.entries {
            writer.string(entry.name.as_bytes());
            match &entry.node {
                TreeNode::File(RecordedFile { content, size_bytes, mode, owner }) => {
                    writer.u8(if owner.is_some() { OWNED_FILE } else { FILE });
                    writer.u32(*mode).u64(*size_bytes).raw(&content.0.0);
                    if let Some(owner) = owner {
                        writer.u32(owner.user).u32(owner.group);
                    }
                }
                TreeNode::Link { target } => {
                    writer.u8(LINK).string(target.as_bytes());
                }
                TreeNode::Directory { mode, tree } => {
                    writer.u8(DIRECTORY).u32(*mode).raw(&tree.0.0);
                }
                TreeNode::LeftOut(OmittedEntry { kind, reason, size_bytes, modified_ns }) => {
                    writer.u8(LEFT_OUT).u8(kind_code(*kind)).u8(reason_code(*reason));
                    writer.u64(*size_bytes).i128(*modified_ns);
                }
            }
        }
        writer.bytes
    }

    /// Decodes a directory; the error says what is wrong with the bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<TreeObject, &'static str> {
        let mut reader = ByteReader::new(bytes);
        if reader.raw(MAGIC.len()) != Some(MAGIC) {
            return Err("it does not begin as one");
        }
        let mut tree = TreeObject::default();
        while !reader.is_empty() {
            let name = reader.string().ok_or("it is cut short")?;
            let name = OsString::from_vec(name.to_vec());
            if !is_possible(&name) {
                return Err("it has a name that no file has");
            }
            if tree.entries.last().is_some_and(|last| last.name.as_bytes() >= name.as_bytes()) {
                return Err("its names are not in order");
            }
            let node = decode_node(&mut reader).ok_or("it has an entry that cannot be read")?;
            tree.entries.push(TreeEntry { name, node });
        }
        Ok(tree)
    }
}

/// Returns whether a record of a directory may contain this name. A name must never redirect a
/// restore.
fn is_possible(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    !bytes.is_empty()
        && bytes != b"."
        && bytes != b".."
        && !bytes.contains(&b'/')
        && !bytes.contains(&0)
        && !is_git(name)
}

const KINDS: [InodeKind; 8] = [
    InodeKind::Regular,
    InodeKind::Directory,
    InodeKind::Symlink,
    InodeKind::Fifo,
    InodeKind::Socket,
    InodeKind::CharDevice,
    InodeKind::BlockDevice,
    InodeKind::Unknown,
];

const REASONS: [OmissionReason; 7] = [
    OmissionReason::Excluded,
    OmissionReason::Ignored,
    OmissionReason::TooLarge,
    OmissionReason::Unreadable,
    OmissionReason::Changing,
    OmissionReason::TooDeep,
    OmissionReason::Special,
];

const FILE: u8 = b'f';
const OWNED_FILE: u8 = b's';
const LINK: u8 = b'l';
const DIRECTORY: u8 = b'd';
const LEFT_OUT: u8 = b'o';

fn decode_node(reader: &mut ByteReader<'_>) -> Option<TreeNode> {
    match reader.u8()? {
        kind @ (FILE | OWNED_FILE) => {
            let mode = decode_mode(reader)?;
            let size_bytes = reader.u64()?;
            let content = ContentId(decode_id(reader)?);
            let owner = match kind {
                OWNED_FILE => Some(FileOwner { user: reader.u32()?, group: reader.u32()? }),
                _ => None,
            };
            let is_sound = owner.is_some() == (mode & SET_ID != 0);
            is_sound.then_some(TreeNode::File(RecordedFile { content, size_bytes, mode, owner }))
        }
        LINK => {
            let target = reader.string()?;
            let is_sound = !target.is_empty() && !target.contains(&0);
            is_sound.then(|| TreeNode::Link { target: OsString::from_vec(target.to_vec()) })
        }
        DIRECTORY => {
            let mode = decode_mode(reader)?;
            Some(TreeNode::Directory { mode, tree: TreeId(decode_id(reader)?) })
        }
        LEFT_OUT => {
            let (kind, reason) = (reader.u8()?, reader.u8()?);
            let kind = KINDS.into_iter().find(|known| kind_code(*known) == kind)?;
            let reason = REASONS.into_iter().find(|known| reason_code(*known) == reason)?;
            let (size_bytes, modified_ns) = (reader.u64()?, reader.i128()?);
            Some(TreeNode::LeftOut(OmittedEntry { kind, reason, size_bytes, modified_ns }))
        }
        _ => None,
    }
}

fn decode_mode(reader: &mut ByteReader<'_>) -> Option<u32> {
    reader.u32().filter(|mode| mode & !ALL_BITS == 0)
}

fn decode_id(reader: &mut ByteReader<'_>) -> Option<ObjectId> {
    reader.array::<ID_BYTES>().map(ObjectId)
}

fn kind_code(kind: InodeKind) -> u8 {
    match kind {
        InodeKind::Regular => 0,
        InodeKind::Directory => 1,
        InodeKind::Symlink => 2,
        InodeKind::Fifo => 3,
        InodeKind::Socket => 4,
        InodeKind::CharDevice => 5,
        InodeKind::BlockDevice => 6,
        InodeKind::Unknown => 7,
    }
}

fn reason_code(reason: OmissionReason) -> u8 {
    match reason {
        OmissionReason::Excluded => 0,
        OmissionReason::Ignored => 1,
        OmissionReason::TooLarge => 2,
        OmissionReason::Unreadable => 3,
        OmissionReason::Changing => 4,
        OmissionReason::TooDeep => 5,
        OmissionReason::Special => 6,
    }
}

#[cfg(test)]
mod tests;
