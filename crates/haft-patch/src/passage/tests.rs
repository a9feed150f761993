//! The edit matcher through its one function: what is written, and what is said when nothing is.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::lines;
use super::nearest::{PASSAGE_LINES_MAX, SHOWN_CHARS_MAX, TEXT_BYTES_MAX, find_nearest_passage};
use super::{
    LINES_LISTED_MAX, REPLACEMENT_BYTES_MAX, ReplaceError, ReplaceMode, ReplacedText, replace,
};

fn check(text: &str, edit: (&str, &str), mode: ReplaceMode, expect: Expect) {
    expect.assert_eq(&shown(text, edit, mode));
}

/// Shows the result with every line ending visible, or the message, broken into lines.
fn shown(text: &str, (old, new): (&str, &str), mode: ReplaceMode) -> String {
    match replace(text, old, new, mode) {
        Ok(ReplacedText { text, replacements, first_changed_line, .. }) => {
            format!("{replacements} at line {first_changed_line}: {text:?}")
        }
        Err(err) => format!("error:\n{err}").replace("; ", ";\n"),
    }
}

#[test]
fn replaces_exactly_one() {
    check("a\nb\nc\n", ("b", "x"), ReplaceMode::One, expect![[r#"1 at line 2: "a\nx\nc\n""#]]);
    check("a\nb\nc\n", ("a\nb\n", "a\n"), ReplaceMode::One, expect![[r#"1 at line 2: "a\nc\n""#]]);
    check("a\nb", ("\nb", ""), ReplaceMode::One, expect![[r#"1 at line 1: "a""#]]);
    check("größe", ("ö", "oe"), ReplaceMode::One, expect![[r#"1 at line 1: "groeße""#]]);
}

#[test]
fn replaces_all_from_left_to_right() {
    check("aaaa\na", ("aa", "b"), ReplaceMode::All, expect![[r#"2 at line 1: "bb\na""#]]);
    check(
        "x = 1\ny = x\n",
        ("x", "xx"),
        ReplaceMode::All,
        expect![[r#"2 at line 1: "xx = 1\ny = xx\n""#]],
    );
}

#[test]
fn refuses_edits_that_say_nothing() {
    check(
        "a",
        ("", "b"),
        ReplaceMode::One,
        expect![[r#"
        error:
        the text to replace is empty, so it names no place in the file;
        copy the passage to replace, or use write to create or overwrite a whole file"#]],
    );
    check(
        "a",
        ("a", "a"),
        ReplaceMode::One,
        expect![[r#"
        error:
        the old and the new text are the same here, so nothing would change;
        they must differ"#]],
    );
    // The file has CR LF already, so this explicit conversion has nothing to do.
    check(
        "a\r\nb",
        ("a\n", "a\r\n"),
        ReplaceMode::One,
        expect![[r#"
        error:
        the old and the new text are the same here, so nothing would change;
        they must differ"#]],
    );
}

#[test]
fn takes_the_endings_of_the_lines_replaced() {
    let crlf = "a\r\nb\r\nc\r\n";
    check(
        crlf,
        ("a\nb", "a\nx\ny"),
        ReplaceMode::One,
        expect![[r#"1 at line 2: "a\r\nx\r\ny\r\nc\r\n""#]],
    );
    check(
        crlf,
        ("b", "x\ny"),
        ReplaceMode::One,
        expect![[r#"1 at line 2: "a\r\nx\r\ny\r\nc\r\n""#]],
    );
    check(crlf, ("b\n", ""), ReplaceMode::One, expect![[r#"1 at line 2: "a\r\nc\r\n""#]]);
    check(crlf, ("\n", " "), ReplaceMode::All, expect![[r#"3 at line 1: "a b c ""#]]);
    check("a\r\nb", ("b", "b\nc"), ReplaceMode::One, expect![[r#"1 at line 2: "a\r\nb\r\nc""#]]);
    // Explicit carriage returns are taken literally.
    check(crlf, ("a\r\nb", "x\ny"), ReplaceMode::One, expect![[r#"1 at line 1: "x\ny\r\nc\r\n""#]]);
    check("a\nb\n", ("a\n", "a\r\n"), ReplaceMode::One, expect![[r#"1 at line 1: "a\r\nb\n""#]]);
}

#[test]
fn keeps_each_line_of_a_mixed_file() {
    let mixed = "a\r\nb\nc\r\nd\n";
    check(
        mixed,
        ("b\nc", "x\nc"),
        ReplaceMode::One,
        expect![[r#"1 at line 2: "a\r\nx\nc\r\nd\n""#]],
    );
    check(
        mixed,
        ("a\nb\nc\nd\n", "a\nnew\nb\nc\nd\n"),
        ReplaceMode::One,
        expect![[r#"1 at line 2: "a\r\nnew\nb\nc\r\nd\n""#]],
    );
    check(
        mixed,
        ("a\nb\nc\n", "a\nc\n"),
        ReplaceMode::One,
        expect![[r#"1 at line 2: "a\r\nc\r\nd\n""#]],
    );
    check(
        "x\r\ny\nx\ny\r\n",
        ("x\ny\n", "p\nq\n"),
        ReplaceMode::All,
        expect![[r#"2 at line 1: "p\r\nq\np\nq\r\n""#]],
    );
}

#[test]
fn keeps_a_byte_order_mark() {
    check(
        "\u{feff}a\nb\n",
        ("a\nb", "x"),
        ReplaceMode::One,
        expect![[r#"1 at line 1: "\u{feff}x\n""#]],
    );
    check("\u{feff}a\n", ("\u{feff}a", "a"), ReplaceMode::One, expect![[r#"1 at line 1: "a\n""#]]);
}

#[test]
fn lists_the_lines_of_an_ambiguity() {
    check(
        "a\nb\na\n",
        ("a", "x"),
        ReplaceMode::One,
        expect![[r#"
        error:
        the text to replace was found 2 times, at lines 1, 3;
        add lines around it until it is unique, or set replace_all to replace every occurrence"#]],
    );
    // The two overlap, so that one of them would be lost unseen.
    check(
        "\naaa\n",
        ("aa", "x"),
        ReplaceMode::One,
        expect![[r#"
        error:
        the text to replace was found 2 times, at lines 2, 2;
        add lines around it until it is unique, or set replace_all to replace every occurrence"#]],
    );
    // One has CR LF and one has not, which the model does not see.
    check(
        "a\r\nb\na\nb\n",
        ("a\nb", "x"),
        ReplaceMode::One,
        expect![[r#"
        error:
        the text to replace was found 2 times, at lines 1, 3;
        add lines around it until it is unique, or set replace_all to replace every occurrence"#]],
    );
}

#[test]
fn bounds_the_lines_of_an_ambiguity() {
    let at_bound = "a\n".repeat(LINES_LISTED_MAX);
    let over = "a\n".repeat(LINES_LISTED_MAX + 1);
    let listed: Vec<usize> = (1..=LINES_LISTED_MAX).collect();
    let ambiguous = |total| Err(ReplaceError::Ambiguous { lines: listed.clone(), total });
    assert_eq!(replace(&at_bound, "a", "b", ReplaceMode::One), ambiguous(LINES_LISTED_MAX));
    assert_eq!(replace(&over, "a", "b", ReplaceMode::One), ambiguous(LINES_LISTED_MAX + 1));
    let message = replace(&over, "a", "b", ReplaceMode::One).unwrap_err().to_string();
    assert!(message.contains("19, 20 and 1 more places; add lines"), "{message}");
}

#[test]
fn bounds_what_replacements_write() {
    let new = "n".repeat(REPLACEMENT_BYTES_MAX / 2);
    let written = replace("a.a", "a", &new, ReplaceMode::All).map(|replaced| replaced.text.len());
    assert_eq!(written, Ok(REPLACEMENT_BYTES_MAX + 1));
    let bytes = REPLACEMENT_BYTES_MAX / 2 * 3;
    let err = ReplaceError::ResultTooLarge { replacements: 3, bytes };
    assert_eq!(replace("a.a.a", "a", &new, ReplaceMode::All), Err(err));
}

const SOURCE: &str = "\
use std::fs;

fn load(path: &str) -> Result<String, Error> {
    let text = fs::read_to_string(path)?;
    if text.is_empty() {
        return Err(Error::Empty);
    }
    Ok(text)
}

fn store(path: &str, text: &str) -> Result<(), Error> {
    fs::write(path, text)?;
    Ok(())
}
";

fn check_nearest(text: &str, old: &str, expect: Expect) {
    check(text, (old, "unlike anything"), ReplaceMode::One, expect);
}

#[test]
fn names_a_difference_in_whitespace() {
    check_nearest(
        SOURCE,
        "if text.is_empty() {\n    return Err(Error::Empty);\n}",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 5, where only the indentation differs;
        copy it exactly, including whitespace:
            if text.is_empty() {
                return Err(Error::Empty);
            }"#]],
    );
    check_nearest(
        SOURCE,
        "  fs::write(path, text)?;  \n",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 12, where only whitespace at line ends differs;
        copy it exactly, including whitespace:
            fs::write(path, text)?;"#]],
    );
    check_nearest(
        SOURCE,
        "    Ok(text)  \n}",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 8, where only whitespace at line ends differs;
        copy it exactly, including whitespace:
            Ok(text)
        }"#]],
    );
    check_nearest(
        SOURCE,
        "Err( Error::Empty );",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 6, where only whitespace or line breaks differ;
        copy it exactly, including whitespace:
                return Err(Error::Empty);"#]],
    );
}

#[test]
fn names_a_difference_in_case_endings_or_mark() {
    check_nearest(
        SOURCE,
        "fn Load(path: &Str)",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 3, where only upper and lower case differ;
        copy it exactly, including whitespace:
        fn load(path: &str) -> Result<String, Error> {"#]],
    );
    check_nearest(
        SOURCE,
        "use std::fs;\nfn LOAD(path: &str)",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 1, where only whitespace and letter case differ;
        copy it exactly, including whitespace:
        use std::fs;

        fn load(path: &str) -> Result<String, Error> {"#]],
    );
    check_nearest(
        "a\nlast",
        "a\nlast\n",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 1, where the file ends without a line break;
        copy it exactly, including whitespace:
        a
        last"#]],
    );
    check_nearest(
        "one\ntwo\n",
        "one\r\ntwo",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 1, where only the line endings differ (CR LF against LF);
        copy it exactly, including whitespace:
        one
        two"#]],
    );
    check_nearest(
        "\u{feff}one\n",
        "\u{feff}ONE\n",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 1, where only upper and lower case differ;
        copy it exactly, including whitespace:
        one"#]],
    );
    check_nearest(
        "one\n",
        "\u{feff}one\n",
        expect![[r#"
        error:
        the text to replace was not found;
        the nearest passage is at line 1, where there is no byte order mark;
        copy it exactly, including whitespace:
        one"#]],
    );
}

#[test]
fn names_the_first_line_that_differs() {
    check_nearest(
        SOURCE,
        "fn store(path: &str, body: &str) -> Result<(), Error> {\n    fs::write(path, body)?;\n",
        expect![[r#"
            error:
            the text to replace was not found;
            the nearest passage is at line 11, where 2 of 2 lines differ, first line 11: yours is `fn store(path: &str, body: &str) -> Result<(), Error> {`, the file has `fn store(path: &str, text: &str) -> Result<(), Error> {`;
            copy it exactly, including whitespace:
            fn store(path: &str, text: &str) -> Result<(), Error> {
                fs::write(path, text)?;"#]],
    );
    check_nearest(
        SOURCE,
        "fs::read_to_strings(path)",
        expect![[r#"
            error:
            the text to replace was not found;
            the nearest passage is at line 4, where line 4 differs: yours is `fs::read_to_strings(path)`, the file has `    let text = fs::read_to_string(path)?;`;
            copy it exactly, including whitespace:
                let text = fs::read_to_string(path)?;"#]],
    );
    check_nearest(
        SOURCE,
        "    Ok(())\n}\n\nfn more() {\n",
        expect![[r#"
            error:
            the text to replace was not found;
            the nearest passage is at line 8, where 2 of 4 lines differ, first line 8: yours is `    Ok(())`, the file has `    Ok(text)`;
            copy it exactly, including whitespace:
                Ok(text)
            }

            fn store(path: &str, text: &str) -> Result<(), Error> {"#]],
    );
    check_nearest(
        "say “hello” to\u{a0}her\n",
        "say \"hello\" to her\n",
        expect![[r#"
            error:
            the text to replace was not found;
            the nearest passage is at line 1, where line 1 differs: yours is `say "hello" to her`, the file has `say “hello” to\u{a0}her`;
            copy it exactly, including whitespace:
            say “hello” to her"#]],
    );
}

#[test]
fn says_so_when_nothing_is_near() {
    for (text, old) in [("", "a"), (SOURCE, "xyzzy plugh"), (SOURCE, "\n\n\n\n"), ("a\n", "zz")] {
        assert_eq!(
            replace(text, old, "", ReplaceMode::One),
            Err(ReplaceError::NoMatch { nearest: None })
        );
    }
    check_nearest(
        "",
        "a",
        expect![[r#"
        error:
        the text to replace was not found;
        nothing in the file resembles it;
        read the file again and copy the passage exactly"#]],
    );
}

#[test]
fn bounds_what_it_shows() {
    let long = format!("{}END", "long line ".repeat(100));
    let text = format!("{long}\n").repeat(PASSAGE_LINES_MAX + 3);
    let old = text.replace("END", "end");
    let err = replace(&text, &old, "", ReplaceMode::One).unwrap_err();
    let ReplaceError::NoMatch { nearest: Some(nearest) } = err else { panic!("{err}") };
    let lines: Vec<&str> = nearest.passage.lines().collect();
    assert_eq!(lines.len(), PASSAGE_LINES_MAX + 1);
    assert_eq!(lines.last(), Some(&"… (3 more lines)"));
    assert!(lines.iter().all(|line| line.chars().count() <= SHOWN_CHARS_MAX + 1));
}

#[test]
fn stays_linear_on_repetitive_text() {
    // A quadratic step would make billions of comparisons in each of these.
    let run = "a".repeat(200_000);
    let half = format!("{}b", "a".repeat(100_000));
    assert!(matches!(
        replace(&run, &half, "", ReplaceMode::One),
        Err(ReplaceError::NoMatch { .. })
    ));
    let half = "a".repeat(100_000);
    let ambiguous = replace(&run, &half, "", ReplaceMode::One);
    assert!(matches!(ambiguous, Err(ReplaceError::Ambiguous { total: 100_001, .. })));
    let lines = "aaaa\n".repeat(40_000);
    let half = format!("{}b\n", "aaaa\n".repeat(20_000));
    assert!(matches!(
        replace(&lines, &half, "", ReplaceMode::One),
        Err(ReplaceError::NoMatch { .. })
    ));
    let crlf = format!("{run}\r\n");
    let replaced = replace(&crlf, "a", "\n", ReplaceMode::All).map(|replaced| replaced.text.len());
    assert_eq!(replaced, Ok(400_002));
}

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec!["a", "b", "ab", "\n", " ", "ö", "\r\n", "\u{feff}"]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn all_equals_the_standard_replacement(text in text(), old in text(), new in text()) {
        let (text, old, new) = (text.replace('\r', ""), old.replace('\r', ""), new.replace('\r', ""));
        let expected = text.replace(&old, &new);
        match replace(&text, &old, &new, ReplaceMode::All) {
            Ok(replaced) => {
                prop_assert_eq!(&replaced.text, &expected);
                prop_assert_eq!(replaced.replacements, text.matches(&old).count());
            }
            Err(ReplaceError::NoMatch { .. }) => prop_assert!(!text.contains(&old)),
            Err(_) => prop_assert!(old.is_empty() || expected == text),
        }
    }

    #[test]
    fn one_is_the_only_overlapping_occurrence(text in text(), old in text(), new in text()) {
        let text = text.replace('\r', "");
        let starts = text.char_indices().filter(|(at, _)| text[*at..].starts_with(&old)).count();
        match replace(&text, &old, &new, ReplaceMode::One) {
            Ok(replaced) => prop_assert_eq!((starts, replaced.text), (1, text.replacen(&old, &new, 1))),
            Err(ReplaceError::NoMatch { .. }) => prop_assert_eq!(starts, 0),
            Err(ReplaceError::Ambiguous { total, .. }) => prop_assert_eq!(starts, total),
            Err(_) => prop_assert!(old.is_empty() || old == new || text.replacen(&old, &new, 1) == text),
        }
    }

    #[test]
    fn first_changed_line_is_the_first_that_differs(text in text(), old in text(), new in text()) {
        if let Ok(replaced) = replace(&text, &old, &new, ReplaceMode::All) {
            let before = lines::split_lines(&text);
            let after = lines::split_lines(&replaced.text);
            let same = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
            prop_assert!(replaced.first_changed_line <= same + 1);
            let shared = before.len().min(after.len());
            // Repetitive text may be told apart only later than where it was edited.
            prop_assert!(replaced.first_changed_line <= shared + 1);
        }
    }

    #[test]
    fn never_panics_and_speaks_briefly(text in ".{0,200}", old in ".{0,50}", new in ".{0,50}") {
        if let Err(err) = replace(&text, &old, &new, ReplaceMode::One) {
            prop_assert!(err.to_string().len() < 4_000);
        }
    }
}

#[test]
fn the_nearest_passage_is_looked_for_as_far_as_the_bound() {
    let wanted = "fn total(amounts: &[u32]) -> u64 {";
    let passage = "fn total(amounts: &[u32]) -> u32 {";
    let text = |end: usize| "\n".repeat(end - passage.len()) + passage;
    assert!(find_nearest_passage(&text(TEXT_BYTES_MAX), wanted).is_some());
    assert!(find_nearest_passage(&text(TEXT_BYTES_MAX + passage.len()), wanted).is_none());
}
