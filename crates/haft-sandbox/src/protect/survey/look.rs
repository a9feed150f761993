//! One look at the writable directories: everything that exists under protected names, at any depth, through no link.
//! It deliberately judges nothing; what two looks differ in is `conclude`'s question.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::readlinkat;
use rustix::io::Errno;

use super::cache::{Detail, Directories, Key, Listing, SurveyCache, is_settled, now};
use super::directory::{BUFFER_BYTES, Kind, State, Unlocked, open_beneath, read_names};
use super::report::SurveyError;
use super::shape::Shape;
use crate::protect::ProtectedNames;
use crate::protect::fold::fold_into;
use crate::protect::pattern::{Extent, Runs};

/// How much one look looks at. Beyond it nothing is known, so that no command may run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Directories altogether.
    pub(super) directories_max: usize,
    /// Directories on the way to one of them.
    pub(super) depth_max: usize,
    /// Files and directories under protected names.
    pub(super) entries_max: usize,
}

impl Bounds {
    pub(super) const DEFAULT: Bounds =
        Bounds { directories_max: 262_144, depth_max: 512, entries_max: 65_536 };
}

/// How many directories that were unlocked are shut again, each of which takes a descriptor. The others stay open.
pub(crate) const UNLOCKED_MAX: usize = 64;

/// A writable directory that is looked at.
#[derive(Debug)]
pub(super) struct OpenRoot {
    pub(super) path: PathBuf,
    pub(super) directory: OwnedFd,
}

/// Where and for what to look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) roots: &'a [OpenRoot],
    pub(super) names: &'a ProtectedNames,
    pub(super) cache: &'a SurveyCache,
    pub(super) bounds: Bounds,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Look {
    /// Sorted by path, no two with the same.
    pub(super) entries: Vec<Entry>,
    /// The directories that git would take for a repository.
    pub(super) repositories: HashSet<PathBuf>,
    /// Why the look is not complete, if it is not; the first of several reasons.
    pub(super) problem: Option<SurveyError>,
    unlocked: Vec<Unlocked>,
}

/// Something that exists under a protected name.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    /// Absolute.
    pub(super) path: PathBuf,
    /// Which of the patterns protects it.
    pub(super) pattern: usize,
    pub(super) place: Place,
    pub(super) state: State,
    /// Where it leads, if it is a link.
    pub(super) target: Option<CString>,
}

/// Where an entry is seen from the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The pattern's run ends here.
    End {
        extent: Extent,
        /// Whether the directory that it is in is part of the run.
        has_parent: bool,
    },
    /// Beneath such a directory.
    Inside,
}

/// Which protected links are followed to what they lead to.
#[derive(Clone, Copy)]
pub(super) enum Links<'a> {
    /// Every one.
    All,
    /// Those of which this holds.
    If(&'a dyn Fn(&Entry) -> bool),
}

impl Look {
    /// Looks at all roots. It ends early where there is too much, and says so in `problem`.
    pub(super) fn take(scope: Scope<'_>, links: Links<'_>) -> Look {
        let known = scope.cache.read();
        let mut walk = Walk::new(scope, known.get(scope.names));
        for (index, root) in scope.roots.iter().enumerate() {
            let at = At::Open(scope.names.runs_at(&root.path));
            walk.add(Pending { root: index, path: CString::default(), depth: 0, at });
        }
        let result = walk.run().and_then(|()| walk.follow_links(links));
        let Walk { mut look, fresh, .. } = walk;
        drop(known);
        scope.cache.remember(scope.names, fresh);
        look.problem = result.err().or(look.problem.take());
        look.entries.sort_by(|a, b| a.path.cmp(&b.path));
        look.entries.dedup_by(|a, b| a.path == b.path);
        look
    }

    /// Returns what an earlier process had found.
    pub(super) fn remembered(entries: Vec<Entry>) -> Look {
        Look { entries, ..Look::default() }
    }

    /// Shuts the directories again that their owner had shut.
    pub(super) fn lock(&mut self) {
        self.unlocked.clear();
    }
}

/// Splits an absolute path into the root that it is beneath and the rest.
pub(super) fn beneath<'a>(roots: &[OpenRoot], path: &'a Path) -> Option<(usize, &'a Path)> {
    let found = roots.iter().enumerate().filter_map(|(index, root)| {
        path.strip_prefix(&root.path).ok().map(|relative| (index, relative))
    });
    found.min_by_key(|(_, relative)| relative.components().count())
}

