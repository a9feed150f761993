//! Globs against tables, and against globset where the two languages are the same.

use globset::GlobBuilder;
use proptest::prelude::*;

use super::Glob;
use crate::pattern_fault::PatternFault;

#[track_caller]
fn check(pattern: &str, texts: &[(&[u8], bool)]) {
    let glob = Glob::parse(pattern).unwrap();
    for (text, expected) in texts {
        let shown = String::from_utf8_lossy(text);
        assert_eq!(glob.matches(text), *expected, "{pattern:?} against {shown:?}");
    }
}

#[test]
fn stars_take_anything_and_marks_one_character() {
    check("", &[(b"", true), (b"a", false)]);
    check("*", &[(b"", true), (b"a/b c", true)]);
    check(
        "a*c",
        &[(b"ac", true), (b"abc", true), (b"abcbc", true), (b"abcb", false), (b"xac", false)],
    );
    check("*.rs", &[(b".rs", true), (b"a.rs.rs", true), (b"a.rsx", false)]);
    check("a?c", &[(b"abc", true), ("aéc".as_bytes(), true), (b"ac", false), (b"abbc", false)]);
    check("*??", &[("€".as_bytes(), false), ("€é".as_bytes(), true)]);
}

#[test]
fn sets_have_ranges_and_negation() {
    check("[a-c]x", &[(b"ax", true), (b"cx", true), (b"dx", false), (b"x", false)]);
    check("[!a-c]", &[(b"d", true), (b"a", false), (b"", false)]);
    check("[^a]", &[(b"b", true), (b"a", false)]);
    check("[]a]", &[(b"]", true), (b"a", true), (b"b", false)]);
    check("[a-]", &[(b"-", true), (b"a", true), (b"b", false)]);
    check("[à-é]", &[("ç".as_bytes(), true), (b"c", false)]);
    check("[*][[][\\]", &[(b"*[\\", true), (b"x[\\", false)]);
}

#[test]
fn bytes_that_are_no_characters_are_matched_too() {
    check("*.key", &[(b"\xff\xfe.key", true)]);
    check("?", &[(b"\xff", true), (b"\xff\xff", false)]);
    check("[!a]", &[(b"\xff", true)]);
    check("[a-z]", &[(b"\xff", false)]);
    check("a", &[(b"a\xff", false)]);
}

#[test]
fn a_set_of_one_is_a_literal() {
    assert_eq!(Glob::parse("a[*]b[ ]").unwrap().literal(), Some(b"a*b ".to_vec()));
    assert_eq!(Glob::parse("a[!b]").unwrap().literal(), None);
    assert_eq!(Glob::parse("a[b]c?d").unwrap().literal_prefix(), b"abc".to_vec());
}

#[test]
fn texts_that_would_mean_something_else_are_refused() {
    let fault = |text| Glob::parse(text).unwrap_err();
    assert_eq!(fault("a[b"), PatternFault::OpenBracket);
    assert_eq!(fault("[]"), PatternFault::OpenBracket);
    assert_eq!(fault("["), PatternFault::OpenBracket);
    assert_eq!(fault("[z-a]"), PatternFault::EmptyRange { first: 'z', last: 'a' });
    assert_eq!(fault("\\*"), PatternFault::Backslash);
    assert_eq!(fault("*.{rs,toml}"), PatternFault::Alternatives);
    assert_eq!(fault("a\0"), PatternFault::NulByte);
    assert_eq!(fault("[\0a]"), PatternFault::NulByte);
}

#[test]
fn many_stars_do_not_take_exponential_time() {
    let pattern = "*a".repeat(100) + "b";
    let text = "a".repeat(10_000);
    assert!(!Glob::parse(&pattern).unwrap().matches(text.as_bytes()));
}

proptest! {
    /// `**` and braces mean more to globset and its marks take single bytes, so there is none of these here.
    #[test]
    fn agrees_with_globset(
        pattern in "([ab?/.-]|\\*[a?]|\\[!?[ab-][ab-]?\\]){0,8}\\*?",
        text in "[ab/.-]{0,10}",
    ) {
        let theirs = GlobBuilder::new(&pattern).literal_separator(false).build();
        let ours = Glob::parse(&pattern);
        if let (Ok(theirs), Ok(ours)) = (theirs, ours) {
            prop_assert_eq!(ours.matches(text.as_bytes()), theirs.compile_matcher().is_match(&text));
        }
    }

    #[test]
    fn never_panics(pattern in any::<String>(), text in any::<Vec<u8>>()) {
        if let Ok(glob) = Glob::parse(&pattern) {
            glob.matches(&text);
        }
    }
}
