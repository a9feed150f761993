//! Every limit, at its bound and one over.

use super::super::{
    FILES_MAX, HUNKS_MAX, LINE_BYTES_MAX, PATCH_BYTES_MAX, PATH_BYTES_MAX, PLACES_LISTED_MAX,
    PatchApplyError, PatchParseError, SEARCH_STEPS_MAX, apply_hunks, parse, parse_single,
};

const HUNK: &str = "@@\n-a\n+b\n";

fn named(path: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n{HUNK}")
}

fn over_limit(patch: &str) -> Option<usize> {
    match parse(patch) {
        Ok(_) => None,
        Err(PatchParseError::OverLimit { limit, .. }) => Some(limit),
        Err(err) => panic!("{err}"),
    }
}

#[test]
fn bounds_bytes() {
    let patch = named("f");
    let prose = format!("{}\n", "p".repeat(99));
    let prose = prose.repeat(PATCH_BYTES_MAX / prose.len());
    let fits = format!("{}\n{patch}", &prose[patch.len() + 1..]);
    assert_eq!((fits.len(), over_limit(&fits)), (PATCH_BYTES_MAX, None));
    assert_eq!(over_limit(&format!("p{fits}")), Some(PATCH_BYTES_MAX));
}

#[test]
fn bounds_the_line() {
    let with_line = |bytes: usize| format!("{}+{}\n", named("f"), "x".repeat(bytes - 1));
    assert_eq!(over_limit(&with_line(LINE_BYTES_MAX)), None);
    assert_eq!(over_limit(&with_line(LINE_BYTES_MAX + 1)), Some(LINE_BYTES_MAX));
}

#[test]
fn bounds_the_path() {
    let prefix = "a/".len();
    assert!(parse(&named(&"x".repeat(PATH_BYTES_MAX - prefix))).is_ok());
    let err = parse(&named(&"x".repeat(PATH_BYTES_MAX - prefix + 1))).unwrap_err();
    assert!(matches!(err, PatchParseError::Malformed { line: 1, .. }), "{err}");
    assert!(err.to_string().contains(&PATH_BYTES_MAX.to_string()));
}

#[test]
fn bounds_files() {
    let files = |count: usize| (0..count).map(|file| named(&file.to_string())).collect::<String>();
    assert_eq!(over_limit(&files(FILES_MAX)), None);
    assert_eq!(over_limit(&files(FILES_MAX + 1)), Some(FILES_MAX));
}

#[test]
fn bounds_hunks_over_all_files() {
    let hunks = |count: usize| format!("{}{}", named("f"), HUNK.repeat(count - 1));
    assert_eq!(over_limit(&hunks(HUNKS_MAX)), None);
    assert_eq!(over_limit(&hunks(HUNKS_MAX + 1)), Some(HUNKS_MAX));
    assert_eq!(over_limit(&format!("{}{}", hunks(HUNKS_MAX), named("g"))), Some(HUNKS_MAX));
}

#[test]
fn bounds_the_places_it_lists() {
    let hunks = parse_single(HUNK).unwrap();
    for places in [PLACES_LISTED_MAX, PLACES_LISTED_MAX + 1] {
        let err = apply_hunks(&hunks, &"a\n".repeat(places)).unwrap_err();
        let PatchApplyError::Ambiguous { lines, total, .. } = err else { panic!("{err}") };
        assert_eq!((lines.len(), total), (PLACES_LISTED_MAX, places));
    }
}

#[test]
fn bounds_the_search() {
    // Each hunk is found by comparing all lines of the text and its own one.
    let text = |lines: usize| (0..lines).map(|line| format!("{line}\n")).collect::<String>();
    let patch: String = (0..HUNKS_MAX).map(|line| format!("@@\n-{line}\n+x\n")).collect();
    let hunks = parse_single(&patch).unwrap();
    let lines = SEARCH_STEPS_MAX / HUNKS_MAX - 1;
    assert!(apply_hunks(&hunks, &text(lines)).is_ok());
    assert_eq!(apply_hunks(&hunks, &text(lines + 1)), Err(PatchApplyError::TooMuchWork));
}

#[test]
fn stays_bounded_on_repetitive_text() {
    let text = "aaaa\n".repeat(40_000);
    let long = format!("@@\n{}-b\n+c\n", " aaaa\n".repeat(30_000));
    let err = apply_hunks(&parse_single(&long).unwrap(), &text).unwrap_err();
    assert!(matches!(err, PatchApplyError::NotFound { .. }), "{err}");
    let long = format!("@@\n{}-aaaa\n+c\n", " aaaa\n".repeat(30_000));
    let err = apply_hunks(&parse_single(&long).unwrap(), &text).unwrap_err();
    assert!(matches!(err, PatchApplyError::Ambiguous { total: 10_000, .. }), "{err}");
    let many = parse_single(&"@@ -1 +1 @@\n-aaaa\n+b\n".repeat(HUNKS_MAX)).unwrap();
    let err = apply_hunks(&many, &text).unwrap_err();
    assert!(matches!(err, PatchApplyError::Ambiguous { .. }), "{err}"); // A hunk that says how lines end compares them at each of its places.
    let text = format!("{}aaaa\r\n", "aaaa\n".repeat(40_000));
    let long = format!("@@\n{}-aaaa\r\n+c\n", " aaaa\n".repeat(20_000));
    let err = apply_hunks(&parse_single(&long).unwrap(), &text).unwrap_err();
    assert_eq!(err, PatchApplyError::TooMuchWork);
}
