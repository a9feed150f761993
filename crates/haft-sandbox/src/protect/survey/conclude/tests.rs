//! Looking again, where a first look could not be complete.

use std::fs;
use std::path::Path;

use super::super::look::Bounds;
use super::super::report::{Holding, Means, Remedy, Undone};
use super::super::{Survey, SurveyCache};
use crate::protect::ProtectedNames;

/// Takes a survey with small bounds, lets `command` happen, and returns what was undone.
fn concluded(root: &Path, bounds: Bounds, command: impl FnOnce()) -> Vec<Undone> {
    let means = Means { holding: Holding::Pinning, hidden: Vec::new(), quarantine: None };
    let (cache, names) = (SurveyCache::default(), ProtectedNames::builtin());
    let survey = Survey::take_within(&cache, &[root.to_path_buf()], &names, means, bounds).unwrap();
    command();
    survey.conclude()
}

#[test]
fn a_flood_of_protected_files_is_undone_until_all_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let bounds = Bounds { entries_max: 4, ..Bounds::DEFAULT };
    let places = ["a", "b", "c"].map(|name| root.join(name));
    let undone = concluded(&root, bounds, || {
        for place in &places {
            fs::create_dir_all(place.join(".idea")).unwrap();
            for number in 0..6 {
                fs::write(place.join(format!(".idea/{number}")), "").unwrap();
            }
        }
    });
    let is_removed = |it: &Undone| it.how == Remedy::Removed;
    assert!(undone.len() == 3 && undone.iter().all(is_removed), "{undone:?}");
    assert!(places.iter().all(|place| !place.join(".idea").exists()));
}

#[test]
fn what_stays_unknown_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let bounds = Bounds { directories_max: 4, ..Bounds::DEFAULT };
    let undone = concluded(&root, bounds, || {
        for number in 0..6 {
            fs::create_dir(root.join(number.to_string())).unwrap();
        }
        fs::write(root.join(".envrc"), "evil").unwrap();
    });
    let found: Vec<_> = undone.iter().map(|it| (it.path.as_path(), it.pattern.as_str())).collect();
    assert_eq!(found, [(root.join(".envrc").as_path(), ".envrc"), (root.as_path(), "")]);
    assert!(
        matches!(&undone[1].how, Remedy::Failed(reason) if reason.contains("more than 4 directories"))
    );
}

#[test]
fn what_another_command_planted_does_not_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let (link, old) = (root.join(".envrc"), root.join(".bashrc"));
    std::os::unix::fs::symlink("mine", &old).unwrap();
    let (cache, names) = (SurveyCache::default(), ProtectedNames::builtin());
    let take = || {
        let means = Means { holding: Holding::Comparing, hidden: Vec::new(), quarantine: None };
        Survey::take(&cache, std::slice::from_ref(&root), &names, means).unwrap()
    };
    let first = take();
    std::os::unix::fs::symlink("evil", &link).unwrap();
    fs::write(root.join(".zshrc"), "evil").unwrap();
    fs::remove_file(&old).unwrap();
    std::os::unix::fs::symlink("evil", &old).unwrap();
    let second = take();
    let _ = first.conclude();
    drop(first);
    let is_mine = || fs::read_link(&old).unwrap() == Path::new("mine");
    assert!(is_mine() && link.symlink_metadata().is_err());
    let _ = second.conclude();
    assert!(is_mine() && link.symlink_metadata().is_err() && !root.join(".zshrc").exists());
    // Alone again, what is missing comes back.
    drop(second);
    let third = take();
    fs::remove_file(&old).unwrap();
    let _ = third.conclude();
    assert!(is_mine());
}
