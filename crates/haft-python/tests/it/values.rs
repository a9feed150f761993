//! Any JSON value passes through a tool unchanged.

use haft_contract::Envelope;
use haft_python::{ToolDirectory, WorkerOptions};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::stage::{Stage, fixtures};

/// Generates numbers that every JSON parser reads alike, and any texts.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i32>().prop_map(|number| Value::from(f64::from(number) / 8.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

#[test]
fn json_passes_through_a_tool_unchanged() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let directory = ToolDirectory::new(fixtures("calls"));
    let stage = runtime.block_on(Stage::of_directory(&directory, WorkerOptions::default()));
    let mut runner =
        TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(200) });
    let outcome = runner.run(&values(), |value| {
        let envelope = runtime.block_on(stage.call("echo", json!({ "value": value })));
        let Envelope::Output { data, .. } = &envelope else {
            return Err(TestCaseError::fail(envelope.text()));
        };
        prop_assert_eq!(data, &value);
        Ok(())
    });
    outcome.unwrap();
}
