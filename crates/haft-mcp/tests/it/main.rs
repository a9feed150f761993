//! The MCP front end with tools made for the test, over streams in memory. The tests cover cases that builtin tools
//! and a separate process cannot show, such as bounds, tools that ignore cancellation or panic, and clients that do not read.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod asking;
mod client;
mod inquiring;
mod offering;
mod over_http;
mod servers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use expect_test::expect;
use haft_contract::{CallProgress, Cx, Effect, Tool, ToolError};
use haft_mcp::limits::{CALLS_IN_FLIGHT_MAX, GRACE_MS, MESSAGE_BYTES_MAX, RUNS_MAX, SETTLE_MS_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

use client::{Client, redacted};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Order {
    sku: String,
}

fn order() -> Tool {
    Tool::new("shop.order")
        .effect(Effect::Once)
        .output::<Order>()
        .execute_with(|order: Order, _: Cx| async move { Ok::<_, ToolError>(order) })
}

/// A tool that tells when it begins and ends when it is let go.
fn gate() -> (Tool, mpsc::UnboundedReceiver<u32>, Arc<Semaphore>) {
    let (began, begins) = mpsc::unbounded_channel();
    let open = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&open);
    let tool = Tool::new("gate").execute_with(move |_: Nothing, cx: Cx| {
        let (began, opened) = (began.clone(), Arc::clone(&opened));
        async move {
            let _ = began.send(cx.seq());
            opened.acquire().await?.forget();
            Ok::<_, ToolError>("passed")
        }
    });
    (tool, begins, open)
}

#[tokio::test]
async fn a_promised_schema_is_answered_in_both_forms() {
    let mut client = Client::connect([order()]).await;
    let answer = client.call("shop__order", json!({"sku": "x"})).await;
    expect![[r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"sku\":\"x\"}"}],"structuredContent":{"sku":"x"},"isError":false,"_meta":{"haft/call":"own/main/0/1/1","haft/durationMs":"[ms]"}}}"#]].assert_eq(&redacted(answer).to_string());
}

