//! Forking and rewinding: nothing is deleted, and nothing that was done is done again.

use std::sync::Arc;

use expect_test::expect;
use haft_agent::AgentError;
use haft_journal::{MessageId, MessageQuery, TokenCounts};
use serde_json::json;

use crate::models::{Actor, calls, last_said, says};
use crate::stage::{Place, begin, done, say, shown};

#[tokio::test]
async fn a_fork_shares_the_beginning() {
    let place = Place::new();
    let model = Actor::in_order(vec![
        calls(&[("c1", "order", json!({"text": "x"}))]),
        says("Ordered."),
        says("Second."),
        calls(&[("c1", "order", json!({"text": "y"}))]),
        says("Forked."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    say(&mut chat, "one").await;
    say(&mut chat, "two").await;
    let history = chat.history().await.unwrap();
    let through = &history[2].0.id;
    let mut fork = host.fork(chat.id(), Some(through)).await.unwrap();
    let row = fork.row().await.unwrap();
    assert_eq!(row.forked_from_id.as_ref(), Some(chat.id()));
    assert_eq!(row.forked_from_message_id.as_ref(), Some(through));
    assert_eq!(row.tokens, TokenCounts::default());
    assert_eq!(say(&mut fork, "three").await, done("Forked."));
    expect![[r#"
        user said
          text "one"
        assistant said (tool-calls)
          tool c1 order {"text":"x"} output-available "{\"done\":\"x\"}"
        assistant said (stop)
          text "Ordered."
        user said
          text "three"
        assistant said (tool-calls)
          tool c1-2 order {"text":"y"} output-available "{\"done\":\"y\"}"
        assistant said (stop)
          text "Forked."
    "#]]
    .assert_eq(&shown(&fork).await);
    assert_eq!(place.world.done(), ["order x", "order y"]);
    assert_eq!(chat.history().await.unwrap(), history, "the other chat has changed");
    let unknown = host.fork(chat.id(), Some(&MessageId::from_bits(1))).await.err().unwrap();
    assert!(matches!(unknown, AgentError::UnknownMessage { .. }), "{unknown}");
}

#[tokio::test]
async fn what_is_rewound_is_not_read_any_more() {
    let place = Place::new();
    let order = || json!({"text": "x"});
    let model = Actor::in_order(vec![
        says("First."),
        calls(&[("c1", "order", order())]),
        says("Second."),
        calls(&[("c1", "order", order())]),
        says("Third."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    say(&mut chat, "one").await;
    say(&mut chat, "two").await;
    let from = chat.history().await.unwrap()[2].0.id.clone();
    assert_eq!(chat.rewind(&from).await.unwrap(), 3);
    assert_eq!(say(&mut chat, "three").await, done("Third."));
    assert_eq!(last_said(&model.request(3)), "three");
    assert_eq!(model.request(3).messages.len(), 3);
    // A call of the name that was set aside is another call.
    expect![[r#"
        user said
          text "one"
        assistant said (stop)
          text "First."
        user said
          text "three"
        assistant said (tool-calls)
          tool c1-2 order {"text":"x"} output-available "{\"done\":\"x\"}"
        assistant said (stop)
          text "Third."
    "#]]
    .assert_eq(&shown(&chat).await);
    assert_eq!(place.world.done(), ["order x", "order x"]);
    let all = MessageQuery { with_rewound: true, ..MessageQuery::default() };
    assert_eq!(place.journal.chat_messages(chat.id(), all).await.unwrap().len(), 8);
}

#[tokio::test]
async fn another_agent_goes_on_with_a_chat() {
    let place = Place::new();
    let model = Actor::in_order(vec![
        says("Planned."),
        calls(&[("c1", "order", json!({"text": "x"}))]),
        says("Built."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "plan").await;
    let id = chat.id().clone();
    say(&mut chat, "one").await;
    drop(chat);
    let mut chat = host.open_as(&id, "build").await.unwrap();
    assert_eq!(chat.agent(), "build");
    assert_eq!(say(&mut chat, "two").await, done("Built."));
    assert_eq!(place.world.done(), ["order x"]);
    let offered =
        |request: usize| model.request(request).tools.iter().any(|tool| tool.name == "order");
    assert_eq!((offered(0), offered(1)), (false, true));
    drop(chat);
    let mut chat = host.open(&id).await.unwrap();
    assert_eq!(chat.agent(), "build");
    assert_eq!(chat.row().await.unwrap().agent, "build");
    drop(chat);
    let err = host.open_as(&id, "explore").await.err().unwrap();
    assert!(matches!(err, AgentError::UnknownAgent { .. }), "{err}");
}
