//! Recording whatever is at a path: every name of a directory is looked at through the directory's handle, which is then
//! closed; files that look as they did when they were last read are not read again; directories become objects from the
//! leaves up. Which paths are recorded is the caller's part.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use haft_sandbox::{FileKind, Root, RootError, Stamp, is_temporary};
use ignore::gitignore::Gitignore;
use rustix::io::Errno;

use super::cache::{Cache, CachedDirectory, Fresh, Known, Remembered};
use super::heavy::is_heavy;
use super::options::Options;
use super::reading::{self, Reading};
use super::rules::{Contains, Kind, Rules};
use super::{Counts, LeftOutPath};
use crate::directory::{Directory, Look};
use crate::error::{RecordError, StoreError};
use crate::hidden::HiddenWithin;
use crate::id::{ContentId, ObjectId, TreeId};
use crate::limits::{DEPTH_MAX, LEFT_OUT_LISTED_MAX};
use crate::objects::Writing;
use crate::state::{FileState, LeftOut, Reason};
use crate::tree::{Node, SET_ID, Tree, is_git};

/// A record on its way.
pub(super) struct Walk<'a> {
    pub(super) root: &'a Root,
    pub(super) options: &'a Options,
    pub(super) excluded: Gitignore,
    pub(super) hidden: HiddenWithin,
    pub(super) writing: Writing<'a>,
    pub(super) cache: &'a Cache,
    /// The cache that this walk leaves, if it sees everything that one should hold.
    pub(super) fresh: Option<Fresh<'a>>,
    pub(super) counts: Counts,
}

/// A directory whose names are being recorded.
pub(super) struct Frame<'a> {
    pub(super) path: PathBuf,
    /// The rules that hold in it.
    pub(super) rules: Rules,
    /// How many directories lie above it.
    pub(super) depth: usize,
    /// What was known of it.
    pub(super) cached: Option<&'a CachedDirectory>,
    /// What is known of it now.
    pub(super) remembered: Vec<Remembered>,
}

/// A name as it was seen in its directory.
pub(super) struct Seen {
    pub(super) name: OsString,
    pub(super) look: Look,
    /// Where it points to, if it is a link.
    target: OsString,
}

/// What came of a directory.
pub(super) enum Walked {
    Tree(TreeId),
    /// It is not there any more.
    Gone,
    Not(Reason),
}

impl<'a> Walk<'a> {
    /// Records the whole directory at `path`.
    pub(super) fn directory(
        &mut self,
        path: &Path,
        above: &Rules,
        depth: usize,
    ) -> Result<Walked, RecordError> {
        let (seen, contains) = match self.list(path) {
            Ok(listed) => listed,
            Err(err) => return without_listing(err),
        };
        let mut frame = Frame {
            path: path.to_path_buf(),
            rules: above.enter(path, contains),
            depth,
            cached: self.cache.directory(path),
            remembered: Vec::new(),
        };
        let mut tree = Tree::default();
        for seen in seen {
            if let Some(node) = self.node(&mut frame, &seen)? {
                tree.set(&seen.name, node);
            }
        }
        let former = frame.cached.map(|cached| cached.tree);
        let id = self.put(&tree, former)?;
        if let Some(fresh) = &mut self.fresh {
            fresh.add(path, id, &frame.remembered);
        }
        Ok(Walked::Tree(id))
    }

    /// Records what one name stands for; nothing if it is not there any more.
    pub(super) fn node(
        &mut self,
        frame: &mut Frame<'a>,
        seen: &Seen,
    ) -> Result<Option<Node>, RecordError> {
        self.counts.files += 1;
        if self.counts.files > self.options.files_max {
            return Err(RecordError::TooMany { files_max: self.options.files_max });
        }
        let path = frame.path.join(&seen.name);
        let kind = seen.look.metadata.kind;
        if self.is_excluded(&path, kind) {
            return Ok(Some(self.leave_out(path, seen, Reason::Excluded)));
        }
        match kind {
            FileKind::Regular => self.file(frame, path, seen),
            FileKind::Directory => self.subdirectory(frame, path, seen),
            FileKind::Symlink => Ok(Some(Node::Link { target: seen.target.clone() })),
            FileKind::Fifo
            | FileKind::Socket
            | FileKind::CharDevice
            | FileKind::BlockDevice
            | FileKind::Unknown => Ok(Some(self.leave_out(path, seen, Reason::Special))),
        }
    }

