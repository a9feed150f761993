//! One scan of the writable directories: everything that exists under protected names, at any
//! depth, without following links. It judges nothing; `reconcile` compares two scans.

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, StatxFlags, readlinkat, statx};
use rustix::io::Errno;

use super::cache::{ScanCache, is_settled, now};
use super::directory::{
    BUFFER_BYTES, FileTime, InodeState, ScannedKind, UnlockedDirectory, open_beneath, read_names,
};
use super::followed_roots::{FollowedRoot, VisitedDirectory};
use super::listing::{DirectoryListing, DirectoryListings, ListedNames, ListingDetail, ListingKey};
use super::report::ScanError;
use super::repository_shape::RepositoryShape;
use super::result::{
    LimitedDirectory, PatternPosition, ProtectedEntry, RuledEntry, ScanResult, ScanRoot,
};
use crate::protect::ProtectedPaths;
use crate::protect::fold::fold_into;
use crate::protect::path_rules::{PathAccess, PathRules};
use crate::protect::pattern::{PartialMatches, ProtectionExtent};

/// Directories in the writable directories of a command together.
///
/// Limit (commands): no command starts. If a command exceeds it, the new directories are moved to quarantine.
const SCANNED_DIRECTORIES_MAX: usize = 262_144;
/// Nesting of directories below a writable directory, in levels.
///
/// Limit (commands): no command starts. Deeper directories that a command left are moved to quarantine.
const SCANNED_DEPTH_MAX: usize = 512;
/// Files and directories under protected names.
///
/// Limit (commands): no command starts. If a command exceeds it, the new ones are moved to quarantine.
const PROTECTED_ENTRIES_MAX: usize = 65_536;

/// The limits of one scan. If one is exceeded, the result is incomplete and no command may run.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanLimits {
    /// Directories in total.
    pub(super) directories_max: usize,
    /// Nesting depth of directories.
    pub(super) depth_max: usize,
    /// Files and directories under protected names, and as many that rules name.
    pub(super) entries_max: usize,
}

impl ScanLimits {
    pub(super) const DEFAULT: ScanLimits = ScanLimits {
        directories_max: SCANNED_DIRECTORIES_MAX,
        depth_max: SCANNED_DEPTH_MAX,
        entries_max: PROTECTED_ENTRIES_MAX,
    };
}

/// The treatment of directories beyond the limits of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanExcess {
    /// They make the scan incomplete.
    Refused,
    /// Directories that are too deep are collected. All others must be within the limits.
    Deep,
    /// As `Deep`, and every directory that was created in this time is collected and not read.
    New {
        /// When the scan before the command began.
        since: FileTime,
        /// When the last process of the command ended, if that was earlier.
        until: Option<FileTime>,
    },
}

/// Maximum number of unlocked directories that are locked again; each takes a descriptor. The
/// others stay unlocked.
pub(crate) const UNLOCKED_MAX: usize = 64;

/// The roots and patterns of a scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanScope<'a> {
    pub(super) roots: &'a [ScanRoot],
    pub(super) names: &'a ProtectedPaths,
    /// Decides about paths beside the patterns.
    pub(super) rules: Option<&'a dyn PathRules>,
    /// The names of both.
    pub(super) listed: &'a ListedNames,
    pub(super) cache: &'a ScanCache,
    pub(super) bounds: ScanLimits,
    pub(super) excess: ScanExcess,
}

/// Decides whether a protected link is followed.
type FollowsLink<'a> = &'a dyn Fn(&ProtectedEntry) -> bool;

