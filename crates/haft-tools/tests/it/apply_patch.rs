//! `apply_patch`.

use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use serde_json::json;

use crate::workspace::Workspace;

async fn check(workspace: &Workspace, patch: &str, expect: Expect) {
    expect.assert_eq(&workspace.text("apply_patch", json!({"patch": patch})).await);
}

const SEVERAL: &str = "\
diff --git a/src/lib.rs b/src/lib.rs
--- a/src/lib.rs
+++ b/src/lib.rs
@@ -1,3 +1,3 @@
 one
-two
+2
 three
diff --git a/old.txt b/old.txt
deleted file mode 100644
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/tool.sh b/bin/tool.sh
rename from tool.sh
rename to bin/tool.sh
diff --git a/new/run.sh b/new/run.sh
new file mode 100755
--- /dev/null
+++ b/new/run.sh
@@ -0,0 +1 @@
+#!/bin/sh
";

async fn several() -> Workspace {
    let workspace = Workspace::new().await;
    workspace
        .file("src/lib.rs", "one\ntwo\nthree\n")
        .file("old.txt", "gone\n")
        .file("tool.sh", b"\xff\0binary");
    workspace.set_mode("tool.sh", 0o750);
    workspace
}

#[tokio::test]
async fn one_patch_creates_changes_deletes_and_renames() {
    let workspace = several().await;
    check(&workspace, SEVERAL, expect![[r#"{"status":"ok","files":[{"path":"src/lib.rs","operation":"modify"},{"path":"old.txt","operation":"delete"},{"path":"bin/tool.sh","operation":"rename","renamed_from":"tool.sh"},{"path":"new/run.sh","operation":"create"}]}"#]]).await;
    assert_eq!(
        workspace.tree(),
        ["bin/", "bin/tool.sh", "new/", "new/run.sh", "src/", "src/lib.rs"]
    );
    assert_eq!(workspace.contents("src/lib.rs"), b"one\n2\nthree\n");
    assert_eq!(workspace.contents("bin/tool.sh"), b"\xff\0binary");
    assert_eq!((workspace.mode("bin/tool.sh"), workspace.mode("new/run.sh")), (0o750, 0o755));
}

#[tokio::test]
async fn when_one_file_does_not_fit_nothing_is_changed() {
    let workspace = several().await;
    workspace.file("old.txt", "something else\n");
    let before = workspace.tree();
    check(&workspace, SEVERAL, expect![[r#"
        TOOL_PATCH_FAILED: nothing was changed: old.txt: hunk 1 (line 13 of the patch) does not match: these context and removed lines are not in the file:
        gone
        nothing in the file resembles it; read the file again and copy the passage exactly"#]]).await;
    assert_eq!(
        (workspace.tree(), workspace.contents("src/lib.rs")),
        (before, b"one\ntwo\nthree\n".to_vec())
    );
}

#[tokio::test]
async fn patches_that_say_nothing_are_errors() {
    let workspace = several().await;
    check(&workspace, "", expect!["TOOL_PATCH_FAILED: the patch is empty; write a unified diff, each file beginning with `--- a/path` and `+++ b/path`"]).await;
    check(&workspace, "please change two to 2", expect!["TOOL_PATCH_FAILED: the patch names no file; begin each file with the lines `--- a/path` and `+++ b/path`, then `@@` and the changed lines"]).await;
    check(&workspace, "--- a/src/lib.rs\n+++ b/src/lib.rs\n", expect!["TOOL_PATCH_FAILED: line 1 of the patch: nothing is to be done to `src/lib.rs`; add its hunks, or leave the file out"]).await;
    check(
        &workspace,
        "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n",
        expect![[r#"TOOL_PATH_INVALID: path "none" does not exist: use glob to find it"#]],
    )
    .await;
    check(&workspace, "--- /dev/null\n+++ b/old.txt\n@@ -0,0 +1 @@\n+b\n", expect![[r#"TOOL_PATCH_FAILED: nothing was changed: path "old.txt" exists already, so the patch cannot create it. Use *** Update File, or --- a/path, to change it."#]]).await;
}

#[tokio::test]
async fn the_envelope_form_works_too() {
    let workspace = several().await;
    let patch = "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n one\n-two\n+2\n*** Add File: n.txt\n+new\n*** Delete File: old.txt\n*** End Patch\n";
    check(&workspace, patch, expect![[r#"{"status":"ok","files":[{"path":"src/lib.rs","operation":"modify"},{"path":"n.txt","operation":"create"},{"path":"old.txt","operation":"delete"}]}"#]]).await;
    assert_eq!(workspace.contents("n.txt"), b"new\n");
}

#[tokio::test]
async fn a_patch_cannot_reach_outside() {
    let workspace = several().await;
    std::fs::write(workspace.outside().join("victim"), "a\n").unwrap();
    symlink("../victim", workspace.path("link")).unwrap();
    check(&workspace, "--- a/../victim\n+++ b/../victim\n@@ -1 +1 @@\n-a\n+b\n", expect![[r#"TOOL_PATH_ESCAPE: path "../victim" is outside the workspace: use a path within [tmp]/root"#]]).await;
    check(
        &workspace,
        "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-a\n+b\n",
        expect![[
            r#"TOOL_PATH_ESCAPE: path "link" leaves the workspace through the symbolic link link: use another path"#
        ]],
    )
    .await;
    check(&workspace, "--- /dev/null\n+++ /tmp/haft-made-this\n@@ -0,0 +1 @@\n+b\n", expect![[r#"TOOL_PATH_ESCAPE: path "/tmp/haft-made-this" is outside the workspace: use a path within [tmp]/root"#]]).await;
    assert_eq!(std::fs::read(workspace.outside().join("victim")).unwrap(), b"a\n");
}

#[tokio::test]
async fn a_link_is_neither_deleted_nor_moved_through() {
    let workspace = several().await;
    symlink("src/lib.rs", workspace.path("link")).unwrap();
    check(&workspace, "*** Begin Patch\n*** Delete File: link\n*** End Patch\n", expect![[r#"TOOL_PATCH_FAILED: nothing was changed: path "link" is a symlink to "src/lib.rs". Name the file itself, or remove the link with bash."#]])
        .await;
    let rename = "diff --git a/link b/moved\nrename from link\nrename to moved\n";
    check(&workspace, rename, expect![[r#"TOOL_PATCH_FAILED: nothing was changed: path "link" is a symlink to "src/lib.rs". Name the file itself, or remove the link with bash."#]]).await;
    assert!(workspace.path("link").is_symlink() && workspace.path("src/lib.rs").is_file());
    check(
        &workspace,
        "--- a/link\n+++ b/link\n@@ -2 +2 @@\n-two\n+2\n",
        expect![[r#"{"status":"ok","files":[{"path":"link","operation":"modify"}]}"#]],
    )
    .await;
    assert_eq!(workspace.contents("src/lib.rs"), b"one\n2\nthree\n");
}
