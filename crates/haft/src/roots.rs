//! The directories that calls may reach, and the translation of a spelled path to a place beneath one of them.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::limits::{PATH_BYTES_MAX, PATH_NAMES_MAX};
use haft_contract::{ErrorCode, FilePath, FsEntryKind, ToolError};
use haft_policy::{PathReach, PathSubject};
use haft_sandbox::{LINKS_MAX, Root, RootError};

/// The workspace roots. The first is the one that relative paths start from. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct WorkspaceRoots(Arc<WorkspaceRootsState>);

/// The roots, and the lock of their changes.
#[derive(Debug)]
struct WorkspaceRootsState {
    /// The root that relative paths start from.
    first: WorkspaceRoot,
    /// The further roots, in the order in which they were named.
    others: Vec<WorkspaceRoot>,
    /// Held from judging a set of changes by the other files until the changes are made.
    change_lock: Mutex<()>,
}

/// A root with both of its paths.
#[derive(Debug)]
struct WorkspaceRoot {
    /// The open directory, with its canonical path.
    root: Root,
    /// The path as the user spelled it; models repeat it in absolute paths.
    spelled_path: PathBuf,
}

/// Says why a directory cannot be a root.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceRootsError {
    /// It cannot be opened.
    #[error("root {path:?} cannot be used: {source}")]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The error.
        source: RootError,
    },
    /// It lies inside another root, or is the same root.
    #[error("root {inner:?} lies inside root {outer:?}: leave out the inner one")]
    Nested {
        /// The directory inside.
        inner: PathBuf,
        /// The directory around it.
        outer: PathBuf,
    },
}

impl WorkspaceRoots {
    /// Opens the directory `first` as the workspace root, and `others` as further roots.
    ///
    /// # Errors
    ///
    /// Names the directory that cannot be opened, or the root that lies inside another one.
    pub fn open(first: &Path, others: &[PathBuf]) -> Result<Self, WorkspaceRootsError> {
        let others =
            others.iter().map(|path| WorkspaceRoot::open(path)).collect::<Result<_, _>>()?;
        let first = WorkspaceRoot::open(first)?;
        let state = WorkspaceRootsState { first, others, change_lock: Mutex::default() };
        let roots = Self(Arc::new(state));
        // A path in nested roots would have two names, and a rule might know only one of them.
        let paths = roots.paths();
        for (index, inner) in paths.iter().enumerate() {
            let mut others = paths.iter().enumerate().filter(|(other, _)| *other != index);
            if let Some((_, outer)) = others.find(|(_, outer)| inner.starts_with(outer)) {
                let (inner, outer) = (inner.clone(), outer.clone());
                return Err(WorkspaceRootsError::Nested { inner, outer });
            }
        }
        Ok(roots)
    }

    /// Returns the canonical path of the root that relative paths start from.
    pub fn workspace(&self) -> &Path {
        self.0.first.root.path()
    }

