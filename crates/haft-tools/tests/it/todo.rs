//! `todo`.

use expect_test::expect;
use serde_json::json;

use crate::workspace::Workspace;

#[tokio::test]
async fn the_list_is_stored_and_answered() {
    let workspace = Workspace::new().await;
    let todos = json!({"todos": [
        {"content": "read the code", "status": "completed"},
        {"content": "fix it", "status": "in_progress", "priority": "high"}
    ]});
    expect![[r#"{"todos":[{"content":"read the code","status":"completed"},{"content":"fix it","status":"in_progress","priority":"high"}]}"#]].assert_eq(&workspace.text("todo", todos).await);
    let wrong =
        json!({"todos": [{"content": "x", "status": "done"}, {"status": "pending", "when": 1}]});
    expect![[r#"INVALID_INPUT: invalid input for todo: todos[0].status: expected one of ["pending","in_progress","completed","cancelled"], found "done"; todos[1].content: required, but missing; todos[1].when: no such parameter: there are content, status, priority"#]].assert_eq(&workspace.text("todo", wrong).await);
}

#[tokio::test]
async fn a_list_at_the_bound_is_stored_and_one_more_is_refused() {
    let workspace = Workspace::new().await;
    let list =
        |count: usize| json!({"todos": vec![json!({"content": "x", "status": "pending"}); count]});
    assert!(workspace.text("todo", list(1_000)).await.starts_with("{\"todos\""));
    expect!["INVALID_INPUT: invalid input for todo: todos: expected at most 1000 items, found an array of 1001 items"].assert_eq(&workspace.text("todo", list(1_001)).await);
}