    /// Puts a directory's object into the store, unless it is the one that was there before.
    pub(super) fn put(
        &mut self,
        tree: &Tree,
        former: Option<TreeId>,
    ) -> Result<TreeId, StoreError> {
        let bytes = tree.encode();
        let id = TreeId(ObjectId::of(&bytes));
        if former == Some(id) {
            return Ok(id);
        }
        if let Some(fresh) = &mut self.fresh {
            fresh.note_news();
        }
        self.writing.put(&bytes).map(TreeId)
    }

    pub(super) fn is_excluded(&self, path: &Path, kind: FileKind) -> bool {
        self.excluded.matched(path, kind == FileKind::Directory).is_ignore()
    }

    /// Looks at every name of a directory that is recorded at all.
    fn list(&self, path: &Path) -> Result<(Vec<Seen>, Contains), RootError> {
        let entries = self.root.list(path)?;
        let directory = Directory::open(self.root, path)?;
        let mut contains = Contains::default();
        let mut seen = Vec::with_capacity(entries.len());
        for entry in entries {
            if is_git(&entry.name) {
                contains.repository |= entry.name == ".git";
                continue;
            }
            contains.ignore_file |= entry.name == ".gitignore";
            seen.extend(self.see(&directory, path, &entry.name)?);
        }
        Ok((seen, contains))
    }

    /// Looks at one name; nothing if there is nothing to record.
    pub(super) fn see(
        &self,
        directory: &Directory,
        path: &Path,
        name: &OsStr,
    ) -> Result<Option<Seen>, RootError> {
        if is_git(name) || is_temporary(name) || self.hidden.covers(&path.join(name)) {
            return Ok(None);
        }
        see(directory, path, name)
    }

    fn file(
        &mut self,
        frame: &mut Frame<'a>,
        path: PathBuf,
        seen: &Seen,
    ) -> Result<Option<Node>, RecordError> {
        let stamp = seen.look.metadata.stamp;
        let Options { file_bytes_max, ignored_bytes_max, .. } = *self.options;
        // Most files are so small that no rule needs to be asked.
        if stamp.size_bytes > ignored_bytes_max.min(file_bytes_max)
            && frame.rules.ignore(self.root, &path, Kind::Other)
        {
            return Ok(Some(self.leave_out(path, seen, Reason::Ignored)));
        }
        if stamp.size_bytes > file_bytes_max {
            return Ok(Some(self.leave_out(path, seen, Reason::TooLarge)));
        }
        let known = frame.cached.and_then(|cached| self.cache.known(cached, &seen.name, &stamp));
        if let Some(Known::Content(content)) = known {
            frame.remember(seen, stamp, Known::Content(content));
            return Ok(Some(Node::File(file_state(content, &seen.look))));
        }
        self.read(frame, path, seen)
    }

    fn read(
        &mut self,
        frame: &mut Frame<'a>,
        path: PathBuf,
        seen: &Seen,
    ) -> Result<Option<Node>, RecordError> {
        if let Some(fresh) = &mut self.fresh {
            fresh.note_news();
        }
        match reading::read(self.root, &path, self.options.file_bytes_max)? {
            Reading::Gone => Ok(None),
            Reading::Not(reason) => Ok(Some(self.leave_out(path, seen, reason))),
            Reading::Whole { bytes, stamp, owner } => {
                self.counts.read += 1;
                self.counts.read_bytes += stamp.size_bytes;
                let content = ContentId(self.writing.put(&bytes)?);
                frame.remember(seen, stamp, Known::Content(content));
                let mut look = Look { owner, ..seen.look };
                look.metadata.stamp = stamp;
                Ok(Some(Node::File(file_state(content, &look))))
            }
        }
    }

