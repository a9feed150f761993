//! Finds other mounts of what rules deny. A directory that is mounted a second time has a second path, and its files have
//! no second name. The module only reads the list of mounts.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::directory::{FileIdentity, InodeState};
use super::result::RuledEntry;

/// One mount of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MountedTree {
    device: String,
    /// The mounted directory or file, as a path of its file system.
    top: PathBuf,
    /// The place where it is mounted.
    place: PathBuf,
}

/// Returns the second paths of denied entries.
pub(super) fn find_other_mounts(entries: &[RuledEntry]) -> io::Result<Vec<RuledEntry>> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let mounts = parse_mounts(&fs::read("/proc/self/mountinfo")?);
    let denied = entries.iter().filter(|entry| entry.access < entry.around);
    let found = denied.flat_map(|entry| {
        let paths = other_paths(&mounts, &entry.path).into_iter();
        paths.filter_map(|(path, is_whole)| {
            // Something else may be mounted upon it.
            let found = path.symlink_metadata().ok()?;
            let identity = FileIdentity { device: found.dev(), inode: found.ino() };
            if is_whole && identity != entry.state.identity {
                return None;
            }
            let named_as = entry.named_as.clone().or_else(|| Some(entry.path.clone()));
            let state = InodeState { identity, ..entry.state };
            Some(RuledEntry { path, named_as, state, ..entry.clone() })
        })
    });
    Ok(found.collect())
}

/// Returns the other paths of a path, and of each whether it is all of it.
fn other_paths(mounts: &[MountedTree], path: &Path) -> Vec<(PathBuf, bool)> {
    // Of several mounts at one place, the last one is seen.
    let around = mounts.iter().filter(|mount| path.starts_with(&mount.place));
    let Some(own) = around.max_by_key(|mount| mount.place.components().count()) else {
        return Vec::new();
    };
    let Ok(below) = path.strip_prefix(&own.place) else { return Vec::new() };
    let inside = joined(&own.top, below);
    let others = mounts.iter().filter(|mount| mount.device == own.device);
    let others = others.filter_map(|mount| {
        if let Ok(below) = inside.strip_prefix(&mount.top) {
            return Some((joined(&mount.place, below), true));
        }
        mount.top.starts_with(&inside).then(|| (mount.place.clone(), false))
    });
    others.filter(|(other, _)| !other.starts_with(path)).collect()
}

fn joined(directory: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { directory.to_path_buf() } else { directory.join(below) }
}

/// Parses the list of mounts (proc_pid_mountinfo(5)).
fn parse_mounts(text: &[u8]) -> Vec<MountedTree> {
    let lines = text.split(|byte| *byte == b'\n');
    let mounts = lines.filter_map(|line| {
        let mut words = line.split(|byte| *byte == b' ').skip(2);
        let device = String::from_utf8_lossy(words.next()?).into_owned();
        Some(MountedTree { device, top: unescaped(words.next()?), place: unescaped(words.next()?) })
    });
    mounts.collect()
}

/// Replaces `\040` and the like.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let value =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(value.unwrap_or(*first));
        rest = if value.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_at_every_mount_of_it() {
        let text = b"1 0 8:1 / / rw - ext4 /dev/a rw\n\
            2 1 8:1 /w/app/secrets /srv/a\\040b rw - ext4 /dev/a rw\n\
            3 1 8:1 /w /mnt rw - ext4 /dev/a rw\n\
            4 1 8:2 / /other rw - ext4 /dev/b rw\n\
            5 1 8:1 /w/app/secrets/deep /deep rw - ext4 /dev/a rw\n";
        let mounts = parse_mounts(text);
        let check = |path: &str, expect: &[(&str, bool)]| {
            let expect: Vec<(PathBuf, bool)> =
                expect.iter().map(|(path, is_whole)| (path.into(), *is_whole)).collect();
            assert_eq!(other_paths(&mounts, Path::new(path)), expect, "{path}");
        };
        check("/w/app/.env", &[("/mnt/app/.env", true)]);
        check(
            "/w/app/secrets",
            &[("/srv/a b", true), ("/mnt/app/secrets", true), ("/deep", false)],
        );
        check("/srv/a b/key", &[("/w/app/secrets/key", true), ("/mnt/app/secrets/key", true)]);
        check("/other/.env", &[]);
    }
}
