//! The contents of a record, the paths that it omits, and that its cost depends on the changes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_sandbox::InodeKind;
use haft_snapshot::{
    ChangeScope, OmissionReason, PathState, RecordError, RecordReport, SnapshotStore,
};

use crate::{Place, lines};

fn check_left_out(recorded: &RecordReport, expect: Expect) {
    expect.assert_eq(&lines(&recorded.omitted, |left| {
        format!("{}: {}, {}", left.path.display(), left.entry.kind, left.entry.reason)
    }));
    assert_eq!(recorded.omitted_total, recorded.omitted.len() as u64);
}

fn check_counts(recorded: &RecordReport, [files, read, written]: [u64; 3]) {
    assert_eq!([recorded.files, recorded.read, recorded.written], [files, read, written]);
}

/// Moves every file's last change into the past of the next record. The clock that stamps files
/// only ticks while files are written.
fn let_time_pass(place: &Place) {
    let probe = place.directory.path().join("probe");
    let changed = |path: &Path| {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::write(path, "").unwrap();
        let metadata = std::fs::metadata(path).unwrap();
        (metadata.ctime(), metadata.ctime_nsec())
    };
    let first = changed(&probe);
    while changed(&probe) == first {}
}

#[test]
fn an_unchanged_workspace_costs_neither_reads_nor_objects() {
    let place = Place::with(&["a", "b/c", "b/d/e", "empty/"]);
    let_time_pass(&place);
    let first = place.recorded();
    // Four contents, and the directories b/d, b, empty and the root.
    check_counts(&first, [6, 3, 3 + 4]);
    let second = place.recorded();
    check_counts(&second, [6, 0, 0]);
    assert_eq!(first.tree, second.tree);
}

#[test]
fn a_change_costs_its_file_and_the_directories_above() {
    let place = Place::with(&["a", "b/c", "b/d/e", "empty/"]);
    let_time_pass(&place);
    let first = place.record();
    place.write("b/d/e", "new");
    let beneath = place.record_beneath(first, &["b/d/e"]);
    check_counts(&beneath, [1, 1, 4]);
    let whole = place.recorded();
    check_counts(&whole, [6, 1, 0]);
    assert_eq!(beneath.tree, whole.tree);
}

#[test]
fn files_changed_in_the_tick_of_a_record_are_read_again() {
    let place = Place::with(&["a"]);
    let mut trees = Vec::new();
    // Contents of equal length, written as fast as possible: their stamps are often equal.
    for round in 0..200 {
        place.write("a", format!("{round:04}"));
        trees.push(place.record());
        let text = place.store.look_up(trees[round], Path::new("a")).unwrap();
        let Some(PathState::File(file)) = text else { panic!("no file: {text:?}") };
        let bytes = place.store.content(file.content, file.size_bytes).unwrap();
        assert_eq!(bytes, format!("{round:04}").into_bytes());
    }
}

#[test]
fn the_same_workspace_is_the_same_tree_elsewhere() {
    let paths = ["a", "b/c", "b/d/e", "empty/"];
    assert_eq!(Place::with(&paths).record(), Place::with(&paths).record());
}

#[test]
fn paths_are_recorded_beneath_as_they_are_as_a_whole() {
    let place = Place::with(&["a", "b/c", "b/d/e", "f/g/h", "gone/x", "kind/y", "keep/z"]);
    let first = place.record();
    place.write("b/new/deep/file", "new");
    place.write("f/g/h", "other");
    place.set_mode("b/d", 0o700);
    place.remove("gone");
    place.remove("kind");
    place.write("kind", "a file now");
    place.remove("a");
    place.link("keep", "a");
    let paths = ["b/new/deep/file", "b/d", "f/g", "gone/x", "gone", "kind/y", "a", "not/there"];
    assert_eq!(place.record_beneath(first, &paths).tree, place.record());
}

#[test]
fn paths_that_are_not_named_are_taken_over() {
    let place = Place::with(&["a", "b"]);
    let first = place.record();
    place.write("a", "new");
    place.write("b", "new");
    let beneath = place.record_beneath(first, &["a"]).tree;
    place.write("b", "b");
    assert_eq!(beneath, place.record());
}

#[test]
fn no_path_changes_nothing_and_the_root_is_everything() {
    let place = Place::with(&["a"]);
    let first = place.record();
    place.write("a", "new");
    assert_eq!(place.record_beneath(first, &[]).tree, first);
    assert_eq!(place.record_beneath(first, &[""]).tree, place.record());
}

#[test]
fn only_canonical_paths_are_recorded_beneath() {
    let place = Place::with(&["a"]);
    let previous = place.record();
    for path in ["../a", "/a", "./a"] {
        let paths = [PathBuf::from(path)];
        let changed = ChangeScope::Beneath { previous, paths: &paths };
        let answer = place.store.record(&place.root, &place.options, changed);
        assert!(matches!(answer, Err(RecordError::NotCanonical { .. })), "{path}: {answer:?}");
    }
}

