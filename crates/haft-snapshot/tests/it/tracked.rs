//! A series of records by one tracker. Each equals a walk of everything, whatever changed in between,
//! and costs only what changed.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use haft_snapshot::{RecordDurability, RecordOptions, RecordReport, RecordTracker};
use proptest::prelude::*;

use crate::Place;
use crate::random::{Operation, apply, operation, path, record_unaided};

impl Place {
    fn record_tracked(&self, tracker: &mut RecordTracker) -> RecordReport {
        self.store.record_tracked(&self.root, &self.options, tracker).unwrap()
    }
}

/// Returns the number of names that a record inspected after this change; the record is exact.
fn inspected_after(place: &Place, tracker: &mut RecordTracker, change: impl FnOnce(&Place)) -> u64 {
    place.record_tracked(tracker);
    change(place);
    let report = place.record_tracked(tracker);
    assert_eq!(report.tree, record_unaided(place));
    report.files
}

/// A workspace of 100 files in 10 directories.
fn hundred_files() -> Place {
    let place = Place::new();
    for directory in 0..10 {
        for file in 0..10 {
            place.write(format!("d{directory}/f{file}"), "text");
        }
    }
    place
}

#[test]
fn a_record_costs_what_changed() {
    let place = hundred_files();
    let mut tracker = RecordTracker::default();
    assert_eq!(place.record_tracked(&mut tracker).files, 110);
    let mut inspected = |change: &dyn Fn(&Place)| inspected_after(&place, &mut tracker, change);
    assert_eq!(inspected(&|_| {}), 0);
    assert_eq!(inspected(&|place| place.write("d3/f3", "other")), 1);
    assert_eq!(inspected(&|place| place.remove("d3/f3")), 0);
    assert_eq!(inspected(&|place| place.write("new/deep/file", "text")), 3);
    assert_eq!(inspected(&|place| place.write("new/deep/file", "longer text")), 1);
    assert_eq!(inspected(&|place| place.set_mode("d4", 0o700)), 0);
    assert_eq!(inspected(&|place| fs::rename(place.at("d5"), place.at("d6/d5")).unwrap()), 11);
    assert_eq!(inspected(&|place| place.write("d6/d5/f1", "moved")), 1);
}

#[test]
fn what_the_kernel_does_not_report_is_found_by_a_whole_walk() {
    let place = hundred_files();
    let whole = 111;
    let mut tracker = RecordTracker::default();
    let mut inspected = |change: &dyn Fn(&Place)| inspected_after(&place, &mut tracker, change);
    // The first name of the file is found by its second one.
    let link = |place: &Place| fs::hard_link(place.at("d1/f1"), place.at("d2/g")).unwrap();
    assert!(inspected(&link) >= whole);
    // From then on, both names are checked.
    assert_eq!(inspected(&|place| place.write("d2/g", "by the other name")), 2);
    assert_eq!(inspected(&|_| {}), 0);
}

#[test]
fn a_file_that_was_open_when_its_name_went_is_found_by_its_other_name() {
    let place = hundred_files();
    let mut tracker = RecordTracker::default();
    let mut held = File::options().append(true).open(place.at("d1/f1")).unwrap();
    inspected_after(&place, &mut tracker, |place| {
        fs::hard_link(place.at("d1/f1"), place.at("d2/g")).unwrap();
        place.remove("d1/f1");
    });
    inspected_after(&place, &mut tracker, |_| held.write_all(b"more").unwrap());
}

#[test]
fn another_process_that_records_or_prunes_causes_a_whole_walk() {
    let place = hundred_files();
    let mut tracker = RecordTracker::default();
    let pruned = inspected_after(&place, &mut tracker, |place| {
        place.write("d1/f1", "other");
        place.prune([]);
    });
    assert_eq!(pruned, 110);
    let recorded = inspected_after(&place, &mut tracker, |place| {
        place.write("d1/f1", "another");
        place.record();
    });
    assert_eq!(recorded, 110);
}

#[test]
fn more_changes_than_the_kernel_keeps_cause_a_whole_walk() {
    let max: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let place = hundred_files();
    let mut tracker = RecordTracker::default();
    let inspected = inspected_after(&place, &mut tracker, |place| {
        // Equal events in a row are one.
        let mut files = [0, 1].map(|file| {
            File::options().append(true).open(place.at(format!("d1/f{file}"))).unwrap()
        });
        for _ in 0..max {
            for file in &mut files {
                file.write_all(b"x").unwrap();
            }
        }
    });
    assert_eq!(inspected, 110);
}

/// A change that only a tracker can miss.
#[derive(Debug, Clone)]
enum TrackedOperation {
    Plain(Operation),
    HardLink(PathBuf, PathBuf),
    /// Opens a file and keeps it open.
    Hold(PathBuf),
    /// Appends to a file that is kept open, whatever its name is now.
    WriteHeld(prop::sample::Index, Vec<u8>),
    /// Writes the ignore rules of a directory.
    Ignore(PathBuf, &'static str),
    /// Makes a directory the top of a repository, or undoes that.
    Repository(PathBuf),
    /// Records now, between the other changes.
    Record,
}

fn tracked_operation() -> impl Strategy<Value = TrackedOperation> {
    let bytes = prop::collection::vec(any::<u8>(), 1..20);
    let rules = prop::sample::select(vec!["a/\n", "*.txt\n", "b\n!c.txt\n", ""]);
    prop_oneof![
        6 => operation().prop_map(TrackedOperation::Plain),
        1 => (path(), path()).prop_map(|(from, to)| TrackedOperation::HardLink(from, to)),
        1 => path().prop_map(TrackedOperation::Hold),
        2 => (any::<prop::sample::Index>(), bytes)
            .prop_map(|(held, bytes)| TrackedOperation::WriteHeld(held, bytes)),
        1 => (path(), rules).prop_map(|(path, rules)| TrackedOperation::Ignore(path, rules)),
        1 => path().prop_map(TrackedOperation::Repository),
        2 => Just(TrackedOperation::Record),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_change_is_missed(operations in prop::collection::vec(tracked_operation(), 1..40)) {
        let mut place = Place::new();
        place.options = RecordOptions {
            ignored_files_max: 4,
            ignored_bytes_max: 64,
            durability: RecordDurability::Later,
            ..RecordOptions::default()
        };
        let mut tracker = RecordTracker::default();
        let mut held: Vec<File> = Vec::new();
        for operation in operations.iter().chain([&TrackedOperation::Record]) {
            match operation {
                TrackedOperation::Plain(operation) => {
                    apply(&place, operation);
                }
                TrackedOperation::HardLink(from, to) => {
                    let _ = fs::hard_link(place.at(from), place.at(to));
                }
                TrackedOperation::Hold(path) => {
                    held.extend(File::options().append(true).open(place.at(path)));
                }
                TrackedOperation::WriteHeld(index, bytes) => {
                    if !held.is_empty() {
                        let index = index.index(held.len());
                        held[index].write_all(bytes).unwrap();
                    }
                }
                TrackedOperation::Ignore(directory, rules) => {
                    let _ = fs::write(place.at(directory.join(".gitignore")), rules);
                }
                TrackedOperation::Repository(directory) => {
                    let git = place.at(directory.join(".git"));
                    let _ = fs::remove_dir(&git).or_else(|_| fs::create_dir(&git));
                }
                TrackedOperation::Record => {
                    let tracked = place.record_tracked(&mut tracker).tree;
                    prop_assert_eq!(tracked, record_unaided(&place));
                }
            }
        }
    }
}
