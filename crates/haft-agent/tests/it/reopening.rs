//! Sessions that another model goes on with.

use std::sync::Arc;

use haft_agent::{AgentError, SessionChanges, TurnPrompt};
use haft_journal::{Journal, MemoryJournal};
use haft_model::{
    ModelError, ModelEvent, ModelMessage, ModelStopReason, ToolCall, ToolCallArguments,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::dying::MortalJournal;
use crate::models::{Actor, Reply, call, ends, says};
use crate::stage::{Cast, Place, begin, done, go_on, say};
use crate::subagents::{children, task};

fn by(model: &str) -> SessionChanges {
    SessionChanges { model: Some(model.to_owned()), ..SessionChanges::default() }
}

/// Asks for a call that the provider signs.
fn signed_call() -> Reply {
    let call = ModelEvent::ToolCall(ToolCall {
        id: "c1".to_owned(),
        name: "order".to_owned(),
        arguments: ToolCallArguments::Object(json!({"text": "x"})),
        signatures: vec!["signed by the first".to_owned()],
    });
    ends(vec![ModelEvent::Reasoning("hm".to_owned()), call], ModelStopReason::ToolCalls)
}

/// Returns what providers want to have back in a conversation.
fn signatures(messages: &[ModelMessage]) -> Vec<String> {
    let of_message = |message: &ModelMessage| match message {
        ModelMessage::Assistant { tool_calls, .. } => {
            tool_calls.iter().flat_map(|call| call.signatures.clone()).collect()
        }
        ModelMessage::User(_) | ModelMessage::ToolResult { .. } => Vec::new(),
    };
    messages.iter().flat_map(of_message).collect()
}

#[tokio::test]
async fn another_model_goes_on_with_a_session_whose_model_is_gone() {
    let place = Place::new();
    let first = Actor::in_order(vec![signed_call(), says("Ordered.")]);
    let host = place.cast(vec![("openai/m1", Arc::clone(&first) as _)]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "one").await, done("Ordered."));
    assert_eq!(signatures(&first.request(1).messages), ["signed by the first"]);
    let id = chat.id().clone();
    drop((chat, host));

    let second = Actor::in_order(vec![says("Gone on."), says("And on.")]);
    let host = place.cast(vec![("other/m3", Arc::clone(&second) as _)]);
    let err = host.open(&id).await.err().unwrap();
    assert!(matches!(err, AgentError::ModelUnavailable { .. }), "{err}");
    let text = err.to_string();
    assert!(text.contains("openai/m1") && text.contains("another model"), "{text}");
    let err = host.open_with(&id, &by("other/none")).await.err().unwrap();
    assert!(matches!(err, AgentError::Model(ModelError::Settings(_))), "{err}");

    let mut chat = host.open_with(&id, &by("other/m3")).await.unwrap();
    assert_eq!((chat.model(), chat.agent()), ("other/m3", "build"));
    assert_eq!(say(&mut chat, "two").await, done("Gone on."));
    let read = second.request(0).messages;
    assert_eq!(read.len(), 5, "all that was said before: {read:?}");
    assert_eq!(signatures(&read), Vec::<String>::new(), "what the first signed is not for others");
    drop(chat);
    // It is the session's model from then on.
    let mut chat = host.open(&id).await.unwrap();
    assert_eq!(chat.row().await.unwrap().model, "other/m3");
    assert_eq!(say(&mut chat, "three").await, done("And on."));
    let models: Vec<Option<String>> =
        chat.history().await.unwrap().into_iter().map(|(message, _)| message.model).collect();
    let [first, other] = ["openai/m1", "other/m3"].map(|name| Some(name.to_owned()));
    assert_eq!(models, [None, first.clone(), first, None, other.clone(), None, other]);
}

