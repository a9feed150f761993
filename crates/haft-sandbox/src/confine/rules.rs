//! Which paths Landlock lets a command use. Inside a view of its own that is little to say; on the whole machine it is
//! everything, and what is hidden within something granted is left out by granting its neighbours one by one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::landlock::{PathAccess, PathRule};
use super::view::{DEVICES, TEMPORARY};
use crate::wire::{Bounds, Failure, Stage};

/// How many neighbours of hidden paths are granted at most.
pub(crate) const NEIGHBOURS_MAX: usize = 20_000;

/// The rules inside a view that holds nothing but what may be read.
pub(super) fn within_view(bounds: &Bounds) -> Vec<PathRule> {
    let everything = rule(Path::new("/"), PathAccess::Read);
    let devices = rule(Path::new("/dev"), PathAccess::Device);
    // A home at the very top is none that is private, and would be everything here.
    let home = Some(bounds.home.as_path()).filter(|home| home.parent().is_some());
    let temporary = TEMPORARY.iter().map(|(path, _)| Path::new(*path)).chain(home);
    let writable = temporary.chain(bounds.writable.iter().map(PathBuf::as_path));
    let writable = writable.map(|path| rule(path, PathAccess::Write));
    [everything, devices].into_iter().chain(writable).collect()
}

/// The rules on the whole machine.
pub(super) fn without_view(bounds: &Bounds, private: &Path) -> Result<Vec<PathRule>, Failure> {
    let mut rules: Vec<PathRule> =
        DEVICES.iter().map(|device| rule(Path::new(device), PathAccess::Device)).collect();
    rules.push(rule(Path::new("/proc"), PathAccess::Read));
    rules.push(rule(private, PathAccess::Write));
    let readable = bounds.readable.iter().map(|path| (path, PathAccess::Read));
    let writable = bounds.writable.iter().map(|path| (path, PathAccess::Write));
    for (path, access) in readable.chain(writable) {
        grant(path, access, &bounds.hidden, &mut rules)
            .map_err(|error| Failure::new(Stage::Confine, at(path), &error))?;
    }
    Ok(rules)
}

/// Grants a path, or if something in it is hidden, everything in it but that.
///
/// The directories on the way get no rule of their own: they can be passed through, and not listed.
fn grant(
    path: &Path,
    access: PathAccess,
    hidden: &[PathBuf],
    rules: &mut Vec<PathRule>,
) -> io::Result<()> {
    let mut pending = vec![path.to_path_buf()];
    while let Some(path) = pending.pop() {
        if hidden.iter().any(|hidden| path.starts_with(hidden)) {
            continue;
        }
        if !hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            rules.push(rule(&path, access));
            continue;
        }
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            // What does not exist, or cannot be looked into, is not granted.
            Err(error) if is_out_of_reach(&error) => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            // A link is no thing of its own: what it leads to is granted where that is, or not at all.
            if !entry.file_type()?.is_symlink() {
                pending.push(entry.path());
            }
            if pending.len() + rules.len() > NEIGHBOURS_MAX {
                return Err(io::Error::from_raw_os_error(libc::E2BIG));
            }
        }
    }
    Ok(())
}

fn is_out_of_reach(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
    )
}

fn rule(path: &Path, access: PathAccess) -> PathRule {
    PathRule { path: path.to_path_buf(), access }
}

fn at(path: &Path) -> String {
    format!("granting what is beside hidden paths in {}", path.display())
}
