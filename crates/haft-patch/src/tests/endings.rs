//! Line endings, byte order marks and final line breaks, both ways.

use expect_test::{Expect, expect};

use super::{applied, check, check_one};

const PATCH: &str = "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n+zwei\n three\n";

#[test]
fn keeps_the_endings_of_the_file() {
    let lf = "one\ntwo\nthree\n";
    let crlf = "one\r\ntwo\r\nthree\r\n";
    let crlf_patch = PATCH.replace('\n', "\r\n");
    // Headers with LF over lines with CR LF, as git writes them.
    let (head, body) = PATCH.split_at(PATCH.find(" one").unwrap());
    let git_patch = format!("{head}{}", body.replace('\n', "\r\n"));
    for patch in [PATCH, &crlf_patch, &git_patch] {
        let becomes = |text: &str| applied(patch, &[("f", text)]);
        assert_eq!(becomes(lf), r#"modify f: "one\nTWO\nzwei\nthree\n""#);
        assert_eq!(becomes(crlf), r#"modify f: "one\r\nTWO\r\nzwei\r\nthree\r\n""#);
        let mixed = "one\r\ntwo\nthree\r\nfour\n";
        assert_eq!(becomes(mixed), r#"modify f: "one\r\nTWO\nzwei\nthree\r\nfour\n""#);
    }
}

#[test]
fn keeps_blank_lines_of_a_crlf_file() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\r\n\n-two\r\n+TWO\r\n";
    check_one(patch, "one\r\n\r\ntwo\r\n", expect![[r#"modify f: "one\r\n\r\nTWO\r\n""#]]);
}

#[test]
fn changes_endings_where_the_patch_mixes_them() {
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\r\n+two\n";
    check_one(patch, "one\ntwo\r\n", expect![[r#"modify f: "one\ntwo\n""#]]);
    check_one(
        patch,
        "one\ntwo\n",
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches only at line 1, but with other line endings than the hunk, which mixes CR LF and LF;
        write all its lines with the same ending to keep the endings of the file"#]],
    );
}

#[test]
fn creates_with_the_endings_of_the_patch() {
    let head = "--- /dev/null\n+++ b/f\n@@ -0,0 +1,2 @@\n";
    check(&format!("{head}+one\r\n+two\r\n"), &[], expect![[r#"create f: "one\r\ntwo\r\n""#]]);
    check(
        &format!("{head}+one\n+two\n").replace('\n', "\r\n"),
        &[],
        expect![[r#"create f: "one\ntwo\n""#]],
    );
    check(
        &format!("{head}+one\r\n+two\r\n\\ No newline at end of file\n"),
        &[],
        expect![[r#"create f: "one\r\ntwo""#]],
    );
}

/// Applies hunk lines to two files, `a` and `b` with and without a final line break.
fn check_end(lines: &str, terminated: Expect, open: Expect) {
    let patch =
        format!("--- a/f\n+++ b/f\n@@\n{}", lines.replace('|', "\n\\ No newline at end of file"));
    check_one(&patch, "a\nb\n", terminated);
    check_one(&patch, "a\nb", open);
}

#[test]
fn keeps_or_changes_the_final_line_break() {
    // Without a marker it stays as it is.
    check_end(" a\n-b\n+c\n", expect![[r#"modify f: "a\nc\n""#]], expect![[r#"modify f: "a\nc""#]]);
    check_end(
        " b\n+c\n",
        expect![[r#"modify f: "a\nb\nc\n""#]],
        expect![[r#"modify f: "a\nb\nc""#]],
    );
    check_end(" a\n-b\n", expect![[r#"modify f: "a\n""#]], expect![[r#"modify f: "a\n""#]]);
    // With markers, both sides are what they say.
    check_end(
        "-b|\n+c|\n",
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches only at line 2, but the hunk says that the file ends without a line break, and it ends with one;
        leave `\ No newline at end of file` out after removed and context lines"#]],
        expect![[r#"modify f: "a\nc""#]],
    );
    check_end(
        "-b|\n+b\n",
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches only at line 2, but the hunk says that the file ends without a line break, and it ends with one;
        leave `\ No newline at end of file` out after removed and context lines"#]],
        expect![[r#"modify f: "a\nb\n""#]],
    );
    check_end("-b\n+b|\n", expect![[r#"modify f: "a\nb""#]], expect![[r#"modify f: "a\nb""#]]);
    check_end(
        "-b|\n+b\n+c\n",
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches only at line 2, but the hunk says that the file ends without a line break, and it ends with one;
        leave `\ No newline at end of file` out after removed and context lines"#]],
        expect![[r#"modify f: "a\nb\nc\n""#]],
    );
    check_end(
        "-a\n+x\n b|\n",
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches only at line 1, but the hunk says that the file ends without a line break, and it ends with one;
        leave `\ No newline at end of file` out after removed and context lines"#]],
        expect![[r#"modify f: "x\nb""#]],
    );
    // Not at the end of the file.
    check_end(
        "-a\n+x|\n",
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches only at line 1, but the hunk says that the file ends with it, and more lines follow there;
        leave the end-of-file marker out"#]],
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches only at line 1, but the hunk says that the file ends with it, and more lines follow there;
        leave the end-of-file marker out"#]],
    );
    // Lines after the one that ends the file.
    check_end(
        " b|\n+c\n",
        expect![[r#"
        parse: error:
        line 6 of the patch: expected no further line after the one marked as the end of the file, found `+c`"#]],
        expect![[r#"
        parse: error:
        line 6 of the patch: expected no further line after the one marked as the end of the file, found `+c`"#]],
    );
    check_one(
        "--- a/f\n+++ b/f\n@@\n\\ No newline at end of file\n+c\n",
        "",
        expect![[r#"
        parse: error:
        line 4 of the patch: expected a line of the file above `\ No newline at end of file`, found `\ No newline at end of file`"#]],
    );
}

#[test]
fn takes_a_patch_whose_last_line_is_cut() {
    check_one(
        PATCH.trim_end(),
        "one\ntwo\nthree\n",
        expect![[r#"modify f: "one\nTWO\nzwei\nthree\n""#]],
    );
    check_one(
        &PATCH.trim_end().replace('\n', "\r\n"),
        "one\r\ntwo\r\nthree\r\n",
        expect![[r#"modify f: "one\r\nTWO\r\nzwei\r\nthree\r\n""#]],
    );
}

#[test]
fn keeps_a_byte_order_mark() {
    let hunk = |lines: &str| format!("\u{feff}--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n{lines}");
    let text = "\u{feff}one\ntwo\n";
    check_one(&hunk("-one\n+ONE\n two\n"), text, expect![[r#"modify f: "\u{feff}ONE\ntwo\n""#]]);
    check_one(
        &hunk("-\u{feff}one\n+\u{feff}ONE\n two\n"),
        text,
        expect![[r#"modify f: "\u{feff}ONE\ntwo\n""#]],
    );
    check_one(
        &hunk(" \u{feff}one\n-two\n+TWO\n"),
        text,
        expect![[r#"modify f: "\u{feff}one\nTWO\n""#]],
    );
    check_one(&hunk("-\u{feff}one\n+one\n two\n"), text, expect![[r#"modify f: "one\ntwo\n""#]]);
    check_one(&hunk("-\u{feff}one\n two\n"), text, expect![[r#"modify f: "two\n""#]]);
    check_one(
        &hunk("-one\n+\u{feff}one\n two\n"),
        "one\ntwo\n",
        expect![[r#"modify f: "\u{feff}one\ntwo\n""#]],
    );
    check_one(
        &hunk("-\u{feff}one\n+ONE\n two\n"),
        "one\ntwo\n",
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) does not match: these context and removed lines are not in the file:
        ﻿one
        two
        the nearest passage is at line 1, where there is no byte order mark;
        copy it exactly, including whitespace:
        one
        two"#]],
    );
    // The mark says that the first line is meant.
    check_one(
        "--- a/f\n+++ b/f\n@@\n-\u{feff}two\n+TWO\n",
        text,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches only at line 2, but the hunk shows a byte order mark, which the file has at its start;
        leave it out"#]],
    );
}