#[tokio::test]
async fn a_session_whose_model_is_gone_can_be_forked() {
    let place = Place::new();
    let host = place.cast(vec![("openai/m1", Actor::in_order(vec![says("First.")]))]);
    let mut chat = begin(&host, "build").await;
    say(&mut chat, "one").await;
    let id = chat.id().clone();
    drop((chat, host));
    let host = place.cast(vec![("other/m3", Actor::in_order(vec![says("Gone on.")]))]);
    let mut fork = host.fork(&id, None).await.unwrap();
    assert_eq!(fork.model(), "openai/m1");
    let end = fork.run_turn(TurnPrompt::Message("two".into()), CancellationToken::new()).await;
    assert!(matches!(end, Err(AgentError::Model(ModelError::Settings(_)))), "{end:?}");
    let id = fork.id().clone();
    drop(fork);
    let mut chat = host.open_with(&id, &by("other/m3")).await.unwrap();
    assert_eq!(say(&mut chat, "three").await, done("Gone on."));
}

#[tokio::test]
async fn a_subagent_goes_on_by_the_model_of_whoever_waits_for_it() {
    // It names no model.
    let helper = "---\ndescription: Helps\nmode: subagent\ninspectable: true\n---\nHelp.\n";
    let journal = Arc::new(MemoryJournal::new());
    let place = Place::with_journal(Arc::clone(&journal) as _).agent("helper", helper);
    let mortal = MortalJournal::new(&journal, 1_000);
    let first = Actor::new(|request| match request.system.as_deref() {
        Some(text) if text.contains("Help.") => Reply::Hold(vec![ModelEvent::Text("I".to_owned())]),
        _ => task("helper"),
    });
    let cast = Cast(vec![("openai/m1", Arc::clone(&first) as _)]);
    let one = place.process("one", Arc::clone(&mortal) as Arc<dyn Journal>, cast);
    let mut chat = begin(&one, "build").await;
    let id = chat.id().clone();
    tokio::select! {
        biased;
        _ = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()) => unreachable!("it waits"),
        () = first.until_holding(1) => mortal.die(),
    }
    drop(chat);
    one.close().await;
    let second = Actor::new(|request| match request.system.as_deref() {
        Some(text) if text.contains("Help.") => says("Helped."),
        _ => says("Thanks."),
    });
    let host = place.process("two", journal, Cast(vec![("other/m3", Arc::clone(&second) as _)]));
    let mut chat = host.open_with(&id, &by("other/m3")).await.unwrap();
    assert_eq!(go_on(&mut chat).await, done("Thanks."));
    let rows = children(&place).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].model, "other/m3");
    let results = crate::models::results(&second.request(second.count() - 1));
    assert!(results[0].contains("Helped."), "{results:?}");
}

#[tokio::test]
async fn calls_of_a_subagent_whose_model_is_gone_are_settled_all_the_same() {
    let helper = "---\ndescription: Helps\nmode: subagent\nmodel: openai/m2\ninspectable: true\n---\nHelp.\n";
    let journal = Arc::new(MemoryJournal::new());
    let place = Place::with_journal(Arc::clone(&journal) as _).agent("helper", helper);
    let mortal = MortalJournal::new(&journal, 1_000);
    let input = json!({"subagent_type": "helper", "prompt": "help me", "background": true});
    let parent = Actor::in_order(vec![
        ends(vec![call("t1", "task", input)], ModelStopReason::ToolCalls),
        Reply::Hold(Vec::new()),
    ]);
    let child = Actor::in_order(vec![ends(
        vec![call("h1", "order_long", json!({"text": "x"}))],
        ModelStopReason::ToolCalls,
    )]);
    let cast = Cast(vec![("openai/m1", Arc::clone(&parent) as _), ("openai/m2", child)]);
    let one = place.process("one", Arc::clone(&mortal) as Arc<dyn Journal>, cast);
    let mut chat = begin(&one, "build").await;
    let id = chat.id().clone();
    tokio::select! {
        biased;
        _ = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()) => unreachable!("it waits"),
        () = place.world.until_waiting(1) => mortal.die(),
    }
    drop(chat);
    one.close().await;
    let model = Actor::in_order(vec![says("I see.")]);
    let host = place.process("two", journal, Cast(vec![("openai/m1", Arc::clone(&model) as _)]));
    let mut chat = host.open(&id).await.unwrap();
    assert_eq!(go_on(&mut chat).await, done("I see."));
    let told = crate::models::last_said(&model.request(0));
    assert!(
        told.contains("may or may not have done this") && told.contains("order_long"),
        "{told}"
    );
}
