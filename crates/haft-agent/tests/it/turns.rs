//! A turn from its prompt to its end: what the model reads, what is kept, and what is counted.

use std::sync::Arc;

use expect_test::expect;
use haft_agent::{AgentError, TurnEnd, TurnPrompt};
use haft_journal::{
    Journal, Lease, MessagePart, SessionDurability, SessionJournal, SessionRecord, SessionStatus,
    TokenCounts,
};
use haft_model::{ModelError, ModelEvent, ModelStopReason, ToolCall, ToolCallArguments};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::dying::MortalJournal;
use crate::models::{Actor, Reply, call, calls, ends, last_said, results, says};
use crate::stage::{Cast, Place, begin, done, go_on, say, shown};

#[tokio::test]
async fn an_agent_reads_and_edits_with_the_real_tools() {
    let place = Place::new();
    std::fs::write(place.root().join("a.txt"), "one\n").unwrap();
    let model = Actor::in_order(vec![
        calls(&[
            ("c1", "read", json!({"path": "a.txt"})),
            ("c2", "read", json!({"path": "b.txt"})),
        ]),
        calls(&[(
            "c3",
            "edit",
            json!({"path": "a.txt", "old_string": "one", "new_string": "two"}),
        )]),
        says("Changed."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "make it two\nplease").await, done("Changed."));
    assert_eq!(std::fs::read_to_string(place.root().join("a.txt")).unwrap(), "two\n");
    expect![[r#"
        user said
          text "make it two\nplease"
        assistant said (tool-calls)
          tool c1 read {"path":"a.txt"} output-available "one\n"
          tool c2 read {"path":"b.txt"} output-error "path \"b.txt\" does not exist: did you mean a.txt?"
        assistant said (tool-calls)
          tool c3 edit {"path":"a.txt","old_string":"one","new_string":"two"} output-available "{\"replacements\":1,\"first_changed_line\":1}"
        assistant said (stop)
          text "Changed."
    "#]]
    .assert_eq(&shown(&chat).await);
    let row = chat.row().await.unwrap();
    assert_eq!((row.status, row.steps), (SessionStatus::Idle, 3));
    assert_eq!(row.title.as_deref(), Some("make it two"));
    let each = crate::models::USAGE;
    let all = TokenCounts {
        input: each.input * 3,
        output: each.output * 3,
        reasoning: each.reasoning * 3,
        cache_read: each.cache_read * 3,
        cache_write: each.cache_write * 3,
    };
    assert_eq!(row.tokens, all);
    let last = model.request(2);
    assert_eq!(results(&last)[0], "c1: one\n");
    assert!(last.system.unwrap().contains(&*place.root().to_string_lossy()));
    assert!(last.tools.iter().any(|tool| tool.name == "read"));
}

#[tokio::test]
async fn reads_run_together_and_effects_alone() {
    let place = Place::new();
    let text = |text: &str| json!({ "text": text });
    let model = Actor::in_order(vec![
        calls(&[
            ("c1", "look_long", text("1")),
            ("c2", "look_long", text("2")),
            ("c3", "order", text("3")),
            ("c4", "order", text("4")),
        ]),
        says("Done."),
    ]);
    let host = place.host(model);
    let mut chat = begin(&host, "build").await;
    let world = Arc::clone(&place.world);
    let opening = async {
        world.until_waiting(2).await;
        assert_eq!(world.done().len(), 2, "an effect began beside a read");
        world.open();
    };
    let (end, ()) = tokio::join!(say(&mut chat, "go"), opening);
    assert_eq!(end, done("Done."));
    assert_eq!(world.done()[2..], ["order 3", "order 4"]);
    assert_eq!(world.at_once(), 2);
}

#[tokio::test]
async fn calls_of_one_name_are_different_calls() {
    let place = Place::new();
    let order = || json!({"text": "same"});
    let model = Actor::in_order(vec![
        calls(&[("c", "order", order()), ("c", "order", order())]),
        calls(&[("c", "order", order()), ("", "look", json!({"text": "x"}))]),
        says("Done."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Done."));
    assert_eq!(place.world.done().len(), 4);
    let names: Vec<String> = results(&model.request(2))
        .iter()
        .map(|it| it.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["c", "c-2", "c-3", "call"]);
}

#[tokio::test]
async fn what_cannot_be_called_is_told_to_the_model() {
    let place = Place::new();
    let malformed = ModelEvent::ToolCall(ToolCall {
        id: "c1".to_owned(),
        name: "order".to_owned(),
        arguments: ToolCallArguments::parse("{\"text\": "),
        signatures: Vec::new(),
    });
    let model = Actor::in_order(vec![
        ends(
            vec![
                malformed,
                call("c2", "ordr", json!({"text": "x"})),
                call("c3", "order", json!({"txt": "x"})),
            ],
            ModelStopReason::ToolCalls,
        ),
        says("I see."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("I see."));
    assert!(place.world.done().is_empty());
    let results = results(&model.request(1));
    assert!(results[0].contains("order was not called"), "{results:?}");
    assert!(results[1].contains("did you mean order"), "{results:?}");
    assert!(results[2].contains("text"), "{results:?}");
}

#[tokio::test]
async fn an_answer_that_was_cut_makes_no_calls() {
    let place = Place::new();
    let draft = ModelEvent::ToolInput {
        id: "c2".to_owned(),
        name: "order".to_owned(),
        text: "{\"text\": \"ha".to_owned(),
    };
    let order = json!({"text": "whole"});
    let model = Actor::in_order(vec![
        ends(
            vec![ModelEvent::Text("I".to_owned()), call("c1", "order", order), draft],
            ModelStopReason::Length,
        ),
        says("Gone on."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, TurnEnd::OutputCut);
    assert!(place.world.done().is_empty());
    expect![[r#"
        user said
          text "go"
        assistant said (length)
          text "I"
          tool c1 order {"text":"whole"} output-error "this call was not made: the answer that asks for it was cut at its greatest length"
          tool c2 order - output-error "this call was not made: the answer that asks for it was cut at its greatest length"
    "#]]
    .assert_eq(&shown(&chat).await);
    assert_eq!(go_on(&mut chat).await, done("Gone on."));
    assert!(last_said(&model.request(1)).contains("reached its greatest length"));
    // There is nothing more to go on with.
    assert_eq!(go_on(&mut chat).await, done("Gone on."));
    assert_eq!(model.count(), 2);
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    let place = Place::new();
    let broken = || {
        Reply::Events(vec![
            Ok(ModelEvent::Text("I was".to_owned())),
            Ok(call("c1", "order", json!({"text": "x"}))),
            Err(ModelError::CutOff),
        ])
    };
    let model =
        Actor::in_order(vec![broken(), broken(), says("Whole."), broken(), broken(), broken()]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Whole."));
    let end = chat.run_turn(TurnPrompt::Message("again".into()), CancellationToken::new()).await;
    assert!(matches!(end, Err(AgentError::Model(ModelError::CutOff))), "{end:?}");
    assert!(place.world.done().is_empty());
    assert!(last_said(&model.request(1)).contains("broke off"));
    assert_eq!(chat.row().await.unwrap().status, SessionStatus::Idle);
}

#[tokio::test]
async fn an_empty_answer_and_a_refusal_end_the_turn() {
    let place = Place::new();
    let refused = ModelError::Refused { detail: "not this".to_owned() };
    let model = Actor::in_order(vec![
        ends(Vec::new(), ModelStopReason::Done),
        Reply::Refuse(refused),
        says("Now I do."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "one").await, done(""));
    assert_eq!(say(&mut chat, "two").await, TurnEnd::Refused { reason: "not this".to_owned() });
    assert_eq!(say(&mut chat, "three").await, done("Now I do."));
    // Unanswered prompts are one message, because the sides alternate.
    assert_eq!(last_said(&model.request(2)), "one\n\ntwo\n\nthree");
}

#[tokio::test]
async fn prompts_and_agents_are_checked_first() {
    let place = Place::new();
    let host = place.host(Actor::in_order(Vec::new()));
    for name in ["nobody", "explore"] {
        let new = haft_agent::NewSession { agent: name.to_owned(), ..Default::default() };
        let err = host.begin(new).await.err().unwrap();
        assert!(err.to_string().contains("expected one of build, plan"), "{err}");
    }
    let mut chat = begin(&host, "build").await;
    let turn = chat.run_turn(TurnPrompt::Message(" \n".into()), CancellationToken::new()).await;
    assert!(matches!(turn, Err(AgentError::EmptyPrompt)), "{turn:?}");
    let turn = chat.run_turn(TurnPrompt::Continue, CancellationToken::new()).await;
    assert!(matches!(turn, Err(AgentError::NothingSaid(_))), "{turn:?}");
    assert!(chat.history().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_chat_is_open_once() {
    let place = Place::new();
    let host = place.host(Actor::in_order(vec![says("Yes.")]));
    let chat = begin(&host, "build").await;
    let id = chat.id().clone();
    let err = host.open(&id).await.err().unwrap();
    assert!(matches!(err, AgentError::AlreadyOpen(_)), "{err}");
    drop(chat);
    let mut chat = host.open(&id).await.unwrap();
    assert_eq!(say(&mut chat, "there?").await, done("Yes."));
    let unknown = haft_journal::SessionId::from_bits(1);
    let err = host.open(&unknown).await.err().unwrap();
    assert!(matches!(err, AgentError::UnknownSession(_)), "{err}");
}

#[tokio::test]
async fn a_call_that_cannot_be_the_one_that_was_begun_is_in_doubt() {
    let journal = Arc::new(haft_journal::MemoryJournal::new());
    let place = Place::with_journal(Arc::clone(&journal) as _);
    let model = Actor::in_order(vec![calls(&[("c1", "order_long", json!({"text": "x"}))])]);
    let mortal = MortalJournal::new(&journal, u64::MAX);
    let cast = |model: &Arc<Actor>| Cast(vec![("openai/m1", Arc::clone(model) as _)]);
    let one = place.process("one", Arc::clone(&mortal) as _, cast(&model));
    let mut chat = begin(&one, "build").await;
    tokio::select! {
        biased;
        _ = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()) => unreachable!("the tool waits"),
        () = place.world.until_waiting(1) => {}
    }
    mortal.die();
    one.close().await;
    let id = chat.id().clone();
    // The row has another input now.
    let (_, parts) = chat.history().await.unwrap().remove(1);
    let holder = journal.lease_holders().await.unwrap().pop().unwrap();
    let lease = Lease { run: id.run(), fencing_token: holder.fencing_token, owner: holder.owner };
    let input_json = Some(json!({"text": "y"}).to_string());
    let part = SessionRecord::Part(MessagePart { input_json, ..parts[0].clone() });
    journal.record_session(&lease, vec![part], SessionDurability::Durable).await.unwrap();
    let model = Actor::in_order(vec![says("I see.")]);
    let two = place.process("two", Arc::clone(&journal) as _, cast(&model));
    let mut chat = two.open(&id).await.unwrap();
    assert_eq!(go_on(&mut chat).await, done("I see."));
    assert!(results(&model.request(0))[0].starts_with("c1: in doubt: this call was begun before"));
    assert_eq!(place.world.done(), ["order_long x"]);
}
