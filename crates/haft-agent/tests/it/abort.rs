//! Stopping a turn at any moment: what was said and done is recorded, and what was not done says so.

use std::sync::Arc;

use expect_test::expect;
use haft_agent::{AgentError, TurnEnd, TurnPrompt};
use haft_model::ModelEvent;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::models::{Actor, Reply, call, calls, last_said, says};
use crate::stage::{Place, begin, done, go_on, say, shown};

fn prompt() -> TurnPrompt {
    TurnPrompt::Message("go".into())
}

#[tokio::test]
async fn an_answer_that_is_stopped_stays_as_far_as_it_came() {
    let place = Place::new();
    let half =
        vec![ModelEvent::Text("I will".to_owned()), call("c1", "order", json!({"text": "x"}))];
    let model = Actor::in_order(vec![Reply::Hold(half), says("Gone on.")]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    let stop = CancellationToken::new();
    let stopping = async {
        model.until_holding(1).await;
        stop.cancel();
    };
    let (end, ()) = tokio::join!(chat.run_turn(prompt(), stop.clone()), stopping);
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    expect![[r#"
        user said
          text "go"
        assistant said (aborted)
          text "I will"
          tool c1 order {"text":"x"} output-error "this call was not made: the turn was stopped"
    "#]]
    .assert_eq(&shown(&chat).await);
    assert_eq!(go_on(&mut chat).await, done("Gone on."));
    assert!(last_said(&model.request(1)).contains("was stopped"));
    assert!(place.world.done().is_empty());
}

#[tokio::test]
async fn calls_that_are_stopped_say_what_they_came_to() {
    let place = Place::new();
    let text = |text: &str| json!({ "text": text });
    let model = Actor::in_order(vec![
        calls(&[
            ("c1", "look", text("1")),
            ("c2", "order_long", text("2")),
            ("c3", "order", text("3")),
            ("c4", "look", text("4")),
        ]),
        says("Well."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    let stop = CancellationToken::new();
    let stopping = async {
        place.world.until_waiting(1).await;
        stop.cancel();
    };
    let (end, ()) = tokio::join!(chat.run_turn(prompt(), stop.clone()), stopping);
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    assert_eq!(place.world.done(), ["look 1", "order_long 2"]);
    expect![[r#"
        user said
          text "go"
        assistant said (tool-calls)
          tool c1 look {"text":"1"} output-available "{\"done\":\"1\"}"
          tool c2 order_long {"text":"2"} output-error "stopped while it waited; its effect may or may not have happened: check before repeating"
          tool c3 order {"text":"3"} output-error "this call was not made: the turn was stopped"
          tool c4 look {"text":"4"} output-error "this call was not made: the turn was stopped"
    "#]].assert_eq(&shown(&chat).await);
    assert_eq!(say(&mut chat, "and?").await, done("Well."));
}

#[tokio::test]
async fn giving_up_waiting_is_stopping() {
    let place = Place::new();
    let model =
        Actor::in_order(vec![Reply::Hold(vec![ModelEvent::Text("I".to_owned())]), says("Next.")]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    tokio::select! {
        biased;
        _ = chat.run_turn(prompt(), CancellationToken::new()) => unreachable!("the model holds back"),
        () = model.until_holding(1) => {}
    }
    // The next turn waits for the end of that one.
    assert_eq!(say(&mut chat, "next").await, done("Next."));
    expect![[r#"
        user said
          text "go"
        assistant said (aborted)
          text "I"
        user said
          text "next"
        assistant said (stop)
          text "Next."
    "#]]
    .assert_eq(&shown(&chat).await);
}

#[tokio::test]
async fn a_host_that_closes_stops_all_turns() {
    let place = Place::new();
    let model = Actor::in_order(vec![Reply::Hold(vec![ModelEvent::Text("I".to_owned())])]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    let closing = async {
        model.until_holding(1).await;
        host.close().await;
    };
    let (end, ()) = tokio::join!(chat.run_turn(prompt(), CancellationToken::new()), closing);
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    let next = chat.run_turn(prompt(), CancellationToken::new()).await;
    assert!(matches!(next, Err(AgentError::Closed)), "{next:?}");
    let again = host.open(chat.id()).await.err().unwrap();
    assert!(matches!(again, AgentError::Closed), "{again}");
}
