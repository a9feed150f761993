//! Files that come, go and move, the envelope, and patches for one file.

use expect_test::expect;

use super::super::{apply_hunks, parse_single};
use super::{POEM, broken, check, check_one};

#[test]
fn creates_files() {
    let patch = "--- /dev/null\n+++ b/new/f\n@@ -0,0 +1,2 @@\n+one\n+\n";
    check(patch, &[], expect![[r#"create new/f: "one\n\n""#]]);
    check(
        patch,
        &[("new/f", "")],
        expect![[r#"
        create new/f: error:
        the file to create exists already;
        to change it, write a hunk with its present lines under `--- a/path`, not `--- /dev/null`"#]],
    );
    check(
        "diff --git a/f b/f\nnew file mode 100755\nindex 0000000..e69de29\n",
        &[],
        expect![[r#"create f mode 755: """#]],
    );
    // A model forgot the `+` of an empty line.
    check(
        "--- /dev/null\n+++ b/f\n@@ -0,0 +1,3 @@\n+one\n\n+two\n",
        &[],
        expect![[r#"
        parse: error:
        line 3 of the patch: a new file is one hunk whose lines all begin with `+`, empty ones too"#]],
    );
    check(
        "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n",
        &[],
        expect![[r#"
        modify f: error:
        the file to change does not exist;
        check the path, or write `--- /dev/null` above `+++ b/path` to create it"#]],
    );
}

#[test]
fn deletes_files() {
    let patch = "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n";
    check_one(patch, "one\ntwo\n", expect!["delete f: gone"]);
    check_one(
        patch,
        POEM,
        expect![[r#"
        delete f: error:
        hunk 1 (line 3 of the patch) deletes the file, but leaves 4 of its lines unmentioned;
        read the file again and remove all its lines, or change it instead of deleting it"#]],
    );
    check_one(
        patch,
        "zero\none\ntwo\n",
        expect![[r#"
        delete f: error:
        hunk 1 (line 3 of the patch) deletes the file, but leaves 1 of its lines unmentioned;
        read the file again and remove all its lines, or change it instead of deleting it"#]],
    );
    check_one(
        patch,
        "one\n",
        expect![[r#"
            delete f: error:
            hunk 1 (line 3 of the patch) does not match: these context and removed lines are not in the file:
            one
            two
            the nearest passage is at line 1, where 1 of 2 lines differ, first line 2: yours is `two`, the file ends there;
            copy it exactly, including whitespace:
            one"#]],
    );
    check_one("diff --git a/f b/f\ndeleted file mode 100644\n", POEM, expect!["delete f: gone"]);
    check_one(
        "--- a/f\n+++ /dev/null\n",
        POEM,
        expect![[r#"
        parse: error:
        line 1 of the patch: nothing is to be done to `f`;
        add its hunks, or leave the file out"#]],
    );
    check_one(
        "--- a/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n two\n",
        POEM,
        expect![[r#"
        parse: error:
        line 3 of the patch: a deleted file is one hunk whose lines all begin with `-`, empty ones too"#]],
    );
}

#[test]
fn renames_files() {
    let head = "diff --git a/f b/g h\nsimilarity index 90%\nrename from f\nrename to g h\n";
    check_one(head, POEM, expect![[r#"rename f -> g h: "one\ntwo\nthree\nfour\nfive\nsix\n""#]]);
    let patch = format!("{head}--- a/f\n+++ b/g h\n@@ -1 +1 @@\n-one\n+ONE\n two\n");
    check_one(&patch, POEM, expect![[r#"rename f -> g h: "ONE\ntwo\nthree\nfour\nfive\nsix\n""#]]);
    check_one(
        "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-one\n+ONE\n",
        POEM,
        expect![[r#"
        parse: error:
        line 3 of the patch: the headers name two files, `f` and `g`;
        to rename, add `rename from` and `rename to` lines below `diff --git`"#]],
    );
}

#[test]
fn applies_the_envelope() {
    let patch = "\
*** Begin Patch
*** Add File: new.txt
+hello
+
*** Update File: f
*** Move to: g
@@
 one
-two
+TWO
@@ four
-five
+FIVE
@@
 six
+seven
*** End of File
*** Update File: h
-x
+y
*** Delete File: old.txt
*** End Patch
";
    check(
        patch,
        &[("f", POEM), ("h", "x\n"), ("old.txt", "anything")],
        expect![[r#"
        create new.txt: "hello\n\n"
        rename f -> g: "one\nTWO\nthree\nfour\nFIVE\nsix\nseven\n"
        modify h: "y\n"
        delete old.txt: gone"#]],
    );
}

#[test]
fn refuses_a_broken_envelope() {
    check_one(
        "*** Begin Patch\n*** Update File: f\n@@\n-one\n+ONE\n",
        POEM,
        expect![[r#"
        parse: error:
        line 6 of the patch: expected a hunk line (beginning with a space, `+` or `-`), `@@`, `*** Add File: `, `*** Update File: `, `*** Delete File: ` or `*** End Patch`, found the end of the patch"#]],
    );
    check_one(
        "*** Begin Patch\n*** End Patch\n",
        POEM,
        expect![[r#"
        parse: error:
        the patch is empty;
        write a unified diff, each file beginning with `--- a/path` and `+++ b/path`"#]],
    );
    check_one(
        "*** Begin Patch\n*** Update File: f\n*** End Patch\n",
        POEM,
        expect![[r#"
        parse: error:
        line 2 of the patch: nothing is to be done to `f`;
        add its hunks, or leave the file out"#]],
    );
    let stray = "*** Begin Patch\n*** Update File: f\n@@\n-one\n+ONE\nstray\n*** End Patch\n";
    check_one(
        stray,
        POEM,
        expect![[r#"
        parse: error:
        line 6 of the patch: expected a hunk line (beginning with a space, `+` or `-`), `@@`, `*** Add File: `, `*** Update File: `, `*** Delete File: ` or `*** End Patch`, found `stray`"#]],
    );
    let early =
        "*** Begin Patch\n*** Update File: f\n@@\n-one\n+ONE\n*** End of File\n*** End Patch\n";
    check_one(
        early,
        POEM,
        expect![[r#"
        modify f: error:
        hunk 1 (line 3 of the patch) matches only at line 1, but the hunk says that the file ends with it, and more lines follow there;
        leave the end-of-file marker out"#]],
    );
    check_one(
        "*** Begin Patch\n*** Delete File: f\n*** End Patch\nbye\n",
        POEM,
        expect![[r#"
        parse: error:
        line 4 of the patch: expected a hunk line (beginning with a space, `+` or `-`), `@@`, a file header, or the end of the patch, found `bye`"#]],
    );
}

#[test]
fn takes_a_single_patch_with_or_without_headers() {
    let single = |patch: &str| match parse_single(patch) {
        Ok(hunks) => format!("{:?}", apply_hunks(&hunks, POEM)),
        Err(err) => broken("parse", &err),
    };
    let hunk = "@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";
    expect![[r#"Ok("ONE\ntwo\nthree\nfour\nfive\nsix\n")"#]].assert_eq(&single(hunk));
    expect![[r#"Ok("ONE\ntwo\nthree\nfour\nfive\nsix\n")"#]]
        .assert_eq(&single(&format!("```diff\n{hunk}```\n")));
    expect![[r#"Ok("ONE\ntwo\nthree\nfour\nfive\nsix\n")"#]]
        .assert_eq(&single(&format!("Index: f\n=====\n--- f\n+++ f\n{hunk}")));
    expect![[r#"
        parse: error:
        line 5 of the patch: expected a hunk line (beginning with a space, `+` or `-`), `@@`, a file header, or the end of the patch, found `garbage`"#]].assert_eq(&single(&format!("{hunk}garbage\n")));
    expect![[r#"
        parse: error:
        line 1 of the patch: several files are not supported;
        write one patch for each file"#]]
    .assert_eq(&single(&format!("--- a/f\n+++ b/f\n{hunk}--- a/g\n+++ b/g\n{hunk}")));
    expect![[r#"
        parse: error:
        line 1 of the patch: deleting and renaming are not supported;
        change the lines of the file"#]]
    .assert_eq(&single("--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"));
    expect![[r#"
        parse: error:
        line 1 of the patch: changes of the file mode are not supported;
        change only the lines of the file"#]]
    .assert_eq(&single("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"));
    expect![[r#"
        parse: error:
        the patch names no file;
        begin each file with the lines `--- a/path` and `+++ b/path`, then `@@` and the changed lines"#]].assert_eq(&single("just words"));
}