    /// Returns the canonical paths of all roots.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.iter().map(|place| place.root.path().to_path_buf()).collect()
    }

    /// Returns the text of a file in the roots, for a person to read. Returns `None` if the file does not exist, is not
    /// UTF-8 or has more than `bytes_max` bytes. `path` is spelled as for tools. May block.
    pub fn read_text(&self, path: &str, bytes_max: usize) -> Option<String> {
        let (file, _) = self.resolve(path).ok()?;
        let opened = self.root(file.root())?.open_file(file.relative()).ok()?;
        let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        opened.file.take(limit).read_to_end(&mut bytes).ok()?;
        String::from_utf8(bytes).ok().filter(|text| text.len() <= bytes_max)
    }

    /// Returns the root with this index; 0 is the first root.
    pub(crate) fn root(&self, index: usize) -> Option<&Root> {
        self.iter().nth(index).map(|place| &place.root)
    }

    /// Returns all roots.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Root> {
        self.iter().map(|place| &place.root)
    }

    /// Resolves a path from a tool's input, and expands all symlinks.
    pub(crate) fn resolve(&self, path: &str) -> Result<(FilePath, Option<FsEntryKind>), ToolError> {
        let (index, place, relative) = self.root_of_path(path)?;
        let resolved = place.root.resolve(&relative).map_err(|err| match err {
            RootError::Outside { .. } => self.outside_error(path),
            err => path_error(path, &err),
        })?;
        let display = self.display(index, &resolved.path);
        Ok((FilePath::new(index, resolved.path, display), resolved.kind.map(file_kind)))
    }

    /// Returns each place through which a path leads: as spelled, and again after each link. Returns no places if the
    /// path starts outside all roots.
    ///
    /// Programs find the files that they obey under such a name, wherever its links lead.
    pub(crate) fn spellings(&self, path: &str) -> Vec<PathSubject> {
        let Ok((_, place, relative)) = self.root_of_path(path) else { return Vec::new() };
        let spellings = place.spellings(&relative).into_iter();
        spellings
            .map(|relative| PathSubject {
                absolute: place.root.path().join(&relative),
                relative: Some(relative),
                reach: PathReach::PathOnly,
            })
            .collect()
    }

    /// Returns the roots that lie within a directory, under the names that a walk of the directory meets.
    pub(crate) fn roots_within(&self, directory: &Path) -> Vec<PathSubject> {
        let is_around =
            |place: &&WorkspaceRoot| place.names().iter().any(|name| name.starts_with(directory));
        let met = |place: &WorkspaceRoot| PathSubject::in_root(place.root.path(), Path::new(""));
        self.iter().filter(is_around).map(|place| met(place).with_reach(PathReach::Tree)).collect()
    }

    /// Waits until no other call changes files, and keeps them from it.
    pub(crate) fn lock_changes(&self) -> MutexGuard<'_, ()> {
        // It guards no data that a panic could leave half changed.
        self.0.change_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the place that a path names by its spelling, which must hold no `..`.
    pub(crate) fn unresolved_path(&self, path: &str) -> Result<FilePath, ToolError> {
        let (index, _, relative) = self.root_of_path(path)?;
        let display = self.display(index, &relative);
        Ok(FilePath::new(index, relative, display))
    }

    /// Returns the form of a path that rules and grants judge.
    pub(crate) fn subject(&self, path: &FilePath) -> PathSubject {
        let absolute = match self.root(path.root()) {
            Some(root) => root.path().join(path.relative()),
            None => path.relative().to_path_buf(),
        };
        let relative = Some(path.relative().to_path_buf());
        PathSubject { absolute, relative, reach: PathReach::PathOnly }
    }

    /// Returns all roots, the first one first.
    fn iter(&self) -> impl Iterator<Item = &WorkspaceRoot> {
        std::iter::once(&self.0.first).chain(&self.0.others)
    }

    /// Finds the root that `path` lies in, by its spelling, and the path relative to it.
    fn root_of_path(&self, path: &str) -> Result<(usize, &WorkspaceRoot, PathBuf), ToolError> {
        let problem = if path.is_empty() {
            Some("the path is empty: name a file, or \".\" if a directory is meant".to_owned())
        } else if path.len() > PATH_BYTES_MAX {
            let bytes = path.len();
            Some(format!("the path is {bytes} bytes long: at most {PATH_BYTES_MAX} are possible"))
        } else if path.split('/').count() > PATH_NAMES_MAX {
            Some(format!(
                "the path has more than {PATH_NAMES_MAX} names, which is more than haft follows"
            ))
        } else if path.contains('\0') {
            Some(
                "the path contains a NUL character, which no file name can: leave it out"
                    .to_owned(),
            )
        } else if path == "~" || path.starts_with("~/") {
            Some(format!(
                "path {path:?} starts with ~, which is not expanded: use a path in the workspace"
            ))
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(ToolError::new(ErrorCode::PathInvalid, problem));
        }
        let given = Path::new(path);
        if given.is_relative() {
            return Ok((0, &self.0.first, given.to_path_buf()));
        }
        let mut candidates = self.iter().enumerate().filter_map(|(index, place)| {
            place.strip(given).map(|relative| (index, place, relative.to_path_buf()))
        });
        candidates.next().ok_or_else(|| self.outside_error(path))
    }

    /// Returns the error about a path that leads out of all roots.
    fn outside_error(&self, path: &str) -> ToolError {
        let roots: Vec<String> =
            self.paths().iter().map(|root| root.display().to_string()).collect();
        let roots = roots.join(" or ");
        let message = format!("path {path:?} is outside the workspace: use a path within {roots}");
        ToolError::new(ErrorCode::PathEscape, message)
    }

    /// Writes a path as a model should repeat it: relative in the first root, absolute in the others.
    fn display(&self, index: usize, relative: &Path) -> String {
        if index == 0 {
            let text = relative.to_string_lossy();
            return if text.is_empty() { ".".to_owned() } else { text.into_owned() };
        }
        match self.root(index) {
            Some(root) => root.path().join(relative).to_string_lossy().into_owned(),
            None => relative.to_string_lossy().into_owned(),
        }
    }
}

