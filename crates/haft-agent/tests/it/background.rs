//! Subagents in the background: their ends are told once, whatever happens to the process.

use std::sync::Arc;

use haft_agent::limits::BACKGROUND_TEXT_CHARS_MAX;
use haft_agent::{NewSession, TurnEnd, TurnPrompt};
use haft_journal::{MemoryJournal, SessionStatus};
use haft_model::ModelEvent;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::dying::MortalJournal;
use crate::kill::{chat_begun, check_effects, check_transcripts};
use crate::models::{Actor, Reply, call, calls, ends, last_said, results, says};
use crate::stage::{Cast, Place, begin, done, go_on, say, shown};
use crate::subagents::{HELPER, children};

fn background() -> Reply {
    let input = json!({"subagent_type": "helper", "prompt": "help me", "background": true});
    calls(&[("t1", "task", input)])
}

#[tokio::test]
async fn an_end_is_told_when_it_comes() {
    let place = Place::new().agent("helper", HELPER);
    let parent = Actor::in_order(vec![background(), says("It runs."), says("It ended.")]);
    let child = Actor::in_order(vec![
        calls(&[("h1", "look_long", json!({"text": "x"}))]),
        says("Looked at x."),
    ]);
    let host = place.cast(vec![("openai/m1", Arc::clone(&parent) as _), ("openai/m2", child)]);
    let mut chat = begin(&host, "build").await;
    assert!(!chat.wait_for_background().await, "nothing is in the background");
    assert_eq!(say(&mut chat, "go").await, done("It runs."));
    place.world.open();
    assert!(chat.wait_for_background().await);
    assert_eq!(go_on(&mut chat).await, done("It ended."));
    let row = children(&place).await.pop().unwrap();
    let told = format!("background task {} (helper) is done: Looked at x.", row.id);
    let expected = format!("<notice>\n{told}\n</notice>");
    assert_eq!(last_said(&parent.request(2)), expected);
    assert_eq!((row.status, row.delivered), (SessionStatus::Completed, true));
    assert!(!chat.wait_for_background().await, "the end was told");
    // Opening the session does not report it again.
    let id = chat.id().clone();
    drop(chat);
    let mut chat = host.open(&id).await.unwrap();
    assert!(!chat.wait_for_background().await);
    assert_eq!(go_on(&mut chat).await, done("It ended."));
}

