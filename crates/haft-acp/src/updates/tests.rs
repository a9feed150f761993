use expect_test::{Expect, expect};
use haft_agent::AgentEventKind;
use haft_contract::EnvelopeMetadata;
use serde_json::json;

use super::*;

fn updates() -> SessionUpdates {
    SessionUpdates::new("/work".into(), 100, true)
}

fn check(shown: &[SessionUpdate], expect: &Expect) {
    let shown: Vec<String> =
        shown.iter().map(|update| serde_json::to_string(update).unwrap()).collect();
    expect.assert_eq(&shown.join("\n"));
}

#[test]
fn a_model_that_is_asked_again_is_a_notice() {
    let retry = AgentEventKind::Retry {
        error: "openai limits how often it is asked".to_owned(),
        wait_ms: 1_200,
        attempt: 2,
        attempts_max: 4,
    };
    check(
        &updates().session_event_updates(retry, |_| None),
        &expect![[
            r#"{"sessionUpdate":"notice","severity":"info","title":"openai limits how often it is asked","description":"The model is asked again in 2 s."}"#
        ]],
    );
}

#[test]
fn an_answer_without_tokens_leaves_the_gauge_as_it_is() {
    let updates = updates();
    let shown = |read: [u64; 3], written: [u64; 2]| updates.usage_update(read, written).is_some();
    assert!(!shown([0; 3], [0; 2]));
    assert!(shown([0, 1, 0], [0; 2]));
    check(
        &updates.usage_update([1, 2, 3], [4, u64::MAX]).into_iter().collect::<Vec<_>>(),
        &expect![[r#"{"sessionUpdate":"usage_update","used":18446744073709551615,"size":100}"#]],
    );
}

#[test]
fn a_call_that_was_left_open_is_shown_once_and_goes_on() {
    let mut updates = updates();
    let input = json!({"path": "a.rs", "old_string": "x", "new_string": "y"});
    let mut call = || {
        let call = AnnouncedCall {
            id: "c1".to_owned(),
            tool: "edit",
            kind: haft_contract::ToolKind::Edit,
            title: "edit a.rs".to_owned(),
            input: &input,
            locations: &[],
        };
        updates.start_call(call, |_| None).remove(0)
    };
    assert!(matches!(call(), SessionUpdate::ToolCall(_)));
    assert!(matches!(call(), SessionUpdate::ToolCallUpdate(_)));
    let data = json!({"replacements": 1, "first_changed_line": 7});
    let done = Envelope::Output { data, metadata: EnvelopeMetadata::default() };
    check(
        &updates.end_call("c1", "edit", ToolResultStatus::OutputAvailable, &done),
        &expect![[
            r#"{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"diff","path":"/work/a.rs","oldText":"x","newText":"y"}],"locations":[{"path":"/work/a.rs","line":7}]}"#
        ]],
    );
}
