//! Converts a path to its canonical form: every symbolic link expanded, no `..`, and still inside
//! the root. The result is a path, not a handle, so that a caller can judge it. Exchanging a
//! component afterwards does not help an attacker, because canonical paths are opened without
//! following links. The module does not judge which paths may be used.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

use super::Root;
use super::beneath_directory::HANDLE;
use super::error::RootError;
use super::file::{InodeKind, LINKS_MAX, ResolvedPath};

/// Maximum length of a canonical path that the kernel opens in one call, without the final NUL.
pub(crate) const PATH_BYTES_MAX: usize = 4_095;

impl Root {
    /// Returns the canonical form of `path`, which is relative to the root or absolute within it.
    ///
    /// Symbolic links are followed as long as they stay inside the root. A missing file is not an
    /// error: the canonical path then names where it would be created, even for a link whose target
    /// is missing.
    ///
    /// # Errors
    ///
    /// [`RootError::Outside`] and [`RootError::Escape`] if the path leaves the root,
    /// [`RootError::NotADirectory`] if it leads through a file, [`RootError::TooManyLinks`] for
    /// loops, [`RootError::Invalid`] for paths that cannot name a file.
    pub fn resolve(&self, path: &Path) -> Result<ResolvedPath, RootError> {
        let bytes = path.as_os_str().as_bytes();
        if bytes.contains(&0) {
            let reason = "it contains a NUL byte";
            return Err(RootError::Invalid { path: path.to_path_buf(), reason });
        }
        // The walk handles `..`.
        let relative = if path.is_absolute() {
            let outside = || RootError::Outside { path: path.to_path_buf() };
            self.strip(path).ok_or_else(outside)?
        } else {
            path
        };
        let resolved = match self.resolve_plainly(relative) {
            Some(resolved) if resolved.kind == Some(InodeKind::Directory) => resolved,
            Some(resolved) if !asks_for_directory(path) => resolved,
            _ => {
                let walk = ResolveWalk {
                    root: self,
                    requested: path,
                    directory: None,
                    canonical: PathBuf::new(),
                    pending: Vec::new(),
                    links: 0,
                    needs_directory: asks_for_directory(path),
                };
                walk.run(relative)?
            }
        };
        if resolved.path.as_os_str().len() > PATH_BYTES_MAX {
            return Err(RootError::TooLong { path: path.to_path_buf() });
        }
        Ok(resolved)
    }

    /// Returns the part of an absolute path after the root, for either of the root's spellings.
    fn strip<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let names = [&self.inner.path, &self.inner.spelled];
        names.iter().find_map(|name| path.strip_prefix(name).ok())
    }

    /// Resolves a path without links and `..`, which is nearly every path, in one system call.
    fn resolve_plainly(&self, relative: &Path) -> Option<ResolvedPath> {
        if !self.inner.beneath.has_openat2() {
            return None;
        }
        let mut canonical = PathBuf::new();
        for component in relative.components() {
            match component {
                Component::Normal(name) => canonical.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        match self.inner.beneath.open(&canonical, OFlags::PATH) {
            Ok(handle) => {
                let kind = FileType::from_raw_mode(fstat(handle).ok()?.st_mode);
                Some(ResolvedPath { path: canonical, kind: Some(kind.into()) })
            }
            // The kernel stops at the first link, so a missing name was reached through directories
            // alone.
            Err(Errno::NOENT) => Some(ResolvedPath { path: canonical, kind: None }),
            // The walk finds the component that causes the error.
            Err(_) => None,
        }
    }
}

/// A component that is still to be resolved.
struct PendingComponent {
    name: OsString,
    /// The link whose target contained it, or `None` if the path itself did. An error names this
    /// link if it leaves the root.
    link: Option<Rc<Path>>,
}

/// The state of a walk: its current directory, and the remaining components.
struct ResolveWalk<'a> {
    root: &'a Root,
    requested: &'a Path,
    /// The current directory; `None` for the root itself.
    directory: Option<OwnedFd>,
    /// The path of that directory.
    canonical: PathBuf,
    /// The remaining components, next one last.
    pending: Vec<PendingComponent>,
    links: u32,
    /// Whether the path, or a link that it ends in, is spelled as a directory.
    needs_directory: bool,
}

impl ResolveWalk<'_> {
    fn run(mut self, relative: &Path) -> Result<ResolvedPath, RootError> {
        self.push(relative, None);
        while let Some(step) = self.pending.pop() {
            if step.name == ".." {
                if !self.canonical.pop() {
                    let path = self.requested.to_path_buf();
                    return Err(match step.link {
                        Some(link) => RootError::Escape { path, link: link.to_path_buf() },
                        None => RootError::Outside { path },
                    });
                }
                // The parent directory is opened again: with one descriptor per level, a deep path
                // could use them all.
                let flags = OFlags::PATH | OFlags::DIRECTORY;
                let parent = self.root.inner.beneath.open(&self.canonical, flags);
                self.directory = Some(parent.map_err(RootError::at(&self.canonical))?);
                continue;
            }
            let path = self.canonical.join(&step.name);
            let at = self.directory.as_ref().unwrap_or(self.root.inner.beneath.directory());
            let entry = match openat(at, &step.name, HANDLE, Mode::empty()) {
                Ok(entry) => entry,
                // The walk ends at a name that does not exist.
                Err(Errno::NOENT) if self.pending.iter().any(|next| next.name == "..") => {
                    return Err(RootError::NotFound { path });
                }
                Err(Errno::NOENT) => {
                    let path =
                        self.pending.iter().rev().fold(path, |path, next| path.join(&next.name));
                    return Ok(ResolvedPath { path, kind: None });
                }
                Err(errno) => return Err(RootError::from_errno(&path, errno)),
            };
            let stat = fstat(&entry).map_err(RootError::at(&path))?;
            match InodeKind::from(FileType::from_raw_mode(stat.st_mode)) {
                // The link's target comes before the remaining components.
                InodeKind::Symlink => {
                    self.links += 1;
                    if self.links > LINKS_MAX {
                        let path = self.requested.to_path_buf();
                        return Err(RootError::TooManyLinks { path, links_max: LINKS_MAX });
                    }
                    let target =
                        readlinkat(&entry, "", Vec::new()).map_err(RootError::at(&path))?;
                    let target = Path::new(OsStr::from_bytes(target.as_bytes()));
                    if self.pending.is_empty() && asks_for_directory(target) {
                        self.needs_directory = true;
                    }
                    if target.is_absolute() {
                        let inside = self.root.strip(target).ok_or_else(|| RootError::Escape {
                            path: self.requested.to_path_buf(),
                            link: path.clone(),
                        })?;
                        self.directory = None;
                        self.canonical = PathBuf::new();
                        self.push(inside, Some(path.into()));
                    } else {
                        self.push(target, Some(path.into()));
                    }
                }
                InodeKind::Directory => {
                    self.canonical = path;
                    self.directory = Some(entry);
                }
                _ if self.needs_directory || !self.pending.is_empty() => {
                    return Err(RootError::NotADirectory { path });
                }
                kind => return Ok(ResolvedPath { path, kind: Some(kind) }),
            }
        }
        Ok(ResolvedPath { path: self.canonical, kind: Some(InodeKind::Directory) })
    }

    fn push(&mut self, path: &Path, link: Option<Rc<Path>>) {
        let names = path.components().rev().filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
        self.pending.extend(names.map(|name| PendingComponent { name, link: link.clone() }));
    }
}

/// Returns whether a path is spelled as a directory.
fn asks_for_directory(path: &Path) -> bool {
    let bytes = path.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.")
}
