use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn asked(tool: &str, effect: Effect) -> Asked {
    Asked {
        place: 0,
        id: "c".to_owned(),
        tool: tool.to_owned(),
        arguments: Arguments::Object(json!({})),
        effect,
        delegates: tool == "task",
        kind: Kind::Other,
    }
}

#[test]
fn effects_decide_what_is_made_at_the_same_time() {
    let check = |calls: &[(&str, Effect)], expect: &[&[&str]]| {
        let calls = calls.iter().map(|(tool, effect)| asked(tool, *effect)).collect();
        let groups: Vec<Vec<String>> = grouped(calls)
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
    // What subagents do is made beside each other, and beside nothing else that changes something.
    check(
        &[("read", Read), ("task", Once), ("task", Once), ("grep", Read), ("task", Once)],
        &[&["read", "task", "task", "grep", "task"]],
    );
    check(
        &[("task", Once), ("edit", Once), ("task", Once), ("todo", Idempotent), ("task", Once)],
        &[&["task"], &["edit"], &["task"], &["todo"], &["task"]],
    );
}

#[test]
fn a_call_has_a_title() {
    let check = |tool: &str, input: Value, expect: Expect| {
        expect.assert_eq(&call_title(tool, &input));
    };
    check("read", json!({"path": "src/lib.rs", "offset": 1}), expect!["read src/lib.rs"]);
    check("bash", json!({"cmd": "cargo", "args": ["test", 1]}), expect!["bash cargo test"]);
    check("bash", json!({"cmd": "a\n\u{1b}[2Jb"}), expect!["bash a [2Jb"]);
    check("todo", json!({"todos": []}), expect!["todo"]);
    check("todo", json!("{half"), expect!["todo"]);
    let long = call_title("bash", &json!({"cmd": "x".repeat(CALL_TITLE_CHARS_MAX + 1)}));
    assert_eq!(long.chars().count(), "bash ".len() + CALL_TITLE_CHARS_MAX + 1);
}

#[test]
fn an_answer_that_is_too_long_for_a_row_loses_its_end() {
    let check = |chars: usize, is_cut: bool| {
        let data = Value::from("\u{1}".repeat(chars));
        let envelope = Envelope::Output { data, metadata: Metadata::default() };
        let kept = kept(&envelope);
        assert!(kept.len() <= KEPT_RESULT_BYTES_MAX, "{}", kept.len());
        assert_eq!(serde_json::from_str::<Envelope>(&kept).unwrap() != envelope, is_cut);
    };
    let around = json!({"type": "output", "data": "", "metadata": {"duration_ms": 0}});
    let fits = (KEPT_RESULT_BYTES_MAX - around.to_string().len()) / 6;
    check(fits, false);
    check(fits + 1, true);
}
