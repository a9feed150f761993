//! Other names of files that are protected or hidden: hard links, under which they could be changed or read after all.
//! It deliberately looks only where a file says that it has other names, because finding them means reading every
//! directory.

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::directory::{BUFFER_BYTES, Identity, Kind, State, open_beneath, read_names};
use super::look::{Bounds, Look, OpenRoot, Scope};
use super::report::{Pin, PinKind, SurveyError};

/// How many files are looked at for each hidden path. Credentials are few; what holds more is a cache.
pub(crate) const HIDDEN_FILES_MAX: usize = 128;

/// How deep hidden directories are looked at.
pub(crate) const HIDDEN_DEPTH_MAX: usize = 2;

/// What is known of a file with several names.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    kind: PinKind,
    /// How many names are still unknown.
    missing: u64,
}

/// Finds the other names of protected and hidden files beneath the roots.
pub(super) fn find(
    scope: Scope<'_>,
    look: &Look,
    hidden: &[PathBuf],
) -> Result<Vec<Pin>, SurveyError> {
    let mut wanted: HashMap<Identity, Wanted> = HashMap::new();
    let files =
        look.entries.iter().filter(|entry| entry.state.kind == Kind::File && entry.state.links > 1);
    for entry in files {
        let new = Wanted { kind: PinKind::ReadOnly, missing: entry.state.links };
        let known = wanted.entry(entry.state.identity).or_insert(new);
        known.missing = known.missing.saturating_sub(1);
    }
    for path in hidden {
        let mut left = HIDDEN_FILES_MAX;
        add_hidden(path, 0, &mut left, &mut wanted);
    }
    // Trees that were copied by links hold every name under a protected one.
    wanted.retain(|_, wanted| wanted.missing > 0);
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let mut pins = Vec::new();
    for root in scope.roots {
        walk(root, scope.bounds, &wanted, &mut pins)?;
    }
    pins.retain(|pin| !hidden.iter().any(|hidden| pin.path.starts_with(hidden)));
    Ok(pins)
}

/// Adds the files at or beneath a hidden path that have several names. What cannot be read here cannot be read by a
/// command of the same user either.
fn add_hidden(path: &Path, depth: usize, left: &mut usize, wanted: &mut HashMap<Identity, Wanted>) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    if *left == 0 {
        return;
    }
    *left -= 1;
    if metadata.is_file() && metadata.nlink() > 1 {
        let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
        let missing = metadata.nlink().saturating_sub(1);
        wanted.insert(identity, Wanted { kind: PinKind::Hidden, missing });
    }
    if metadata.is_dir() && depth < HIDDEN_DEPTH_MAX {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            add_hidden(&entry.path(), depth + 1, left, wanted);
        }
    }
}

/// Looks at every file beneath a root.
fn walk(
    root: &OpenRoot,
    bounds: Bounds,
    wanted: &HashMap<Identity, Wanted>,
    pins: &mut Vec<Pin>,
) -> Result<(), SurveyError> {
    let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
    let mut pending: Vec<(Vec<u8>, usize)> = vec![(Vec::new(), 0)];
    let mut directories = 0;
    while let Some((path, depth)) = pending.pop() {
        directories += 1;
        if directories > bounds.directories_max {
            let root = root.path.clone();
            return Err(SurveyError::Directories { root, max: bounds.directories_max });
        }
        if depth > bounds.depth_max {
            let path = absolute(root, &path);
            return Err(SurveyError::Depth { path, max: bounds.depth_max });
        }
        // Whatever cannot be opened here was passed over by the look as well, or refused.
        let Ok(directory) = open_beneath(root.directory.as_fd(), &path) else { continue };
        let names = read_names(&directory, &mut buffer, |_, kind| {
            matches!(kind, Kind::Directory | Kind::File)
        });
        for listed in names.map_err(|errno| unreadable(root, &path, errno))? {
            match listed.kind {
                Kind::Directory => pending.push((join(&path, &listed.name), depth + 1)),
                Kind::File => {
                    // The number in the listing can be another one on layered file systems, so it decides nothing.
                    let Ok(state) = State::at(directory.as_fd(), &listed.name) else { continue };
                    if let Some(found) = wanted.get(&state.identity) {
                        let path = absolute(root, &join(&path, &listed.name));
                        pins.push(Pin { path, kind: found.kind });
                    }
                }
                Kind::Symlink | Kind::Other => {}
            }
        }
    }
    Ok(())
}

fn unreadable(root: &OpenRoot, path: &[u8], errno: rustix::io::Errno) -> SurveyError {
    SurveyError::Unreadable { path: absolute(root, path), source: errno.into() }
}

fn absolute(root: &OpenRoot, path: &[u8]) -> PathBuf {
    root.path.join(OsStr::from_bytes(path))
}

fn join(parent: &[u8], name: &CStr) -> Vec<u8> {
    let mut path = parent.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name.to_bytes());
    path
}
