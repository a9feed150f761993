//! Change sets: the effect of a whole set, and that a failed one has no effect.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use haft_sandbox::{
    CHANGES_MAX, ChangeSetError, ExpectedFile, InodeKind, InodeStamp, Root, RootError,
    RootFileChange, is_temporary,
};
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

use crate::{roots, tree};

fn write(path: &str, contents: impl AsRef<[u8]>) -> RootFileChange {
    write_if(path, contents, ExpectedFile::Any)
}

fn write_if(path: &str, contents: impl AsRef<[u8]>, expected: ExpectedFile) -> RootFileChange {
    let contents = contents.as_ref().to_vec();
    RootFileChange::Write { path: path.into(), contents, mode: None, expected }
}

fn remove(path: &str) -> RootFileChange {
    RootFileChange::Remove { path: path.into(), expected: ExpectedFile::Any }
}

fn stamp(root: &Root, path: &str) -> InodeStamp {
    root.metadata(Path::new(path)).unwrap().stamp
}

/// The state of a tree that a failed set must not change.
fn state(path: &Path) -> BTreeMap<String, (u32, u64, i64, i64, Vec<u8>)> {
    let describe = |name: String| {
        let path = path.join(&name);
        let metadata = fs::symlink_metadata(&path).unwrap();
        // A file that cannot be read, or is not regular, is compared by its other properties.
        let content =
            if metadata.is_file() { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let (seconds, rest) =
            if metadata.is_file() { (metadata.mtime(), metadata.mtime_nsec()) } else { (0, 0) };
        (name, (metadata.mode(), metadata.ino(), seconds, rest, content))
    };
    tree(path).into_iter().map(describe).collect()
}

/// Creates a tree with one file of each kind.
fn furnished() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir_all(path.join("dir/full")).unwrap();
    fs::write(path.join("one"), "first").unwrap();
    fs::write(path.join("two"), "second").unwrap();
    fs::write(path.join("dir/full/three"), "third").unwrap();
    fs::set_permissions(path.join("two"), Permissions::from_mode(0o751)).unwrap();
    mkfifoat(CWD, path.join("fifo"), Mode::RUSR).unwrap();
    symlink("one", path.join("link")).unwrap();
    directory
}

/// Applies a set that must fail, in every variant, and checks that nothing has changed.
fn check_failure(
    changes: impl Fn(&Root) -> Vec<RootFileChange>,
    is_expected: fn(&ChangeSetError) -> bool,
) {
    let directory = furnished();
    let before = state(directory.path());
    for root in roots(directory.path()) {
        let error = root.apply(changes(&root)).unwrap_err();
        assert!(is_expected(&error), "{error:?}");
        assert_eq!(state(directory.path()), before);
    }
}

#[test]
fn a_set_creates_replaces_and_removes() {
    let directory = furnished();
    for root in roots(directory.path()) {
        let changes = vec![
            write("one", "1"),
            write("new", "2"),
            write("made/for/this", "3"),
            remove("dir/full/three"),
        ];
        root.apply(changes).unwrap();
        let path = directory.path();
        assert_eq!(fs::read(path.join("one")).unwrap(), b"1");
        assert_eq!(fs::read(path.join("new")).unwrap(), b"2");
        assert_eq!(fs::read(path.join("made/for/this")).unwrap(), b"3");
        let expected = [
            "dir",
            "dir/full",
            "fifo",
            "link",
            "made",
            "made/for",
            "made/for/this",
            "new",
            "one",
            "two",
        ];
        assert_eq!(tree(path), expected);
        root.apply(vec![write("dir/full/three", "third"), remove("new")]).unwrap();
        fs::remove_dir_all(path.join("made")).unwrap();
    }
}

#[test]
fn a_link_is_no_target() {
    check_failure(
        |_| vec![write("link", "")],
        |error| matches!(error, ChangeSetError::Path(RootError::Exchanged { .. })),
    );
}

#[test]
fn an_empty_set_does_nothing() {
    let directory = furnished();
    let before = state(directory.path());
    Root::open(directory.path()).unwrap().apply(Vec::new()).unwrap();
    assert_eq!(state(directory.path()), before);
}

