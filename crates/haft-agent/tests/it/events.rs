//! The stream of events, as programs read it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::expect;
use haft::{Ask, AskAnswer, Asker};
use haft_contract::BoxFuture;
use haft_model::{ModelError, ModelEvent, ModelRetry, ModelStopReason};
use haft_policy::{Rule, RuleAction};
use serde_json::{Value, json};

use crate::models::{Actor, call, ends, says};
use crate::stage::{Place, begin, done, say};

/// Says yes to the first question and no to the others.
#[derive(Default)]
struct OnceYes {
    asked: Mutex<Vec<Ask>>,
}

impl Asker for OnceYes {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(ask);
        let answer = if asked.len() == 1 { AskAnswer::AllowOnce } else { AskAnswer::Reject };
        Box::pin(async move { answer })
    }
}

#[tokio::test]
async fn everything_that_happens_is_told_in_order() {
    let mut place = Place::new();
    place.rules.push(Rule::new("order", "*", RuleAction::Ask));
    place.asker = Arc::new(OnceYes::default());
    let draft = |text: &str| ModelEvent::ToolInput {
        id: "c1".to_owned(),
        name: "order".to_owned(),
        text: text.to_owned(),
    };
    let answer = vec![
        ModelEvent::Reasoning("Two orders.".to_owned()),
        ModelEvent::Text("I order.".to_owned()),
        draft("{\"text\":"),
        draft("\"x\"}"),
        call("c1", "order", json!({"text": "x"})),
        call("c2", "order", json!({"text": "y"})),
    ];
    let model = Actor::in_order(vec![ends(answer, ModelStopReason::ToolCalls), says("One came.")]);
    let host = place.host(model);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "order twice").await, done("One came."));
    assert_eq!(place.world.done(), ["order x"]);
    let session = json!(chat.id());
    let mut lines = String::new();
    for mut event in std::mem::take(&mut *place.events.0.lock().unwrap()) {
        let fields = event.as_object_mut().unwrap();
        assert_eq!(fields.shift_remove("session"), Some(session.clone()));
        for name in ["message", "duration_ms"] {
            fields.shift_remove(name);
        }
        if let Some(metadata) = fields.get_mut("envelope").and_then(|it| it.get_mut("metadata")) {
            for name in ["duration_ms", "call_id"] {
                metadata.as_object_mut().map(|it| it.shift_remove(name));
            }
        }
        lines.push_str(&format!("{}\n", Value::Object(fields.clone())));
    }
    expect![[r#"
        {"type":"session","agent":"build","model":"openai/m1"}
        {"type":"turn_started"}
        {"type":"step_started","step":1}
        {"type":"reasoning","delta":"Two orders."}
        {"type":"text","delta":"I order."}
        {"type":"tool_input","id":"c1","tool":"order","kind":"other","delta":"{\"text\":"}
        {"type":"tool_input","id":"c1","tool":"order","kind":"other","delta":"\"x\"}"}
        {"type":"tool_call","id":"c1","tool":"order","kind":"other","input":{"text":"x"},"title":"order"}
        {"type":"tool_call","id":"c2","tool":"order","kind":"other","input":{"text":"y"},"title":"order"}
        {"type":"asked","id":"c1"}
        {"type":"answered","id":"c1","answer":"once"}
        {"type":"tool_result","id":"c1","tool":"order","status":"output-available","envelope":{"type":"output","data":{"done":"x"},"metadata":{}}}
        {"type":"asked","id":"c2"}
        {"type":"answered","id":"c2","answer":"reject"}
        {"type":"tool_result","id":"c2","tool":"order","status":"output-error","envelope":{"type":"error","error_text":"the user rejected the call (order needs approval: the manifest rule `ask order \"*\"` decides; the rule `allow order \"*\"` would allow it)","metadata":{"code":"PERMISSION_DENIED","refusal":{"code":"PERMISSION_DENIED","decided_by":"person","because":"the user rejected the call (order needs approval: the manifest rule `ask order \"*\"` decides; the rule `allow order \"*\"` would allow it)"}}}}
        {"type":"step_ended","finish":"tool-calls","usage":{"input":100,"output":10,"reasoning":1,"cache_read":1000,"cache_write":5}}
        {"type":"step_started","step":2}
        {"type":"text","delta":"One came."}
        {"type":"step_ended","finish":"stop","usage":{"input":100,"output":10,"reasoning":1,"cache_read":1000,"cache_write":5}}
        {"type":"turn_ended","end":"done","usage":{"input":200,"output":20,"reasoning":2,"cache_read":2000,"cache_write":10}}
    "#]].assert_eq(&lines);
}

#[tokio::test]
async fn a_model_that_is_asked_again_is_told_of_and_nothing_of_it_is_kept() {
    let place = Place::new();
    let retry = ModelRetry {
        error: ModelError::Overloaded {
            provider: "openai".to_owned(),
            retry_after: None,
            detail: "HTTP 503".to_owned(),
        },
        pause: Duration::from_secs(2),
        attempt: 2,
        attempts_max: 4,
    };
    let answer = vec![ModelEvent::Retry(retry), ModelEvent::Text("Here.".to_owned())];
    let host = place.host(Actor::in_order(vec![ends(answer, ModelStopReason::Done)]));
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "hello").await, done("Here."));
    let events = std::mem::take(&mut *place.events.0.lock().unwrap());
    let told: Vec<&Value> = events.iter().filter(|event| event["type"] == "retry").collect();
    expect![[r#"{"type":"retry","error":"openai cannot answer at the moment (HTTP 503)","wait_ms":2000,"attempt":2,"attempts_max":4}"#]]
        .assert_eq(&without_session(told[0]));
    assert_eq!(told.len(), 1);
    let history = chat.history().await.unwrap();
    let parts: Vec<_> = history.iter().flat_map(|(_, parts)| parts).collect();
    assert_eq!(parts.len(), 2, "{parts:?}");
}

fn without_session(event: &Value) -> String {
    let mut event = event.as_object().unwrap().clone();
    event.shift_remove("session");
    Value::Object(event).to_string()
}
