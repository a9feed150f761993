//! Patches as models and tools write them: each with its files, and what comes of it.

mod endings;
mod files;
mod headers;
mod limits;
mod properties;

use expect_test::{Expect, expect};

use super::{FilePatch, PatchOperation, apply, parse};

const POEM: &str = "one\ntwo\nthree\nfour\nfive\nsix\n";
const REPEATED: &str = "fn a() {\n    go();\n}\n\nfn b() {\n    go();\n}\n";

/// Applies a patch to the files it names and shows what they become, or the message.
fn check(patch: &str, files: &[(&str, &str)], expect: Expect) {
    expect.assert_eq(&applied(patch, files));
}

/// Applies a patch to one file, `f`.
fn check_one(patch: &str, text: &str, expect: Expect) {
    check(patch, &[("f", text)], expect);
}

fn applied(patch: &str, files: &[(&str, &str)]) -> String {
    let patch = match parse(patch) {
        Ok(patch) => patch,
        Err(err) => return broken("parse", &err),
    };
    let shown: Vec<String> = patch.files.iter().map(|file| applied_file(file, files)).collect();
    shown.join("\n")
}

fn applied_file(file: &FilePatch, files: &[(&str, &str)]) -> String {
    let FilePatch { old_path, new_path, mode, operation, .. } = file;
    let path = old_path.as_ref().or(new_path.as_ref()).map_or("", String::as_str);
    let original = files.iter().find(|(name, _)| *name == path).map(|(_, text)| *text);
    let mut head = match (operation, new_path) {
        (PatchOperation::Rename, Some(new_path)) => format!("rename {path} -> {new_path}"),
        _ => format!("{operation:?} {path}").to_lowercase(),
    };
    if let Some(mode) = mode {
        head.push_str(&format!(" mode {mode:o}"));
    }
    match apply(file, original) {
        Ok(Some(text)) => format!("{head}: {text:?}"),
        Ok(None) => format!("{head}: gone"),
        Err(err) => broken(&head, &err),
    }
}

/// Breaks a message into lines.
fn broken(head: &str, err: &impl std::fmt::Display) -> String {
    format!("{head}: error:\n{err}").replace("; ", ";\n")
}