    fn subdirectory(
        &mut self,
        frame: &mut Frame<'a>,
        path: PathBuf,
        seen: &Seen,
    ) -> Result<Option<Node>, RecordError> {
        if frame.depth >= DEPTH_MAX {
            return Ok(Some(self.leave_out(path, seen, Reason::TooDeep)));
        }
        if frame.rules.ignore(self.root, &path, Kind::Directory)
            && self.is_known_heavy(frame, &path, seen)
        {
            return Ok(Some(self.leave_out(path, seen, Reason::Ignored)));
        }
        match self.directory(&path, &frame.rules, frame.depth + 1)? {
            Walked::Tree(tree) => {
                let mode = seen.look.metadata.stamp.permissions();
                Ok(Some(Node::Directory { mode, tree }))
            }
            Walked::Gone => Ok(None),
            Walked::Not(reason) => Ok(Some(self.leave_out(path, seen, reason))),
        }
    }

    /// Tells whether an ignored directory is over the bounds. One that was is not counted again until a name in it comes or
    /// goes.
    fn is_known_heavy(&mut self, frame: &mut Frame<'a>, path: &Path, seen: &Seen) -> bool {
        let stamp = seen.look.metadata.stamp;
        let known = frame.cached.and_then(|cached| self.cache.known(cached, &seen.name, &stamp));
        if known == Some(Known::Heavy) {
            frame.remember(seen, stamp, Known::Heavy);
            return true;
        }
        if !is_heavy(self.root, path, self.options, &self.hidden) {
            return false;
        }
        frame.remember(seen, stamp, Known::Heavy);
        if let Some(fresh) = &mut self.fresh {
            fresh.note_news();
        }
        true
    }

    pub(super) fn leave_out(&mut self, path: PathBuf, seen: &Seen, reason: Reason) -> Node {
        let metadata = seen.look.metadata;
        // Of what is left out by wish nothing is noted that changes with every build.
        let is_told = metadata.kind == FileKind::Regular && !reason.is_wanted();
        let (size_bytes, modified_ns) =
            if is_told { (metadata.stamp.size_bytes, metadata.stamp.modified_ns) } else { (0, 0) };
        let left_out = LeftOut { kind: metadata.kind, reason, size_bytes, modified_ns };
        self.counts.left_out_total += 1;
        if self.counts.left_out.len() < LEFT_OUT_LISTED_MAX {
            self.counts.left_out.push(LeftOutPath { path, left_out });
        }
        Node::LeftOut(left_out)
    }
}

impl Frame<'_> {
    fn remember(&mut self, seen: &Seen, stamp: Stamp, known: Known) {
        self.remembered.push(Remembered { name: seen.name.clone(), stamp, known });
    }
}

fn see(directory: &Directory, path: &Path, name: &OsStr) -> Result<Option<Seen>, RootError> {
    let failed = |errno| match errno {
        // The directory may be listed, and nothing in it be looked at.
        Errno::ACCESS => RootError::Denied { path: path.to_path_buf() },
        errno => RootError::Io { path: path.join(name), source: errno.into() },
    };
    let look = match directory.look(name) {
        Ok(Some(look)) => look,
        // A name that no file can have is nowhere.
        Ok(None) | Err(Errno::NAMETOOLONG) => return Ok(None),
        Err(errno) => return Err(failed(errno)),
    };
    let mut target = OsString::new();
    if look.metadata.kind == FileKind::Symlink {
        match directory.read_link(name) {
            Ok(found) => target = found,
            // It went away, or became something else, which the next record will see.
            Err(Errno::NOENT | Errno::INVAL) => return Ok(None),
            Err(errno) => return Err(failed(errno)),
        }
    }
    Ok(Some(Seen { name: name.to_owned(), look, target }))
}

/// Sorts why a directory could not be listed: what happened to it meanwhile is no error of the record.
pub(super) fn without_listing(err: RootError) -> Result<Walked, RecordError> {
    match err {
        RootError::NotFound { .. } => Ok(Walked::Gone),
        RootError::Denied { .. } => Ok(Walked::Not(Reason::Unreadable)),
        RootError::NotADirectory { .. } | RootError::Exchanged { .. } => {
            Ok(Walked::Not(Reason::Changing))
        }
        RootError::TooLong { .. } => Ok(Walked::Not(Reason::TooDeep)),
        err => Err(err.into()),
    }
}

fn file_state(content: ContentId, look: &Look) -> FileState {
    let stamp = look.metadata.stamp;
    let mode = stamp.permissions();
    let owner = (mode & SET_ID != 0).then_some(look.owner);
    FileState { content, size_bytes: stamp.size_bytes, mode, owner }
}
