use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// Watches a directory and everything below it.
fn add_tree(watch: &mut DirectoryWatch, top: &Path, path: &Path) {
    let directory = File::open(top.join(path)).unwrap();
    watch.add_directory(directory.as_fd(), path);
    for entry in fs::read_dir(top.join(path)).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            add_tree(watch, top, &path.join(entry.file_name()));
        }
    }
}

/// A directory that is watched, with these directories below it.
fn watched(directories: &[&str]) -> (tempfile::TempDir, DirectoryWatch) {
    let top = tempfile::tempdir().unwrap();
    for directory in directories {
        fs::create_dir_all(top.path().join(directory)).unwrap();
    }
    let mut watch = DirectoryWatch::new(WatchedEvents::Contents).unwrap();
    add_tree(&mut watch, top.path(), Path::new(""));
    (top, watch)
}

fn taken(watch: &mut DirectoryWatch) -> String {
    let changes = watch.take_changes().unwrap();
    let trees = changes.trees.iter().map(|path| format!("tree {}", path.display()));
    let names = changes.names.iter().map(|(path, change)| format!("{} {change:?}", path.display()));
    trees.chain(names).collect::<Vec<_>>().join(", ")
}

#[test]
fn changes_are_told_once() {
    let (top, mut watch) = watched(&["a/b"]);
    assert_eq!(taken(&mut watch), "");
    fs::write(top.path().join("a/b/file"), "text").unwrap();
    fs::write(top.path().join("gone"), "text").unwrap();
    fs::remove_file(top.path().join("gone")).unwrap();
    assert_eq!(taken(&mut watch), "a/b/file Changed, gone Removed");
    assert_eq!(taken(&mut watch), "");
}

#[test]
fn attributes_are_changes_of_the_directory_too() {
    let (top, mut watch) = watched(&["a/b"]);
    let set_mode = |path: &str| {
        fs::set_permissions(top.path().join(path), fs::Permissions::from_mode(0o700)).unwrap();
    };
    set_mode("a/b");
    assert_eq!(taken(&mut watch), "a/b Changed");
    set_mode("");
    assert_eq!(taken(&mut watch), " Changed");
}

#[test]
fn a_directory_that_moved_is_followed_under_its_new_path() {
    let (top, mut watch) = watched(&["a/b", "c"]);
    fs::rename(top.path().join("a"), top.path().join("c/d")).unwrap();
    assert_eq!(taken(&mut watch), "tree a, tree c/d");
    add_tree(&mut watch, top.path(), Path::new("c/d"));
    fs::write(top.path().join("c/d/b/file"), "text").unwrap();
    assert_eq!(taken(&mut watch), "c/d/b/file Changed");
    fs::remove_dir_all(top.path().join("c")).unwrap();
    assert!(taken(&mut watch).starts_with("tree c"));
    assert!(watch.paths.len() == 1 && watch.descriptors.len() == 1, "{watch:?}");
}

#[test]
fn a_watch_that_missed_something_is_lost_for_good() {
    let (top, mut watch) = watched(&["a", "b"]);
    // The same directory under a second path, as a bind mount has it.
    watch.add_directory(File::open(top.path().join("a")).unwrap().as_fd(), Path::new("b"));
    assert_eq!(watch.take_changes(), None);
    assert_eq!(watch.take_changes(), None);
}

#[test]
fn a_file_system_of_others_is_not_watched() {
    let mut watch = DirectoryWatch::new(WatchedEvents::Names).unwrap();
    watch.add_directory(File::open("/proc/self").unwrap().as_fd(), Path::new(""));
    assert_eq!(watch.take_changes(), None);
}

#[test]
fn so_many_paths_change_and_no_more() {
    let (top, mut watch) = watched(&[]);
    // The kernel's queue may be shorter than the bound.
    let names =
        (0..WATCHED_CHANGES_MAX).map(|name| (PathBuf::from(name.to_string()), NameChange::Changed));
    let mut changes = WatchedChanges { names: names.collect(), ..WatchedChanges::default() };
    assert_eq!(watch.read_events(&mut changes), Some(()));
    File::create(top.path().join("one more")).unwrap().write_all(b"text").unwrap();
    assert_eq!(watch.read_events(&mut changes), None);
}