#[test]
fn bytes_are_written_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let contents: [&[u8]; 5] =
        [b"\xef\xbb\xbfa\r\nb\r\n", b"\r\r\n\n", b"\0\xff\xfe", b"", b"no line end"];
    for root in roots(directory.path()) {
        for content in contents {
            root.apply(vec![write("file", content)]).unwrap();
            assert_eq!(fs::read(directory.path().join("file")).unwrap(), content);
        }
    }
}

#[test]
fn a_replaced_file_keeps_its_mode() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    for root in roots(directory.path()) {
        for mode in [0o600, 0o644, 0o755, 0o777, 0o4755, 0o2711] {
            fs::write(&file, "old").unwrap();
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            root.apply(vec![write("file", "new")]).unwrap();
            assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, mode, "{mode:o}");
        }
    }
}

#[test]
fn a_replaced_file_keeps_its_owner() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "old").unwrap();
    // Only a privileged user can change a file's owner; for others the owner stays the same.
    let _ = std::os::unix::fs::chown(&file, Some(4_321), Some(1_234));
    let before = fs::metadata(&file).unwrap();
    for root in roots(directory.path()) {
        root.apply(vec![write("file", "new")]).unwrap();
        let after = fs::metadata(&file).unwrap();
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    }
}

#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("usual"), "").unwrap();
    let usual = fs::metadata(directory.path().join("usual")).unwrap().mode();
    for root in roots(directory.path()) {
        root.apply(vec![write("new", ""), write("in/new", "")]).unwrap();
        assert_eq!(stamp(&root, "new").mode, usual);
        assert_eq!(stamp(&root, "in/new").mode, usual);
        root.apply(vec![remove("new")]).unwrap();
    }
}

#[test]
fn an_explicit_mode_is_exact() {
    let directory = tempfile::tempdir().unwrap();
    let change = |mode| RootFileChange::Write {
        path: "file".into(),
        contents: b"x".to_vec(),
        mode: Some(mode),
        expected: ExpectedFile::Any,
    };
    for root in roots(directory.path()) {
        for mode in [0o777, 0o600, 0o755] {
            root.apply(vec![change(mode)]).unwrap();
            assert_eq!(stamp(&root, "file").permissions(), mode);
        }
        root.apply(vec![remove("file")]).unwrap();
    }
}

#[test]
fn what_was_expected_must_hold() {
    let is_changed = |error: &ChangeSetError| matches!(error, ChangeSetError::Changed { .. });
    check_failure(|_| vec![write_if("one", "x", ExpectedFile::Absent)], is_changed);
    check_failure(
        |root| vec![write_if("one", "x", ExpectedFile::Unchanged(stamp(root, "two")))],
        is_changed,
    );
    check_failure(
        |root| vec![write_if("none", "x", ExpectedFile::Unchanged(stamp(root, "two")))],
        is_changed,
    );
    let remove_if = |path: &str, expected| RootFileChange::Remove { path: path.into(), expected };
    check_failure(
        |root| vec![remove_if("one", ExpectedFile::Unchanged(stamp(root, "two")))],
        is_changed,
    );
    check_failure(
        |root| vec![remove_if("none", ExpectedFile::Unchanged(stamp(root, "two")))],
        is_changed,
    );
    let directory = furnished();
    for root in roots(directory.path()) {
        let (one, two) = (stamp(&root, "one"), stamp(&root, "two"));
        let changes = vec![
            write_if("one", "x", ExpectedFile::Unchanged(one)),
            remove_if("two", ExpectedFile::Unchanged(two)),
            write_if("new", "x", ExpectedFile::Absent),
        ];
        root.apply(changes).unwrap();
        root.apply(vec![write("two", ""), remove("new")]).unwrap();
    }
}

#[test]
fn any_edit_makes_a_stamp_stale() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    for root in roots(directory.path()) {
        fs::write(&file, "same size").unwrap();
        let seen = stamp(&root, "file");
        root.apply(vec![write("file", "same-size")]).unwrap();
        let error =
            root.apply(vec![write_if("file", "x", ExpectedFile::Unchanged(seen))]).unwrap_err();
        assert!(matches!(error, ChangeSetError::Changed { .. }), "{error}");
        assert_eq!(fs::read(&file).unwrap(), b"same-size");
    }
}

#[test]
fn replacements_get_later_times_however_fast_they_follow() {
    let directory = tempfile::tempdir().unwrap();
    for root in roots(directory.path()) {
        root.apply(vec![write("file", "0")]).unwrap();
        let mut last = stamp(&root, "file").modified_ns;
        for number in 0..100 {
            root.apply(vec![write("file", format!("{}", number % 10))]).unwrap();
            let next = stamp(&root, "file").modified_ns;
            assert!(next > last);
            last = next;
        }
    }
}

