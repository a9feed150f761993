//! Calls that execute, and end in every way that they can.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use haft::{Call, CallLimits};
use haft_contract::{Cx, Effect, ErrorCode, Tool, ToolError};
use haft_journal::CallStatus;
use serde_json::json;
use tokio::sync::Notify;

use crate::stage::{Setting, Stage, Text, shown};

/// Returns a tool that reports that it has begun, and then waits for ever and ignores cancellation.
fn deaf(effect: Effect, begun: &Arc<Notify>) -> Tool {
    let begun = Arc::clone(begun);
    Tool::new("deaf").effect(effect).execute_with(move |_: Text, _: Cx| {
        let begun = Arc::clone(&begun);
        async move {
            begun.notify_one();
            std::future::pending::<Result<String, ToolError>>().await
        }
    })
}

fn polite(begun: &Arc<Notify>) -> Tool {
    let begun = Arc::clone(begun);
    Tool::new("polite").effect(Effect::Once).execute_with(move |_: Text, cx: Cx| {
        let begun = Arc::clone(&begun);
        async move {
            begun.notify_one();
            cx.cancellation().cancelled().await;
            Ok::<_, ToolError>("stopped half way")
        }
    })
}

async fn statuses(stage: &Stage) -> Vec<CallStatus> {
    stage.rows().await.iter().map(|row| row.status).collect()
}