struct Walk<'a> {
    scope: Scope<'a>,
    known: Option<&'a Directories>,
    fresh: Vec<(Key, Arc<Listing>)>,
    look: Look,
    /// Where a run has begun or ended. These come first, so that no flood of other directories keeps from being found
    /// what lies nearest.
    near: Vec<Pending>,
    far: Vec<Pending>,
    directories: usize,
    folded: Vec<u8>,
    buffer: Vec<MaybeUninit<u8>>,
}

/// A directory that was found and not looked at yet.
struct Pending {
    root: usize,
    /// Relative to the root; empty for the root itself.
    path: CString,
    depth: usize,
    at: At,
}

enum At {
    /// Nothing protects the directory as a whole.
    Open(Runs),
    /// It lies beneath a name that this pattern protects.
    Protected(usize),
}

impl<'a> Walk<'a> {
    fn new(scope: Scope<'a>, known: Option<&'a Directories>) -> Walk<'a> {
        Walk {
            scope,
            known,
            fresh: Vec::new(),
            look: Look::default(),
            near: Vec::new(),
            far: Vec::new(),
            directories: 0,
            folded: Vec::new(),
            buffer: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<(), SurveyError> {
        while let Some(pending) = self.near.pop().or_else(|| self.far.pop()) {
            match self.visit(&pending) {
                Ok(()) => {}
                Err(error @ (SurveyError::Depth { .. } | SurveyError::Unreadable { .. })) => {
                    // One directory is not known. The others can be.
                    self.look.problem.get_or_insert(error);
                }
                Err(
                    error @ (SurveyError::Directories { .. }
                    | SurveyError::Entries { .. }
                    | SurveyError::Copies { .. }),
                ) => return Err(error),
            }
        }
        Ok(())
    }

    fn add(&mut self, pending: Pending) {
        match &pending.at {
            At::Open(runs) if runs.is_empty() => self.far.push(pending),
            At::Open(_) | At::Protected(_) => self.near.push(pending),
        }
    }

    fn visit(&mut self, pending: &Pending) -> Result<(), SurveyError> {
        self.directories += 1;
        if self.directories > self.scope.bounds.directories_max {
            let root = self.root(pending.root).path.clone();
            return Err(SurveyError::Directories { root, max: self.scope.bounds.directories_max });
        }
        if pending.depth > self.scope.bounds.depth_max {
            let path = self.absolute(pending.root, &pending.path);
            return Err(SurveyError::Depth { path, max: self.scope.bounds.depth_max });
        }
        let Some(listing) = self.listing(pending)? else { return Ok(()) };
        match &pending.at {
            At::Open(runs) => self.visit_open(pending, runs, &listing),
            At::Protected(pattern) => self.visit_protected(pending, *pattern, &listing),
        }
    }

    fn visit_open(
        &mut self,
        pending: &Pending,
        runs: &Runs,
        listing: &Listing,
    ) -> Result<(), SurveyError> {
        let mut runs = std::borrow::Cow::Borrowed(runs);
        if listing.is_repository {
            self.look.repositories.insert(self.absolute(pending.root, &pending.path));
            let as_git = self.scope.names.take(&Runs::default(), b".git").runs;
            runs.to_mut().join(&as_git);
        }
        let none = Runs::default();
        for (listed, is_notable) in listing.names.iter().zip(&listing.is_notable) {
            let is_directory = listed.kind == Kind::Directory;
            if runs.is_empty() && !is_notable {
                if is_directory {
                    self.descend(pending, &listed.name, At::Open(Runs::default()));
                }
                continue;
            }
            fold_into(listed.name.to_bytes(), &mut self.folded);
            // Branches can have any name, also that of what is protected in a repository.
            let holds_names_of_others = listing.is_repository
                && matches!(self.folded.as_slice(), b"refs" | b"logs" | b"objects");
            let before = if holds_names_of_others { &none } else { &*runs };
            let taken = self.scope.names.take(before, &self.folded);
            let Some(pattern) = taken.complete else {
                if is_directory {
                    self.descend(pending, &listed.name, At::Open(taken.runs));
                }
                continue;
            };
            let extent = self.scope.names.extent(pattern);
            let place = Place::End { extent, has_parent: taken.has_parent };
            let found = self.record(pending, &listed.name, pattern, place)?;
            if found == Some(Kind::Directory) {
                let at = match extent {
                    Extent::Tree => At::Protected(pattern),
                    Extent::Name => At::Open(taken.runs),
                };
                self.descend(pending, &listed.name, at);
            }
        }
        Ok(())
    }

    fn visit_protected(
        &mut self,
        pending: &Pending,
        pattern: usize,
        listing: &Listing,
    ) -> Result<(), SurveyError> {
        if listing.is_repository {
            self.look.repositories.insert(self.absolute(pending.root, &pending.path));
        }
        for listed in &listing.names {
            let found = self.record(pending, &listed.name, pattern, Place::Inside)?;
            if found == Some(Kind::Directory) {
                self.descend(pending, &listed.name, At::Protected(pattern));
            }
        }
        Ok(())
    }

    fn descend(&mut self, parent: &Pending, name: &CStr, at: At) {
        let path = join(&parent.path, name);
        self.add(Pending { root: parent.root, path, depth: parent.depth + 1, at });
    }

    /// Writes down what exists under a protected name, and returns what it is; nothing if it went away meanwhile.
    fn record(
        &mut self,
        parent: &Pending,
        name: &CStr,
        pattern: usize,
        place: Place,
    ) -> Result<Option<Kind>, SurveyError> {
        self.record_at(parent.root, &join(&parent.path, name), pattern, place)
    }

    fn record_at(
        &mut self,
        root: usize,
        relative: &CStr,
        pattern: usize,
        place: Place,
    ) -> Result<Option<Kind>, SurveyError> {
        let path = self.absolute(root, relative);
        let max = self.scope.bounds.entries_max;
        if self.look.entries.len() >= max {
            return Err(SurveyError::Entries { path, max });
        }
        let directory = self.root(root).directory.as_fd();
        let state = match State::at(directory, relative) {
            Ok(state) => state,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(Errno::NAMETOOLONG) => {
                return Err(SurveyError::Depth { path, max: self.scope.bounds.depth_max });
            }
            Err(errno) => return Err(SurveyError::Unreadable { path, source: errno.into() }),
        };
        let target = match state.kind {
            Kind::Symlink => match readlinkat(directory, relative, Vec::new()) {
                Ok(target) => Some(target),
                Err(_) => return Ok(None),
            },
            Kind::Directory | Kind::File | Kind::Other => None,
        };
        self.look.entries.push(Entry { path, pattern, place, state, target });
        Ok(Some(state.kind))
    }

    /// Takes what protected links lead to as protected by the same pattern: who changes it changes what the name stands
    /// for.
    fn follow_links(&mut self, links: Links<'_>) -> Result<(), SurveyError> {
        let mut followed: HashSet<PathBuf> = HashSet::new();
        let mut next = 0;
        while let Some(entry) = self.look.entries.get(next) {
            next += 1;
            let is_name_alone = matches!(entry.place, Place::End { extent: Extent::Name, .. });
            let is_followed = match links {
                Links::All => true,
                Links::If(holds) => holds(entry),
            };
            if entry.target.is_none() || is_name_alone || !is_followed {
                continue;
            }
            let pattern = entry.pattern;
            // What leads nowhere, or where it cannot be followed, has no content yet; what comes to be there is seen
            // when the command has ended.
            let Ok(target) = entry.path.canonicalize() else { continue };
            let Some((root, relative)) = beneath(self.scope.roots, &target) else { continue };
            // A link to a directory around it would protect the whole of it. Such a link stands for nothing else.
            let encloses = entry.path.starts_with(&target) || relative.as_os_str().is_empty();
            if encloses || !followed.insert(target.clone()) {
                continue;
            }
            let Ok(relative) = CString::new(relative.as_os_str().as_bytes()) else { continue };
            let place = Place::End { extent: Extent::Tree, has_parent: false };
            let found = self.record_at(root, &relative, pattern, place)?;
            if found == Some(Kind::Directory) {
                let depth = relative.to_bytes().split(|byte| *byte == b'/').count();
                self.add(Pending { root, path: relative, depth, at: At::Protected(pattern) });
                self.run()?;
            }
        }
        Ok(())
    }

    /// Returns as many of the names in a directory as its runs need.
    fn listing(&mut self, pending: &Pending) -> Result<Option<Arc<Listing>>, SurveyError> {
        let begins_here = matches!(&pending.at, At::Open(runs) if runs.is_empty());
        if !begins_here {
            return self.listing_of(pending, Detail::Whole);
        }
        match self.listing_of(pending, Detail::Notable)? {
            // Its shape begins runs that its name does not.
            Some(listing) if listing.is_repository => self.listing_of(pending, Detail::Whole),
            listing => Ok(listing),
        }
    }

    /// Returns the names in a directory, or nothing if it went away or belongs to somebody who shut it.
    fn listing_of(
        &mut self,
        pending: &Pending,
        detail: Detail,
    ) -> Result<Option<Arc<Listing>>, SurveyError> {
        let failed = |walk: &Walk<'_>, errno: Errno| {
            let path = walk.absolute(pending.root, &pending.path);
            match errno {
                Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM => {
                    Ok(None)
                }
                Errno::NAMETOOLONG => {
                    Err(SurveyError::Depth { path, max: walk.scope.bounds.depth_max })
                }
                errno => Err(SurveyError::Unreadable { path, source: errno.into() }),
            }
        };
        let state = match State::at(self.root(pending.root).directory.as_fd(), &pending.path) {
            Ok(state) if state.kind == Kind::Directory => state,
            Ok(_) => return Ok(None),
            Err(errno) => return failed(self, errno),
        };
        self.unlock_if_shut(pending, &state);
        let key = Key { identity: state.identity, detail };
        if let Some(listing) = self.known.and_then(|known| known.get(&key))
            && (listing.modified, listing.changed) == (state.modified, state.changed)
        {
            return Ok(Some(Arc::clone(listing)));
        }
        self.read(pending, detail).or_else(|errno| failed(self, errno))
    }

