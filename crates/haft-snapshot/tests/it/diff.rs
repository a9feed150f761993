//! The differences between two records, and their text form.

use expect_test::{Expect, expect};
use haft_snapshot::{PathChangeKind, PathState, TreeId, UnifiedDiff};

use crate::{Place, lines};

fn check(place: &Place, [before, after]: [TreeId; 2], expect: Expect) {
    let changes = place.store.diff(before, after).unwrap();
    let of = |state: &Option<PathState>| match state {
        None => "-".to_owned(),
        Some(PathState::File(file)) => format!("file {:o}", file.mode),
        Some(PathState::Link { target }) => format!("link {}", target.display()),
        Some(PathState::Directory { mode }) => format!("directory {mode:o}"),
        Some(PathState::Omitted(left_out)) => format!("left out, {}", left_out.reason),
    };
    expect.assert_eq(&lines(&changes, |change| {
        let (before, after) = (of(&change.before), of(&change.after));
        format!("{:?} {}: {before} => {after}", change.kind(), change.path.display())
    }));
    assert!(changes.is_sorted_by(|a, b| a.path < b.path), "not in order: {changes:?}");
}

fn check_text(place: &Place, [before, after]: [TreeId; 2], expect: Expect) {
    let changes = place.store.diff(before, after).unwrap();
    let mut text = String::new();
    for change in &changes {
        match place.store.unified_diff(change).unwrap() {
            UnifiedDiff::Text(bytes) => text += &String::from_utf8_lossy(&bytes),
            other => text += &format!("{}: {other:?}\n", change.path.display()),
        }
    }
    expect.assert_eq(&text);
}

fn changed() -> (Place, [TreeId; 2]) {
    let mut place = Place::with(&["a", "b.txt", "b/c", "b/same", "d/e/f", "g", "mode", "large"]);
    place.link("a", "link");
    place.options.file_bytes_max = 40;
    for (path, mode) in [("mode", 0o644), ("d/e", 0o755), ("b/c", 0o644), ("g", 0o644)] {
        place.set_mode(path, mode);
    }
    let before = place.record();
    place.write("a", "a\nand more\n");
    place.write("b/c", [0, 1, 2]);
    place.set_mode("d/e", 0o700);
    place.remove("g");
    place.write("g/h", "h\n");
    place.set_mode("g", 0o755);
    place.set_mode("g/h", 0o600);
    place.remove("link");
    place.link("b.txt", "link");
    place.set_mode("mode", 0o600);
    place.write("large", "larger than anything that may be recorded here");
    place.remove("b.txt");
    let after = place.record();
    (place, [before, after])
}

#[test]
fn every_kind_of_change_is_told() {
    let (place, trees) = changed();
    check(
        &place,
        trees,
        expect![[r#"
        Content a: file 644 => file 644
        Content b/c: file 644 => file 644
        Removed b.txt: file 644 => -
        Mode d/e: directory 755 => directory 700
        Kind g: file 644 => directory 755
        Added g/h: - => file 600
        Content large: file 644 => left out, larger than files may be
        Content link: link a => link b.txt
        Mode mode: file 644 => file 600
    "#]],
    );
    let [before, after] = trees;
    check(
        &place,
        [after, before],
        expect![[r#"
        Content a: file 644 => file 644
        Content b/c: file 644 => file 644
        Added b.txt: - => file 644
        Mode d/e: directory 700 => directory 755
        Kind g: directory 755 => file 644
        Removed g/h: file 600 => -
        Content large: left out, larger than files may be => file 644
        Content link: link b.txt => link a
        Mode mode: file 600 => file 644
    "#]],
    );
    check(&place, [before, before], expect![[""]]);
}

#[test]
fn texts_are_compared_by_line() {
    let (place, trees) = changed();
    check_text(
        &place,
        trees,
        expect![[r#"
        --- a/a
        +++ b/a
        @@ -1 +1,2 @@
        -a
        \ No newline at end of file
        +a
        +and more
        b/c: Binary
        --- a/b.txt
        +++ /dev/null
        @@ -1 +0,0 @@
        -b.txt
        \ No newline at end of file
        d/e: Nothing
        --- a/g
        +++ /dev/null
        @@ -1 +0,0 @@
        -g
        \ No newline at end of file
        --- /dev/null
        +++ b/g/h
        @@ -0,0 +1 @@
        +h
        large: NotRecorded
        --- a/link
        +++ b/link
        @@ -1 +1 @@
        -a
        \ No newline at end of file
        +b.txt
        \ No newline at end of file
        mode: Nothing
    "#]],
    );
}

#[test]
fn kinds_are_by_what_differs() {
    let (place, [before, after]) = changed();
    let changes = place.store.diff(before, after).unwrap();
    let is = |path: &str| changes.iter().find(|change| change.path == *path).unwrap().kind();
    assert_eq!(is("mode"), PathChangeKind::Mode);
    assert_eq!(is("large"), PathChangeKind::Content);
    assert_eq!(is("g"), PathChangeKind::Kind);
}

#[test]
fn texts_over_a_bound_are_not_compared() {
    let place = Place::new();
    let line = "line\n";
    let lines_max = haft_snapshot::limits::UNIFIED_LINES_MAX;
    // The last line end begins one more line, and the other side has one too.
    place.write("lines", line.repeat(lines_max - 2));
    let full = place.record();
    place.write("lines", "");
    let none = place.record();
    let change = &place.store.diff(none, full).unwrap()[0];
    assert!(matches!(place.store.unified_diff(change).unwrap(), UnifiedDiff::Text(_)));
    place.write("lines", line.repeat(lines_max - 1));
    let change = &place.store.diff(none, place.record()).unwrap()[0];
    assert_eq!(place.store.unified_diff(change).unwrap(), UnifiedDiff::TooLarge);
    let bytes_max = usize::try_from(haft_snapshot::limits::UNIFIED_BYTES_MAX).unwrap();
    place.write("lines", "x".repeat(bytes_max + 1));
    let change = &place.store.diff(none, place.record()).unwrap()[0];
    assert_eq!(place.store.unified_diff(change).unwrap(), UnifiedDiff::TooLarge);
}

#[test]
fn a_path_is_looked_up_alone() {
    let place = Place::with(&["a/b"]);
    let tree = place.record();
    let state = |path: &str| place.store.look_up(tree, path.as_ref()).unwrap();
    assert!(matches!(state("a"), Some(PathState::Directory { .. })));
    assert!(matches!(state("a/b"), Some(PathState::File(_))));
    assert_eq!([state("a/c"), state("a/b/c"), state("")], [None, None, None]);
}

#[test]
fn of_what_one_record_left_out_no_change_is_claimed() {
    let mut place = Place::with(&["target/deep/a", "target/b", "c"]);
    place.write(".gitignore", "target/\n");
    place.options.ignored_files_max = 4;
    let small = place.record();
    place.write("c", "changed");
    for name in ["d", "e", "f"] {
        place.write(format!("target/{name}"), "makes it too large");
    }
    let large = place.record();
    let check = |before, expect: Expect| {
        let changes = place.store.diff(before, large).unwrap();
        expect.assert_eq(&lines(&changes, |change| {
            format!("{:?} {}", change.kind(), change.path.display())
        }));
    };
    check(
        small,
        expect![[r#"
            Content c
            Unknown target
            Unknown target/b
            Unknown target/deep
            Unknown target/deep/a
        "#]],
    );
    let kinds: Vec<PathChangeKind> =
        place.store.diff(large, small).unwrap().iter().map(|change| change.kind()).collect();
    assert_eq!(kinds[1..], [PathChangeKind::Unknown; 4]);
}
