//! One directory as an object: its entries, sorted by name, each with what it looked like; a directory among them by the name
//! of its own object. The bytes are a function of the directory alone, so that equal directories share an object. Reading
//! refuses whatever writing would not have produced; nothing here touches a file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use haft_sandbox::FileKind;

use crate::bytes::{Reader, Writer};
use crate::id::{ContentId, ID_BYTES, ObjectId, TreeId};
use crate::state::{FileState, LeftOut, Owner, Reason, State};

const MAGIC: &[u8] = b"haft tree 1\n";

/// The bits that make a file run as its owner or group.
pub(crate) const SET_ID: u32 = 0o6000;

const ALL_BITS: u32 = 0o7777;

/// The entries of a directory, sorted by the bytes of their names, each name once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    entries: Vec<Entry>,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) node: Node,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    File(FileState),
    Link { target: OsString },
    Directory { mode: u32, tree: TreeId },
    LeftOut(LeftOut),
}

impl Node {
    pub(crate) fn state(&self) -> State {
        match self {
            Node::File(file) => State::File(*file),
            Node::Link { target } => State::Link { target: target.into() },
            Node::Directory { mode, .. } => State::Directory { mode: *mode },
            Node::LeftOut(left_out) => State::LeftOut(*left_out),
        }
    }

    pub(crate) fn tree(&self) -> Option<TreeId> {
        match self {
            Node::Directory { tree, .. } => Some(*tree),
            Node::File(_) | Node::Link { .. } | Node::LeftOut(_) => None,
        }
    }
}

/// Tells whether a name is the version control's own, which is neither recorded nor touched, however it is spelled.
pub(crate) fn is_git(name: &OsStr) -> bool {
    name.as_bytes().eq_ignore_ascii_case(b".git")
}

impl Tree {
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn get(&self, name: &OsStr) -> Option<&Node> {
        let at = self.position(name).ok()?;
        self.entries.get(at).map(|entry| &entry.node)
    }

    /// Puts a name into the directory, in place of what it stood for.
    pub(crate) fn set(&mut self, name: &OsStr, node: Node) {
        match self.position(name) {
            Ok(at) => self.entries[at].node = node,
            Err(at) => self.entries.insert(at, Entry { name: name.to_owned(), node }),
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
        let mut writer = Writer::default();
        writer.raw(MAGIC);
        for entry in &self.entries {
            writer.string(entry.name.as_bytes());
            encode_node(&mut writer, &entry.node);
        }
        writer.bytes
    }

    /// Reads a directory back; what is wrong with the bytes is the error.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Tree, &'static str> {
        let mut reader = Reader::new(bytes);
        if reader.raw(MAGIC.len()) != Some(MAGIC) {
            return Err("it does not begin as one");
        }
        let mut tree = Tree::default();
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
            tree.entries.push(Entry { name, node });
        }
        Ok(tree)
    }
}

/// Tells whether a directory may hold this name in a record: restoring must never be led elsewhere by one.
fn is_possible(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    !bytes.is_empty()
        && bytes != b"."
        && bytes != b".."
        && !bytes.contains(&b'/')
        && !bytes.contains(&0)
        && !is_git(name)
}

const FILE: u8 = b'f';
const OWNED_FILE: u8 = b's';
const LINK: u8 = b'l';
const DIRECTORY: u8 = b'd';
const LEFT_OUT: u8 = b'o';

fn encode_node(writer: &mut Writer, node: &Node) {
    match node {
        Node::File(FileState { content, size_bytes, mode, owner }) => {
            writer.u8(if owner.is_some() { OWNED_FILE } else { FILE });
            writer.u32(*mode).u64(*size_bytes).raw(&content.0.0);
            if let Some(owner) = owner {
                writer.u32(owner.user).u32(owner.group);
            }
        }
        Node::Link { target } => {
            writer.u8(LINK).string(target.as_bytes());
        }
        Node::Directory { mode, tree } => {
            writer.u8(DIRECTORY).u32(*mode).raw(&tree.0.0);
        }
        Node::LeftOut(LeftOut { kind, reason, size_bytes, modified_ns }) => {
            writer.u8(LEFT_OUT).u8(kind_code(*kind)).u8(reason_code(*reason));
            writer.u64(*size_bytes).i128(*modified_ns);
        }
    }
}

fn decode_node(reader: &mut Reader<'_>) -> Option<Node> {
    match reader.u8()? {
        kind @ (FILE | OWNED_FILE) => {
            let mode = decode_mode(reader)?;
            let size_bytes = reader.u64()?;
            let content = ContentId(decode_id(reader)?);
            let owner = match kind {
                OWNED_FILE => Some(Owner { user: reader.u32()?, group: reader.u32()? }),
                _ => None,
            };
            let is_sound = owner.is_some() == (mode & SET_ID != 0);
            is_sound.then_some(Node::File(FileState { content, size_bytes, mode, owner }))
        }
        LINK => {
            let target = reader.string()?;
            let is_sound = !target.is_empty() && !target.contains(&0);
            is_sound.then(|| Node::Link { target: OsString::from_vec(target.to_vec()) })
        }
        DIRECTORY => {
            let mode = decode_mode(reader)?;
            Some(Node::Directory { mode, tree: TreeId(decode_id(reader)?) })
        }
        LEFT_OUT => {
            let kind = kind_of(reader.u8()?)?;
            let reason = reason_of(reader.u8()?)?;
            let (size_bytes, modified_ns) = (reader.u64()?, reader.i128()?);
            Some(Node::LeftOut(LeftOut { kind, reason, size_bytes, modified_ns }))
        }
        _ => None,
    }
}

fn decode_mode(reader: &mut Reader<'_>) -> Option<u32> {
    reader.u32().filter(|mode| mode & !ALL_BITS == 0)
}

fn decode_id(reader: &mut Reader<'_>) -> Option<ObjectId> {
    reader.array::<ID_BYTES>().map(ObjectId)
}

fn kind_code(kind: FileKind) -> u8 {
    match kind {
        FileKind::Regular => 0,
        FileKind::Directory => 1,
        FileKind::Symlink => 2,
        FileKind::Fifo => 3,
        FileKind::Socket => 4,
        FileKind::CharDevice => 5,
        FileKind::BlockDevice => 6,
        FileKind::Unknown => 7,
    }
}

fn kind_of(code: u8) -> Option<FileKind> {
    let all = [
        FileKind::Regular,
        FileKind::Directory,
        FileKind::Symlink,
        FileKind::Fifo,
        FileKind::Socket,
        FileKind::CharDevice,
        FileKind::BlockDevice,
        FileKind::Unknown,
    ];
    all.into_iter().find(|kind| kind_code(*kind) == code)
}

fn reason_code(reason: Reason) -> u8 {
    match reason {
        Reason::Excluded => 0,
        Reason::Ignored => 1,
        Reason::TooLarge => 2,
        Reason::Unreadable => 3,
        Reason::Changing => 4,
        Reason::TooDeep => 5,
        Reason::Special => 6,
    }
}

fn reason_of(code: u8) -> Option<Reason> {
    let all = [
        Reason::Excluded,
        Reason::Ignored,
        Reason::TooLarge,
        Reason::Unreadable,
        Reason::Changing,
        Reason::TooDeep,
        Reason::Special,
    ];
    all.into_iter().find(|reason| reason_code(*reason) == code)
}

#[cfg(test)]
mod tests;
