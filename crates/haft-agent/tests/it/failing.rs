//! Turns that fail at the model. The session shows the reason, and the model does not read it.

use std::sync::Arc;

use expect_test::{Expect, expect};
use haft_agent::{TurnEnd, TurnPrompt};
use haft_journal::{MessageFinish, SessionStatus};
use haft_model::{ModelError, ModelMessage, ModelRequest};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::models::{Actor, Reply, calls, results, says};
use crate::stage::{Place, begin, done, go_on, say, shown};
use crate::subagents::{HELPER, children, task};

fn spent() -> ModelError {
    let (provider, detail) = ("openai".to_owned(), "HTTP 402".to_owned());
    ModelError::QuotaSpent { provider, detail }
}

/// Has a turn that the model fails with this; looks at what stays of it, and returns what the model reads in the next one.
async fn check(error: ModelError, expect: Expect) -> ModelRequest {
    let place = Place::new();
    let model = Actor::in_order(vec![Reply::Refuse(error), says("Here I am.")]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    let end = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()).await;
    let told = end.map_or_else(|err| err.to_string(), |end| format!("{end:?}"));
    let history = chat.history().await.unwrap();
    let (message, parts) = history.last().unwrap();
    assert_eq!((history.len(), parts.len()), (2, 0));
    assert_eq!(message.finish, Some(MessageFinish::Error));
    assert!(message.completed_at_ms.is_some());
    let begun = place.told(&["step_started"]);
    assert_eq!(begun[0]["message"], json!(message.id), "the message that was said to come");
    expect.assert_eq(&format!("{told}\n{}", message.error.as_deref().unwrap()));
    // It is also shown when the session is opened later.
    let id = chat.id().clone();
    drop(chat);
    let mut chat = host.open(&id).await.unwrap();
    assert_eq!(chat.row().await.unwrap().status, SessionStatus::Idle);
    assert_eq!(say(&mut chat, "again").await, done("Here I am."));
    model.request(1)
}

#[tokio::test]
async fn a_turn_that_fails_at_the_provider_says_why() {
    let request = check(
        spent(),
        expect![[r#"
            the quota or credit of the key for openai is used up: raise it there, or take another key or model (HTTP 402)
            the quota or credit of the key for openai is used up: raise it there, or take another key or model (HTTP 402)"#]],
    )
    .await;
    assert_eq!(request.messages, [ModelMessage::User("go\n\nagain".into())]);
}

#[tokio::test]
async fn a_turn_that_is_refused_says_why() {
    let request = check(
        ModelError::Refused { detail: "not that".to_owned() },
        expect![[r#"
            Refused { reason: "not that" }
            the model refused to answer: say it differently, or take another model (not that)"#]],
    )
    .await;
    assert_eq!(request.messages, [ModelMessage::User("go\n\nagain".into())]);
}

#[tokio::test]
async fn a_conversation_that_cannot_be_summarised_says_why() {
    let place = Place::new();
    let too_long = || ModelError::ContextTooLong { detail: "too long".to_owned() };
    let model = Actor::in_order(vec![Reply::Refuse(too_long()), Reply::Refuse(spent())]);
    let host = place.host(model);
    let mut chat = begin(&host, "build").await;
    let end = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()).await;
    let history = chat.history().await.unwrap();
    let errors: Vec<&str> =
        history.iter().filter_map(|(message, _)| message.error.as_deref()).collect();
    assert_eq!(errors, [end.unwrap_err().to_string()]);
    assert!(errors[0].contains("summarising it failed"), "{errors:?}");
}

#[tokio::test]
async fn a_turn_that_failed_is_gone_on_with_where_it_was() {
    let place = Place::new();
    let order = calls(&[("c1", "order", json!({"text": "x"}))]);
    let model =
        Actor::in_order(vec![order, Reply::Refuse(spent()), Reply::Refuse(spent()), says("Done.")]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    let prompts = [TurnPrompt::Message("go".into()), TurnPrompt::Continue];
    for prompt in prompts {
        assert!(chat.run_turn(prompt, CancellationToken::new()).await.is_err());
    }
    assert_eq!(go_on(&mut chat).await, done("Done."));
    expect![[r#"
        user said
          text "go"
        assistant said (tool-calls)
          tool c1 order {"text":"x"} output-available "{\"done\":\"x\"}"
        assistant said (error)
        assistant said (error)
        assistant said (stop)
          text "Done."
    "#]]
    .assert_eq(&shown(&chat).await);
    // The model reads what it read before, and no word of what went wrong.
    assert_eq!(model.request(3).messages, model.request(1).messages);
    assert_eq!(place.world.done(), ["order x"]);
}

#[tokio::test]
async fn a_subagent_that_fails_at_the_provider_says_why_in_both_chats() {
    let place = Place::new().agent("helper", HELPER);
    let parent = Actor::in_order(vec![task("helper"), says("I see.")]);
    let child = Actor::in_order(vec![Reply::Refuse(spent())]);
    let host = place.cast(vec![("openai/m1", Arc::clone(&parent) as _), ("openai/m2", child)]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("I see."));
    assert!(results(&parent.request(1))[0].contains("is used up"));
    let row = children(&place).await.pop().unwrap();
    assert_eq!(row.status, SessionStatus::Failed);
    let messages = place.journal.session_messages(&row.id, Default::default()).await.unwrap();
    let (last, _) = messages.last().unwrap();
    assert!(last.error.as_deref().unwrap().contains("is used up"));
}

#[tokio::test]
async fn a_turn_that_is_stopped_before_anything_came_says_nothing() {
    let place = Place::new();
    let model = Actor::in_order(vec![Reply::Hold(Vec::new())]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    let stop = CancellationToken::new();
    let stopping = async {
        model.until_holding(1).await;
        stop.cancel();
    };
    let (end, ()) =
        tokio::join!(chat.run_turn(TurnPrompt::Message("go".into()), stop.clone()), stopping);
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    assert_eq!(chat.history().await.unwrap().len(), 1);
}
