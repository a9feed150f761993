//! Recording some paths anew, on top of an earlier record or of nothing: only directories on the way to them are looked at, all
//! else is taken over by name, or left out without a trace. The cost follows the paths, and what lies beneath them; the cache is deliberately left alone.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use haft_sandbox::FileKind;

use super::rules::{Contains, Kind, Rules};
use super::walk::{Frame, Seen, Walk, Walked, without_listing};
use crate::directory::Directory;
use crate::error::RecordError;
use crate::id::TreeId;
use crate::limits::DEPTH_MAX;
use crate::store::Store;
use crate::tree::{Node, Tree, is_git};

/// How much a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Also what is beneath it.
    Beneath,
    /// Itself alone.
    Itself,
}

/// Which names beneath a directory are recorded anew.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// All of them.
    pub(super) whole: bool,
    below: BTreeMap<OsString, Wanted>,
}

impl Wanted {
    /// Sorts canonical paths into a tree of names. Paths into a repository's own directory want nothing.
    pub(super) fn of(paths: &[PathBuf], extent: Extent) -> Result<Wanted, RecordError> {
        let mut wanted = Wanted::default();
        for path in paths {
            let names = names_of(path)?;
            if names.iter().any(|name| is_git(name)) {
                continue;
            }
            let at = names
                .iter()
                .fold(&mut wanted, |at, name| at.below.entry((*name).to_owned()).or_default());
            at.whole = extent == Extent::Beneath;
        }
        Ok(wanted)
    }
}

fn names_of(path: &Path) -> Result<Vec<&OsStr>, RecordError> {
    let names = path.components().map(|component| match component {
        Component::Normal(name) => Ok(name),
        Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
            Err(RecordError::NotCanonical { path: path.to_path_buf() })
        }
    });
    names.collect()
}

/// What a directory is recorded on top of.
#[derive(Clone, Copy)]
pub(super) enum Base {
    /// An earlier record of it, of which everything stays that is not wanted.
    Record(TreeId),
    /// Nothing: what is not wanted is not recorded.
    Nothing,
}

impl Base {
    /// Returns what a directory in it is recorded on top of; none if the record knows no such directory.
    fn below(self, tree: &Tree, name: &OsStr) -> Option<Base> {
        match self {
            Base::Record(_) => tree.get(name).and_then(Node::tree).map(Base::Record),
            Base::Nothing => Some(Base::Nothing),
        }
    }
}

/// Paths being recorded anew.
pub(super) struct Update<'w, 'a> {
    pub(super) store: &'a Store,
    pub(super) walk: &'w mut Walk<'a>,
}

impl<'a> Update<'_, 'a> {
    /// Records what is wanted of the directory at `path`.
    pub(super) fn directory(
        &mut self,
        path: &Path,
        base: Base,
        wanted: &Wanted,
        place: Place<'_>,
    ) -> Result<Walked, RecordError> {
        let directory = match Directory::open(self.walk.root, path) {
            Ok(directory) => directory,
            Err(err) => return without_listing(err),
        };
        let rules = place.above.enter(path, contains(&directory));
        let mut frame = Frame {
            path: path.to_path_buf(),
            rules,
            depth: place.depth,
            cached: None,
            remembered: Vec::new(),
        };
        let (mut tree, former) = match base {
            Base::Record(former) => (self.store.tree(former)?, Some(former)),
            Base::Nothing => (Tree::default(), None),
        };
        for (name, wanted) in &wanted.below {
            match self.walk.see(&directory, path, name) {
                Ok(Some(seen)) => {
                    match self.node(&mut frame, base.below(&tree, name), &seen, wanted)? {
                        Some(node) => tree.set(name, node),
                        None => tree.remove(name),
                    }
                }
                Ok(None) => tree.remove(name),
                Err(err) => return without_listing(err),
            }
        }
        let id = self.walk.put(&tree, former)?;
        Ok(Walked::Tree(id))
    }

    /// Records one name: in part where only some paths beneath it are wanted, else as a whole.
    fn node(
        &mut self,
        frame: &mut Frame<'a>,
        base: Option<Base>,
        seen: &Seen,
        wanted: &Wanted,
    ) -> Result<Option<Node>, RecordError> {
        let path = frame.path.join(&seen.name);
        let is_entered = |base: &Base| !wanted.whole && self.is_entered(frame, &path, seen, *base);
        let Some(base) = base.filter(is_entered) else {
            return self.walk.node(frame, seen);
        };
        let place = Place { above: &frame.rules, depth: frame.depth + 1 };
        match self.directory(&path, base, wanted, place)? {
            Walked::Tree(tree) => {
                let mode = seen.look.metadata.stamp.permissions();
                Ok(Some(Node::Directory { mode, tree }))
            }
            Walked::Gone => Ok(None),
            Walked::Not(reason) => Ok(Some(self.walk.leave_out(path, seen, reason))),
        }
    }

    /// Tells whether a directory is recorded name by name. An ignored one is not where all of it is of interest: how much it
    /// holds in all decides then.
    fn is_entered(&self, frame: &Frame<'_>, path: &Path, seen: &Seen, base: Base) -> bool {
        let kind = seen.look.metadata.kind;
        let is_ignored = || frame.rules.ignore(self.walk.root, path, Kind::Directory);
        kind == FileKind::Directory
            && frame.depth < DEPTH_MAX
            && !self.walk.is_excluded(path, kind)
            && (matches!(base, Base::Nothing) || !is_ignored())
    }
}

/// Where a directory lies.
#[derive(Clone, Copy)]
pub(super) struct Place<'r> {
    /// The rules that hold above it.
    pub(super) above: &'r Rules,
    /// How many directories lie above it.
    pub(super) depth: usize,
}

fn contains(directory: &Directory) -> Contains {
    let has = |name: &str| matches!(directory.look(OsStr::new(name)), Ok(Some(_)));
    Contains { repository: has(".git"), ignore_file: has(".gitignore") }
}
