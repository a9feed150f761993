//! `read`.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use expect_test::{Expect, expect};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::{Value, json};

use crate::workspace::Workspace;

async fn check(workspace: &Workspace, input: Value, expect: Expect) {
    expect.assert_eq(&workspace.text("read", input).await);
}

#[tokio::test]
async fn whole_files_come_back_byte_for_byte() {
    let workspace = Workspace::new().await;
    for text in ["", "one line", "a\nb\n", "\u{feff}BOM\r\nCRLF\r\n", "ünïcödé 🦀\n"] {
        workspace.file("sub dir/file.txt", text);
        assert_eq!(workspace.text("read", json!({"path": "sub dir/file.txt"})).await, text);
        let absolute = workspace.path("sub dir/file.txt");
        assert_eq!(workspace.text("read", json!({"path": absolute})).await, text);
    }
}

#[tokio::test]
async fn lines_and_bytes_can_be_picked() {
    let workspace = Workspace::new().await;
    workspace.file("f", "one\ntwo\nthree\nfour");
    check(
        &workspace,
        json!({"path": "f", "start_line": 2, "end_line": 3}),
        expect![[r#"
        two
        three
    "#]],
    )
    .await;
    check(&workspace, json!({"path": "f", "start_line": 4}), expect!["four"]).await;
    check(
        &workspace,
        json!({"path": "f", "end_line": 1}),
        expect![[r#"
        one
    "#]],
    )
    .await;
    check(
        &workspace,
        json!({"path": "f", "start_line": 3, "end_line": 99}),
        expect![[r#"
        three
        four"#]],
    )
    .await;
    check(
        &workspace,
        json!({"path": "f", "start_line": 5}),
        expect![[r#"INVALID_INPUT: file "f" has 4 lines, found offset 5: give an offset up to 4"#]],
    )
    .await;
    check(
        &workspace,
        json!({"path": "f", "start_line": 3, "end_line": 2}),
        expect!["INVALID_INPUT: end_line: expected at least the first line (3), found 2"],
    )
    .await;
    check(
        &workspace,
        json!({"path": "f", "start_line": 0}),
        expect!["INVALID_INPUT: invalid input for read: start_line: expected at least 1, found 0"],
    )
    .await;
    check(&workspace, json!({"path": "f", "byte_offset": 4, "byte_limit": 3}), expect!["two"])
        .await;
    check(&workspace, json!({"path": "f", "byte_offset": 14}), expect!["four"]).await;
    check(&workspace, json!({"path": "f", "byte_offset": 18}), expect![[""]]).await;
    check(
        &workspace,
        json!({"path": "f", "byte_offset": 19}),
        expect![[r#"INVALID_INPUT: byte_offset: file "f" has 18 bytes, found 19: give a byte_offset up to 17"#]],
    )
    .await;
    check(
        &workspace,
        json!({"path": "f", "byte_offset": 1, "start_line": 1}),
        expect![
            "INVALID_INPUT: the input names lines and bytes: give offset and limit, or byte_offset and byte_limit"
        ],
    )
    .await;
    check(
        &workspace,
        json!({"path": "f", "byte_limit": 200_001}),
        expect!["INVALID_INPUT: byte_limit: expected at most 200000, found 200001"],
    )
    .await;
}

#[tokio::test]
async fn offset_and_limit_are_lines_and_other_names_are_taken() {
    let workspace = Workspace::new().await;
    workspace.file("f", "one\ntwo\nthree\nfour");
    for input in [
        json!({"path": "f", "offset": 2, "limit": 2}),
        json!({"file_path": "f", "offset": 2, "limit": 2}),
        json!({"filePath": "f", "start_line": 2, "end_line": 3, "description": "look"}),
        json!({"path": "f", "offset": 2.0, "end_line": 3}),
    ] {
        assert_eq!(workspace.text("read", input.clone()).await, "two\nthree\n", "{input}");
    }
    check(
        &workspace,
        json!({"path": "f", "offset": 0, "limit": 1}),
        expect![[r#"
        one
    "#]],
    )
    .await;
    check(
        &workspace,
        json!({"path": "f", "offset": 1, "start_line": 2}),
        expect!["INVALID_INPUT: offset and start_line both name the first line: give one of them"],
    )
    .await;
    check(
        &workspace,
        json!({"path": "f", "limit": 1, "end_line": 2}),
        expect!["INVALID_INPUT: limit and end_line both name the last line: give one of them"],
    )
    .await;
    check(
        &workspace,
        json!({"path": "f", "lines": 3}),
        expect![
            "INVALID_INPUT: invalid input for read: lines: no such parameter: use offset and limit"
        ],
    )
    .await;
    // An open range of a large file is cut after whole lines, and says where to continue.
    workspace.file("large", "0123456789\n".repeat(30_000));
    let answer = workspace.call("read", json!({"path": "large", "offset": 3})).await.text();
    let end = answer.split_once('[').map(|(_, end)| end);
    assert_eq!(end, Some("lines 3-18,183; continue with offset=18184]"));
}

#[tokio::test]
async fn adjoining_byte_ranges_give_the_whole_text() {
    let workspace = Workspace::new().await;
    let text = "aä🦀b".repeat(20);
    workspace.file("f", &text);
    for step in 1..=5_usize {
        let mut joined = String::new();
        for offset in (0..text.len()).step_by(step) {
            joined += &workspace
                .text("read", json!({"path": "f", "byte_offset": offset, "byte_limit": step}))
                .await;
        }
        assert_eq!(joined, text, "in steps of {step}");
    }
}

#[tokio::test]
async fn a_file_at_the_limit_is_read_and_one_byte_more_needs_a_range() {
    let workspace = Workspace::new().await;
    workspace
        .file("exact", vec![b'x'; 200_000])
        .file("over", [vec![b'x'; 199_999], b"\ny".to_vec()].concat());
    assert_eq!(workspace.text("read", json!({"path": "exact"})).await.len(), 200_000);
    check(&workspace, json!({"path": "over"}), expect![[r#"TOOL_FILE_TOO_LARGE: file "over" has 200001 bytes, and read takes at most 200000 at once: give offset and limit (lines), or find the lines with grep"#]]).await;
    check(&workspace, json!({"path": "over", "start_line": 2}), expect!["y"]).await;
    check(&workspace, json!({"path": "over", "start_line": 1, "end_line": 2}), expect![[r#"TOOL_FILE_TOO_LARGE: these lines of "over" have more than 200000 bytes: give a smaller limit, or byte_offset and byte_limit"#]]).await;
}

#[tokio::test]
async fn what_is_no_text_file_is_said_to_be_so() {
    let workspace = Workspace::new().await;
    workspace
        .file("binary", b"\x7fELF\0\0")
        .file("noise", b"caf\xe9\x01")
        .file("image", b"\x89PNG\r\n\x1a\n")
        .file("document", "%PDF-1.7\n")
        .file("a.ipynb", "{}")
        .file("dir/inner", "")
        .file("dir/.hidden", "")
        .file("dir/sub/x", "");
    mkfifoat(CWD, workspace.path("fifo"), Mode::from(0o600)).unwrap();
    let _listener = UnixListener::bind(workspace.path("socket")).unwrap();
    symlink("/dev/zero", workspace.path("device")).unwrap();
    for (path, expect) in [
        (
            "binary",
            expect![[
                r#"TOOL_PATH_INVALID: file "binary" is a program, not text: look at it with a command, such as file or xxd"#
            ]],
        ),
        (
            "noise",
            expect![[
                r#"TOOL_PATH_INVALID: file "noise" is binary (it is not UTF-8 and has control characters), not text: look at it with a command, such as file or xxd"#
            ]],
        ),
        (
            "image",
            expect![[r#"TOOL_PATH_INVALID: file "image" is a PNG image, not text: use view"#]],
        ),
        (
            "document",
            expect![[
                r#"TOOL_PATH_INVALID: file "document" is a PDF document, not text: use view"#
            ]],
        ),
        (
            "a.ipynb",
            expect![[
                r#"TOOL_PATH_INVALID: file "a.ipynb" is a notebook: use view to see its cells, or give offset and limit to read its JSON"#
            ]],
        ),
        (
            "dir",
            expect![[
                r#"TOOL_PATH_INVALID: path "dir" is a directory, not a file; it contains .hidden, inner, sub/. Name a file, or list it with glob."#
            ]],
        ),
        (
            ".",
            expect![[
                r#"TOOL_PATH_INVALID: path "." is a directory, not a file; it contains a.ipynb, binary, device, dir/, document, fifo, image, noise, socket. Name a file, or list it with glob."#
            ]],
        ),
        (
            "fifo",
            expect![[
                r#"TOOL_PATH_INVALID: path "fifo" is a FIFO, which cannot be read: name a regular file"#
            ]],
        ),
        (
            "socket",
            expect![[
                r#"TOOL_PATH_INVALID: path "socket" is a socket, which cannot be read: name a regular file"#
            ]],
        ),
        (
            "device",
            expect![[
                r#"TOOL_PATH_ESCAPE: path "device" leaves the workspace through the symbolic link device: use another path"#
            ]],
        ),
        (
            "binary/inner",
            expect![[
                r#"TOOL_PATH_INVALID: path "binary/inner" cannot exist, because binary is not a directory: name a file in a directory"#
            ]],
        ),
    ] {
        check(&workspace, json!({"path": path}), expect).await;
    }
}

#[tokio::test]
async fn text_of_other_character_sets_is_converted() {
    let workspace = Workspace::new().await;
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    workspace.file("latin1", b"caf\xe9\nth\xe9\n").file("utf16", utf16("one\ntwo\nthree\n"));
    for (input, expect) in [
        (json!({"path": "latin1"}), "café\nthé\n".to_owned()),
        (json!({"path": "latin1", "offset": 2}), "thé\n".to_owned()),
        (json!({"path": "latin1", "byte_offset": 5, "byte_limit": 4}), "thé\n".to_owned()),
        (json!({"path": "utf16"}), "one\ntwo\nthree\n".to_owned()),
        (json!({"path": "utf16", "offset": 2, "limit": 1}), "two\n".to_owned()),
        (
            json!({"path": "utf16", "byte_offset": 1}),
            "INVALID_INPUT: file \"utf16\" is UTF-16 text: give offset and limit, which count lines".to_owned(),
        ),
    ] {
        assert_eq!(workspace.text("read", input.clone()).await, expect, "{input}");
    }
}

#[tokio::test]
async fn a_missing_file_names_what_is_like_it() {
    let workspace = Workspace::new().await;
    workspace.file("src/main.rs", "").file("src/Makefile", "");
    check(
        &workspace,
        json!({"path": "src/mian.rs"}),
        expect![[
            r#"TOOL_PATH_INVALID: path "src/mian.rs" does not exist: did you mean src/main.rs?"#
        ]],
    )
    .await;
    check(
        &workspace,
        json!({"path": "src/makefile"}),
        expect![[
            r#"TOOL_PATH_INVALID: path "src/makefile" does not exist: did you mean src/Makefile?"#
        ]],
    )
    .await;
    check(
        &workspace,
        json!({"path": "src/other.txt"}),
        expect![[r#"TOOL_PATH_INVALID: path "src/other.txt" does not exist: use glob to find it"#]],
    )
    .await;
    check(&workspace, json!({"path": "lib/main.rs"}), expect![[r#"TOOL_PATH_INVALID: path "lib/main.rs" does not exist: its directory "lib" does not exist either; use glob to find it"#]]).await;
    check(
        &workspace,
        json!({"path": ""}),
        expect![[
            r#"TOOL_PATH_INVALID: the path is empty: name a file, or "." if a directory is meant"#
        ]],
    )
    .await;
    check(&workspace, json!({"path": "~/x"}), expect![[r#"TOOL_PATH_INVALID: path "~/x" starts with ~, which is not expanded: use a path in the workspace"#]]).await;
    check(
        &workspace,
        json!({"path": "a\u{0}b"}),
        expect!["TOOL_PATH_INVALID: the path contains a NUL character, which no file name can: leave it out"],
    )
    .await;
}

#[tokio::test]
async fn nothing_outside_the_root_can_be_read() {
    let workspace = Workspace::new().await;
    std::fs::write(workspace.outside().join("secret"), "secret").unwrap();
    workspace.file("sub/f", "inside");
    symlink("../secret", workspace.path("relative")).unwrap();
    symlink(workspace.outside().join("secret"), workspace.path("absolute")).unwrap();
    symlink("..", workspace.path("up")).unwrap();
    symlink("loop", workspace.path("loop")).unwrap();
    symlink("sub/f", workspace.path("inner")).unwrap();
    symlink(workspace.path("sub"), workspace.path("absolute-inner")).unwrap();
    for (path, expect) in [
        (
            "../secret",
            expect![[
                r#"TOOL_PATH_ESCAPE: path "../secret" is outside the workspace: use a path within [tmp]/root"#
            ]],
        ),
        (
            "sub/../../secret",
            expect![[
                r#"TOOL_PATH_ESCAPE: path "sub/../../secret" is outside the workspace: use a path within [tmp]/root"#
            ]],
        ),
        (
            "relative",
            expect![[
                r#"TOOL_PATH_ESCAPE: path "relative" leaves the workspace through the symbolic link relative: use another path"#
            ]],
        ),
        (
            "absolute",
            expect![[
                r#"TOOL_PATH_ESCAPE: path "absolute" leaves the workspace through the symbolic link absolute: use another path"#
            ]],
        ),
        (
            "up/secret",
            expect![[
                r#"TOOL_PATH_ESCAPE: path "up/secret" leaves the workspace through the symbolic link up: use another path"#
            ]],
        ),
        (
            "loop",
            expect![[
                r#"TOOL_PATH_INVALID: path "loop" needs more than 40 symbolic links, which may form a loop: use another path"#
            ]],
        ),
        ("inner", expect!["inside"]),
        ("absolute-inner/f", expect!["inside"]),
        (
            "/etc/hostname",
            expect![[
                r#"TOOL_PATH_ESCAPE: path "/etc/hostname" is outside the workspace: use a path within [tmp]/root"#
            ]],
        ),
    ] {
        check(&workspace, json!({"path": path}), expect).await;
    }
    let secret = workspace.outside().join("secret");
    check(&workspace, json!({"path": secret}), expect![[r#"TOOL_PATH_ESCAPE: path "[tmp]/secret" is outside the workspace: use a path within [tmp]/root"#]]).await;
}