#[test]
fn what_is_no_regular_file_is_no_target() {
    for (path, expected) in [("dir", InodeKind::Directory), ("fifo", InodeKind::Fifo)] {
        for change in [write(path, ""), remove(path)] {
            let directory = furnished();
            let before = state(directory.path());
            for root in roots(directory.path()) {
                match root.apply(vec![change.clone()]).unwrap_err() {
                    ChangeSetError::Path(RootError::NotRegular { kind, .. }) => {
                        assert_eq!(kind, expected)
                    }
                    error => panic!("{error:?}"),
                }
                assert_eq!(state(directory.path()), before);
            }
        }
    }
}

#[test]
fn the_root_itself_is_no_target() {
    check_failure(
        |_| vec![write("", "x")],
        |error| matches!(error, ChangeSetError::Path(RootError::NotRegular { .. })),
    );
}

#[test]
fn a_failure_anywhere_undoes_everything() {
    let changes = |last: RootFileChange| {
        move |_: &Root| {
            vec![
                write("one", "changed"),
                write("two", "changed"),
                write("made/for/this", "new"),
                remove("dir/full/three"),
                last.clone(),
            ]
        }
    };
    check_failure(changes(remove("missing")), |error| {
        matches!(error, ChangeSetError::Path(RootError::NotFound { .. }))
    });
    check_failure(changes(write("dir", "x")), |error| {
        matches!(error, ChangeSetError::Path(RootError::NotRegular { .. }))
    });
    check_failure(changes(write("one/x", "x")), |error| {
        matches!(error, ChangeSetError::Path(RootError::NotADirectory { .. }))
    });
    check_failure(changes(write_if("fifo", "x", ExpectedFile::Absent)), |error| {
        matches!(error, ChangeSetError::Path(RootError::NotRegular { .. }))
    });
    check_failure(changes(write(&"x".repeat(300), "x")), |error| {
        matches!(error, ChangeSetError::Path(RootError::TooLong { .. }))
    });
}

#[test]
fn a_file_is_no_directory_for_another_of_the_same_set() {
    check_failure(
        |_| vec![write("one", "x"), remove("two"), write("zzz", "x"), write("zzz/file", "x")],
        |error| matches!(error, ChangeSetError::Path(RootError::NotRegular { .. })),
    );
}

#[test]
fn both_names_of_one_file_can_be_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    for root in roots(path) {
        fs::write(path.join("one"), "old").unwrap();
        fs::hard_link(path.join("one"), path.join("two")).unwrap();
        let seen = ExpectedFile::Unchanged(stamp(&root, "one"));
        root.apply(vec![write_if("one", "1", seen), write_if("two", "2", seen)]).unwrap();
        assert_eq!(fs::read(path.join("one")).unwrap(), b"1");
        assert_eq!(fs::read(path.join("two")).unwrap(), b"2");
        root.apply(vec![remove("one"), remove("two")]).unwrap();
    }
}