#[test]
fn git_directories_are_not_looked_into_however_they_are_written() {
    let place = Place::with(&["a", "nested/file"]);
    let without = place.record();
    for git in [".git/config", "nested/.GIT/objects/x", "nested/deep/.Git"] {
        place.write(git, "git's own");
    }
    place.remove("nested/deep/.Git");
    place.remove("nested/deep");
    let recorded = place.recorded();
    assert_eq!(recorded.tree, without);
    check_left_out(&recorded, expect![[""]]);
    assert_eq!(place.record_beneath(without, &[".git/config", "nested/.GIT"]).tree, without);
}

#[test]
fn names_are_bytes() {
    let place = Place::new();
    let names: [&[u8]; 4] = [b"new\nline", b"\xff\xfe", b" ", b"-rf"];
    for name in names {
        place.write(OsStr::from_bytes(name), name);
    }
    place.link(OsStr::from_bytes(b"\xff/\n"), "link");
    let tree = place.record();
    let before = place.listing();
    for name in names {
        place.remove(OsStr::from_bytes(name));
    }
    place.remove("link");
    let empty = place.record();
    place.restore(empty, tree).unwrap();
    assert_eq!(place.listing(), before);
}

#[test]
fn what_is_no_file_is_noted() {
    let place = Place::with(&["a"]);
    let _socket = std::os::unix::net::UnixListener::bind(place.at("socket")).unwrap();
    let fifo = rustix::fs::mknodat(
        rustix::fs::CWD,
        place.at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    );
    fifo.unwrap();
    check_left_out(
        &place.recorded(),
        expect![[r#"
            pipe: a named pipe, neither a file nor a directory nor a link
            socket: a socket, neither a file nor a directory nor a link
        "#]],
    );
}

#[test]
fn large_files_are_noted_with_their_size() {
    let mut place = Place::with(&["a", "large"]);
    place.options.file_bytes_max = 4;
    let recorded = place.recorded();
    check_left_out(
        &recorded,
        expect![[r#"
            large: a regular file, larger than files may be
        "#]],
    );
    let state = place.store.look_up(recorded.tree, Path::new("large")).unwrap();
    let Some(PathState::Omitted(left_out)) = state else { panic!("recorded: {state:?}") };
    assert_eq!((left_out.kind, left_out.size_bytes), (InodeKind::Regular, 5));
    assert_eq!(left_out.reason, OmissionReason::TooLarge);
    place.options.file_bytes_max = 5;
    check_left_out(&place.recorded(), expect![[""]]);
}

#[test]
fn ignored_files_are_recorded_within_their_bounds() {
    let mut place = Place::with(&["kept.log", "b/small.log", "b/large.log", "large.txt"]);
    place.write(".gitignore", "*.log\n!kept.log\n");
    place.write("b/small.log", "012345678");
    place.write("b/large.log", "0123456789");
    place.write("kept.log", "0123456789");
    place.write("large.txt", "0123456789");
    place.options.ignored_bytes_max = 9;
    let first = place.recorded();
    check_left_out(
        &first,
        expect![[r#"
            b/large.log: a regular file, ignored, and larger than ignored things may be
        "#]],
    );
    // The entry of an intentionally omitted path does not change with it.
    place.write("b/large.log", "even larger than it was");
    assert_eq!(place.record(), first.tree);
}

#[test]
fn an_ignored_directory_is_recorded_whole_or_not_at_all() {
    let mut place = Place::with(&["target/debug/a", "target/debug/b", "target/c", "src/target"]);
    place.write(".gitignore", "target/\n");
    place.options.ignored_files_max = 4;
    let whole = place.recorded();
    check_left_out(&whole, expect![[""]]);
    place.write("target/debug/d", "one too many");
    let heavy = place.recorded();
    check_left_out(
        &heavy,
        expect![[r#"
            target: a directory, ignored, and larger than ignored things may be
        "#]],
    );
    assert_eq!(place.record_beneath(whole.tree, &["target/debug/d"]).tree, heavy.tree);
    place.options.ignored_bytes_max = 20;
    place.options.ignored_files_max = 1_000;
    check_left_out(
        &place.recorded(),
        expect![[r#"
            target: a directory, ignored, and larger than ignored things may be
        "#]],
    );
}

#[test]
fn an_ignored_directory_over_its_bound_is_not_counted_again() {
    let mut place = Place::with(&["target/debug/a", "target/debug/b", "src/main"]);
    place.write(".gitignore", "target/\n");
    place.options.ignored_files_max = 2;
    let_time_pass(&place);
    let heavy = place.record();
    place.remove("target/debug/a");
    // No name was added or removed in the directory itself, so it counts as large as before.
    assert_eq!(place.record(), heavy);
    place.write("target/new", "");
    place.remove("target/new");
    place.remove("target/debug/b");
    let light = place.recorded();
    check_left_out(&light, expect![[""]]);
}

#[test]
fn rules_end_at_a_nested_repository() {
    let mut place = Place::with(&["nested/.git/HEAD", "nested/a.log", "b.log"]);
    place.write(".gitignore", "*.log\n");
    place.options.ignored_bytes_max = 0;
    check_left_out(
        &place.recorded(),
        expect![[r#"
            b.log: a regular file, ignored, and larger than ignored things may be
        "#]],
    );
}

#[test]
fn what_is_excluded_is_noted_by_name() {
    let mut place = Place::with(&["secret", "b/secret", "b/c", "cache/x/y"]);
    place.options.excluded = vec!["/secret".into(), "cache/".into()];
    let first = place.recorded();
    check_left_out(
        &first,
        expect![[r#"
            cache: a directory, excluded
            secret: a regular file, excluded
        "#]],
    );
    place.write("cache/x/y", "changed");
    assert_eq!(place.record(), first.tree);
    assert_eq!(place.record_beneath(first.tree, &["cache/x/y", "secret"]).tree, first.tree);
}

#[test]
fn a_pattern_that_is_none_is_an_error() {
    let mut place = Place::new();
    place.options.excluded = vec!["{a".into()];
    let err = place.store.record(&place.root, &place.options, ChangeScope::Anything).unwrap_err();
    assert!(matches!(err, RecordError::Pattern { .. }), "{err}");
}

#[test]
fn more_files_than_are_recorded_is_an_error() {
    let mut place = Place::with(&["a", "b/c"]);
    place.options.files_max = 3;
    check_counts(&place.recorded(), [3, 2, 4]);
    place.write("d", "");
    let err = place.store.record(&place.root, &place.options, ChangeScope::Anything).unwrap_err();
    expect!["the workspace has more than 3 files; exclude directories or raise the limit"]
        .assert_eq(&err.to_string());
}

#[test]
fn what_lies_too_deep_is_noted() {
    let place = Place::new();
    let deep: PathBuf = std::iter::repeat_n("d", haft_snapshot::limits::DEPTH_MAX + 1).collect();
    place.write(deep.join("file"), "");
    let recorded = place.recorded();
    assert_eq!(recorded.omitted.len(), 1);
    assert_eq!(recorded.omitted[0].path, deep);
    assert_eq!(recorded.omitted[0].entry.reason, OmissionReason::TooDeep);
}

#[test]
fn temporaries_of_haft_are_passed_over() {
    let place = Place::with(&["a"]);
    let without = place.record();
    place.write(".haft-0123abcd.tmp", "half a file");
    assert_eq!(place.record(), without);
}

#[test]
fn a_store_in_the_workspace_is_refused() {
    let place = Place::with(&["a"]);
    let inside = haft_snapshot::SnapshotStore::open(&place.at("store")).unwrap();
    let err = inside.record(&place.root, &place.options, ChangeScope::Anything).unwrap_err();
    assert!(matches!(err, RecordError::Inside), "{err}");
}

#[test]
fn no_more_is_listed_than_the_bound() {
    let mut place = Place::new();
    place.options.excluded = vec!["*.x".into()];
    let listed_max = haft_snapshot::limits::LEFT_OUT_LISTED_MAX;
    for number in 0..=listed_max {
        place.write(format!("{number}.x"), "");
    }
    let recorded = place.recorded();
    assert_eq!(recorded.omitted.len(), listed_max);
    assert_eq!(recorded.omitted_total, listed_max as u64 + 1);
}

#[test]
fn a_hidden_file_is_not_even_opened() {
    use std::os::unix::fs::MetadataExt as _;
    let mut place = Place::with(&["log/j", "a"]);
    place.store = SnapshotStore::open(&place.stored()).unwrap().with_hidden([place.at("log/j")]);
    let file = std::fs::File::options().write(true).open(place.at("log/j")).unwrap();
    // Such a lock is released when its process closes any descriptor of the file; SQLite can lose
    // its own lock in this way.
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let entry = format!(":{} ", file.metadata().unwrap().ino());
    let is_locked = || std::fs::read_to_string("/proc/locks").unwrap().contains(&entry);
    assert!(is_locked());
    place.record();
    place.record_beneath(place.record(), &["log", "log/j"]);
    assert!(is_locked());
}

#[test]
fn of_an_exact_path_nothing_beneath_is_recorded() {
    let place = Place::with(&["dir/sub/a", "dir/b", "file", "beside"]);
    place.set_mode("dir", 0o710);
    let paths = ["dir", "dir/sub/a", "file", "gone"].map(PathBuf::from);
    let exactly = ChangeScope::Exactly { paths: &paths };
    let tree = place.store.record(&place.root, &place.options, exactly).unwrap().tree;
    let known = |path: &str| place.store.look_up(tree, path.as_ref()).unwrap();
    assert_eq!(known("dir"), Some(PathState::Directory { mode: 0o710 }));
    assert!(known("dir/sub/a").is_some() && known("file").is_some());
    assert_eq!(["dir/b", "beside", "gone"].map(known), [const { None }; 3]);
}
