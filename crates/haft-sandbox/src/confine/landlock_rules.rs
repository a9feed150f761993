//! The Landlock rules of a command. Inside a private view there are few. On the whole machine, if a
//! hidden path is inside a granted directory, the rules grant its siblings one by one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::landlock::{LandlockAccess, LandlockRule};
use super::view_entries::{DEVICES, TEMPORARY};
use crate::wire::{StartFailure, StartStage, WireConfinement};

/// Maximum number of granted siblings of hidden paths.
pub(crate) const NEIGHBOURS_MAX: usize = 20_000;

/// Returns the rules inside a view that contains only readable paths.
pub(super) fn within_view(bounds: &WireConfinement) -> Vec<LandlockRule> {
    let everything = rule(Path::new("/"), LandlockAccess::Read);
    let devices = rule(Path::new("/dev"), LandlockAccess::Device);
    // The top directory cannot be a private home, and would grant everything here.
    let home = Some(bounds.home.as_path()).filter(|home| home.parent().is_some());
    let temporary = TEMPORARY.iter().map(|(path, _)| Path::new(*path)).chain(home);
    let writable = temporary.chain(bounds.writable.iter().map(PathBuf::as_path));
    let writable = writable.map(|path| rule(path, LandlockAccess::Write));
    [everything, devices].into_iter().chain(writable).collect()
}

/// Returns the rules on the whole machine.
pub(super) fn without_view(
    bounds: &WireConfinement,
    private: &Path,
) -> Result<Vec<LandlockRule>, StartFailure> {
    let mut rules: Vec<LandlockRule> =
        DEVICES.iter().map(|device| rule(Path::new(device), LandlockAccess::Device)).collect();
    rules.push(rule(Path::new("/proc"), LandlockAccess::Read));
    rules.push(rule(private, LandlockAccess::Write));
    let readable = bounds.readable.iter().map(|path| (path, LandlockAccess::Read));
    let writable = bounds.writable.iter().map(|path| (path, LandlockAccess::Write));
    let covered = bounds.covers.iter().map(|cover| &cover.path);
    let hidden: Vec<PathBuf> = bounds.hidden.iter().chain(covered).cloned().collect();
    for (path, access) in readable.chain(writable) {
        // A grant inside of a covered path is an exception to the rule about that path.
        let around = |cover: &&PathBuf| *cover != path && path.starts_with(cover);
        let exempt: Vec<&PathBuf> =
            bounds.covers.iter().map(|cover| &cover.path).filter(around).collect();
        let kept: Vec<PathBuf> =
            hidden.iter().filter(|hidden| !exempt.contains(hidden)).cloned().collect();
        grant(path, access, (&kept, &bounds.hidden), &mut rules).map_err(|error| {
            let at = format!("granting the siblings of hidden paths in {}", path.display());
            StartFailure::new(StartStage::Confine, at, error)
        })?;
    }
    for cover in bounds.covers.iter().filter(|cover| cover.is_readable) {
        let unreadable = bounds.covers.iter().filter(|cover| !cover.is_readable);
        let unreadable = unreadable.map(|cover| cover.path.clone());
        let kept: Vec<PathBuf> = bounds.hidden.iter().cloned().chain(unreadable).collect();
        let is_granted = |path: &PathBuf| cover.path.starts_with(path);
        if bounds.writable.iter().chain(&bounds.readable).any(is_granted) {
            grant(&cover.path, LandlockAccess::Read, (&kept, &bounds.hidden), &mut rules)
                .map_err(StartStage::Confine.at("granting paths that cannot be changed"))?;
        }
    }
    Ok(rules)
}

/// Grants a path. If it contains a kept path, grants every other entry in it instead.
///
/// The directories in between can be traversed. They can also be listed, unless a hidden path is in
/// them: listing a directory includes listing those below it.
fn grant(
    path: &Path,
    access: LandlockAccess,
    (kept, hidden): (&[PathBuf], &[PathBuf]),
    rules: &mut Vec<LandlockRule>,
) -> io::Result<()> {
    let mut pending = vec![path.to_path_buf()];
    while let Some(path) = pending.pop() {
        if kept.iter().any(|kept| path.starts_with(kept)) {
            continue;
        }
        if !kept.iter().any(|kept| kept.starts_with(&path)) {
            rules.push(rule(&path, access));
            continue;
        }
        if !hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            rules.push(rule(&path, LandlockAccess::List));
        }
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            // A path that does not exist or cannot be read is not granted.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::NotADirectory
                        | io::ErrorKind::PermissionDenied
                ) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            // A link is not granted itself: its target is granted where it is, or not at all.
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

fn rule(path: &Path, access: LandlockAccess) -> LandlockRule {
    LandlockRule { path: path.to_path_buf(), access }
}