/// Runs `work` as an unprivileged user if the tests run as a privileged one; otherwise as the
/// current user.
fn unprivileged<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    use rustix::process::{Gid, Uid, geteuid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if geteuid().is_root() {
                // These set the credentials of this thread alone.
                let (user, group) = (Uid::from_raw(65_534), Gid::from_raw(65_534));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(group, group, group).unwrap();
                set_thread_res_uid(user, user, user).unwrap();
            }
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn protection_is_respected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let set = |name: &str, mode| {
        fs::set_permissions(path.join(name), Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir(path.join("closed")).unwrap();
    fs::create_dir(path.join("open")).unwrap();
    for name in ["closed/file", "open/read-only", "open/secret"] {
        fs::write(path.join(name), "old").unwrap();
    }
    for (name, mode) in [
        ("", 0o755),
        ("closed", 0o555),
        ("open", 0o777),
        ("open/read-only", 0o444),
        ("open/secret", 0),
    ] {
        set(name, mode);
    }
    let before = state(path);
    for root in roots(path) {
        let (applied, opened) = unprivileged(|| {
            let sets = [
                write("closed/file", "x"),
                write("closed/new", "x"),
                write("closed/made/new", "x"),
                remove("closed/file"),
                write("open/read-only", "x"),
            ];
            let applied = sets.map(|change| root.apply(vec![write("open/other", "x"), change]));
            (applied, root.open_file(Path::new("open/secret")))
        });
        for result in applied {
            let error = result.unwrap_err();
            assert!(matches!(error, ChangeSetError::Path(RootError::Denied { .. })), "{error:?}");
        }
        assert!(matches!(opened.unwrap_err(), RootError::Denied { .. }));
        assert_eq!(state(path), before);
    }
    set("closed", 0o755);
}

#[test]
fn twice_the_same_file_is_refused() {
    check_failure(
        |_| vec![write("one", "x"), remove("one")],
        |error| matches!(error, ChangeSetError::Duplicate { .. }),
    );
}

#[test]
fn a_set_has_a_largest_size() {
    let directory = tempfile::tempdir().unwrap();
    let changes = |count: usize| -> Vec<RootFileChange> {
        (0..count).map(|number| write(&format!("{number}/file"), "x")).collect()
    };
    for root in roots(directory.path()) {
        let error = root.apply(changes(CHANGES_MAX + 1)).unwrap_err();
        assert!(matches!(error, ChangeSetError::TooMany { .. }), "{error}");
        assert!(tree(directory.path()).is_empty());
        root.apply(changes(CHANGES_MAX)).unwrap();
        assert_eq!(tree(directory.path()).len(), 2 * CHANGES_MAX);
        for number in 0..CHANGES_MAX {
            fs::remove_dir_all(directory.path().join(number.to_string())).unwrap();
        }
    }
}

#[test]
fn concurrent_sets_lose_no_update() {
    const WRITERS: usize = 4;
    const UPDATES: usize = 60;
    let directory = tempfile::tempdir().unwrap();
    for root in roots(directory.path()) {
        root.apply(vec![write("counter", "0000"), write("shadow", "0000")]).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..WRITERS {
                scope.spawn(|| (0..UPDATES).for_each(|_| increment(&root)));
            }
        });
        let expected = format!("{:04}", WRITERS * UPDATES);
        for name in ["counter", "shadow"] {
            assert_eq!(fs::read_to_string(directory.path().join(name)).unwrap(), expected);
        }
        assert_eq!(tree(directory.path()), ["counter", "shadow"]);
    }
}

/// Increments both counters in one set, and retries until it succeeds.
fn increment(root: &Root) {
    const TRIES_MAX: u32 = 100_000;
    for _ in 0..TRIES_MAX {
        let opened = root.open_file(Path::new("counter")).unwrap();
        let Ok(number) = std::io::read_to_string(opened.file).unwrap().parse::<usize>() else {
            panic!("half a file was seen");
        };
        let next = format!("{:04}", number + 1);
        let changes = vec![
            write("shadow", &next),
            write_if("counter", &next, ExpectedFile::Unchanged(opened.stamp)),
        ];
        match root.apply(changes) {
            Ok(()) => return,
            Err(ChangeSetError::Changed { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("no update came through");
}

#[test]
fn sets_that_fail_do_not_disturb_sets_in_the_same_new_directory() {
    let directory = tempfile::tempdir().unwrap();
    for root in roots(directory.path()) {
        std::thread::scope(|scope| {
            let failing = scope.spawn(|| {
                for _ in 0..300 {
                    root.apply(vec![write("new/dir/x", "x"), remove("missing")]).unwrap_err();
                }
            });
            while !failing.is_finished() {
                root.apply(vec![write("new/dir/y", "y")]).unwrap();
                root.apply(vec![remove("new/dir/y")]).unwrap();
                let _ = fs::remove_dir(directory.path().join("new/dir"));
            }
        });
        let _ = fs::remove_dir_all(directory.path().join("new"));
        assert!(tree(directory.path()).is_empty());
    }
}

#[test]
fn temporaries_are_recognised() {
    let is = |name: &str| is_temporary(name.as_ref());
    assert!(is(".haft-0123abcd.tmp"));
    assert!(is(".haft-0123abcd00ff.tmp"));
    for name in [
        ".haft-.tmp",
        ".haft-0123abc.tmp",
        "haft-0123abcd.tmp",
        ".haft-0123abcd",
        ".haft-0123abcg.tmp",
    ] {
        assert!(!is(name), "{name}");
    }
}
