//! Long outputs are cut, and the rest can be read.

use expect_test::expect;
use haft::CallLimits;
use haft_contract::limits::OUTPUT_BYTES_MAX;
use haft_contract::{Envelope, OutputBody, OutputLimit, Tool, ToolError, ToolOutput};
use serde_json::json;

use crate::stage::{Setting, Stage, Text, shown};

fn tools() -> Vec<Tool> {
    let lines = |incomplete: bool| {
        move |input: Text| async move {
            let lines = input.text.split(' ').map(str::to_owned).collect();
            Ok::<_, ToolError>(ToolOutput::new(OutputBody::Lines {
                key: "words",
                lines,
                incomplete,
            }))
        }
    };
    vec![
        Tool::new("text").execute(|input: Text| async move { Ok::<_, ToolError>(input.text) }),
        Tool::new("data")
            .execute(|input: Text| async move { Ok::<_, ToolError>(json!({"text": input.text})) }),
        Tool::new("lines").output_limit(OutputLimit::Entries(3)).execute(lines(false)),
        Tool::new("incomplete").output_limit(OutputLimit::Entries(3)).execute(lines(true)),
        Tool::new("fails").execute(|input: Text| async move {
            let output = ToolOutput::text(input.text);
            Err::<(), _>(
                ToolError::new(haft_contract::ErrorCode::ToolFailed, "it failed")
                    .with_output(output),
            )
        }),
    ]
}

async fn stage() -> Stage {
    let limits = CallLimits { output_bytes: 20, ..CallLimits::default() };
    Stage::new(Setting { tools: tools(), limits, ..Setting::default() }).await
}

#[tokio::test]
async fn an_output_at_its_limit_is_whole_and_one_more_is_cut() {
    let stage = stage().await;
    let exact = "x".repeat(20);
    assert!(!stage.call("text", json!({"text": exact})).await.metadata().truncated);
    let over = stage.call("text", json!({"text": format!("{exact}y")})).await;
    expect![[r#"
        {
          "type": "output",
          "data": {
            "head": "xxxxxxxxxxxxxxxxxxxx"
          },
          "metadata": {
            "call_id": "r1/main/0/1/2",
            "truncated": true,
            "output_path": "2-text.txt",
            "gap": {
              "text": {
                "bytes": 1,
                "lines": 0,
                "next_byte": 20
              }
            }
          }
        }"#]]
    .assert_eq(&shown(&over));
    assert!(!stage.call("lines", json!({"text": "a b c"})).await.metadata().truncated);
    expect![[r#"
        {
          "type": "output",
          "data": {
            "head": "a\nb\nc"
          },
          "metadata": {
            "call_id": "r1/main/0/1/4",
            "truncated": true,
            "output_path": "4-lines.txt",
            "gap": {
              "entries": {
                "noun": "words",
                "shown": 3,
                "total": 4,
                "is_incomplete": false,
                "next_line": 4
              }
            }
          }
        }"#]]
    .assert_eq(&shown(&stage.call("lines", json!({"text": "a b c d"})).await));
    expect![[r#"
        {
          "type": "output",
          "data": {
            "head": "a\nb"
          },
          "metadata": {
            "call_id": "r1/main/0/1/5",
            "truncated": true,
            "output_path": "5-incomplete.txt",
            "output_lost": "the search stopped before its end",
            "gap": {
              "entries": {
                "noun": "words",
                "shown": 2,
                "total": 2,
                "is_incomplete": true,
                "next_line": 3
              }
            }
          }
        }"#]]
    .assert_eq(&shown(&stage.call("incomplete", json!({"text": "a b"})).await));
    expect![[r#"
        {
          "type": "output",
          "data": {
            "head": "{\"text\":\"äääää"
          },
          "metadata": {
            "call_id": "r1/main/0/1/6",
            "truncated": true,
            "output_path": "6-data.txt",
            "gap": {
              "text": {
                "bytes": 32,
                "lines": 0,
                "next_byte": 19
              }
            }
          }
        }"#]]
    .assert_eq(&shown(&stage.call("data", json!({"text": "ä".repeat(20)})).await));
}

#[tokio::test]
async fn what_a_failed_tool_had_produced_is_cut_too() {
    let stage = stage().await;
    let failed = shown(&stage.call("fails", json!({"text": "z".repeat(30)})).await);
    let failed = failed.replace(&*stage.directory.path().to_string_lossy(), "[tmp]");
    expect![[r#"
        {
          "type": "error",
          "error_text": "it failed\nzzzzzzzzzzzzzzzzzzzz\n[10 bytes left out; all of it: [tmp]/sidecars/s1/1-fails.txt (read it with byte_offset=20)]",
          "metadata": {
            "code": "TOOL_FAILED",
            "truncated": true,
            "output_path": "1-fails.txt",
            "gap": {
              "text": {
                "bytes": 10,
                "lines": 0,
                "next_byte": 20
              }
            },
            "call_id": "r1/main/0/1/1"
          }
        }"#]].assert_eq(&failed);
}

#[tokio::test]
async fn the_sidecar_holds_everything_and_goes_with_the_session() {
    let stage = stage().await;
    let text = "0123456789".repeat(10);
    let envelope = stage.call("text", json!({"text": text})).await;
    let path = std::path::PathBuf::from(envelope.metadata().output_path.clone().unwrap());
    assert_eq!(stage.session.read_sidecar(&path).unwrap(), text.as_bytes());
    let Stage { directory, runtime, session, run } = stage;
    drop((session, run));
    assert!(!path.exists(), "sidecars go when the session closes");
    drop((runtime, directory));
}

#[tokio::test]
async fn sidecars_that_are_kept_outlive_the_session() {
    let stage = stage().await;
    stage.session.keep_outputs();
    let envelope = stage.call("text", json!({"text": "x".repeat(100)})).await;
    let path = std::path::PathBuf::from(envelope.metadata().output_path.clone().unwrap());
    let Stage { directory, runtime, session, run } = stage;
    drop((session, run));
    assert!(path.exists());
    drop((runtime, directory));
}

#[tokio::test]
async fn only_sidecars_of_the_session_are_served() {
    let stage = stage().await;
    let secret = stage.directory.path().join("root/secret");
    std::fs::write(&secret, "secret").unwrap();
    assert!(stage.session.read_sidecar(&secret).is_err());
    stage.call("text", json!({"text": "x".repeat(100)})).await;
    assert!(stage.session.read_sidecar(&secret).is_err());
    assert!(
        stage
            .session
            .read_sidecar(&stage.directory.path().join("sidecars/s1/../../root/secret"))
            .is_err()
    );
}

#[tokio::test]
async fn a_sidecar_that_cannot_be_written_does_not_fail_the_call() {
    let stage = stage().await;
    std::fs::write(stage.directory.path().join("sidecars"), "in the way").unwrap();
    let envelope = stage.call("text", json!({"text": "x".repeat(100)})).await;
    let Envelope::Output { metadata, .. } = envelope else { panic!("{envelope:?}") };
    assert!(metadata.truncated && metadata.output_path.is_none() && metadata.output_lost.is_some());
}

#[tokio::test]
async fn no_configuration_lifts_the_highest_bound() {
    let limits = CallLimits { output_bytes: usize::MAX, ..CallLimits::default() };
    let stage = Stage::new(Setting { tools: tools(), limits, ..Setting::default() }).await;
    let over = stage.call("text", json!({"text": "x".repeat(OUTPUT_BYTES_MAX + 1)})).await;
    assert!(over.metadata().truncated);
}
