//! Removing and restoring, on trees that resist.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, mkdirat, openat};

use super::{ChangeReverter, DIRECTORY, RemovalResult, copy};

struct Place {
    _directory: tempfile::TempDir,
    path: PathBuf,
    root: OwnedFd,
    quarantine: PathBuf,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("root");
    fs::create_dir(&path).unwrap();
    let root = OwnedFd::from(fs::File::open(&path).unwrap());
    let quarantine = path.parent().unwrap().join("state/quarantine");
    Place { _directory: directory, path, root, quarantine }
}

#[test]
fn things_of_one_name_do_not_meet_in_quarantine() {
    let place = place();
    let mut undoer = ChangeReverter::new(Some(&place.quarantine));
    for directory in ["a", "b"] {
        fs::create_dir_all(place.path.join(directory)).unwrap();
        fs::write(place.path.join(directory).join(".envrc"), directory).unwrap();
        let relative = Path::new(directory).join(".envrc");
        let RemovalResult::Quarantined(kept) =
            undoer.remove_path(place.root.as_fd(), &relative).unwrap()
        else {
            panic!("it can be kept")
        };
        assert_eq!(fs::read_to_string(kept).unwrap(), directory);
        assert!(!place.path.join(relative).exists());
    }
    // Another command with the same quarantine finds existing slots.
    fs::write(place.path.join(".envrc"), "c").unwrap();
    let kept = ChangeReverter::new(Some(&place.quarantine))
        .remove_path(place.root.as_fd(), Path::new(".envrc"));
    assert_eq!(kept.unwrap(), RemovalResult::Quarantined(place.quarantine.join("3/.envrc")));
}

#[test]
fn what_cannot_be_kept_is_removed() {
    let place = place();
    fs::write(place.path.parent().unwrap().join("state"), "in the way").unwrap();
    fs::write(place.path.join("x"), "x").unwrap();
    let taken = ChangeReverter::new(Some(&place.quarantine))
        .remove_path(place.root.as_fd(), Path::new("x"));
    assert_eq!(taken.unwrap(), RemovalResult::Removed);
    assert!(!place.path.join("x").exists());
}

#[test]
fn links_are_moved_and_removed_themselves() {
    let place = place();
    let outside = place.path.parent().unwrap().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "x").unwrap();
    for quarantine in [Some(place.quarantine.as_path()), None] {
        symlink("../outside", place.path.join("link")).unwrap();
        ChangeReverter::new(quarantine).remove_path(place.root.as_fd(), Path::new("link")).unwrap();
        assert!(place.path.join("link").symlink_metadata().is_err());
        // A directory on the way that became a link is not followed.
        symlink("../outside", place.path.join("way")).unwrap();
        ChangeReverter::new(quarantine)
            .remove_path(place.root.as_fd(), Path::new("way/file"))
            .unwrap_err();
        fs::remove_file(place.path.join("way")).unwrap();
    }
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "x");
    assert_eq!(fs::read_link(place.quarantine.join("1/link")).unwrap(), Path::new("../outside"));
}

/// Deeper than a path can be long and than a process can have descriptors.
#[test]
fn no_depth_keeps_a_directory_from_being_removed() {
    let place = place();
    let mut at = place.root.try_clone().unwrap();
    for _ in 0..3_000 {
        mkdirat(&at, c"d", Mode::RWXU).unwrap();
        at = openat(&at, c"d", DIRECTORY, Mode::empty()).unwrap();
    }
    ChangeReverter::new(None).remove_path(place.root.as_fd(), Path::new("d")).unwrap();
    assert_eq!(fs::read_dir(&place.path).unwrap().count(), 0);
}

#[test]
fn files_and_links_come_back_with_what_leads_to_them() {
    let place = place();
    let mut undoer = ChangeReverter::new(Some(&place.quarantine));
    fs::write(place.path.join("taken"), "in the way").unwrap();
    undoer.restore_file(place.root.as_fd(), Path::new("a/b/file"), (b"content", 0o640)).unwrap();
    undoer.restore_file(place.root.as_fd(), Path::new("taken/file"), (b"content", 0o755)).unwrap();
    undoer.restore_link(place.root.as_fd(), Path::new("a/link"), c"b/file").unwrap();
    let restored = place.path.join("a/b/file");
    assert_eq!(fs::read_to_string(&restored).unwrap(), "content");
    assert_eq!(fs::metadata(&restored).unwrap().permissions().mode() & 0o7777, 0o640);
    assert_eq!(fs::read_to_string(place.path.join("a/link")).unwrap(), "content");
    assert_eq!(fs::read_to_string(place.quarantine.join("1/taken")).unwrap(), "in the way");
    assert_eq!(
        fs::metadata(place.path.join("taken/file")).unwrap().permissions().mode() & 0o7777,
        0o755
    );
}

/// The fallback where a rename is not possible, up to its limits.
#[test]
fn copies_hold_content_and_links_and_end_at_their_bounds() {
    let place = place();
    fs::create_dir_all(place.path.join("from/sub")).unwrap();
    fs::write(place.path.join("from/sub/file"), "12345").unwrap();
    symlink("/etc", place.path.join("from/link")).unwrap();
    let copied = |name: &str, mut bytes_left: u64, depth: usize| {
        fs::create_dir(place.path.join(name)).unwrap();
        let to = fs::File::open(place.path.join(name)).unwrap();
        copy(place.root.as_fd(), c"from", to.as_fd(), &mut bytes_left, depth)
    };
    copied("exact", 5, super::DEPTH_MAX - 2).unwrap();
    assert_eq!(fs::read_to_string(place.path.join("exact/from/sub/file")).unwrap(), "12345");
    assert_eq!(fs::read_link(place.path.join("exact/from/link")).unwrap(), Path::new("/etc"));
    copied("large", 4, 0).unwrap_err();
    copied("deep", 5, super::DEPTH_MAX - 1).unwrap_err();
}