#[tokio::test]
async fn an_end_is_told_between_two_steps() {
    let place = Place::new().agent("helper", HELPER);
    let parent = Actor::in_order(vec![
        background(),
        calls(&[("c1", "look_long", json!({"text": "y"}))]),
        says("All is done."),
    ]);
    let child = Actor::in_order(vec![says("Helped.")]);
    let host = place.cast(vec![("openai/m1", Arc::clone(&parent) as _), ("openai/m2", child)]);
    let mut chat = begin(&host, "build").await;
    let opening = async {
        place.world.until_waiting(1).await;
        // The subagent ends with its session.
        while children(&place)
            .await
            .first()
            .is_none_or(|row| row.status != SessionStatus::Completed)
        {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        place.world.open();
    };
    let (end, ()) = tokio::join!(say(&mut chat, "go"), opening);
    assert_eq!(end, done("All is done."));
    assert!(last_said(&parent.request(2)).ends_with("is done: Helped.\n</notice>"));
}

#[tokio::test]
async fn none_outlives_the_host() {
    let place = Place::new().agent("helper", HELPER);
    let parent = Actor::in_order(vec![background(), says("It runs.")]);
    let child = Actor::in_order(vec![Reply::Hold(vec![ModelEvent::Text("I".to_owned())])]);
    let host = place.cast(vec![("openai/m1", parent), ("openai/m2", Arc::clone(&child) as _)]);
    let mut chat = begin(&host, "build").await;
    say(&mut chat, "go").await;
    child.until_holding(1).await;
    host.close().await;
    let row = children(&place).await.pop().unwrap();
    assert_eq!((row.status, row.delivered), (SessionStatus::Aborted, false));
    let id = chat.id().clone();
    drop((chat, host));
    let model = Actor::in_order(vec![says("I see.")]);
    let host = place.cast(vec![("openai/m1", Arc::clone(&model) as _), ("openai/m2", child)]);
    let mut chat = host.open(&id).await.unwrap();
    assert!(chat.wait_for_background().await);
    assert_eq!(go_on(&mut chat).await, done("I see."));
    assert!(last_said(&model.request(0)).contains("(helper) was stopped before it was done"));
    assert!(children(&place).await[0].delivered);
}

#[tokio::test]
async fn a_turn_that_is_stopped_stops_them() {
    let place = Place::new().agent("helper", HELPER);
    let parent = Actor::in_order(vec![background(), Reply::Hold(Vec::new())]);
    let child = Actor::in_order(vec![Reply::Hold(vec![ModelEvent::Text("I".to_owned())])]);
    let host = place.cast(vec![
        ("openai/m1", Arc::clone(&parent) as _),
        ("openai/m2", Arc::clone(&child) as _),
    ]);
    let mut chat = begin(&host, "build").await;
    let stop = CancellationToken::new();
    let stopping = async {
        parent.until_holding(1).await;
        child.until_holding(1).await;
        stop.cancel();
    };
    let (end, ()) =
        tokio::join!(chat.run_turn(TurnPrompt::Message("go".into()), stop.clone()), stopping);
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    assert!(chat.wait_for_background().await);
    assert_eq!(children(&place).await[0].status, SessionStatus::Aborted);
}

#[tokio::test]
async fn those_of_a_process_that_was_killed_have_failed() {
    let journal = Arc::new(MemoryJournal::new());
    let place = Place::with_journal(Arc::clone(&journal) as _).agent("helper", HELPER);
    let mortal = MortalJournal::new(&journal, u64::MAX);
    let parent = Actor::in_order(vec![background(), says("It runs.")]);
    let child = Actor::in_order(vec![ends(
        vec![call("h1", "order_long", json!({"text": "x"}))],
        haft_model::ModelStopReason::ToolCalls,
    )]);
    let cast = Cast(vec![("openai/m1", parent), ("openai/m2", Arc::clone(&child) as _)]);
    let one = place.process("one", Arc::clone(&mortal) as _, cast);
    let mut chat = begin(&one, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("It runs."));
    place.world.until_waiting(1).await;
    mortal.die();
    let id = chat.id().clone();
    one.close().await;
    let model = Actor::in_order(vec![says("I see.")]);
    let cast = Cast(vec![("openai/m1", Arc::clone(&model) as _), ("openai/m2", child)]);
    let two = place.process("two", Arc::clone(&journal) as _, cast);
    let mut chat = two.open(&id).await.unwrap();
    assert!(chat.wait_for_background().await);
    assert_eq!(go_on(&mut chat).await, done("I see."));
    let told = last_said(&model.request(0));
    assert!(told.contains("(helper) failed: haft ended before it was done"), "{told}");
    let row = children(&place).await.pop().unwrap();
    assert_eq!((row.status, row.delivered), (SessionStatus::Failed, true));
    assert!(results(&model.request(0))[0].contains(row.id.as_str()));
}

/// A model that begins a subagent in the background and has one more call made.
fn delegating() -> Arc<Actor> {
    Actor::new(|request| {
        let made = results(request);
        if made.is_empty() {
            background()
        } else if made.len() == 1 {
            calls(&[("c1", "order", json!({"text": "own"}))])
        } else {
            says("Done.")
        }
    })
}

fn helping() -> Arc<Actor> {
    Actor::new(|request| match results(request).is_empty() {
        true => calls(&[("h1", "order", json!({"text": "helped"}))]),
        false => says("Helped."),
    })
}

/// Has a process die after so many records; returns whether it came to its end before.
async fn check_told_once(records: u64) -> bool {
    let journal = Arc::new(MemoryJournal::new());
    let place = Place::with_journal(Arc::clone(&journal) as _).agent("helper", HELPER);
    let mortal = MortalJournal::new(&journal, records);
    let cast = || Cast(vec![("openai/m1", delegating() as _), ("openai/m2", helping() as _)]);
    let one = place.process("one", Arc::clone(&mortal) as _, cast());
    let new = NewSession { agent: "build".to_owned(), ..NewSession::default() };
    if let Ok(mut chat) = one.begin(new).await {
        let _ = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()).await;
        while chat.wait_for_background().await {
            if chat.run_turn(TurnPrompt::Continue, CancellationToken::new()).await.is_err() {
                break;
            }
        }
    }
    one.close().await;
    let Some(id) = chat_begun(&journal).await else { return false };
    let two = place.process("two", Arc::clone(&journal) as _, cast());
    let mut chat = two.open(&id).await.unwrap();
    let is_empty = chat.history().await.unwrap().is_empty();
    let prompt = if is_empty { TurnPrompt::Message("go".into()) } else { TurnPrompt::Continue };
    let name = format!("killed after {records}");
    assert_eq!(
        chat.run_turn(prompt, CancellationToken::new()).await.unwrap(),
        done("Done."),
        "{name}"
    );
    while chat.wait_for_background().await {
        go_on(&mut chat).await;
    }
    check_effects(&place, &name);
    let of_children = [SessionStatus::Completed, SessionStatus::Failed];
    check_transcripts(&place, &journal, &of_children, &name).await;
    let told = shown(&chat).await;
    for row in children(&place).await {
        assert!(row.delivered, "{name}: {row:?}");
        let ends = told.matches(&format!("background task {} (helper)", row.id)).count();
        assert_eq!(ends, 1, "{name}: {told}");
    }
    mortal.left() > 0
}

#[tokio::test]
async fn an_end_is_told_once_wherever_a_process_is_killed() {
    let mut records = 0;
    while !check_told_once(records).await {
        records += 1;
        assert!(records < 200, "the chat is never over");
    }
    assert!(records > 20, "only {records} records were made, so little was tried");
}

#[tokio::test]
async fn what_it_said_is_told_as_far_as_it_is_read() {
    let check = async |chars: usize, is_cut: bool| {
        let place = Place::new().agent("helper", HELPER);
        let parent = Actor::in_order(vec![background(), says("It runs."), says("It ended.")]);
        let child = Actor::in_order(vec![says(&"x".repeat(chars))]);
        let host =
            place.cast(vec![("openai/m1", Arc::clone(&parent) as _), ("openai/m2", child as _)]);
        let mut chat = begin(&host, "build").await;
        say(&mut chat, "go").await;
        assert!(chat.wait_for_background().await);
        go_on(&mut chat).await;
        let told = last_said(&parent.request(parent.count() - 1));
        assert_eq!(told.matches('x').count(), BACKGROUND_TEXT_CHARS_MAX);
        assert_eq!(told.contains('…'), is_cut);
    };
    check(BACKGROUND_TEXT_CHARS_MAX, false).await;
    check(BACKGROUND_TEXT_CHARS_MAX + 1, true).await;
}