#[tokio::test]
async fn a_panic_of_a_tool_is_an_answer() {
    let panics = Tool::new("panics").execute_with(|_: Nothing, _: Cx| async {
        match std::hint::black_box(true) {
            true => panic!("boom"),
            false => Ok::<_, ToolError>(""),
        }
    });
    let mut client = Client::connect([panics, order()]).await;
    let answer = client.call("panics", json!({})).await;
    expect![[r#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"the tool panicked: boom"}],"isError":true,"_meta":{"haft/call":"own/main/0/1/1","haft/code":"TOOL_PANICKED","haft/durationMs":"[ms]"}}}"#]].assert_eq(&redacted(answer).to_string());
    let answer = client.call("shop__order", json!({"sku": "x"})).await;
    assert_eq!(answer["result"]["isError"], false);
}

#[tokio::test]
async fn calls_in_flight_are_bounded() {
    let (tool, mut begins, open) = gate();
    let mut client = Client::connect([tool]).await;
    for _ in 0..=CALLS_IN_FLIGHT_MAX {
        client.begin("gate", json!({}), json!({})).await;
    }
    for _ in 0..CALLS_IN_FLIGHT_MAX {
        begins.recv().await.unwrap();
    }
    // An answer to something else shows that everything sent before was taken up.
    client.request("ping", json!({})).await;
    assert!(begins.try_recv().is_err(), "one call too many has begun");
    open.add_permits(1);
    assert_eq!(begins.recv().await, Some(CALLS_IN_FLIGHT_MAX + 1));
    open.add_permits(1_000);
    for _ in 0..=CALLS_IN_FLIGHT_MAX {
        assert_eq!(client.receive().await["result"]["content"][0]["text"], "passed");
    }
}

#[tokio::test]
async fn calls_of_a_named_run_are_numbered_together() {
    let (tool, mut begins, open) = gate();
    let mut client = Client::connect([tool]).await;
    let meta = json!({"haft/run": "named"});
    for _ in 0..10 {
        client.begin("gate", json!({}), meta.clone()).await;
    }
    let mut numbers = Vec::new();
    for _ in 0..10 {
        numbers.extend(begins.recv().await);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=10).collect::<Vec<_>>());
    open.add_permits(10);
    let answer = client.receive().await;
    let call = answer["result"]["_meta"]["haft/call"].as_str().unwrap();
    assert!(call.starts_with("named/main/0/1/"), "{call}");
}

#[tokio::test]
async fn the_runs_that_a_connection_names_are_bounded() {
    let mut client = Client::connect([order()]).await;
    for number in 0..=RUNS_MAX {
        let meta = json!({"haft/run": format!("run-{number}")});
        client.begin("shop.order", json!({"sku": "x"}), meta).await;
        let answer = client.receive().await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    // It has made room, and goes on where it was.
    client.begin("shop.order", json!({"sku": "x"}), json!({"haft/run": "run-0"})).await;
    let answer = client.receive().await;
    assert_eq!(answer["result"]["_meta"]["haft/call"], "run-0/main/0/1/2", "{answer}");
    for number in 0..=RUNS_MAX {
        let meta = json!({"haft/run": format!("run-{number}"), "haft/resume": "replay"});
        client.begin("shop.order", json!({"sku": "x"}), meta).await;
        let answer = client.receive().await;
        if number < RUNS_MAX {
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        } else {
            expect![[r#"{"code":-32602,"message":"1024 runs are started over here, which is the limit: use one of them or open another connection"}"#]].assert_eq(&answer["error"].to_string());
        }
    }
}

#[tokio::test]
async fn only_the_newest_progress_is_sent() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let open = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&open);
    let talks = Tool::new("talks").execute_with(move |_: Nothing, cx: Cx| {
        let (began, opened) = (began.clone(), Arc::clone(&opened));
        async move {
            for step in 1..=1_000_u32 {
                cx.report(CallProgress {
                    done: f64::from(step),
                    total: Some(1_000.0),
                    message: format!("step {step}"),
                });
            }
            let _ = began.send(());
            opened.acquire().await?.forget();
            Ok::<_, ToolError>("said all")
        }
    });
    let mut client = Client::connect([talks]).await;
    client.begin("talks", json!({}), json!({"progressToken": 7})).await;
    begins.recv().await.unwrap();
    let mut reports = vec![client.receive().await];
    while reports.last().is_some_and(|report| report["params"]["message"] != "step 1000") {
        reports.push(client.receive().await);
    }
    assert!(
        reports.len() < 10,
        "a tool that says much at once is heard once, not {}",
        reports.len()
    );
    expect![[r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1000.0,"total":1000.0,"message":"step 1000"}}"#]].assert_eq(&reports.last().map(Value::to_string).unwrap_or_default());
    open.add_permits(1);
    assert_eq!(client.receive().await["result"]["content"][0]["text"], "said all");
}

#[tokio::test]
async fn a_tool_that_is_deaf_does_not_hold_up_the_end() {
    let (tool, mut begins, _open) = gate();
    let mut client = Client::connect([tool]).await;
    client.begin("gate", json!({}), json!({})).await;
    begins.recv().await.unwrap();
    let ended = Instant::now();
    client.end().await.unwrap();
    let took = ended.elapsed();
    assert!(took >= Duration::from_millis(GRACE_MS), "{took:?}");
    assert!(took < Duration::from_millis(GRACE_MS + SETTLE_MS_MAX) * 3, "{took:?}");
}

#[tokio::test]
async fn a_call_that_is_about_to_end_still_answers() {
    let (tool, mut begins, open) = gate();
    let mut client = Client::connect([tool]).await;
    client.begin("gate", json!({}), json!({})).await;
    begins.recv().await.unwrap();
    client.close_input();
    open.add_permits(1);
    assert_eq!(client.receive().await["result"]["content"][0]["text"], "passed");
    client.end().await.unwrap();
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_waited_for() {
    let talks = Tool::new("talks")
        .execute_with(|_: Nothing, _: Cx| async { Ok::<_, ToolError>("x".repeat(100_000)) });
    let mut client = Client::connect([talks]).await;
    for _ in 0..10 {
        client.begin("talks", json!({}), json!({})).await;
    }
    let ended = Instant::now();
    client.end().await.unwrap();
    assert!(ended.elapsed() < Duration::from_millis(GRACE_MS + SETTLE_MS_MAX) * 3);
}

#[tokio::test]
async fn a_shutdown_is_an_end_of_input() {
    let (tool, mut begins, _open) = gate();
    let mut client = Client::connect([tool]).await;
    client.begin("gate", json!({}), json!({})).await;
    begins.recv().await.unwrap();
    client.shut_down().await.unwrap();
}

#[tokio::test]
async fn a_message_over_the_bound_is_passed_over() {
    let mut client = Client::connect([order()]).await;
    let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
    let padded = |id, bytes: usize| {
        let line = ping(id);
        format!("{line}{}\n", " ".repeat(bytes - line.len() - 1))
    };
    client.send_text(&padded(100, MESSAGE_BYTES_MAX + 1)).await;
    client.send_text(&padded(101, MESSAGE_BYTES_MAX)).await;
    assert_eq!(client.receive().await["id"], 101);
}
