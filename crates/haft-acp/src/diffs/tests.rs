use serde_json::json;

use super::*;

fn check(kind: ToolKind, input: &Value, expect: &[(&str, Option<&str>, &str)]) {
    let found = changes(kind, input, Path::new("/work"), |_| Some("before\n".to_owned()));
    let found: Vec<_> = found
        .iter()
        .map(|diff| (diff.path.to_str().unwrap(), diff.old_text.as_deref(), &*diff.new_text))
        .collect();
    assert_eq!(found, expect, "{kind:?} {input}");
}

#[test]
fn what_changes_is_read_off_the_input() {
    let edit = json!({"path": "./src/a.rs", "old_string": "one", "new_string": "two"});
    check(ToolKind::Edit, &edit, &[("/work/src/a.rs", Some("one"), "two")]);
    let write = json!({"path": "/work/b", "content": "after\n"});
    check(ToolKind::Edit, &write, &[("/work/b", Some("before\n"), "after\n")]);
    check(ToolKind::Execute, &json!({"cmd": "ls", "path": "x"}), &[]);
    check(ToolKind::Edit, &json!("no object"), &[]);
    check(ToolKind::Edit, &json!({"path": "b"}), &[]);
}

#[test]
fn a_patch_is_divided_into_places() {
    let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9 +9,2 @@ fn f\n---- dashes\n+++ pluses\n+more\n\\ No newline at end of file\n--- /dev/null\n+++ b/made\t2026\n@@ -0,0 +1 @@\n+made\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
    check(
        ToolKind::Edit,
        &json!({"patch": patch}),
        &[
            ("/work/x", Some("same\nold\n"), "same\nnew\n"),
            ("/work/x", Some("--- dashes\n"), "++ pluses\nmore\n"),
            ("/work/made", None, "made\n"),
            ("/work/gone", Some("gone\n"), ""),
        ],
    );
    let edit = json!({"path": "y", "patch": "@@ -1 +1 @@\n-a\n+b\n"});
    check(ToolKind::Edit, &edit, &[("/work/y", Some("a\n"), "b\n")]);
    check(ToolKind::Edit, &json!({"patch": "no patch"}), &[]);
    check(ToolKind::Edit, &json!({"patch": "--- a/x\n+++ b/x\n@@ -x +y @@\n-a\n"}), &[]);
}

#[test]
fn so_much_of_a_change_is_drawn() {
    let write = |bytes: usize| json!({"path": "b", "content": "x".repeat(bytes)});
    let count = |input: &Value| changes(ToolKind::Edit, input, Path::new("/"), |_| None).len();
    assert_eq!(count(&write(SHOWN_CHANGE_BYTES_MAX)), 1);
    assert_eq!(count(&write(SHOWN_CHANGE_BYTES_MAX + 1)), 0);
    let patch = |hunks: usize| json!({"patch": format!("--- a/x\n+++ b/x\n{}", "@@ -1 +1 @@\n-a\n+b\n".repeat(hunks))});
    assert_eq!(count(&patch(SHOWN_HUNKS_MAX)), SHOWN_HUNKS_MAX);
    assert_eq!(count(&patch(SHOWN_HUNKS_MAX + 1)), SHOWN_HUNKS_MAX);
}