#[tokio::test]
async fn a_panic_is_an_error_envelope_and_a_row() {
    let panics = |id: &str, effect| {
        Tool::new(id).effect(effect).execute_with(|input: Text, _: Cx| async move {
            assert!(input.text.is_empty(), "the text was {}", input.text);
            Ok::<_, ToolError>(())
        })
    };
    let blocks = Tool::new("blocks").execute_blocking(|input: Text, _: &Cx| {
        assert!(input.text.is_empty(), "blocking, the text was {}", input.text);
        Ok::<_, ToolError>(())
    });
    let tools = vec![panics("reads", Effect::Read), panics("effects", Effect::Once), blocks];
    let stage = Stage::new(Setting { tools, ..Setting::default() }).await;
    let input = || json!({"text": "x"});
    expect![[r#"
        {
          "type": "error",
          "error_text": "the tool panicked: the text was x",
          "metadata": {
            "code": "TOOL_PANICKED",
            "call_id": "r1/main/0/1/1"
          }
        }"#]]
    .assert_eq(&shown(&stage.call("reads", input()).await));
    expect![[r#"
        {
          "type": "error",
          "error_text": "the tool panicked: the text was x; its effect may or may not have happened: check before repeating",
          "metadata": {
            "code": "TOOL_PANICKED",
            "call_id": "r1/main/0/1/2"
          }
        }"#]].assert_eq(&shown(&stage.call("effects", input()).await));
    expect![[r#"
        {
          "type": "error",
          "error_text": "the tool panicked: blocking, the text was x",
          "metadata": {
            "code": "TOOL_PANICKED",
            "call_id": "r1/main/0/1/3"
          }
        }"#]]
    .assert_eq(&shown(&stage.call("blocks", input()).await));
    assert_eq!(
        statuses(&stage).await,
        [CallStatus::Failed, CallStatus::Unknown, CallStatus::Failed]
    );
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_ends_is_stopped_and_its_effect_is_unknown() {
    let begun = Arc::new(Notify::new());
    let told = "the tool did not end within 500 ms; the tool was told to stop and is not waited for any longer";
    let doubt = "; its effect may or may not have happened: check before repeating";
    for (effect, status, expect) in [
        (Effect::Read, CallStatus::Failed, told.to_owned()),
        (Effect::Once, CallStatus::Unknown, format!("{told}{doubt}")),
    ] {
        let limits = CallLimits { timeout_ms: 500, ..CallLimits::default() };
        let stage =
            Stage::new(Setting { tools: vec![deaf(effect, &begun)], limits, ..Setting::default() })
                .await;
        let envelope = stage.call("deaf", json!({"text": "x"})).await;
        assert_eq!(envelope.code().map(|code| code.as_str()), Some("TOOL_TIMEOUT"));
        assert_eq!(envelope.metadata().timeout_ms, Some(500));
        assert_eq!(statuses(&stage).await, [status]);
        assert_eq!(envelope.text(), expect);
    }
}

#[tokio::test]
async fn a_driver_gives_a_call_its_time_and_the_input_may_ask_for_less() {
    let time = Tool::new("time")
        .timeout_ms(|args: &Text| args.text.parse().ok())
        .execute_with(|_: Text, cx: Cx| async move { Ok::<_, ToolError>(cx.timeout_ms()) });
    let stage = Stage::new(Setting { tools: vec![time], ..Setting::default() }).await;
    for (given, asked, expected) in [
        (None, "none", 60_000),
        (None, "90000", 90_000),
        (Some(1_000), "none", 1_000),
        (Some(120_000), "none", 120_000),
        (Some(120_000), "90000", 90_000),
        (Some(1_000), "90000", 1_000),
        (Some(u64::MAX), "none", 3_600_000),
    ] {
        let call = Call { timeout_ms: given, ..Call::new("time", json!({"text": asked})) };
        let envelope = stage.run.call(call).await.unwrap();
        assert_eq!(envelope.text(), expected.to_string(), "{given:?} {asked}");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_call_stops_it_and_yields_an_error_or_a_partial_result() {
    let begun = Arc::new(Notify::new());
    let tools = vec![deaf(Effect::Once, &begun), polite(&begun)];
    let stage = Stage::new(Setting { tools, ..Setting::default() }).await;
    for (tool, expect) in [
        (
            "deaf",
            expect![[r#"
                {
                  "type": "error",
                  "error_text": "the call was cancelled; the tool was told to stop and is not waited for any longer; its effect may or may not have happened: check before repeating",
                  "metadata": {
                    "code": "PROCESS_ABORTED",
                    "call_id": "r1/main/0/1/1"
                  }
                }"#]],
        ),
        (
            "polite",
            expect![[r#"
                {
                  "type": "output",
                  "data": "stopped half way",
                  "metadata": {
                    "call_id": "r1/main/0/1/2"
                  }
                }"#]],
        ),
    ] {
        let call = Call::new(tool, json!({"text": "x"}));
        let cancellation = call.cancellation.clone();
        let (envelope, ()) = tokio::join!(stage.run.call(call), async {
            begun.notified().await;
            cancellation.cancel();
        });
        expect.assert_eq(&shown(&envelope.unwrap()));
    }
}

#[tokio::test]
async fn a_call_whose_caller_goes_away_is_cancelled_and_still_recorded() {
    let begun = Arc::new(Notify::new());
    let stage = Stage::new(Setting { tools: vec![polite(&begun)], ..Setting::default() }).await;
    {
        let call = stage.run.call(Call::new("polite", json!({"text": "x"})));
        tokio::select! {
            _ = call => panic!("the call ended by itself"),
            () = begun.notified() => {}
        }
    }
    for _ in 0..1_000 {
        if statuses(&stage).await == [CallStatus::Succeeded] {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("the outcome was never recorded: {}", stage.journal().await);
}

#[tokio::test]
async fn a_tool_learns_who_it_is() {
    let tell = Tool::new("tell").effect(Effect::Once).execute_with(|_: Text, cx: Cx| async move {
        Ok::<_, ToolError>(json!({
            "tool": cx.tool(), "effect": cx.effect(), "run": cx.attempt_address().run, "node": cx.attempt_address().node,
            "iteration": cx.attempt_address().iteration, "attempt": cx.attempt_address().attempt, "seq": cx.seq(),
            "allow_network": cx.allow_network(), "max_output_bytes": cx.max_output_bytes(),
            "timeout_ms": cx.timeout_ms(), "keys differ": cx.idempotency_key() != cx.task_key(),
        }))
    });
    let stage = Stage::new(Setting { tools: vec![tell], ..Setting::default() }).await;
    expect![[r#"
        {
          "type": "output",
          "data": {
            "tool": "tell",
            "effect": "once",
            "run": "r1",
            "node": "main",
            "iteration": 0,
            "attempt": 1,
            "seq": 1,
            "allow_network": false,
            "max_output_bytes": 200000,
            "timeout_ms": 60000,
            "keys differ": true
          },
          "metadata": {
            "call_id": "r1/main/0/1/1"
          }
        }"#]]
    .assert_eq(&shown(&stage.call("tell", json!({"text": "x"})).await));
}

#[tokio::test]
async fn a_tool_may_know_how_far_it_had_come() {
    let begun = Arc::new(Notify::new());
    let fails = |id: &str, effect| {
        let begun = Arc::clone(&begun);
        Tool::new(id).effect(effect).execute_with(move |input: Text, cx: Cx| {
            let begun = Arc::clone(&begun);
            async move {
                begun.notify_one();
                if input.text == "interrupted" {
                    let err = ToolError::new(ErrorCode::ToolFailed, "its process ended");
                    return Err::<(), _>(err.interrupted());
                }
                cx.cancellation().cancelled().await;
                Err(ToolError::new(ErrorCode::ProcessAborted, "it waited in line").not_begun())
            }
        })
    };
    let tools = vec![fails("reads", Effect::Read), fails("effects", Effect::Once)];
    let stage = Stage::new(Setting { tools, ..Setting::default() }).await;
    let doubt =
        "its process ended; its effect may or may not have happened: check before repeating";
    for (tool, how, expect) in [
        ("reads", "interrupted", "TOOL_FAILED its process ended"),
        ("effects", "interrupted", &format!("TOOL_FAILED {doubt}")),
        ("reads", "stopped", "PROCESS_ABORTED it waited in line"),
        ("effects", "stopped", "PROCESS_ABORTED it waited in line"),
    ] {
        let call = Call::new(tool, json!({ "text": how }));
        let cancellation = call.cancellation.clone();
        let (envelope, ()) = tokio::join!(stage.run.call(call), async {
            begun.notified().await;
            if how == "stopped" {
                cancellation.cancel();
            }
        });
        let envelope = envelope.unwrap();
        let code = envelope.code().map(|code| code.as_str()).unwrap_or_default();
        assert_eq!(format!("{code} {}", envelope.text()), expect, "{tool} {how}");
    }
    let expected =
        [CallStatus::Failed, CallStatus::Unknown, CallStatus::Failed, CallStatus::Failed];
    assert_eq!(statuses(&stage).await, expected);
}

#[tokio::test]
async fn what_ends_while_it_is_cancelled_may_have_had_its_effect() {
    let call = Call::new("stopped", json!({"text": "x"}));
    let cancellation = call.cancellation.clone();
    let stopped = Tool::new("stopped").effect(Effect::Once).execute(move |_: Text| {
        cancellation.cancel();
        async { Err::<(), _>(ToolError::new(ErrorCode::ProcessAborted, "stopped half way")) }
    });
    let stage = Stage::new(Setting { tools: vec![stopped], ..Setting::default() }).await;
    stage.run.call(call).await.unwrap();
    assert_eq!(statuses(&stage).await, [CallStatus::Unknown]);
}
