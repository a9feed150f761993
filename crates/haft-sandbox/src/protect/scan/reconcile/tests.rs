//! Reconciliation where the first scan could not be complete.

use std::fs;
use std::path::Path;

use super::super::report::{ProtectionMode, RevertResult, RevertedChange, ScanOptions};
use super::super::traversal::ScanLimits;
use super::super::{ProtectedPathScan, ScanCache};
use crate::protect::{ProtectedPaths, RuledPaths};

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
fn what_stays_unknown_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let bounds = ScanLimits { directories_max: 4, ..ScanLimits::DEFAULT };
    let undone = concluded(&root, bounds, || {
        for number in 0..6 {
            fs::create_dir(root.join(number.to_string())).unwrap();
        }
        fs::write(root.join(".envrc"), "evil").unwrap();
    });
    let found: Vec<_> = undone.iter().map(|it| (it.path.as_path(), it.pattern.as_str())).collect();
    assert_eq!(found, [(root.join(".envrc").as_path(), ".envrc"), (root.as_path(), "")]);
    assert!(
        matches!(&undone[1].result, RevertResult::Failed(reason) if reason.contains("more than 4 directories"))
    );
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
