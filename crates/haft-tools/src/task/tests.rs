//! Tests of `task`: its input, and its output for each answer of a host.

use haft_contract::{BoxFuture, FailedAt, NO_SUBAGENTS_TEXT, OutputBody, Subagents, ToolOutput};
use serde_json::json;

use super::*;
use crate::testing::{cx, cx_with_subagents};

/// A host that answers each subagent by its name.
struct Answering;

impl Subagents for Answering {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        _: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async move {
            let session_id = format!("ses_{}", task.subagent_type);
            Ok(match task.background {
                true => SubagentAnswer::Begun { session_id },
                false => SubagentAnswer::Done {
                    output: format!("{} {}", task.prompt, json!(task.metadata)),
                    session_id: (task.subagent_type != "opaque").then_some(session_id),
                    calls: (task.subagent_type == "opaque").then(read_once).into_iter().collect(),
                },
            })
        })
    }

    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async move {
            match task.subagent_type.as_str() {
                "gone" => Ok(None),
                _ => self.delegate(task, cx).await.map(Some),
            }
        })
    }
}

fn read_once() -> SubagentCall {
    SubagentCall { tool: "read".to_owned(), status: "succeeded".to_owned(), duration_ms: 3 }
}

fn answering() -> (tempfile::TempDir, Cx) {
    let root = tempfile::tempdir().unwrap();
    let cx = cx_with_subagents(root.path(), std::sync::Arc::new(Answering));
    (root, cx)
}

fn data(output: ToolOutput) -> Value {
    let OutputBody::Data(value) = output.body else { panic!("expected data") };
    value
}

#[tokio::test]
async fn what_a_subagent_said_is_the_answer() {
    let (_root, cx) = answering();
    let check = async |input: Value, expected: Value| {
        let output = task().call_unguarded(input.clone(), cx.clone()).await.unwrap();
        assert_eq!(data(output), expected, "{input}");
    };
    let plain = json!({"subagent_type": "explore", "prompt": "find it"});
    check(plain, json!({"output": "find it null", "session_id": "ses_explore"})).await;
    let opaque = json!({"subagent_type": "opaque", "prompt": "find it", "metadata": {"for": 7}});
    let call = json!({"tool": "read", "status": "succeeded", "duration_ms": 3});
    check(opaque, json!({"output": "find it {\"for\":7}", "calls": [call]})).await;
    let begun = json!({"subagent_type": "explore", "prompt": "find it", "background": true});
    check(begun, json!({"session_id": "ses_explore", "note": BEGUN_NOTE})).await;
}

#[tokio::test]
async fn a_probe_goes_on_with_the_child_of_the_call() {
    let (_root, cx) = answering();
    let probe = async |name: &str| {
        let input = json!({"subagent_type": name, "prompt": "find it"});
        task().probe_unguarded(input, cx.clone()).await.unwrap()
    };
    assert!(matches!(probe("gone").await, ProbeResult::NotHappened));
    let ProbeResult::Happened(output) = probe("explore").await else { panic!("it was begun") };
    assert_eq!(data(output), json!({"output": "find it null", "session_id": "ses_explore"}));
}

#[tokio::test]
async fn without_an_agent_loop_nothing_begins() {
    let root = tempfile::tempdir().unwrap();
    let input = json!({"subagent_type": "explore", "prompt": "find it"});
    let err = task().call_unguarded(input, cx(root.path())).await.unwrap_err();
    assert_eq!((err.code, err.message.as_str()), (ErrorCode::Unavailable, NO_SUBAGENTS_TEXT));
    assert_eq!(err.failed_at, Some(FailedAt::Beginning));
}

#[tokio::test]
async fn tasks_are_bounded_and_blank_ones_refused() {
    let (_root, cx) = answering();
    let code = async |prompt: &str, metadata: Value| {
        let input = json!({"subagent_type": "explore", "prompt": prompt, "metadata": metadata});
        let called = task().call_unguarded(input, cx.clone()).await;
        called.err().map(|err| err.code)
    };
    assert_eq!(code(" \n", Value::Null).await, Some(ErrorCode::InvalidInput));
    let around = json!({"a": ""}).to_string().len();
    let of_bytes = |bytes: usize| json!({"a": "x".repeat(bytes - around)});
    assert_eq!(code("find", of_bytes(TASK_METADATA_BYTES_MAX)).await, None);
    let over = of_bytes(TASK_METADATA_BYTES_MAX + 1);
    assert_eq!(code("find", over).await, Some(ErrorCode::InvalidInput));

    let tool = task();
    let contract = tool.valid_contract().unwrap();
    let bound = |name: &str| contract.parameters["properties"][name]["maxLength"].as_u64();
    assert_eq!(bound("prompt"), Some(TASK_PROMPT_CHARS_MAX as u64));
    assert_eq!(bound("subagent_type"), Some(TASK_NAME_CHARS_MAX as u64));
    let input = json!({"subagent_type": "explore", "prompt": "find it"});
    assert_eq!(tool.timeout_ms(&input), Some(TASK_MS));
    assert!(contract.dangerous && contract.requires.is_empty());
}