#[test]
fn applies_what_git_writes() {
    let patch = "\
diff --git a/f b/f
index 3e75765..a3f2e1c 100644
--- a/f
+++ b/f
@@ -1,5 +1,6 @@ heading
 one
-two
+TWO
 three
 four
+four and a half
 five
";
    check_one(
        patch,
        POEM,
        expect![[r#"modify f: "one\nTWO\nthree\nfour\nfour and a half\nfive\nsix\n""#]],
    );
}

#[test]
fn applies_several_hunks_and_files() {
    let patch = "\
--- a/f
+++ b/f
@@ -1,2 +1,1 @@
-one
 two
@@ -5,2 +4,3 @@
 five
 six
+seven
--- a/g\t2024-01-01 00:00:00.000000000 +0000
+++ b/g\t2024-01-02 00:00:00.000000000 +0000
@@ -1 +1 @@
-x
+y
";
    check(
        patch,
        &[("f", POEM), ("g", "x\n")],
        expect![[r#"
        modify f: "two\nthree\nfour\nfive\nsix\nseven\n"
        modify g: "y\n""#]],
    );
}

#[test]
fn looks_through_wrong_counts() {
    let patch = "--- a/f\n+++ b/f\n@@ -2,9 +2,1 @@\n two\n-three\n+THREE\n four\n";
    check_one(patch, POEM, expect![[r#"modify f: "one\ntwo\nTHREE\nfour\nfive\nsix\n""#]]);
    let patch = "--- a/f\n+++ b/f\n@@ -2,1 +2,1 @@\n two\n-three\n+THREE\n four\n@@ -5 +5 @@\n five\n-six\n";
    check_one(patch, POEM, expect![[r#"modify f: "one\ntwo\nTHREE\nfour\nfive\n""#]]);
    // The counts leave room for a removed line that looks like a header.
    let patch = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n--- b\n+++ c\n";
    check_one(patch, "a\n-- b\n", expect![[r#"modify f: "a\n++ c\n""#]]);
}

#[test]
fn finds_the_only_place_without_a_right_number() {
    let body = " two\n-three\n+THREE\n";
    for header in ["@@", "@@ @@", "@@ ... @@", "@@ -40,2 +40,2 @@", "@@ -0,2 +0,2 @@", "@@ two @@"]
    {
        let patch = format!("--- a/f\n+++ b/f\n{header}\n{body}");
        let shown = applied(&patch, &[("f", POEM)]);
        assert_eq!(shown, r#"modify f: "one\ntwo\nTHREE\nfour\nfive\nsix\n""#, "{header}");
    }
}

#[test]
fn does_not_choose_between_places() {
    let body = "     go();\n+    stop();\n }\n";
    // The number is right, so there is no choice.
    check_one(
        &format!("--- a/f\n+++ b/f\n@@ -6,2 +6,3 @@\n{body}"),
        REPEATED,
        expect![[r#"modify f: "fn a() {\n    go();\n}\n\nfn b() {\n    go();\n    stop();\n}\n""#]],
    );
    // Near the second place, but not at it.
    check_one(
        &format!("--- a/f\n+++ b/f\n@@ -5,2 +5,3 @@\n{body}"),
        REPEATED,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches 2 places, at lines 2, 6, and its line number does not settle which;
        add context lines until only one place matches"#]],
    );
    check_one(
        &format!("--- a/f\n+++ b/f\n@@\n{body}"),
        REPEATED,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches 2 places, at lines 2, 6, and its line number does not settle which;
        add context lines until only one place matches"#]],
    );
    // One number is wrong, so the other is not believed either.
    let patch = format!(
        "--- a/f\n+++ b/f\n@@ -2,2 +2,3 @@\n{body}@@ -9,1 +9,1 @@\n-fn b() {{\n+fn c() {{\n"
    );
    check_one(
        &patch,
        REPEATED,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches 2 places, at lines 2, 6, and its line number does not settle which;
        add context lines until only one place matches"#]],
    );
}

#[test]
fn narrows_a_place_by_the_line_after_the_at_signs() {
    let body = "     go();\n+    stop();\n }\n";
    check_one(
        &format!("--- a/f\n+++ b/f\n@@ fn b() {{ @@\n{body}"),
        REPEATED,
        expect![[r#"modify f: "fn a() {\n    go();\n}\n\nfn b() {\n    go();\n    stop();\n}\n""#]],
    );
    check_one(
        &format!("--- a/f\n+++ b/f\n@@ fn a() {{ @@\n{body}"),
        REPEATED,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches 2 places, at lines 2, 6, and its line number does not settle which;
        add context lines until only one place matches"#]],
    );
    check_one(
        &format!("--- a/f\n+++ b/f\n@@ fn c() {{ @@\n{body}"),
        REPEATED,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches 2 places, at lines 2, 6, and its line number does not settle which;
        add context lines until only one place matches"#]],
    );
    let nested = "mod a:\n  def f:\n    go\nmod b:\n  def f:\n    go\n";
    check_one(
        "--- a/f\n+++ b/f\n@@ mod b:\n@@ def f:\n-    go\n+    stop\n",
        nested,
        expect![[r#"modify f: "mod a:\n  def f:\n    go\nmod b:\n  def f:\n    stop\n""#]],
    );
}

#[test]
fn wants_hunks_in_the_order_of_the_file() {
    let patch = "--- a/f\n+++ b/f\n@@\n-five\n+FIVE\n@@\n-two\n+TWO\n";
    check_one(
        patch,
        POEM,
        expect![[r#"
        modify f: error:
        hunk 2 (line 6 of the patch) matches only at line 2, which is above or inside the lines of the hunk before it;
        put the hunks in the order of the file, none overlapping another"#]],
    );
    // Context may be shared by neighbours, changed lines may not.
    let patch = "--- a/f\n+++ b/f\n@@\n-two\n+TWO\n three\n@@\n three\n-four\n+FOUR\n";
    check_one(patch, POEM, expect![[r#"modify f: "one\nTWO\nthree\nFOUR\nfive\nsix\n""#]]);
    // Lines above the previous change do not count as a second place.
    check_one(
        "--- a/f\n+++ b/f\n@@\n-x\n+y\n@@\n-a\n+b\n",
        "a\nx\na\n",
        expect![[r#"modify f: "a\ny\nb\n""#]],
    );
}

#[test]
fn restores_the_space_of_blank_context_lines() {
    let patch = "--- a/f\n+++ b/f\n@@ -3,4 +3,4 @@\n }\n\n-fn b() {\n+fn c() {\n     go();\n";
    check_one(
        patch,
        REPEATED,
        expect![[r#"modify f: "fn a() {\n    go();\n}\n\nfn c() {\n    go();\n}\n""#]],
    );
    // Blank lines after a hunk whose counts do not tell are no context.
    let patch = "--- a/f\n+++ b/f\n@@\n-one\n+ONE\n\n\n--- a/g\n+++ b/g\n@@\n-x\n+y\n\n";
    check(
        patch,
        &[("f", POEM), ("g", "x\n")],
        expect![[r#"
        modify f: "ONE\ntwo\nthree\nfour\nfive\nsix\n"
        modify g: "y\n""#]],
    );
}

#[test]
fn tolerates_prose_above_and_a_fence_around() {
    let patch = "\
Here is the change:

```diff
--- a/f
+++ b/f
@@ -1,2 +1,2 @@
-one
+ONE
 two
```
";
    check_one(patch, POEM, expect![[r#"modify f: "ONE\ntwo\nthree\nfour\nfive\nsix\n""#]]);
    let mail = "\
From 1234 Mon Sep 17 00:00:00 2001
Subject: [PATCH] count

 f | 2 +-

diff --git a/f b/f
--- a/f
+++ b/f
@@ -1,2 +1,2 @@
-one
+ONE
 two
-- \n2.40.1

";
    check_one(mail, POEM, expect![[r#"modify f: "ONE\ntwo\nthree\nfour\nfive\nsix\n""#]]);
}

#[test]
fn takes_a_here_document_around_and_padded_markers() {
    let applied = || expect![[r#"modify f: "ONE\ntwo\nthree\nfour\nfive\nsix\n""#]];
    let envelope = "*** Begin Patch\n*** Update File: f\n@@\n-one\n+ONE\n two\n*** End Patch\n";
    check_one(&format!("apply_patch <<'EOF'\n{envelope}EOF\n"), POEM, applied());
    check_one(&format!("cat <<-\"PATCH\" | apply_patch\n{envelope}PATCH"), POEM, applied());
    let unified = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";
    check_one(&format!("patch -p1 <<EOF\n{unified}EOF\n"), POEM, applied());
    let padded = envelope.replace("*** ", "  *** ");
    check_one(&padded, POEM, applied());
    let last = envelope.replace("*** End", " *** End");
    check_one(&last, POEM, applied());
    // Another word, or words below it, end no here-document.
    let refused = format!("apply_patch <<EOF\n{envelope}EOT\n");
    assert!(parse(&refused).is_err() && parse(&format!("<<EOF\n{envelope}EOF\nx\n")).is_err());
}

#[test]
fn refuses_what_stands_below() {
    let hunk = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";
    check_one(
        &format!("{hunk}\nThis should work.\n"),
        POEM,
        expect![[r#"
        parse: error:
        line 8 of the patch: expected a hunk line (beginning with a space, `+` or `-`), `@@`, a file header, or the end of the patch, found `This should work.`"#]],
    );
    check_one(
        &format!("{hunk}```\n"),
        POEM,
        expect![[r#"
        parse: error:
        line 7 of the patch: expected a hunk line (beginning with a space, `+` or `-`), `@@`, a file header, or the end of the patch, found `````"#]],
    );
    check_one(
        &format!("```\n{hunk}```\nDone.\n"),
        POEM,
        expect![[r#"
        parse: error:
        line 9 of the patch: expected a hunk line (beginning with a space, `+` or `-`), `@@`, a file header, or the end of the patch, found `Done.`"#]],
    );
    // A list below looks like removed lines, which are not in the file.
    check_one(
        &format!("{hunk}\n- removed one\n"),
        POEM,
        expect![[r#"
            modify f: error:
            hunk 1 (line 3 of the patch) does not match: these context and removed lines are not in the file:
            one
            two

             removed one
            the nearest passage is at line 1, where 2 of 4 lines differ, first line 3: yours is ``, the file has `three`;
            copy it exactly, including whitespace:
            one
            two
            three
            four"#]],
    );
}

#[test]
fn refuses_patches_without_effect() {
    check_one(
        "",
        POEM,
        expect![[r#"
        parse: error:
        the patch is empty;
        write a unified diff, each file beginning with `--- a/path` and `+++ b/path`"#]],
    );
    check_one(
        " \n\n",
        POEM,
        expect![[r#"
        parse: error:
        the patch is empty;
        write a unified diff, each file beginning with `--- a/path` and `+++ b/path`"#]],
    );
    check_one(
        "Nothing to change.\n",
        POEM,
        expect![[r#"
        parse: error:
        the patch names no file;
        begin each file with the lines `--- a/path` and `+++ b/path`, then `@@` and the changed lines"#]],
    );
    check_one(
        "--- a/f\n+++ b/f\n",
        POEM,
        expect![[r#"
        parse: error:
        line 1 of the patch: nothing is to be done to `f`;
        add its hunks, or leave the file out"#]],
    );
    check_one(
        "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n two\n",
        POEM,
        expect![[r#"
        parse: error:
        line 3 of the patch: the hunk changes nothing;
        mark removed lines with `-` and added ones with `+`, or leave the hunk out"#]],
    );
    check_one(
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+one\n",
        POEM,
        expect![[r#"
        parse: error:
        line 3 of the patch: the hunk changes nothing;
        mark removed lines with `-` and added ones with `+`, or leave the hunk out"#]],
    );
    check_one(
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n",
        POEM,
        expect![[r#"
        parse: error:
        line 4 of the patch: expected hunk lines, each beginning with a space, `+` or `-`, found the end of the patch"#]],
    );
    check_one(
        "@@ -1 +1 @@\n-one\n+ONE\n",
        POEM,
        expect![[r#"
        parse: error:
        line 1 of the patch: expected `--- a/path` and `+++ b/path` above the first hunk of each file, found `@@ -1 +1 @@`"#]],
    );
}

#[test]
fn says_what_does_not_match() {
    let patch = "--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@\n two\n-thre\n+THREE\n four\n";
    check_one(
        patch,
        POEM,
        expect![[r#"
            modify f: error:
            hunk 1 (line 3 of the patch) does not match: these context and removed lines are not in the file:
            two
            thre
            four
            the nearest passage is at line 2, where 1 of 3 lines differ, first line 3: yours is `thre`, the file has `three`;
            copy it exactly, including whitespace:
            two
            three
            four"#]],
    );
    let patch = "--- a/f\n+++ b/f\n@@ -2,2 +2,2 @@\n go();\n-  }\n+  ]\n";
    check_one(
        patch,
        REPEATED,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) does not match: these context and removed lines are not in the file:
        go();
          }
        the nearest passage is at line 2, where only the indentation differs;
        copy it exactly, including whitespace:
            go();
        }"#]],
    );
    check_one(
        "--- a/f\n+++ b/f\n@@\n-xyzzy\n+plugh\n",
        POEM,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) does not match: these context and removed lines are not in the file:
        xyzzy
        nothing in the file resembles it;
        read the file again and copy the passage exactly"#]],
    );
}

#[test]
fn says_what_is_applied_already() {
    let replaced = "--- a/f\n+++ b/f\n@@ -2,2 +2,2 @@\n two\n-drei\n+three\n";
    check_one(
        replaced,
        POEM,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) seems to be applied already: the lines it would make are at line 2;
        leave it out, or add context lines if they are to be there once more"#]],
    );
    let inserted = "--- a/f\n+++ b/f\n@@ -2,2 +2,3 @@\n two\n+three\n four\n";
    check_one(
        inserted,
        POEM,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) seems to be applied already: the lines it would make are at line 2;
        leave it out, or add context lines if they are to be there once more"#]],
    );
    // Context on one side only: the lines it shows are there, and so is what it adds.
    check_one(
        "--- a/f\n+++ b/f\n@@ -2 +2,2 @@\n two\n+three\n",
        POEM,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) seems to be applied already: the lines it would make are at line 2;
        leave it out, or add context lines if they are to be there once more"#]],
    );
    check_one(
        "--- a/f\n+++ b/f\n@@ -4 +3,2 @@\n+three\n four\n",
        POEM,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) seems to be applied already: the lines it would make are at line 3;
        leave it out, or add context lines if they are to be there once more"#]],
    );
    let removed = "--- a/f\n+++ b/f\n@@ -2,3 +2,2 @@\n two\n-gone\n three\n";
    check_one(
        removed,
        POEM,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) seems to be applied already: the lines it would make are at line 2;
        leave it out, or add context lines if they are to be there once more"#]],
    );
}

#[test]
fn refuses_additions_that_show_no_context() {
    check_one(
        "--- a/f\n+++ b/f\n@@ -3,0 +4 @@\n+new\n",
        POEM,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) has only added lines, so nothing shows where they belong in a file that is not empty;
        add the lines before and after them as context"#]],
    );
    check_one(
        "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+new\n",
        POEM,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) has only added lines, so nothing shows where they belong in a file that is not empty;
        add the lines before and after them as context"#]],
    );
    check_one("--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+new\n", "", expect![[r#"modify f: "new\n""#]]);
    let at_end = "--- a/f\n+++ b/f\n@@ -6,0 +7 @@\n+new\n\\ No newline at end of file\n";
    check_one(at_end, POEM, expect![[r#"modify f: "one\ntwo\nthree\nfour\nfive\nsix\nnew""#]]);
}
