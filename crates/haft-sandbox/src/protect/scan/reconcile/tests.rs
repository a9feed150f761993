//! Reconciliation where the first scan could not be complete.

use std::fs;
use std::path::Path;

use super::super::report::{ProtectionMode, RevertResult, RevertedChange, ScanOptions};
use super::super::traversal::ScanLimits;
use super::super::{ProtectedPathScan, ScanCache};
use crate::protect::{ProtectedPaths, RuledPaths};

/// Longer than the clock of file systems needs to advance.
const SETTLED: std::time::Duration = std::time::Duration::from_millis(20);

/// Takes a scan with small limits, runs `command`, and returns the reverted changes.
fn concluded(root: &Path, bounds: ScanLimits, command: impl FnOnce()) -> Vec<RevertedChange> {
    let means = ScanOptions {
        mode: ProtectionMode::ReadOnlyMounts,
        hidden: Vec::new(),
        quarantine: None,
        ruled: RuledPaths::default(),
    };
    let (cache, names) = (ScanCache::default(), ProtectedPaths::builtin());
    let survey =
        ProtectedPathScan::scan_within(&cache, &[root.to_path_buf()], &names, means, bounds)
            .unwrap();
    command();
    survey.reconcile()
}

#[test]
fn a_flood_of_protected_files_is_undone_until_all_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let bounds = ScanLimits { entries_max: 4, ..ScanLimits::DEFAULT };
    let places = ["a", "b", "c"].map(|name| root.join(name));
    let undone = concluded(&root, bounds, || {
        for place in &places {
            fs::create_dir_all(place.join(".idea")).unwrap();
            for number in 0..6 {
                fs::write(place.join(format!(".idea/{number}")), "").unwrap();
            }
        }
    });
    let is_removed = |it: &RevertedChange| it.result == RevertResult::Removed;
    assert!(undone.len() == 3 && undone.iter().all(is_removed), "{undone:?}");
    assert!(places.iter().all(|place| !place.join(".idea").exists()));
}

#[test]
fn directories_beyond_the_limit_are_removed_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("old/older")).unwrap();
    std::thread::sleep(SETTLED);
    let bounds = ScanLimits { directories_max: 4, ..ScanLimits::DEFAULT };
    let undone = concluded(&root, bounds, || {
        for number in 0..6 {
            fs::create_dir_all(root.join(format!("new/{number}/.idea"))).unwrap();
        }
        fs::create_dir(root.join("old/new")).unwrap();
        fs::write(root.join(".envrc"), "evil").unwrap();
        std::os::unix::fs::symlink("new/5", root.join("link")).unwrap();
    });
    assert!(undone.iter().all(|it| it.result == RevertResult::Removed), "{undone:?}");
    let names = |path: &Path| {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&root), ["link", "old"]);
    assert_eq!(names(&root.join("old")), ["older"]);
    // The next command starts.
    assert_eq!(concluded(&root, bounds, || {}), []);
}

#[test]
fn directories_that_are_too_deep_are_removed_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let bounds = ScanLimits { depth_max: 3, ..ScanLimits::DEFAULT };
    fs::create_dir_all(root.join("a/b/c")).unwrap();
    let undone = concluded(&root, bounds, || {
        for place in ["a/b/c/d/e/f/.idea", "a/b/c/g", "a/x/y/z"] {
            fs::create_dir_all(root.join(place)).unwrap();
        }
        fs::write(root.join("a/b/c/d/.envrc"), "evil").unwrap();
    });
    let mut found: Vec<_> = undone
        .iter()
        .map(|it| (it.path.strip_prefix(&root).unwrap(), it.pattern.as_str()))
        .collect();
    found.sort();
    let expect = ["a/b/c/d", "a/b/c/g", "a/x/y/z"].map(|path| (Path::new(path), ""));
    assert_eq!(found, expect);
    assert!(root.join("a/b/c").exists() && root.join("a/x/y").exists());
    assert_eq!(concluded(&root, bounds, || {}), []);
}

#[test]
fn paths_that_are_too_long_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let long = "n".repeat(250);
    let undone = concluded(&root, ScanLimits::DEFAULT, || {
        // The whole path is longer than the kernel takes, so each directory is entered.
        let script = format!(
            "cd '{}' && for i in $(seq 20); do mkdir {long} && cd {long} || exit 1; done; echo evil > .envrc",
            root.display()
        );
        let status = std::process::Command::new("bash").arg("-c").arg(script).status().unwrap();
        assert!(status.success());
    });
    assert_eq!(undone.len(), 1, "{undone:?}");
    assert_eq!(undone[0].result, RevertResult::Removed);
    assert_eq!(concluded(&root, ScanLimits::DEFAULT, || {}), []);
}

#[test]
fn what_another_command_planted_does_not_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let (link, old) = (root.join(".envrc"), root.join(".bashrc"));
    std::os::unix::fs::symlink("mine", &old).unwrap();
    let (cache, names) = (ScanCache::default(), ProtectedPaths::builtin());
    let take = || {
        let means = ScanOptions {
            mode: ProtectionMode::Copies,
            hidden: Vec::new(),
            quarantine: None,
            ruled: RuledPaths::default(),
        };
        ProtectedPathScan::scan_directories(&cache, std::slice::from_ref(&root), &names, means)
            .unwrap()
    };
    let first = take();
    std::os::unix::fs::symlink("evil", &link).unwrap();
    fs::write(root.join(".zshrc"), "evil").unwrap();
    fs::remove_file(&old).unwrap();
    std::os::unix::fs::symlink("evil", &old).unwrap();
    let second = take();
    let _ = first.reconcile();
    drop(first);
    let is_mine = || fs::read_link(&old).unwrap() == Path::new("mine");
    assert!(is_mine() && link.symlink_metadata().is_err());
    let _ = second.reconcile();
    assert!(is_mine() && link.symlink_metadata().is_err() && !root.join(".zshrc").exists());
    // Without the other scan, the missing file is restored.
    drop(second);
    let third = take();
    fs::remove_file(&old).unwrap();
    let _ = third.reconcile();
    assert!(is_mine());
}
