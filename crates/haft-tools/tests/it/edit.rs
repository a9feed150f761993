//! `edit`.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::workspace::Workspace;

async fn check(workspace: &Workspace, input: Value, expect: Expect) {
    expect.assert_eq(&workspace.text("edit", input).await);
}

#[tokio::test]
async fn a_passage_is_replaced_and_the_rest_stays_byte_for_byte() {
    let workspace = Workspace::new().await;
    workspace.file("f", "\u{feff}one\r\ntwo\r\nthree\n");
    workspace.set_mode("f", 0o640);
    let input = json!({"path": "f", "old_string": "two\n", "new_string": "2\n2b\n"});
    check(&workspace, input, expect![[r#"{"replacements":1,"first_changed_line":2}"#]]).await;
    assert_eq!(workspace.contents("f"), "\u{feff}one\r\n2\r\n2b\r\nthree\n".as_bytes());
    assert_eq!((workspace.mode("f"), workspace.tree()), (0o640, vec!["f".to_owned()]));
}

#[tokio::test]
async fn an_edit_never_guesses() {
    let workspace = Workspace::new().await;
    let text = "fn main() {\n    let x = 1;\n    let y = 1;\n}\n";
    workspace.file("f.rs", text);
    let edit = |old: &str| json!({"path": "f.rs", "old_string": old, "new_string": "new"});
    check(&workspace, edit("let x = 2;"), expect![[r#"
        TOOL_EDIT_NO_MATCH: f.rs: the text to replace was not found; the nearest passage is at line 2, where line 2 differs: yours is `let x = 2;`, the file has `    let x = 1;`; copy it exactly, including whitespace:
            let x = 1;"#]]).await;
    check(&workspace, edit("  let x = 1;\n  let y = 1;"), expect![[r#"
        TOOL_EDIT_NO_MATCH: f.rs: the text to replace was not found; the nearest passage is at line 2, where only the indentation differs; copy it exactly, including whitespace:
            let x = 1;
            let y = 1;"#]]).await;
    check(&workspace, edit("= 1;"), expect!["TOOL_EDIT_AMBIGUOUS: f.rs: the text to replace was found 2 times, at lines 2, 3; add lines around it until it is unique, or set replace_all to replace every occurrence"]).await;
    check(&workspace, edit(""), expect!["INVALID_INPUT: f.rs: the text to replace is empty, so it names no place in the file; copy the passage to replace, or use write to create or overwrite a whole file"]).await;
    check(&workspace, edit("new"), expect!["INVALID_INPUT: f.rs: the old and the new text are the same here, so nothing would change; they must differ"]).await;
    check(
        &workspace,
        json!({"path": "g.rs", "old_string": "a", "new_string": "b"}),
        expect![[r#"TOOL_PATH_INVALID: path "g.rs" does not exist: did you mean f.rs?"#]],
    )
    .await;
    assert_eq!(workspace.contents("f.rs"), text.as_bytes());
    let all =
        json!({"path": "f.rs", "old_string": "= 1;", "new_string": "= 2;", "replace_all": true});
    check(&workspace, all, expect![[r#"{"replacements":2,"first_changed_line":2}"#]]).await;
}

#[tokio::test]
async fn edits_at_the_same_time_are_all_made() {
    let workspace = Workspace::new().await;
    let lines: String = (0..16).map(|number| format!("<line {number:02}>\n")).collect();
    workspace.file("f", &lines);
    let edit = |number: usize| {
        let old = format!("<line {number:02}>");
        json!({"path": "f", "old_string": old, "new_string": format!("<edited {number:02}>")})
    };
    let answers: Vec<String> = {
        let edits = (0..16).map(|number| workspace.text("edit", edit(number)));
        let mut running: Vec<_> = edits.map(Box::pin).collect();
        let mut answers = Vec::new();
        std::future::poll_fn(|cx| {
            running.retain_mut(|call| match call.as_mut().poll(cx) {
                std::task::Poll::Ready(answer) => {
                    answers.push(answer);
                    false
                }
                std::task::Poll::Pending => true,
            });
            if running.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        answers
    };
    assert!(answers.iter().all(|answer| answer.contains("\"replacements\":1")), "{answers:?}");
    let edited = String::from_utf8(workspace.contents("f")).unwrap();
    assert_eq!((answers.len(), edited.matches("edited").count()), (16, 16), "{edited}");
}
