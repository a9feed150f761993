//! Records everything at a path. Every name of a directory is inspected through the directory's
//! handle, which is then closed. Unchanged files are not read again. Directories become objects
//! from the leaves up. The caller chooses the paths.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use haft_sandbox::{DirectoryWatch, InodeKind, InodeStamp, Root, RootError, is_temporary};
use ignore::gitignore::Gitignore;
use rustix::io::Errno;

use super::cache::{CachedContent, CachedDirectory, CachedEntry, LazyCache, RecordCacheWriter};
use super::file_read::{self, FileReadResult};
use super::gitignore_rules::{DirectoryMarkers, GitignoreKind, SnapshotIgnoreRules};
use super::options::RecordOptions;
use super::oversized::is_oversized;
use super::{OmittedPath, RecordCounts};
use crate::directory::{EntryMetadata, OpenDirectory};
use crate::error::{RecordError, SnapshotStoreError};
use crate::hidden_paths::RootHiddenPaths;
use crate::id::{ContentId, ObjectId, TreeId};
use crate::limits::{DEPTH_MAX, LEFT_OUT_LISTED_MAX};
use crate::objects::ObjectWriter;
use crate::state::{OmissionReason, OmittedEntry, RecordedFile};
use crate::store::SnapshotStore;
use crate::tree::{SET_ID, TreeNode, TreeObject, is_git};

/// A record in progress.
pub(super) struct RecordWalk<'a> {
    pub(super) store: &'a SnapshotStore,
    pub(super) root: &'a Root,
    pub(super) options: &'a RecordOptions,
    pub(super) excluded: Gitignore,
    pub(super) hidden: RootHiddenPaths,
    pub(super) writing: ObjectWriter<'a>,
    pub(super) cache: &'a LazyCache,
    /// Follows every directory that the walk lists, if the record is one of a series.
    pub(super) watch: Option<&'a mut DirectoryWatch>,
    /// The files with several names (hard links) that the walk met.
    pub(super) linked: Vec<(PathBuf, InodeStamp)>,
    /// The directories with a `.git` that the walk listed.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// The new cache, if this walk covers everything that belongs in one.
    pub(super) fresh: Option<RecordCacheWriter<'a>>,
    pub(super) counts: RecordCounts,
}

/// A directory whose names are being recorded.
pub(super) struct DirectoryFrame<'a> {
    pub(super) path: PathBuf,
    /// The rules that apply in it.
    pub(super) rules: SnapshotIgnoreRules,
    /// The number of its parents.
    pub(super) depth: usize,
    /// Its entries in the former cache.
    pub(super) cached: Option<&'a CachedDirectory>,
    /// Its entries for the new cache.
    pub(super) remembered: Vec<CachedEntry>,
}

/// A name as it was seen in its directory.
pub(super) struct RecordWalkEntry {
    pub(super) name: OsString,
    pub(super) observed: EntryMetadata,
    /// The target, if it is a link.
    target: OsString,
}

/// The result of recording a directory.
pub(super) enum WalkedDirectory {
    Tree(TreeId),
    /// It does not exist any more.
    Gone,
    Not(OmissionReason),
}

impl<'a> RecordWalk<'a> {
    /// Records the whole directory at `path`.
    pub(super) fn directory(
        &mut self,
        path: &Path,
        above: &SnapshotIgnoreRules,
        depth: usize,
    ) -> Result<WalkedDirectory, RecordError> {
        let (seen, contains) = match self.list(path) {
            Ok(listed) => listed,
            Err(err) => return classify_list_error(err),
        };
        let mut frame = DirectoryFrame {
            path: path.to_path_buf(),
            rules: above.enter(path, contains),
            depth,
            cached: self.cache.directory(path),
            remembered: Vec::new(),
        };
        let mut tree = TreeObject::default();
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
        Ok(WalkedDirectory::Tree(id))
    }

