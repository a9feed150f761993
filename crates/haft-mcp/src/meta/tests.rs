//! The metadata of a call, and the errors for invalid metadata.

use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn check(meta: Value, expect: &Expect) {
    let Value::Object(meta) = meta else { panic!("cases are objects") };
    let text = match CallMeta::parse(&meta, &CallMetaDefaults::default()) {
        Ok(parsed) => format!("{parsed:?}"),
        Err(err) => format!("{}: {}", err.code.0, err.message),
    };
    expect.assert_eq(&text);
}

#[test]
fn scopes_are_read_and_other_keys_are_not_ours() {
    check(
        json!({}),
        &expect![[
            r#"CallMeta { run: None, address: TaskAttempt { node: "main", iteration: 0, attempt: 1 }, driver_call_id: None, resume: Continue }"#
        ]],
    );
    check(
        json!({"progressToken": 1, "com.example/haft/run": 5, "haft/effect": {}, "haft/requires": {}}),
        &expect![[
            r#"CallMeta { run: None, address: TaskAttempt { node: "main", iteration: 0, attempt: 1 }, driver_call_id: None, resume: Continue }"#
        ]],
    );
    check(
        json!({"haft/run": "r1", "haft/node": "build", "haft/iteration": 2, "haft/attempt": 3, "haft/call": "toolu_1"}),
        &expect![[
            r#"CallMeta { run: Some(RunId("r1")), address: TaskAttempt { node: "build", iteration: 2, attempt: 3 }, driver_call_id: Some("toolu_1"), resume: Continue }"#
        ]],
    );
}

#[test]
fn what_is_not_said_of_the_connections_own_run_is_as_it_was_set_up() {
    let place = TaskAttempt { node: "build".to_owned(), iteration: 4, attempt: 2 };
    let usual = CallMetaDefaults { address: place, resume: ResumeMode::Replay };
    let check = |meta: Value, expect: (&str, u32, u32, ResumeMode)| {
        let meta = CallMeta::parse(meta.as_object().unwrap(), &usual).unwrap();
        let TaskAttempt { node, iteration, attempt } = meta.address;
        assert_eq!((node.as_str(), iteration, attempt, meta.resume), expect);
    };
    check(json!({}), ("build", 4, 2, ResumeMode::Replay));
    check(json!({"haft/attempt": 3}), ("build", 4, 3, ResumeMode::Replay));
    check(json!({"haft/resume": "continue"}), ("build", 4, 2, ResumeMode::Continue));
    check(json!({"haft/run": "other"}), ("main", 0, 1, ResumeMode::Continue));
}

#[test]
fn what_makes_no_sense_is_named() {
    check(
        json!({"haft/run": 1}),
        &expect![[r#"-32602: _meta "haft/run": expected a string, found 1"#]],
    );
    check(
        json!({"haft/run": "a b"}),
        &expect![[
            r#"-32602: _meta "haft/run": run "a b" is not valid: expected 1 to 128 letters, digits and the characters . _ - :"#
        ]],
    );
    check(
        json!({"haft/run": null}),
        &expect![[r#"-32602: _meta "haft/run": expected a string, found null"#]],
    );
    check(
        json!({"haft/node": ""}),
        &expect![[
            r#"-32602: _meta "haft/node": node "" is not valid: expected 1 to 128 letters, digits and the characters . _ - :"#
        ]],
    );
    check(
        json!({"haft/node": ["a"]}),
        &expect![[r#"-32602: _meta "haft/node": expected a string, found an array"#]],
    );
    check(
        json!({"haft/iteration": -1}),
        &expect![[
            r#"-32602: _meta "haft/iteration": expected an integer from 0 to 4294967295, found -1"#
        ]],
    );
    check(
        json!({"haft/iteration": 4_294_967_296_u64}),
        &expect![[
            r#"-32602: _meta "haft/iteration": expected an integer from 0 to 4294967295, found 4294967296"#
        ]],
    );
    check(
        json!({"haft/iteration": 1.5}),
        &expect![[
            r#"-32602: _meta "haft/iteration": expected an integer from 0 to 4294967295, found 1.5"#
        ]],
    );
    check(
        json!({"haft/attempt": 0}),
        &expect![[
            r#"-32602: _meta "haft/attempt": expected an integer from 1 to 4294967295, found 0"#
        ]],
    );
    check(
        json!({"haft/attempt": "2"}),
        &expect![[
            r#"-32602: _meta "haft/attempt": expected an integer from 1 to 4294967295, found a string"#
        ]],
    );
    check(
        json!({"haft/call": ""}),
        &expect![[r#"-32602: _meta "haft/call": expected 1 to 256 characters, found 0"#]],
    );
    check(
        json!({"haft/call": true}),
        &expect![[r#"-32602: _meta "haft/call": expected a string, found a boolean"#]],
    );
}

#[test]
fn what_haft_does_not_know_is_not_passed_over() {
    check(
        json!({"haft/resumption": "replay"}),
        &expect![[
            r#"-32602: _meta "haft/resumption" is not known: expected haft/run, haft/node, haft/iteration, haft/attempt, haft/call, haft/resume"#
        ]],
    );
    check(
        json!({"haft/resume": "again"}),
        &expect![[
            r#"-32602: _meta "haft/resume": expected "continue" or "replay", found "again""#
        ]],
    );
}

#[test]
fn a_name_of_a_call_may_have_its_longest() {
    let parse = |chars: usize| {
        let meta = json!({"haft/call": "ä".repeat(chars)});
        CallMeta::parse(meta.as_object().unwrap(), &CallMetaDefaults::default())
            .map(|meta| meta.driver_call_id)
            .is_ok()
    };
    assert!(parse(DRIVER_CALL_ID_CHARS_MAX));
    assert!(!parse(DRIVER_CALL_ID_CHARS_MAX + 1));
}
