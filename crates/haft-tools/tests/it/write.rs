//! `write`.

use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::workspace::Workspace;

async fn check(workspace: &Workspace, input: Value, expect: Expect) {
    expect.assert_eq(&workspace.text("write", input).await);
}

#[tokio::test]
async fn files_are_created_with_their_directories_and_replaced_with_their_mode() {
    let workspace = Workspace::new().await;
    check(&workspace, json!({"path": "a/b/c.txt", "content": "one"}), expect![["ok"]]).await;
    workspace.set_mode("a/b/c.txt", 0o755);
    check(&workspace, json!({"path": "a/b/c.txt", "content": "two"}), expect![["ok"]]).await;
    assert_eq!(workspace.contents("a/b/c.txt"), b"two");
    assert_eq!(workspace.mode("a/b/c.txt"), 0o755);
    assert_eq!(workspace.tree(), ["a/", "a/b/", "a/b/c.txt"]);
}

#[tokio::test]
async fn crlf_line_ends_and_bom_are_kept() {
    let workspace = Workspace::new().await;
    let written = async |former: &str, content: &str| {
        workspace.file("f", former);
        assert_eq!(workspace.text("write", json!({"path": "f", "content": content})).await, "ok");
        String::from_utf8(workspace.contents("f")).unwrap()
    };
    assert_eq!(written("a\r\nb\r\n", "x\ny\n").await, "x\r\ny\r\n");
    assert_eq!(written("a\r\nb\n", "x\ny\n").await, "x\ny\n");
    assert_eq!(written("a\nb\n", "x\r\ny\r\n").await, "x\r\ny\r\n");
    assert_eq!(written("a\r\n", "x\r\ny\n").await, "x\r\ny\n");
    assert_eq!(written("\u{feff}a\n", "x\n").await, "\u{feff}x\n");
    assert_eq!(written("", "x\n").await, "x\n");
}

#[tokio::test]
async fn a_link_inside_is_followed_and_stays_and_one_outside_is_refused() {
    let workspace = Workspace::new().await;
    workspace.file("real/f", "old");
    symlink("real/f", workspace.path("link")).unwrap();
    symlink("real/new", workspace.path("dangling")).unwrap();
    symlink("../outside", workspace.path("escape")).unwrap();
    check(&workspace, json!({"path": "link", "content": "new"}), expect![["ok"]]).await;
    check(&workspace, json!({"path": "dangling", "content": "made"}), expect![["ok"]]).await;
    check(
        &workspace,
        json!({"path": "escape", "content": "x"}),
        expect![[
            r#"TOOL_PATH_ESCAPE: path "escape" leaves the workspace through the symbolic link escape: use another path"#
        ]],
    )
    .await;
    check(&workspace, json!({"path": "../outside", "content": "x"}), expect![[r#"TOOL_PATH_ESCAPE: path "../outside" is outside the workspace: use a path within [tmp]/root"#]]).await;
    assert_eq!(workspace.contents("real/f"), b"new");
    assert_eq!(workspace.contents("real/new"), b"made");
    assert!(workspace.path("link").is_symlink() && !workspace.outside().join("outside").exists());
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_and_nothing_is_left() {
    let workspace = Workspace::new().await;
    workspace.file("dir/f", "").file("file", "");
    check(
        &workspace,
        json!({"path": "dir", "content": "x"}),
        expect![[
            r#"TOOL_PATH_INVALID: path "dir" is a directory, which cannot be written: name a file"#
        ]],
    )
    .await;
    check(
        &workspace,
        json!({"path": "file/below", "content": "x"}),
        expect![[r#"TOOL_PATH_INVALID: path "file/below" cannot exist, because file is not a directory: name a file in a directory"#]],
    )
    .await;
    check(&workspace, json!({"path": "f", "content": "x".repeat(200_001)}), expect!["TOOL_CONTENT_TOO_LARGE: content has 200001 bytes, at most 200000 can be written at once: write a part, then add the rest with edit"]).await;
    check(
        &workspace,
        json!({"path": "f"}),
        expect!["INVALID_INPUT: invalid input for write: content: required, but missing"],
    )
    .await;
    check(&workspace, json!({"path": "full", "content": "x".repeat(200_000)}), expect![["ok"]])
        .await;
    assert_eq!(workspace.tree(), ["dir/", "dir/f", "file", "full"]);
}
