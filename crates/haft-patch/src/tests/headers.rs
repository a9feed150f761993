//! Valid and invalid headers of patches.

use expect_test::{Expect, expect};

use super::super::parse;
use super::broken;

const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

/// Shows the files that a patch names, or the message.
fn check(patch: &str, expect: Expect) {
    let shown = match parse(patch) {
        Ok(patch) => {
            let files = patch.files.iter().map(|file| {
                let (old, new) = (file.old_path.as_deref(), file.new_path.as_deref());
                format!("{:?} {old:?} {new:?} {:?}", file.operation, file.mode)
            });
            files.collect::<Vec<_>>().join("\n")
        }
        Err(err) => broken("parse", &err),
    };
    expect.assert_eq(&shown);
}

/// Checks a patch of one hunk under the given names.
fn check_names(old: &str, new: &str, expect: Expect) {
    check(&format!("--- {old}\n+++ {new}\n{HUNK}"), expect);
}

#[test]
fn removes_prefixes_only_where_both_sides_have_them() {
    check_names("a/x/f", "b/x/f", expect![[r#"Modify Some("x/f") Some("x/f") None"#]]);
    check_names("x/f", "x/f", expect![[r#"Modify Some("x/f") Some("x/f") None"#]]);
    check_names("a/f", "a/f", expect![[r#"Modify Some("a/f") Some("a/f") None"#]]);
    check_names("a/f", "f", expect![[r#"Modify Some("f") Some("f") None"#]]);
    check_names("f", "b/f", expect![[r#"Modify Some("f") Some("f") None"#]]);
    check_names(
        "a/f",
        "b/g",
        expect![[r#"
        parse: error:
        line 3 of the patch: the headers name two files, `f` and `g`;
        to rename, add `rename from` and `rename to` lines below `diff --git`"#]],
    );
    check_names("../f", "../f", expect![[r#"Modify Some("../f") Some("../f") None"#]]);
    check_names("/etc/f", "/etc/f", expect![[r#"Modify Some("/etc/f") Some("/etc/f") None"#]]);
    check_names(
        "/dev/null",
        "/dev/null",
        expect![[r#"
        parse: error:
        line 3 of the patch: `/dev/null` on both sides names no file"#]],
    );
}

#[test]
fn reads_quoted_names_and_names_with_spaces() {
    check_names(
        r#""a/na\303\257ve.txt""#,
        r#""b/na\303\257ve.txt""#,
        expect![[r#"Modify Some("naïve.txt") Some("naïve.txt") None"#]],
    );
    check_names(
        r#""a/t\tab \"q\" \\""#,
        r#""b/t\tab \"q\" \\""#,
        expect![[r#"Modify Some("t\tab \"q\" \\") Some("t\tab \"q\" \\") None"#]],
    );
    check_names(
        "a/with space\t",
        "b/with space\t",
        expect![[r#"Modify Some("with space") Some("with space") None"#]],
    );
    check_names(
        r#""a/\303""#,
        r#""b/\303""#,
        expect![[r#"
        parse: error:
        line 1 of the patch: expected a path of 1 to 4096 bytes, in UTF-8, without NUL, quoted as git does or not at all, found `--- "a/\303"`"#]],
    );
    check_names(
        r#""a/open"#,
        r#""b/open""#,
        expect![[r#"
        parse: error:
        line 1 of the patch: expected a path of 1 to 4096 bytes, in UTF-8, without NUL, quoted as git does or not at all, found `--- "a/open`"#]],
    );
    check_names(
        r#""a/\400""#,
        r#""b/\q""#,
        expect![[r#"
        parse: error:
        line 1 of the patch: expected a path of 1 to 4096 bytes, in UTF-8, without NUL, quoted as git does or not at all, found `--- "a/\400"`"#]],
    );
    check_names(
        "",
        "",
        expect![[r#"
        parse: error:
        line 1 of the patch: expected a path of 1 to 4096 bytes, in UTF-8, without NUL, quoted as git does or not at all, found `--- `"#]],
    );
    let modes = "old mode 100644\nnew mode 100755\n";
    check(
        &format!("diff --git a/a b/c b/a b/c\n{modes}"),
        expect![[r#"Modify Some("a b/c") Some("a b/c") Some(493)"#]],
    );
    check(
        &format!("diff --git \"a/\\303\\266\" \"b/\\303\\266\"\n{modes}"),
        expect![[r#"Modify Some("ö") Some("ö") Some(493)"#]],
    );
    check(
        &format!("diff --git f f\n{modes}"),
        expect![[r#"Modify Some("f") Some("f") Some(493)"#]],
    );
    check(
        &format!("diff --git one two three\n{modes}"),
        expect![[r#"
        parse: error:
        line 4 of the patch: expected `--- a/path` and `+++ b/path`, found the end of the patch"#]],
    );
}

#[test]
fn reads_modes() {
    check(
        "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n",
        expect![[r#"Modify Some("f") Some("f") Some(493)"#]],
    );
    check(
        "diff --git a/f b/f\nold mode 100644\nnew mode 100644\n",
        expect![[r#"
        parse: error:
        line 1 of the patch: nothing is to be done to `f`;
        add its hunks, or leave the file out"#]],
    );
    check(
        "diff --git a/f b/f\nnew mode 100755\n",
        expect![[r#"
        parse: error:
        line 3 of the patch: `old mode` and `new mode` belong together"#]],
    );
    check(
        "diff --git a/f b/f\nnew file mode 120000\n",
        expect![[r#"
        parse: error:
        line 2 of the patch: symbolic links are not supported;
        patch the file linked to"#]],
    );
    check(
        "diff --git a/f b/f\nindex 1..2 160000\n--- a/f\n+++ b/f\n",
        expect![[r#"
        parse: error:
        line 2 of the patch: submodules are not supported;
        patch inside the submodule"#]],
    );
    check(
        "diff --git a/f b/f\nnew file mode 999\n",
        expect![[r#"
        parse: error:
        line 2 of the patch: expected a file mode such as 100644 or 100755, found `new file mode 999`"#]],
    );
    check(
        "new file mode 100755\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n",
        expect![[r#"Create None Some("f") Some(493)"#]],
    );
}

#[test]
fn refuses_what_is_not_text() {
    check(
        "diff --git a/f b/f\nindex 1..2\nGIT binary patch\nliteral 1\n",
        expect![[r#"
        parse: error:
        line 3 of the patch: binary patches are not supported;
        replace the file by other means"#]],
    );
    check(
        "diff --git a/f b/f\nBinary files a/f and b/f differ\n",
        expect![[r#"
        parse: error:
        line 2 of the patch: binary patches are not supported;
        replace the file by other means"#]],
    );
    check(
        "Binary files a/f and b/f differ\n",
        expect![[r#"
        parse: error:
        line 1 of the patch: binary patches are not supported;
        replace the file by other means"#]],
    );
    check(
        "diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n",
        expect![[r#"
        parse: error:
        line 3 of the patch: copies are not supported;
        create the new file with all its lines"#]],
    );
    check(
        "--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n--a\n++b\n",
        expect![[r#"
        parse: error:
        line 3 of the patch: combined diffs of merges are not supported;
        write a patch against one version of the file"#]],
    );
}

#[test]
fn refuses_headers_that_contradict_each_other() {
    check(
        &format!("diff --git a/f b/f\n--- a/g\n+++ b/g\n{HUNK}"),
        expect![[r#"
        parse: error:
        line 4 of the patch: the headers above name different files;
        write the same path in all of them"#]],
    );
    check(
        &format!("diff --git a/f b/f\nnew file mode 100644\n--- a/f\n+++ b/f\n{HUNK}"),
        expect![[r#"
            parse: error:
            line 5 of the patch: `new file mode` creates a file, so the old side must be `--- /dev/null`"#]],
    );
    check(
        &format!("diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ b/f\n{HUNK}"),
        expect![[r#"
            parse: error:
            line 5 of the patch: `deleted file mode` deletes a file, so the new side must be `+++ /dev/null`"#]],
    );
    check(
        "diff --git a/f b/g\nrename from f\n",
        expect![[r#"
        parse: error:
        line 3 of the patch: a rename needs `rename from` and `rename to` with two paths"#]],
    );
    check(
        "diff --git a/f b/f\nrename from f\nrename to f\n",
        expect![[r#"
        parse: error:
        line 4 of the patch: a rename needs `rename from` and `rename to` with two paths"#]],
    );
    check(
        &format!("--- a/f\n{HUNK}"),
        expect![[r#"
        parse: error:
        line 2 of the patch: expected `--- a/path` and `+++ b/path` above the first hunk of each file, found `@@ -1 +1 @@`"#]],
    );
    check(
        &format!("diff --git a/f b/f\n--- a/f\n{HUNK}"),
        expect![[r#"
        parse: error:
        line 3 of the patch: expected `+++ b/path` below `--- a/path`, found `@@ -1 +1 @@`"#]],
    );
    check(
        &format!("diff --git a/f b/f\n+++ b/f\n{HUNK}"),
        expect![[r#"
        parse: error:
        line 2 of the patch: expected `--- a/path` above `+++ b/path`, found `+++ b/f`"#]],
    );
    check(
        "--- a/f\n+++ b/f\n@@ -x,1 +1 @@\n-a\n",
        expect![[r#"
        parse: error:
        line 3 of the patch: expected `@@ -start,count +start,count @@`, or `@@` without numbers above lines that occur once, found `@@ -x,1 +1 @@`"#]],
    );
    check(
        "--- a/f\n+++ b/f\n@@ -1,1 @@\n-a\n",
        expect![[r#"
        parse: error:
        line 3 of the patch: expected `@@ -start,count +start,count @@`, or `@@` without numbers above lines that occur once, found `@@ -1,1 @@`"#]],
    );
}

#[test]
fn takes_a_git_line_alone_when_it_names_the_file() {
    check(&format!("diff --git a/f b/f\n{HUNK}"), expect![[r#"Modify Some("f") Some("f") None"#]]);
    check(
        &format!("diff -u old/f new/f\n--- f\n+++ f\n{HUNK}diff -u g g\n--- g\n+++ g\n{HUNK}"),
        expect![[r#"
            Modify Some("f") Some("f") None
            Modify Some("g") Some("g") None"#]],
    );
}

#[test]
fn refuses_a_file_named_twice() {
    check(
        &format!("--- a/f\n+++ b/f\n{HUNK}--- a/f\n+++ b/f\n{HUNK}"),
        expect![[r#"
        parse: error:
        line 6 of the patch: `f` is already named at line 1;
        put all hunks of a file under one header, and chained renames into separate patches"#]],
    );
    let rename = "diff --git a/f b/g\nrename from f\nrename to g\n";
    check(
        &format!("{rename}diff --git a/f b/f\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"),
        expect![[r#"
            parse: error:
            line 4 of the patch: `f` is already named at line 1;
            put all hunks of a file under one header, and chained renames into separate patches"#]],
    );
}
