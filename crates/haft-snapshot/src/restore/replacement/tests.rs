//! A file is saved after it was inspected and before it is replaced.

use std::fs;

use haft_sandbox::Root;

use super::*;

/// A directory with the file `name`, and its replacement.
struct Place {
    directory: tempfile::TempDir,
    root: Root,
}

impl Place {
    fn new(new: Option<&str>, old: Option<&str>) -> Place {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::open(directory.path()).unwrap();
        let place = Place { directory, root };
        for (name, text) in [(temporary_name(Path::new("name")), new), ("name".into(), old)] {
            let _ = text.map(|text| fs::write(place.directory.path().join(name), text).unwrap());
        }
        place
    }

    fn open(&self) -> OpenDirectory {
        OpenDirectory::open(&self.root, Path::new("")).unwrap()
    }

    /// Saves as editors do: another file takes the name.
    fn save(&self, text: &str) {
        fs::write(self.directory.path().join("saving"), text).unwrap();
        fs::rename(self.directory.path().join("saving"), self.directory.path().join("name"))
            .unwrap();
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.directory.path().join(name)).ok()
    }

    /// Checks the content of the name, and that no other files exist.
    fn check(&self, name: Option<&str>) {
        assert_eq!(self.text("name").as_deref(), name);
        let left = fs::read_dir(self.directory.path()).unwrap().count();
        assert_eq!(left, usize::from(name.is_some()), "{:?}", self.root.list(Path::new("")));
    }
}

fn is_changed(answer: &Result<(), RestoreError>) -> bool {
    matches!(answer, Err(RestoreError::Changed { .. }))
}

#[test]
fn what_was_expected_is_replaced() {
    let place = Place::new(Some("new"), Some("old"));
    let directory = place.open();
    let spot = ReplacementTarget::of(&directory, Path::new("name"));
    let seen = directory.entry_metadata(spot.name).unwrap().unwrap();
    spot.put(ExpectedEntry::Unchanged(seen)).unwrap();
    place.check(Some("new"));

    let place = Place::new(Some("new"), None);
    let directory = place.open();
    ReplacementTarget::of(&directory, Path::new("name")).put(ExpectedEntry::Absent).unwrap();
    place.check(Some("new"));
}

#[test]
fn what_changed_before_is_left() {
    let place = Place::new(Some("new"), Some("old"));
    let directory = place.open();
    let spot = ReplacementTarget::of(&directory, Path::new("name"));
    let seen = directory.entry_metadata(spot.name).unwrap().unwrap();
    place.save("saved");
    for expected in [ExpectedEntry::Unchanged(seen), ExpectedEntry::Absent] {
        let new = place.directory.path().join(&spot.temporary);
        fs::write(new, "new").unwrap();
        assert!(is_changed(&spot.put(expected)));
        place.check(Some("saved"));
    }
    assert!(matches!(
        spot.remove(ExpectedEntry::Unchanged(seen)),
        Err(RestoreError::Changed { .. })
    ));
    place.check(Some("saved"));
}

#[test]
fn what_is_saved_between_the_look_and_the_exchange_is_put_back() {
    let place = Place::new(Some("new"), Some("old"));
    let directory = place.open();
    let spot = ReplacementTarget::of(&directory, Path::new("name"));
    let new = directory.entry_metadata(OsStr::new(&spot.temporary)).unwrap().unwrap();
    let seen = directory.entry_metadata(spot.name).unwrap().unwrap();
    place.save("saved");
    assert!(is_changed(&spot.place(&new, ExpectedEntry::Unchanged(seen))));
    assert_eq!(place.text("name").as_deref(), Some("saved"));
    assert_eq!(place.text(&spot.temporary).as_deref(), Some("new"));
}

#[test]
fn what_comes_between_the_look_and_the_rename_is_not_replaced() {
    let place = Place::new(Some("new"), None);
    let directory = place.open();
    let spot = ReplacementTarget::of(&directory, Path::new("name"));
    let new = directory.entry_metadata(OsStr::new(&spot.temporary)).unwrap().unwrap();
    place.save("saved");
    assert!(is_changed(&spot.place(&new, ExpectedEntry::Absent)));
    assert_eq!(place.text("name").as_deref(), Some("saved"));

    spot.discard();
    fs::create_dir(place.directory.path().join(&spot.temporary)).unwrap();
    assert!(is_changed(&spot.put_directory()));
    place.check(Some("saved"));
}

#[test]
fn what_is_saved_between_the_look_and_the_removal_is_put_back() {
    let place = Place::new(None, Some("old"));
    let directory = place.open();
    let spot = ReplacementTarget::of(&directory, Path::new("name"));
    let seen = directory.entry_metadata(spot.name).unwrap().unwrap();
    place.save("saved");
    assert!(is_changed(&spot.take_away(&seen)));
    place.check(Some("saved"));

    let seen = directory.entry_metadata(spot.name).unwrap().unwrap();
    assert!(spot.remove(ExpectedEntry::Unchanged(seen)).unwrap());
    place.check(None);
}