    fn read(
        &mut self,
        pending: &Pending,
        detail: Detail,
    ) -> rustix::io::Result<Option<Arc<Listing>>> {
        let now = now();
        let directory =
            open_beneath(self.root(pending.root).directory.as_fd(), pending.path.to_bytes())?;
        // Of what was opened, and before it is read: whatever changes from here on makes the times differ.
        let state = State::of_open(directory.as_fd())?;
        self.buffer.resize(BUFFER_BYTES, MaybeUninit::uninit());
        let (names, folded) = (self.scope.names, &mut self.folded);
        let mut shape = Shape::default();
        let mut is_notable = Vec::new();
        let listed = read_names(&directory, &mut self.buffer, |name, kind| {
            fold_into(name.to_bytes(), folded);
            shape.see(folded);
            let begins_run = names.begins_run(folded);
            let keep = begins_run || kind == Kind::Directory || detail == Detail::Whole;
            if keep {
                is_notable.push(begins_run);
            }
            keep
        })?;
        let listing = Arc::new(Listing {
            modified: state.modified,
            changed: state.changed,
            names: listed,
            is_notable,
            is_repository: shape.is_repository(),
        });
        if is_settled(&state, now) {
            self.fresh.push((Key { identity: state.identity, detail }, Arc::clone(&listing)));
        }
        Ok(Some(listing))
    }

