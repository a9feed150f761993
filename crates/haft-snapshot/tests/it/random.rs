//! Random changes of a workspace. Every record can be restored exactly, from any state of the
//! workspace, and a partial record equals a full one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use haft_snapshot::{ChangeScope, RecordOptions, SnapshotStore, TreeId};
use proptest::prelude::*;

use crate::Place;

/// One change of a workspace. It may be impossible in the current state.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    Write(PathBuf, Vec<u8>),
    Link(PathBuf, PathBuf),
    MakeDirectory(PathBuf),
    Remove(PathBuf),
    SetMode(PathBuf, u32),
    Rename(PathBuf, PathBuf),
}

/// Few names, so that they collide.
pub(crate) fn path() -> impl Strategy<Value = PathBuf> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c.txt", "d"]), 1..4)
        .prop_map(|names| names.iter().collect())
}

pub(crate) fn operation() -> impl Strategy<Value = Operation> {
    let bytes = prop::collection::vec(any::<u8>(), 0..20);
    // Without the owner's bits, the test would fail for users other than root.
    let mode = (0_u32..0o10000).prop_map(|mode| mode | 0o700);
    prop_oneof![
        4 => (path(), bytes).prop_map(|(path, bytes)| Operation::Write(path, bytes)),
        1 => (path(), path()).prop_map(|(path, target)| Operation::Link(path, target)),
        1 => path().prop_map(Operation::MakeDirectory),
        2 => path().prop_map(Operation::Remove),
        1 => (path(), mode).prop_map(|(path, mode)| Operation::SetMode(path, mode)),
        1 => (path(), path()).prop_map(|(from, to)| Operation::Rename(from, to)),
    ]
}

/// Applies an operation if possible, without following links, and returns the paths that it may
/// have changed.
pub(crate) fn apply(place: &Place, operation: &Operation) -> Vec<PathBuf> {
    let at = |path: &Path| place.at(path);
    match operation {
        Operation::Write(path, bytes) => {
            if has_plain_parents(place, path) && !at(path).is_symlink() && !at(path).is_dir() {
                place.write(path, bytes);
            }
            vec![path.clone()]
        }
        Operation::Link(path, target) => {
            if has_plain_parents(place, path) {
                fs::create_dir_all(at(path).parent().unwrap()).unwrap();
                let _ = std::os::unix::fs::symlink(target, at(path));
            }
            vec![path.clone()]
        }
        Operation::MakeDirectory(path) => {
            if has_plain_parents(place, path) {
                let _ = fs::create_dir_all(at(path));
            }
            vec![path.clone()]
        }
        Operation::Remove(path) => {
            if has_plain_parents(place, path) && fs::symlink_metadata(at(path)).is_ok() {
                place.remove(path);
            }
            vec![path.clone()]
        }
        Operation::SetMode(path, mode) => {
            if has_plain_parents(place, path)
                && fs::symlink_metadata(at(path)).is_ok_and(|metadata| !metadata.is_symlink())
            {
                place.set_mode(path, *mode);
            }
            vec![path.clone()]
        }
        Operation::Rename(from, to) => {
            if has_plain_parents(place, from) && has_plain_parents(place, to) {
                let _ = fs::rename(at(from), at(to));
            }
            vec![from.clone(), to.clone()]
        }
    }
}

/// Returns whether all existing parents of a path are directories.
fn has_plain_parents(place: &Place, path: &Path) -> bool {
    path.ancestors().skip(1).filter(|above| *above != Path::new("")).all(|above| {
        fs::symlink_metadata(place.at(above)).map_or(true, |metadata| metadata.is_dir())
    })
}

/// A record, and the state of the workspace at that time.
type Recording = (TreeId, BTreeMap<PathBuf, String>);

/// Records everything without a cache.
pub(crate) fn record_unaided(place: &Place) -> TreeId {
    let directory = tempfile::tempdir().unwrap();
    let store = SnapshotStore::open(directory.path()).unwrap();
    store.record(&place.root, &place.options, ChangeScope::Anything).unwrap().tree
}

/// Applies changes in turns, and records after each.
fn record_turns(place: &Place, turns: &[Vec<Operation>]) -> Vec<Recording> {
    let mut records = vec![(place.record(), place.listing())];
    for turn in turns {
        let mut paths: Vec<PathBuf> = Vec::new();
        for operation in turn {
            paths.extend(apply(place, operation));
        }
        // Writing has created the parent directories as well.
        let names: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
        let beneath = place.record_beneath(records[records.len() - 1].0, &names).tree;
        assert_eq!(beneath, record_unaided(place), "{paths:?}");
        records.push((beneath, place.listing()));
    }
    records
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn restoring_is_exact(
        turns in prop::collection::vec(prop::collection::vec(operation(), 1..8), 1..6),
        jumps in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let place = Place::new();
        let records = record_turns(&place, &turns);
        let mut now = records.len() - 1;
        for jump in jumps {
            let next = jump.index(records.len());
            let restored = place.restore(records[now].0, records[next].0).unwrap();
            prop_assert_eq!(place.listing(), records[next].1.clone());
            prop_assert_eq!(place.record(), records[next].0);
            prop_assert_eq!(restored.skipped, vec![]);
            now = next;
        }
    }

    #[test]
    fn bounds_on_ignored_things_do_not_depend_on_how_they_are_recorded(
        turns in prop::collection::vec(prop::collection::vec(operation(), 1..8), 1..6),
    ) {
        let mut place = Place::new();
        place.options = RecordOptions { ignored_files_max: 2, ignored_bytes_max: 8, ..RecordOptions::default() };
        place.write(".gitignore", "a/\n*.txt\n!/b/c.txt\n");
        record_turns(&place, &turns);
    }
}