    /// Records one name; returns `None` if it does not exist any more.
    pub(super) fn node(
        &mut self,
        frame: &mut DirectoryFrame<'a>,
        seen: &RecordWalkEntry,
    ) -> Result<Option<TreeNode>, RecordError> {
        self.counts.files += 1;
        if self.counts.files > self.options.files_max {
            return Err(RecordError::TooMany { files_max: self.options.files_max });
        }
        let path = frame.path.join(&seen.name);
        let kind = seen.observed.metadata.kind;
        if self.is_excluded(&path, kind) {
            return Ok(Some(self.omit_entry(path, seen, OmissionReason::Excluded)));
        }
        match kind {
            InodeKind::Regular => self.file(frame, path, seen),
            InodeKind::Directory => {
                if frame.depth >= DEPTH_MAX {
                    return Ok(Some(self.omit_entry(path, seen, OmissionReason::TooDeep)));
                }
                if frame.rules.ignore(self.root, &path, GitignoreKind::Directory) {
                    // An oversized directory is counted again only when a name in it appears or
                    // disappears.
                    if let Some(watch) = &mut self.watch
                        && let Ok(directory) = OpenDirectory::open(self.root, &path)
                    {
                        watch.add_directory(directory.handle.as_fd(), &path);
                    }
                    let stamp = seen.observed.metadata.stamp;
                    let cached = frame.cached;
                    let known = cached.and_then(|it| self.cache.known(it, &seen.name, &stamp));
                    let was_oversized = known == Some(CachedContent::Oversized);
                    if was_oversized || is_oversized(self.root, &path, self.options, &self.hidden) {
                        if let Some(fresh) = &mut self.fresh
                            && !was_oversized
                        {
                            fresh.mark_changed();
                        }
                        frame.cache_entry(seen, stamp, CachedContent::Oversized);
                        return Ok(Some(self.omit_entry(path, seen, OmissionReason::Ignored)));
                    }
                }
                let walked = self.directory(&path, &frame.rules, frame.depth + 1)?;
                Ok(self.directory_node(walked, path, seen))
            }
            InodeKind::Symlink => Ok(Some(TreeNode::Link { target: seen.target.clone() })),
            InodeKind::Fifo
            | InodeKind::Socket
            | InodeKind::CharDevice
            | InodeKind::BlockDevice
            | InodeKind::Unknown => Ok(Some(self.omit_entry(path, seen, OmissionReason::Special))),
        }
    }

    /// Returns the entry of a directory that was recorded; `None` if it does not exist any more.
    pub(super) fn directory_node(
        &mut self,
        walked: WalkedDirectory,
        path: PathBuf,
        seen: &RecordWalkEntry,
    ) -> Option<TreeNode> {
        match walked {
            WalkedDirectory::Tree(tree) => {
                let mode = seen.observed.metadata.stamp.permissions();
                Some(TreeNode::Directory { mode, tree })
            }
            WalkedDirectory::Gone => None,
            WalkedDirectory::Not(reason) => Some(self.omit_entry(path, seen, reason)),
        }
    }

    /// Writes a directory's object to the store, unless it is the same as before.
    pub(super) fn put(
        &mut self,
        tree: &TreeObject,
        former: Option<TreeId>,
    ) -> Result<TreeId, SnapshotStoreError> {
        let bytes = tree.encode();
        let id = TreeId(ObjectId::of(&bytes));
        if former == Some(id) {
            return Ok(id);
        }
        if let Some(fresh) = &mut self.fresh {
            fresh.mark_changed();
        }
        self.writing.put_object(&bytes).map(TreeId)
    }

    pub(super) fn is_excluded(&self, path: &Path, kind: InodeKind) -> bool {
        self.excluded.matched(path, kind == InodeKind::Directory).is_ignore()
    }

    /// Inspects every name of a directory that can be recorded.
    fn list(&mut self, path: &Path) -> Result<(Vec<RecordWalkEntry>, DirectoryMarkers), RootError> {
        let directory = OpenDirectory::open(self.root, path)?;
        if let Some(watch) = &mut self.watch {
            watch.add_directory(directory.handle.as_fd(), path);
        }
        let entries = self.root.list(path)?;
        let mut contains = DirectoryMarkers::default();
        let mut seen = Vec::with_capacity(entries.len());
        for entry in entries {
            if is_git(&entry.name) {
                contains.repository |= entry.name == ".git";
                continue;
            }
            contains.ignore_file |= entry.name == ".gitignore";
            seen.extend(self.stat_name(&directory, path, &entry.name)?);
        }
        if contains.repository {
            self.repositories.insert(path.to_path_buf());
        }
        Ok((seen, contains))
    }

    /// Inspects one name; returns `None` if there is nothing to record.
    pub(super) fn stat_name(
        &self,
        directory: &OpenDirectory,
        path: &Path,
        name: &OsStr,
    ) -> Result<Option<RecordWalkEntry>, RootError> {
        if is_git(name) || is_temporary(name) || self.hidden.contains_path(&path.join(name)) {
            return Ok(None);
        }
        let failed = |errno| match errno {
            // The directory can be listed, but its entries cannot be accessed.
            Errno::ACCESS => RootError::Denied { path: path.to_path_buf() },
            errno => RootError::Io { path: path.join(name), source: errno.into() },
        };
        let observed = match directory.entry_metadata(name) {
            Ok(Some(observed)) => observed,
            // A name that is too long cannot exist.
            Ok(None) | Err(Errno::NAMETOOLONG) => return Ok(None),
            Err(errno) => return Err(failed(errno)),
        };
        let mut target = OsString::new();
        if observed.metadata.kind == InodeKind::Symlink {
            match directory.read_link(name) {
                Ok(found) => target = found,
                // It was removed or replaced; the next record will see it.
                Err(Errno::NOENT | Errno::INVAL) => return Ok(None),
                Err(errno) => return Err(failed(errno)),
            }
        }
        Ok(Some(RecordWalkEntry { name: name.to_owned(), observed, target }))
    }