impl ScanResult {
    /// Scans all roots. If a limit is exceeded, it stops early and sets `problem`.
    pub(super) fn scan_roots(scope: ScanScope<'_>, follows: FollowsLink<'_>) -> ScanResult {
        let known = scope.cache.read();
        let mut walk = ScanWalk {
            scope,
            known: known.get(scope.listed),
            fresh: Vec::new(),
            followed: scope
                .roots
                .iter()
                .map(|root| scope.cache.shared.followed.take(root))
                .collect(),
            look: ScanResult::default(),
            near: Vec::new(),
            far: Vec::new(),
            quiet: scope.roots.iter().map(|_| QuietWalk::default()).collect(),
            directories: 0,
            folded: Vec::new(),
            buffer: Vec::new(),
        };
        for (index, root) in scope.roots.iter().enumerate() {
            let at = if root.is_protected {
                DirectoryProtection::Open(scope.names.partial_matches_at(&root.path))
            } else {
                DirectoryProtection::Uncounted
            };
            let access = walk.judge_root(root);
            walk.add(PendingDirectory {
                root: index,
                path: CString::default(),
                depth: 0,
                at,
                access,
            });
        }
        let result = walk.run();
        let result = result.and_then(|()| walk.follow_ruled_links());
        let result = result.and_then(|()| walk.follow_links(follows));
        let ScanWalk { mut look, fresh, followed, quiet, .. } = walk;
        drop(known);
        let is_whole = result.is_ok() && look.problem.is_none() && look.beyond.is_empty();
        for (root, quiet) in followed.into_iter().zip(quiet) {
            let Some(mut root) = root else { continue };
            if is_whole {
                root.remember_quiet(scope.listed, quiet.visited, &quiet.passed);
            }
            scope.cache.shared.followed.put_back(root);
        }
        scope.cache.remember_listings(scope.listed, fresh);
        look.problem = result.err().or(look.problem.take());
        look.entries.sort_by(|a, b| a.path.cmp(&b.path));
        look.entries.dedup_by(|a, b| a.path == b.path);
        look.sort_ruled();
        look
    }
}

/// Splits an absolute path into the root that contains it and the rest.
pub(super) fn beneath<'a>(roots: &[ScanRoot], path: &'a Path) -> Option<(usize, &'a Path)> {
    let found = roots.iter().enumerate().filter_map(|(index, root)| {
        path.strip_prefix(&root.path).ok().map(|relative| (index, relative))
    });
    found.min_by_key(|(_, relative)| relative.components().count())
}

struct ScanWalk<'a> {
    scope: ScanScope<'a>,
    known: Option<&'a DirectoryListings>,
    fresh: Vec<(ListingKey, Arc<DirectoryListing>)>,
    /// The roots that a watch follows, by index.
    followed: Vec<Option<FollowedRoot>>,
    look: ScanResult,
    /// Directories where a run has begun or ended. They come first, so that a flood of other
    /// directories cannot hide the nearest entries.
    near: Vec<PendingDirectory>,
    far: Vec<PendingDirectory>,
    /// The directories that this scan finds quiet or passes over, by root.
    quiet: Vec<QuietWalk>,
    directories: usize,
    folded: Vec<u8>,
    buffer: Vec<MaybeUninit<u8>>,
}

/// The directories of a root that a scan visited, and those that it passed over because nothing in them changed since a scan found
/// nothing in them and below.
#[derive(Default)]
struct QuietWalk {
    visited: Vec<VisitedDirectory>,
    passed: Vec<CString>,
}

/// A directory that was found but not yet read.
struct PendingDirectory {
    root: usize,
    /// Relative to the root; empty for the root itself.
    path: CString,
    depth: usize,
    at: DirectoryProtection,
    /// The access that rules leave at an entry that they do not name.
    access: PathAccess,
}

impl PendingDirectory {
    /// Returns whether names in it begin runs, and continue none.
    fn begins_here(&self) -> bool {
        match &self.at {
            DirectoryProtection::Open(runs) => runs.is_empty(),
            DirectoryProtection::Uncounted => true,
            DirectoryProtection::Protected(_) => false,
        }
    }
}

enum DirectoryProtection {
    /// No pattern protects the directory as a whole.
    Open(PartialMatches),
    /// It is below a name that this pattern protects.
    Protected(usize),
    /// Protected names do not count in it.
    Uncounted,
}