    /// Opens a directory to its owner that the owner has shut, until the look is dropped.
    fn unlock_if_shut(&mut self, pending: &Pending, state: &State) {
        if state.mode & 0o500 == 0o500 {
            return;
        }
        let root = self.root(pending.root).directory.as_fd();
        let Some(unlocked) = Unlocked::new(root, &pending.path, state, 0o500) else { return };
        if self.look.unlocked.len() < UNLOCKED_MAX {
            self.look.unlocked.push(unlocked);
        } else {
            unlocked.stay_open();
        }
    }

    fn root(&self, index: usize) -> &'a OpenRoot {
        self.scope
            .roots
            .get(index)
            .expect("whatever is pending was found beneath one of these roots")
    }

    fn absolute(&self, root: usize, relative: &CStr) -> PathBuf {
        let root = &self.root(root).path;
        if relative.is_empty() {
            return root.clone();
        }
        root.join(OsStr::from_bytes(relative.to_bytes()))
    }
}

fn join(parent: &CStr, name: &CStr) -> CString {
    let (parent, name) = (parent.to_bytes(), name.to_bytes_with_nul());
    let mut path = Vec::with_capacity(parent.len() + 1 + name.len());
    if !parent.is_empty() {
        path.extend_from_slice(parent);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    CString::from_vec_with_nul(path).expect("both parts are free of NUL but for the last byte")
}

#[cfg(test)]
mod tests;
