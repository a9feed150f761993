//! `todo`: the session's todo list.

use haft_contract::limits::TODOS_MAX;
use haft_contract::{
    ConnectionStore, Cx, Effect, IntoOutput, Todo, Tool, ToolError, ToolKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TodoToolList {
    /// The whole list.
    #[schemars(length(max = TODOS_MAX))]
    todos: Vec<Todo>,
}

pub(crate) fn todo() -> Tool {
    Tool::new("todo")
        .description("Replace the session's todo list.")
        .kind(ToolKind::Other)
        .example_output(json!({"todos": [{"content": "a task", "status": "pending"}]}))
        .keeps(ConnectionStore::Todos)
        .effect(Effect::Idempotent)
        .execute_with(|list: TodoToolList, cx: Cx| async move {
            cx.todos().replace(list.todos);
            let stored = TodoToolList { todos: cx.todos().current() };
            let empty_note = stored.todos.is_empty().then(|| "(the todo list is empty)".to_owned());
            Ok::<_, ToolError>(ToolOutput { empty_note, ..stored.into_output()? })
        })
}