impl WorkspaceRoot {
    /// Opens a root. Fails if the directory cannot be opened.
    fn open(path: &Path) -> Result<Self, WorkspaceRootsError> {
        let root = Root::open(path)
            .map_err(|source| WorkspaceRootsError::Unusable { path: path.to_path_buf(), source })?;
        // Without `.` components, spellings compare.
        let spelled_path = path.components().filter(|part| *part != Component::CurDir).collect();
        Ok(Self { root, spelled_path })
    }

    /// Follows the links of a relative path by name alone, and returns the remaining path before and after each link.
    ///
    /// haft opens no file by these paths, so another process may replace a link meanwhile without harm.
    fn spellings(&self, relative: &Path) -> Vec<PathBuf> {
        let mut pending = steps(relative);
        let mut spellings = vec![cleaned(Path::new(""), &pending)];
        let mut canonical = PathBuf::new();
        let mut links = 0;
        while let Some(name) = pending.pop() {
            if name == ".." {
                canonical.pop();
                continue;
            }
            canonical.push(name);
            let Ok(target) = self.root.path().join(&canonical).read_link() else { continue };
            links += 1;
            if links > LINKS_MAX {
                break;
            }
            if target.is_absolute() {
                let Some(inside) = self.strip(&target) else { break };
                canonical = PathBuf::new();
                pending.extend(steps(inside));
            } else {
                canonical.pop();
                pending.extend(steps(&target));
            }
            spellings.push(cleaned(&canonical, &pending));
        }
        spellings
    }

    /// Returns the part of an absolute path after the root, by either name of the root.
    fn strip<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        self.names().iter().find_map(|root| path.strip_prefix(root).ok())
    }

    /// Returns both paths of the root.
    fn names(&self) -> [&Path; 2] {
        [self.root.path(), self.spelled_path.as_path()]
    }
}

/// Returns the names of a path, `..` included, the first one last.
fn steps(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|component| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    names.collect()
}

/// Takes steps from a directory as they are written, staying at the root where they climb above it.
fn cleaned(directory: &Path, steps: &[OsString]) -> PathBuf {
    let mut path = directory.to_path_buf();
    for step in steps.iter().rev() {
        if step == ".." {
            path.pop();
        } else {
            path.push(step);
        }
    }
    path
}

/// Removes `.` and `..` from an absolute path by its spelling alone.
pub(crate) fn lexical_path(path: &Path) -> PathBuf {
    let mut lexical = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                lexical.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                lexical.push(component);
            }
        }
    }
    lexical
}

/// Puts a failure beneath a root into the words and codes of tools.
pub(crate) fn path_error(path: &str, err: &RootError) -> ToolError {
    let (code, message) = match err {
        RootError::Outside { .. } => (
            ErrorCode::PathEscape,
            format!("path {path:?} is outside the workspace: use a path without \"..\""),
        ),
        RootError::Escape { link, .. } => {
            let link = link.display();
            (
                ErrorCode::PathEscape,
                format!(
                    "path {path:?} leaves the workspace through the symbolic link {link}: use another path"
                ),
            )
        }
        RootError::Exchanged { .. } => (
            ErrorCode::PathEscape,
            format!(
                "path {path:?} was exchanged for a symbolic link while it was in use: try again"
            ),
        ),
        RootError::TooManyLinks { links_max, .. } => (
            ErrorCode::PathInvalid,
            format!(
                "path {path:?} needs more than {links_max} symbolic links, which may form a loop: use another path"
            ),
        ),
        RootError::NotFound { .. } => {
            (ErrorCode::PathInvalid, format!("path {path:?} does not exist"))
        }
        RootError::NotADirectory { .. } => (
            ErrorCode::PathInvalid,
            format!("path {path:?} cannot exist, because {err}: name a file in a directory"),
        ),
        err => (ErrorCode::PathInvalid, format!("path {path:?}: {err}")),
    };
    ToolError::new(code, message)
}

/// Returns the kind of an entry in the words of the contract.
pub(crate) fn file_kind(kind: haft_sandbox::InodeKind) -> FsEntryKind {
    match kind {
        haft_sandbox::InodeKind::Regular => FsEntryKind::Regular,
        haft_sandbox::InodeKind::Directory => FsEntryKind::Directory,
        haft_sandbox::InodeKind::Symlink => FsEntryKind::Symlink,
        haft_sandbox::InodeKind::Fifo => FsEntryKind::Fifo,
        haft_sandbox::InodeKind::Socket => FsEntryKind::Socket,
        haft_sandbox::InodeKind::BlockDevice => FsEntryKind::BlockDevice,
        // An inode of unknown kind is treated like a device, because it is not a regular file.
        haft_sandbox::InodeKind::CharDevice | haft_sandbox::InodeKind::Unknown => {
            FsEntryKind::CharDevice
        }
    }
}
