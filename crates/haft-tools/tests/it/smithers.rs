//! The profile `smithers`: exact schemas, bare strings, the published messages and codes.

use expect_test::expect;
use haft::CallLimits;
use haft_tools::{Profile, tools};
use serde_json::json;

use crate::workspace::Workspace;

async fn smithers(output_bytes: usize) -> Workspace {
    Workspace::with(Profile::Smithers, CallLimits { output_bytes, ..CallLimits::default() }).await
}

#[test]
fn schemas_are_the_published_ones() {
    let listed: Vec<String> = tools(Profile::Smithers, &haft_tools::ToolOptions::default())
        .iter()
        .map(|tool| {
            let contract = tool.valid_contract().unwrap();
            format!("{} {:?}\n{}\n", contract.id, contract.effect, contract.parameters)
        })
        .collect();
    expect![[r#"
        bash Once
        {"type":"object","additionalProperties":false,"properties":{"cmd":{"type":"string","description":"Executable name or path.","minLength":1,"maxLength":8192},"args":{"type":"array","items":{"type":"string","maxLength":8192},"description":"Arguments.","maxItems":128},"opts":{"type":"object","additionalProperties":false,"properties":{"cwd":{"type":"string","description":"Working directory, sandboxed under rootDir.","maxLength":1024}}}},"required":["cmd"]}
        edit Once
        {"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"File to patch. Must already exist."},"patch":{"type":"string","description":"A unified diff. Applied against the current contents."}},"required":["path","patch"]}
        grep Read
        {"type":"object","additionalProperties":false,"properties":{"pattern":{"type":"string","description":"Regex to search for."},"path":{"type":"string","description":"Directory or file to search, relative to rootDir."}},"required":["pattern"]}
        read Read
        {"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"File path, relative to rootDir or absolute within it."}},"required":["path"]}
        write Once
        {"type":"object","additionalProperties":false,"properties":{"path":{"type":"string","description":"Destination path, relative to rootDir or absolute within it."},"content":{"type":"string","description":"File contents."}},"required":["path","content"]}
    "#]].assert_eq(&listed.concat());
}

#[tokio::test]
async fn answers_are_bare_strings() {
    let workspace = smithers(200_000).await;
    assert_eq!(
        workspace.text("write", json!({"path": "a.txt", "content": "one\ntwo\n"})).await,
        "ok"
    );
    assert_eq!(workspace.text("read", json!({"path": "a.txt"})).await, "one\ntwo\n");
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n";
    assert_eq!(workspace.text("edit", json!({"path": "a.txt", "patch": patch})).await, "ok");
    assert_eq!(workspace.text("grep", json!({"pattern": "[o2]"})).await, "a.txt:1:one\na.txt:2:2");
    assert_eq!(workspace.text("grep", json!({"pattern": "absent"})).await, "");
}

#[tokio::test]
async fn messages_and_codes_are_the_published_ones() {
    let workspace = smithers(10).await;
    workspace.file("big", "x".repeat(11)).file("small", "one\n");
    for (tool, input, expect) in [
        ("read", json!({"path": "big"}), expect!["TOOL_FILE_TOO_LARGE: File too large"]),
        (
            "write",
            json!({"path": "f", "content": "x".repeat(11)}),
            expect!["TOOL_CONTENT_TOO_LARGE: Content too large"],
        ),
        (
            "edit",
            json!({"path": "small", "patch": "x".repeat(11)}),
            expect!["TOOL_PATCH_TOO_LARGE: Patch too large"],
        ),
        (
            "edit",
            json!({"path": "small", "patch": "@@\n-a\n+b\n"}),
            expect![[r#"
            TOOL_PATCH_FAILED: Failed to apply patch: hunk 1 (line 1 of the patch) does not match: these context and removed lines are not in the file:
            a
            nothing in the file resembles it; read the file again and copy the passage exactly"#]],
        ),
        (
            "edit",
            json!({"path": "big", "patch": "@@\n-x\n+b\n"}),
            expect!["TOOL_FILE_TOO_LARGE: File too large"],
        ),
        (
            "edit",
            json!({"path": "small", "patch": ""}),
            expect![
                "TOOL_PATCH_FAILED: Failed to apply patch: the patch is empty; write a unified diff, each file beginning with `--- a/path` and `+++ b/path`"
            ],
        ),
        (
            "grep",
            json!({"pattern": "("}),
            expect![[
                r#"TOOL_GREP_FAILED: the pattern "(" is not a valid Rust regex: unclosed group; put a backslash before each of . + * ? ( ) | [ ] { } ^ $ \ that is meant literally"#
            ]],
        ),
        (
            "read",
            json!({"path": "../etc"}),
            expect![[
                r#"TOOL_PATH_ESCAPE: path "../etc" is outside the workspace: use a path within [tmp]/root"#
            ]],
        ),
    ] {
        expect.assert_eq(&workspace.text(tool, input).await);
    }
}