    fn file(
        &mut self,
        frame: &mut DirectoryFrame<'a>,
        path: PathBuf,
        seen: &RecordWalkEntry,
    ) -> Result<Option<TreeNode>, RecordError> {
        let stamp = seen.observed.metadata.stamp;
        if seen.observed.metadata.has_other_names {
            self.linked.push((path.clone(), stamp));
        }
        let RecordOptions { file_bytes_max, ignored_bytes_max, .. } = *self.options;
        // Most files are so small that no rule needs to be checked.
        if stamp.size_bytes > ignored_bytes_max.min(file_bytes_max)
            && frame.rules.ignore(self.root, &path, GitignoreKind::Other)
        {
            return Ok(Some(self.omit_entry(path, seen, OmissionReason::Ignored)));
        }
        if stamp.size_bytes > file_bytes_max {
            return Ok(Some(self.omit_entry(path, seen, OmissionReason::TooLarge)));
        }
        let known = frame.cached.and_then(|cached| self.cache.known(cached, &seen.name, &stamp));
        if let Some(CachedContent::Content(content)) = known {
            frame.cache_entry(seen, stamp, CachedContent::Content(content));
            return Ok(Some(TreeNode::File(file_state(content, &seen.observed))));
        }
        if let Some(fresh) = &mut self.fresh {
            fresh.mark_changed();
        }
        match file_read::read_file(self.root, &path, file_bytes_max)? {
            FileReadResult::Gone => Ok(None),
            FileReadResult::Omitted(reason) => Ok(Some(self.omit_entry(path, seen, reason))),
            FileReadResult::Whole { bytes, stamp, owner } => {
                self.counts.read += 1;
                self.counts.read_bytes += stamp.size_bytes;
                let content = ContentId(self.writing.put_object(&bytes)?);
                frame.cache_entry(seen, stamp, CachedContent::Content(content));
                let mut observed = EntryMetadata { owner, ..seen.observed };
                observed.metadata.stamp = stamp;
                Ok(Some(TreeNode::File(file_state(content, &observed))))
            }
        }
    }

    pub(super) fn omit_entry(
        &mut self,
        path: PathBuf,
        seen: &RecordWalkEntry,
        reason: OmissionReason,
    ) -> TreeNode {
        let metadata = seen.observed.metadata;
        // For intentionally omitted paths, nothing is recorded that changes with every build.
        let has_details = metadata.kind == InodeKind::Regular && !reason.is_intentional();
        let (size_bytes, modified_ns) = if has_details {
            (metadata.stamp.size_bytes, metadata.stamp.modified_ns)
        } else {
            (0, 0)
        };
        let left_out = OmittedEntry { kind: metadata.kind, reason, size_bytes, modified_ns };
        self.counts.left_out_total += 1;
        if self.counts.left_out.len() < LEFT_OUT_LISTED_MAX {
            self.counts.left_out.push(OmittedPath { path, entry: left_out });
        }
        TreeNode::LeftOut(left_out)
    }
}

impl DirectoryFrame<'_> {
    fn cache_entry(&mut self, seen: &RecordWalkEntry, stamp: InodeStamp, known: CachedContent) {
        self.remembered.push(CachedEntry { name: seen.name.clone(), stamp, known });
    }
}

/// Classifies why a directory could not be listed. A concurrent change of the directory is not an
/// error of the record.
pub(super) fn classify_list_error(err: RootError) -> Result<WalkedDirectory, RecordError> {
    match err {
        RootError::NotFound { .. } => Ok(WalkedDirectory::Gone),
        RootError::Denied { .. } => Ok(WalkedDirectory::Not(OmissionReason::Unreadable)),
        RootError::NotADirectory { .. } | RootError::Exchanged { .. } => {
            Ok(WalkedDirectory::Not(OmissionReason::Changing))
        }
        RootError::TooLong { .. } => Ok(WalkedDirectory::Not(OmissionReason::TooDeep)),
        err => Err(err.into()),
    }
}

fn file_state(content: ContentId, observed: &EntryMetadata) -> RecordedFile {
    let stamp = observed.metadata.stamp;
    let mode = stamp.permissions();
    let owner = (mode & SET_ID != 0).then_some(observed.owner);
    RecordedFile { content, size_bytes: stamp.size_bytes, mode, owner }
}
