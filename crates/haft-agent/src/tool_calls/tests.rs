use serde_json::json;

use super::*;

fn asked(tool: &str, effect: Effect) -> PendingToolCall {
    PendingToolCall {
        part_index: 0,
        id: "c".to_owned(),
        tool: tool.to_owned(),
        arguments: ToolCallArguments::Object(json!({})),
        effect,
        is_delegation: tool == "task",
        kind: ToolKind::Other,
    }
}

#[test]
fn effects_decide_what_is_made_at_the_same_time() {
    let check = |calls: &[(&str, Effect)], expect: &[&[&str]]| {
        let calls = calls.iter().map(|(tool, effect)| asked(tool, *effect)).collect();
        let groups: Vec<Vec<String>> = group_calls(calls)
            .into_iter()
            .map(|group| group.into_iter().map(|call| call.tool).collect())
            .collect();
        assert_eq!(groups, expect);
    };
    use Effect::{Idempotent, Once, Read};
    check(&[], &[]);
    check(&[("read", Read), ("grep", Read), ("todo", Idempotent)], &[&["read", "grep", "todo"]]);
    check(
        &[("read", Read), ("edit", Once), ("write", Once), ("read", Read), ("glob", Read)],
        &[&["read"], &["edit"], &["write"], &["read", "glob"]],
    );
    // The last list is the one that stays.
    check(
        &[("todo", Idempotent), ("read", Read), ("todo", Idempotent), ("put", Idempotent)],
        &[&["todo", "read"], &["todo", "put"]],
    );
    // Delegations run beside reads and other delegations, but beside no other call with a side effect.
    check(
        &[("read", Read), ("task", Once), ("task", Once), ("grep", Read), ("task", Once)],
        &[&["read", "task", "task", "grep", "task"]],
    );
    check(
        &[("task", Once), ("edit", Once), ("task", Once), ("todo", Idempotent), ("task", Once)],
        &[&["task"], &["edit"], &["task"], &["todo"], &["task"]],
    );
}