impl<'a> ScanWalk<'a> {
    fn run(&mut self) -> Result<(), ScanError> {
        while let Some(pending) = self.near.pop().or_else(|| self.far.pop()) {
            if let Err(error) = self.visit(&pending) {
                match error {
                    ScanError::Depth { path, .. }
                        if self.excess_in(pending.root) != ScanExcess::Refused =>
                    {
                        self.look.beyond.push(path);
                    }
                    // One directory could not be read. The others can be.
                    ScanError::Depth { .. } | ScanError::Unreadable { .. } => {
                        self.look.problem.get_or_insert(error);
                    }
                    ScanError::Directories { .. }
                    | ScanError::Entries { .. }
                    | ScanError::Ruled { .. }
                    | ScanError::Copies { .. } => return Err(error),
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, pending: PendingDirectory) {
        match &pending.at {
            DirectoryProtection::Uncounted => self.far.push(pending),
            DirectoryProtection::Open(runs) if runs.is_empty() => self.far.push(pending),
            DirectoryProtection::Open(_) | DirectoryProtection::Protected(_) => {
                self.near.push(pending)
            }
        }
    }

    fn visit(&mut self, pending: &PendingDirectory) -> Result<(), ScanError> {
        if self.pass_over(pending) {
            return Ok(());
        }
        // A directory that is not read, for whatever reason, is not quiet, and neither are those around it.
        let is_followed = self.followed.get(pending.root).is_some_and(Option::is_some);
        if is_followed && let Some(quiet) = self.quiet.get_mut(pending.root) {
            quiet.visited.push(VisitedDirectory { path: pending.path.clone(), is_quiet: false });
        }
        self.directories += 1;
        if self.directories > self.scope.bounds.directories_max {
            let root = self.root(pending.root).path.clone();
            return Err(ScanError::Directories { root, max: self.scope.bounds.directories_max });
        }
        if pending.depth > self.scope.bounds.depth_max {
            let path = self.absolute(pending.root, &pending.path);
            return Err(ScanError::Depth { path, max: self.scope.bounds.depth_max });
        }
        if let ScanExcess::New { since, until } = self.excess_in(pending.root)
            && !pending.path.is_empty()
            && let Some(created) = self.created_at(pending)
            && created >= since
            && until.is_none_or(|until| created <= until)
        {
            self.directories -= 1;
            self.look.beyond.push(self.absolute(pending.root, &pending.path));
            return Ok(());
        }
        let picks_all =
            self.scope.rules.filter(|rules| rules.picks_all()).is_some_and(|rules| {
                rules.picks_all_in(&self.absolute(pending.root, &pending.path))
            });
        let Some(listing) = self.listing(pending, picks_all)? else { return Ok(()) };
        let accesses = self.judge_entries(pending, &listing, picks_all)?;
        self.note_quiet(pending, &listing, picks_all);
        match &pending.at {
            DirectoryProtection::Open(runs) => self.visit_open(pending, runs, &listing, &accesses),
            DirectoryProtection::Uncounted => {
                for (index, listed) in listing.names.iter().enumerate() {
                    if listed.kind == ScannedKind::Directory {
                        let access = access_at(&accesses, index, pending);
                        self.descend(pending, &listed.name, DirectoryProtection::Uncounted, access);
                    }
                }
                Ok(())
            }
            DirectoryProtection::Protected(pattern) => {
                if listing.is_repository {
                    self.look.repositories.insert(self.absolute(pending.root, &pending.path));
                }
                for (index, listed) in listing.names.iter().enumerate() {
                    let place = PatternPosition::Inside;
                    let path = join(&pending.path, &listed.name);
                    let found = self.record(pending.root, &path, *pattern, place)?;
                    if found == Some(ScannedKind::Directory) {
                        let at = DirectoryProtection::Protected(*pattern);
                        let access = access_at(&accesses, index, pending);
                        self.descend(pending, &listed.name, at, access);
                    }
                }
                Ok(())
            }
        }
    }

    /// Passes over a directory in which there is nothing to find, with all below it.
    fn pass_over(&mut self, pending: &PendingDirectory) -> bool {
        let may_pass = pending.begins_here()
            && pending.access == PathAccess::Full
            && !self.scope.rules.is_some_and(PathRules::picks_all);
        let followed = self.followed.get(pending.root).and_then(Option::as_ref);
        let Some(count) = followed
            .filter(|_| may_pass)
            .and_then(|followed| followed.quiet_directories(self.scope.listed, &pending.path))
        else {
            return false;
        };
        // The limit holds for them as well; the visit of the directory says that it is exceeded.
        if self.directories + count > self.scope.bounds.directories_max {
            return false;
        }
        self.directories += count;
        if let Some(quiet) = self.quiet.get_mut(pending.root) {
            quiet.passed.push(pending.path.clone());
        }
        true
    }

    /// Notes that the directory that was visited last has nothing to find in itself, if that is so. Only a directory that is followed can be quiet.
    fn note_quiet(
        &mut self,
        pending: &PendingDirectory,
        listing: &DirectoryListing,
        picks_all: bool,
    ) {
        let Some(followed) = self.followed.get(pending.root).and_then(Option::as_ref) else {
            return;
        };
        let known = followed.listing(self.scope.listed, &pending.path, ListingDetail::Notable);
        let is_quiet = pending.begins_here()
            && pending.access == PathAccess::Full
            && !picks_all
            && known.is_some()
            && !listing.is_repository
            && !listing.is_notable.contains(&true)
            && !listing.may_concern.contains(&true);
        let visited = self.quiet.get_mut(pending.root).and_then(|quiet| quiet.visited.last_mut());
        if let Some(visited) = visited {
            visited.is_quiet = is_quiet;
        }
    }

    fn visit_open(
        &mut self,
        pending: &PendingDirectory,
        runs: &PartialMatches,
        listing: &DirectoryListing,
        accesses: &[PathAccess],
    ) -> Result<(), ScanError> {
        let mut runs = std::borrow::Cow::Borrowed(runs);
        if listing.is_repository {
            self.look.repositories.insert(self.absolute(pending.root, &pending.path));
            let as_git =
                self.scope.names.step_name(&PartialMatches::default(), b".git").partial_matches;
            runs.to_mut().merge_matches(&as_git);
        }
        let none = PartialMatches::default();
        for (index, (listed, is_notable)) in
            listing.names.iter().zip(&listing.is_notable).enumerate()
        {
            let access = access_at(accesses, index, pending);
            let is_directory = listed.kind == ScannedKind::Directory;
            if runs.is_empty() && !is_notable {
                if is_directory {
                    let at = DirectoryProtection::Open(PartialMatches::default());
                    self.descend(pending, &listed.name, at, access);
                }
                continue;
            }
            fold_into(listed.name.to_bytes(), &mut self.folded);
            // Branches can have any name, including a protected one.
            let holds_names_of_others = listing.is_repository
                && matches!(self.folded.as_slice(), b"refs" | b"logs" | b"objects");
            let before = if holds_names_of_others { &none } else { &*runs };
            let taken = self.scope.names.step_name(before, &self.folded);
            let Some(pattern) = taken.complete else {
                if is_directory {
                    let at = DirectoryProtection::Open(taken.partial_matches);
                    self.descend(pending, &listed.name, at, access);
                }
                continue;
            };
            let extent = self.scope.names.extent(pattern);
            let place = PatternPosition::End { extent, has_parent: taken.has_parent };
            let path = join(&pending.path, &listed.name);
            let found = self.record(pending.root, &path, pattern, place)?;
            if found == Some(ScannedKind::Directory) {
                let at = match extent {
                    ProtectionExtent::Tree => DirectoryProtection::Protected(pattern),
                    ProtectionExtent::Name => DirectoryProtection::Open(taken.partial_matches),
                };
                self.descend(pending, &listed.name, at, access);
            }
        }
        Ok(())
    }

    fn descend(
        &mut self,
        parent: &PendingDirectory,
        name: &CStr,
        at: DirectoryProtection,
        access: PathAccess,
    ) {
        let path = join(&parent.path, name);
        self.add(PendingDirectory { root: parent.root, path, depth: parent.depth + 1, at, access });
    }

    /// Returns the access that rules leave beneath a root, and records it if they take some away.
    fn judge_root(&mut self, root: &ScanRoot) -> PathAccess {
        let Some(rules) = self.scope.rules else { return PathAccess::Full };
        let access = rules.access_beneath(&root.path);
        if access != PathAccess::Full
            && let Ok(state) = InodeState::of_open(root.directory.as_fd())
        {
            let (path, around) = (root.path.clone(), PathAccess::Full);
            self.look.ruled.push(RuledEntry { path, named_as: None, access, around, state });
        }
        access
    }

    /// Returns the access that rules leave at each entry, or nothing if it is that of the directory. Records the
    /// entries at which it differs.
    fn judge_entries(
        &mut self,
        pending: &PendingDirectory,
        listing: &Arc<DirectoryListing>,
        picks_all: bool,
    ) -> Result<Vec<PathAccess>, ScanError> {
        let Some(rules) = self.scope.rules else { return Ok(Vec::new()) };
        let is_open = pending.access == PathAccess::Full;
        if is_open && !picks_all && !listing.may_concern.contains(&true) {
            return Ok(Vec::new());
        }
        let mut accesses = vec![pending.access; listing.names.len()];
        let names = listing.names.iter().zip(&listing.may_concern).zip(&mut accesses);
        for ((listed, may_concern), access) in names {
            if !picks_all && !may_concern {
                continue;
            }
            let relative = join(&pending.path, &listed.name);
            let path = self.absolute(pending.root, &relative);
            *access = match listed.kind {
                ScannedKind::Directory => rules.access_beneath(&path),
                ScannedKind::File | ScannedKind::Symlink | ScannedKind::Other => {
                    rules.access(&path)
                }
            };
            if *access == pending.access {
                continue;
            }
            let max = self.scope.bounds.entries_max;
            if self.look.ruled.len() >= max {
                return Err(ScanError::Ruled { path, max });
            }
            let state = match InodeState::at(self.root(pending.root).directory.as_fd(), &relative) {
                Ok(state) => state,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(Errno::NAMETOOLONG) if self.excess_in(pending.root) != ScanExcess::Refused => {
                    self.look.beyond.push(path);
                    continue;
                }
                Err(errno) => return Err(ScanError::Unreadable { path, source: errno.into() }),
            };
            let (access, around) = (*access, pending.access);
            self.look.ruled.push(RuledEntry { path, named_as: None, access, around, state });
        }
        if !is_open {
            let (root, path, listing) = (pending.root, pending.path.clone(), Arc::clone(listing));
            let accesses = accesses.clone();
            self.look.limited.push(LimitedDirectory { root, path, listing, accesses });
        }
        Ok(accesses)
    }

    /// Denies the targets of denied links as well, because a link is another name of its target.
    fn follow_ruled_links(&mut self) -> Result<(), ScanError> {
        let mut next = 0;
        while let Some(entry) = self.look.ruled.get(next) {
            next += 1;
            if entry.state.kind != ScannedKind::Symlink || entry.access >= entry.around {
                continue;
            }
            let (access, named) = (entry.access, entry.path.clone());
            let Ok(path) = named.canonicalize() else { continue };
            let Some((root, relative)) = beneath(self.scope.roots, &path) else { continue };
            // A link to a directory around it names nothing that is not named by itself.
            let is_known = self.look.ruled.iter().any(|it| it.path == path && it.access <= access);
            if is_known || named.starts_with(&path) || relative.as_os_str().is_empty() {
                continue;
            }
            let Ok(relative) = CString::new(relative.as_os_str().as_bytes()) else { continue };
            let Ok(state) = InodeState::at(self.root(root).directory.as_fd(), &relative) else {
                continue;
            };
            let named_as = Some(named);
            let around = PathAccess::Full;
            self.look.ruled.push(RuledEntry { path, named_as, access, around, state });
            if state.kind == ScannedKind::Directory {
                let depth = relative.to_bytes().split(|byte| *byte == b'/').count();
                let at = DirectoryProtection::Uncounted;
                self.add(PendingDirectory { root, path: relative, depth, at, access });
                self.run()?;
            }
        }
        Ok(())
    }

    /// Records an entry under a protected name and returns its kind; `None` if it was removed
    /// meanwhile.
    fn record(
        &mut self,
        root: usize,
        relative: &CStr,
        pattern: usize,
        place: PatternPosition,
    ) -> Result<Option<ScannedKind>, ScanError> {
        let path = self.absolute(root, relative);
        let max = self.scope.bounds.entries_max;
        if self.look.entries.len() >= max {
            return Err(ScanError::Entries { path, max });
        }
        let directory = self.root(root).directory.as_fd();
        let state = match InodeState::at(directory, relative) {
            Ok(state) => state,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            // The other names of the directory are scanned.
            Err(Errno::NAMETOOLONG) if self.excess_in(root) != ScanExcess::Refused => {
                self.look.beyond.push(path);
                return Ok(None);
            }
            Err(Errno::NAMETOOLONG) => {
                return Err(ScanError::Depth { path, max: self.scope.bounds.depth_max });
            }
            Err(errno) => return Err(ScanError::Unreadable { path, source: errno.into() }),
        };
        let target = match state.kind {
            ScannedKind::Symlink => match readlinkat(directory, relative, Vec::new()) {
                Ok(target) => Some(target),
                Err(_) => return Ok(None),
            },
            ScannedKind::Directory | ScannedKind::File | ScannedKind::Other => None,
        };
        self.look.entries.push(ProtectedEntry { path, pattern, place, state, target });
        Ok(Some(state.kind))
    }

    /// Protects the targets of protected links by the same pattern: a change to the target changes
    /// the protected file.
    fn follow_links(&mut self, follows: FollowsLink<'_>) -> Result<(), ScanError> {
        let mut followed: HashSet<PathBuf> = HashSet::new();
        let mut next = 0;
        while let Some(entry) = self.look.entries.get(next) {
            next += 1;
            let is_name_alone =
                matches!(entry.place, PatternPosition::End { extent: ProtectionExtent::Name, .. });
            if entry.target.is_none() || is_name_alone || !follows(entry) {
                continue;
            }
            let pattern = entry.pattern;
            // A link without a reachable target has no content yet. A target that appears later is
            // found after the command has ended.
            let Ok(target) = entry.path.canonicalize() else { continue };
            let Some((root, relative)) = beneath(self.scope.roots, &target) else { continue };
            // A link to a directory around it would protect that whole directory. Such a link has
            // no protected target.
            let encloses = entry.path.starts_with(&target) || relative.as_os_str().is_empty();
            if encloses || !followed.insert(target.clone()) {
                continue;
            }
            let Ok(relative) = CString::new(relative.as_os_str().as_bytes()) else { continue };
            let place = PatternPosition::End { extent: ProtectionExtent::Tree, has_parent: false };
            let found = self.record(root, &relative, pattern, place)?;
            if found == Some(ScannedKind::Directory) {
                let depth = relative.to_bytes().split(|byte| *byte == b'/').count();
                self.add(PendingDirectory {
                    root,
                    path: relative,
                    depth,
                    at: DirectoryProtection::Protected(pattern),
                    // Rules decide about it where it is found by its own name.
                    access: PathAccess::Full,
                });
                self.run()?;
            }
        }
        Ok(())
    }

    /// Returns the names in a directory that its runs need.
    fn listing(
        &mut self,
        pending: &PendingDirectory,
        picks_all: bool,
    ) -> Result<Option<Arc<DirectoryListing>>, ScanError> {
        // Each file in a limited directory can have another name elsewhere.
        if !pending.begins_here() || picks_all || pending.access != PathAccess::Full {
            return self.listing_of(pending, ListingDetail::Whole);
        }
        match self.listing_of(pending, ListingDetail::Notable)? {
            // Its shape begins runs that its name does not begin.
            Some(listing) if listing.is_repository => {
                self.listing_of(pending, ListingDetail::Whole)
            }
            listing => Ok(listing),
        }
    }

    /// Returns the names in a directory, or `None` if it was removed or another user has locked it.
    fn listing_of(
        &mut self,
        pending: &PendingDirectory,
        detail: ListingDetail,
    ) -> Result<Option<Arc<DirectoryListing>>, ScanError> {
        let failed = |walk: &ScanWalk<'_>, errno: Errno| {
            let path = walk.absolute(pending.root, &pending.path);
            match errno {
                Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM => {
                    Ok(None)
                }
                Errno::NAMETOOLONG => {
                    Err(ScanError::Depth { path, max: walk.scope.bounds.depth_max })
                }
                errno => Err(ScanError::Unreadable { path, source: errno.into() }),
            }
        };
        let (root, names) = (self.root(pending.root), self.scope.listed);
        let mut followed = self.followed.get_mut(pending.root).and_then(Option::as_mut);
        if let Some(followed) = &mut followed {
            if let Some(listing) = followed.listing(names, &pending.path, detail) {
                return Ok(Some(Arc::clone(listing)));
            }
            followed.follow(root, &pending.path);
        }
        let state = match InodeState::at(root.directory.as_fd(), &pending.path) {
            Ok(state) if state.kind == ScannedKind::Directory => state,
            Ok(_) => return Ok(None),
            Err(errno) => return failed(self, errno),
        };
        let is_open_to_owner = state.mode & 0o500 == 0o500;
        // A directory that its owner has locked is unlocked until the scan is dropped.
        if !is_open_to_owner
            && let Some(unlocked) =
                UnlockedDirectory::new(root.directory.as_fd(), &pending.path, &state, 0o500)
        {
            if self.look.unlocked.len() < UNLOCKED_MAX {
                self.look.unlocked.push(unlocked);
            } else {
                unlocked.keep_unlocked();
            }
        }
        let key = ListingKey { identity: state.identity, detail };
        let known = self.known.and_then(|known| known.get(&key)).filter(|listing| {
            (listing.modified, listing.changed) == (state.modified, state.changed)
        });
        let listing = match known {
            Some(listing) => Arc::clone(listing),
            None => match self.read(pending, detail) {
                Ok(listing) => listing,
                Err(errno) => return failed(self, errno),
            },
        };
        // A directory that its owner locked is unlocked again for each scan.
        if is_open_to_owner
            && let Some(followed) = self.followed.get_mut(pending.root).and_then(Option::as_mut)
        {
            followed.remember(names, &pending.path, detail, Arc::clone(&listing));
        }
        Ok(Some(listing))
    }

    fn read(
        &mut self,
        pending: &PendingDirectory,
        detail: ListingDetail,
    ) -> rustix::io::Result<Arc<DirectoryListing>> {
        let now = now();
        let directory =
            open_beneath(self.root(pending.root).directory.as_fd(), pending.path.to_bytes())?;
        // Taken from the open directory before it is read: any later change makes the times differ.
        let state = InodeState::of_open(directory.as_fd())?;
        self.buffer.resize(BUFFER_BYTES, MaybeUninit::uninit());
        let (names, rules, folded) = (self.scope.names, self.scope.rules, &mut self.folded);
        let mut shape = RepositoryShape::default();
        let mut is_notable = Vec::new();
        let mut may_concern = Vec::new();
        let listed = read_names(&directory, &mut self.buffer, |name, kind| {
            fold_into(name.to_bytes(), folded);
            shape.add_name(folded);
            let begins_run = names.begins_match(folded);
            let is_concerned = rules.is_some_and(|rules| rules.may_concern(name.to_bytes()));
            let keep = begins_run
                || is_concerned
                || kind == ScannedKind::Directory
                || detail == ListingDetail::Whole;
            if keep {
                is_notable.push(begins_run);
                may_concern.push(is_concerned);
            }
            keep
        })?;
        let listing = Arc::new(DirectoryListing {
            modified: state.modified,
            changed: state.changed,
            names: listed,
            is_notable,
            may_concern,
            is_repository: shape.is_repository(),
        });
        if is_settled(&state, now) {
            self.fresh
                .push((ListingKey { identity: state.identity, detail }, Arc::clone(&listing)));
        }
        Ok(listing)
    }

    /// Returns the treatment of the excess in a root. A command cannot exceed a limit where it changes nothing.
    fn excess_in(&self, root: usize) -> ScanExcess {
        if self.root(root).is_protected { self.scope.excess } else { ScanExcess::Refused }
    }

    /// Returns when a directory was created. If the file system does not record that, it is when the directory was changed.
    fn created_at(&self, pending: &PendingDirectory) -> Option<FileTime> {
        let directory = self.root(pending.root).directory.as_fd();
        let wanted = StatxFlags::BTIME | StatxFlags::CTIME;
        let state = statx(directory, &pending.path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let is_recorded = state.stx_mask & StatxFlags::BTIME.bits() != 0;
        let created = if is_recorded { state.stx_btime } else { state.stx_ctime };
        Some(FileTime { seconds: created.tv_sec, nanoseconds: i64::from(created.tv_nsec) })
    }

    fn root(&self, index: usize) -> &'a ScanRoot {
        self.scope
            .roots
            .get(index)
            .expect("every pending directory was found below one of these roots")
    }

    fn absolute(&self, root: usize, relative: &CStr) -> PathBuf {
        let root = &self.root(root).path;
        if relative.is_empty() {
            return root.clone();
        }
        root.join(OsStr::from_bytes(relative.to_bytes()))
    }
}

/// Returns the access at an entry of a listing.
fn access_at(accesses: &[PathAccess], index: usize, directory: &PendingDirectory) -> PathAccess {
    accesses.get(index).copied().unwrap_or(directory.access)
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
