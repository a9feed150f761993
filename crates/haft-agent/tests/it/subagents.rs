//! Subagents: what they may do, what comes back of them, and that stopping reaches them all.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use haft::{Ask, AskAnswer, Asker};
use haft_agent::{TurnEnd, TurnPrompt};
use haft_contract::BoxFuture;
use haft_contract::limits::TASK_MS;
use haft_journal::{SessionQuery, SessionRow, SessionStatus};
use haft_model::ModelEvent;
use haft_policy::{Rule, RuleAction};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::models::{Actor, Reply, calls, results, says};
use crate::stage::{Place, begin, done, say, shown};

pub(crate) const HELPER: &str =
    "---\ndescription: Helps\nmode: subagent\nmodel: openai/m2\ninspectable: true\n---\nHelp.\n";
const OPAQUE: &str = "---\ndescription: Helps unseen\nmode: subagent\nmodel: openai/m2\ninspectable: false\n---\nHelp.\n";
const READER: &str = "---\ndescription: Reads\nmode: all\nmodel: openai/m2\ntools: [look, task]\ninspectable: true\n---\nRead.\n";

pub(crate) fn task(agent: &str) -> Reply {
    calls(&[("t1", "task", json!({"subagent_type": agent, "prompt": "help me"}))])
}

pub(crate) async fn children(place: &Place) -> Vec<SessionRow> {
    let all = SessionQuery { with_opaque: true, ..SessionQuery::default() };
    let rows = place.journal.sessions(all).await.unwrap();
    rows.into_iter().filter(|row| row.parent_id.is_some()).collect()
}

#[tokio::test]
async fn a_subagent_works_in_a_chat_of_its_own() {
    let place = Place::new().agent("helper", HELPER);
    let parent = Actor::in_order(vec![task("helper"), says("Thanks.")]);
    let child =
        Actor::in_order(vec![calls(&[("h1", "order", json!({"text": "x"}))]), says("Ordered x.")]);
    let host = place.cast(vec![
        ("openai/m1", Arc::clone(&parent) as _),
        ("openai/m2", Arc::clone(&child) as _),
    ]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Thanks."));
    assert_eq!(results(&parent.request(1)), ["t1: Ordered x."]);
    let row = children(&place).await.pop().unwrap();
    assert_eq!(row.parent_id.as_ref(), Some(chat.id()));
    assert_eq!((row.parent_tool_call_id.as_deref(), row.depth), (Some("t1"), 1));
    assert_eq!((row.status, row.steps, row.tokens.input), (SessionStatus::Completed, 2, 200));
    // The tokens of the subagent count only in its own session.
    assert_eq!(chat.row().await.unwrap().tokens.input, 200);
    assert!(child.request(0).system.unwrap().starts_with("Help."));
    let child = host.open(&row.id).await.unwrap();
    expect![[r#"
        user said
          text "help me"
        assistant said (tool-calls)
          tool h1 order {"text":"x"} output-available "{\"done\":\"x\"}"
        assistant said (stop)
          text "Ordered x."
    "#]]
    .assert_eq(&shown(&child).await);
    let told = place.told(&["subagent"]);
    assert_eq!(told[0]["child"], json!(row.id));
}

#[tokio::test]
async fn what_an_opaque_subagent_did_is_part_of_its_answer() {
    let place = Place::new().agent("helper", OPAQUE);
    let parent = Actor::in_order(vec![task("helper"), says("Thanks.")]);
    let child = Actor::in_order(vec![
        calls(&[("h1", "order", json!({"text": "x"})), ("h2", "read", json!({"path": "none"}))]),
        says("Done."),
    ]);
    let host = place.cast(vec![("openai/m1", parent), ("openai/m2", child)]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Thanks."));
    let results = place.told(&["tool_result"]);
    let task = results.iter().find(|event| event["tool"] == "task").unwrap();
    let data = &task["envelope"]["data"];
    assert_eq!((&data["output"], data.get("session_id")), (&json!("Done."), None));
    let nested: Vec<String> = data["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            format!("{} {}", call["tool"].as_str().unwrap(), call["status"].as_str().unwrap())
        })
        .collect();
    assert_eq!(nested, ["order succeeded", "read failed"]);
}

#[tokio::test]
async fn a_subagent_has_nothing_that_its_parent_has_not() {
    let place = Place::new().agent("helper", HELPER).agent("reader", READER);
    // The reader may only look, and so may its helper.
    let order = || calls(&[("h1", "order", json!({"text": "x"}))]);
    let parent = Actor::in_order(vec![task("helper"), says("Thanks.")]);
    let child = Actor::in_order(vec![order(), says("It was refused.")]);
    let host = place.cast(vec![("openai/m1", parent), ("openai/m2", Arc::clone(&child) as _)]);
    let new = haft_agent::NewSession {
        agent: "reader".to_owned(),
        model: Some("openai/m1".to_owned()),
        ..Default::default()
    };
    let mut chat = host.begin(new).await.unwrap();
    assert_eq!(say(&mut chat, "go").await, done("Thanks."));
    assert!(place.world.done().is_empty());
    assert!(results(&child.request(1))[0].contains("order"), "{:?}", results(&child.request(1)));
    assert!(child.request(0).tools.iter().all(|tool| ["look", "task"].contains(&&*tool.name)));
    // It also does not if the session is opened again directly.
    let row = children(&place).await.pop().unwrap();
    drop((chat, host));
    let again = Actor::in_order(vec![order(), says("Still refused.")]);
    let host = place.cast(vec![("openai/m2", again)]);
    let mut chat = host.open(&row.id).await.unwrap();
    assert_eq!(say(&mut chat, "try again").await, done("Still refused."));
    assert!(place.world.done().is_empty());
}

#[tokio::test]
async fn subagents_are_so_many_levels_deep_and_no_deeper() {
    let deep = "---\ndescription: Delegates\nmode: all\ninspectable: true\n---\nDelegate.\n";
    let place = Place::new().agent("deep", deep);
    let model = Actor::new(|request| match results(request).last() {
        None => task("deep"),
        Some(text) => says(text.split_once(": ").unwrap().1),
    });
    let host = place.host(model);
    let mut chat = begin(&host, "deep").await;
    let TurnEnd::Done { text } = say(&mut chat, "go").await else { panic!("not done") };
    assert!(text.contains("5 levels deep"), "{text}");
    let depths: Vec<u32> = children(&place).await.iter().map(|row| row.depth).collect();
    assert_eq!(depths, [5, 4, 3, 2, 1]);
    let refused = place.told(&["tool_result"]);
    assert_eq!(refused[0]["envelope"]["metadata"]["code"], "DEPTH_EXCEEDED");
}

#[tokio::test]
async fn stopping_reaches_every_descendant() {
    let deep = "---\ndescription: Delegates\nmode: all\nmodel: openai/m1\ninspectable: true\n---\nDelegate.\n";
    let place = Place::new().agent("deep", deep).agent("helper", HELPER);
    let model = Actor::new(|request| {
        let is_first = request.system.as_deref().is_some_and(|text| text.contains("Delegate."));
        if is_first { task("helper") } else { task("deep") }
    });
    let last = Actor::in_order(vec![Reply::Hold(vec![ModelEvent::Text("I".to_owned())])]);
    let host = place.cast(vec![("openai/m1", model), ("openai/m2", Arc::clone(&last) as _)]);
    let mut chat = begin(&host, "build").await;
    let stop = CancellationToken::new();
    let stopping = async {
        last.until_holding(1).await;
        stop.cancel();
    };
    let (end, ()) =
        tokio::join!(chat.run_turn(TurnPrompt::Message("go".into()), stop.clone()), stopping);
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    host.close().await;
    let rows = children(&place).await;
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row.status == SessionStatus::Aborted), "{rows:?}");
}

#[tokio::test]
async fn a_subagent_that_fails_says_why() {
    let place = Place::new().agent("helper", &HELPER.replace("mode:", "max_steps: 1\nmode:"));
    let parent = Actor::in_order(vec![task("helper"), task("helper"), says("I see.")]);
    let child = Actor::in_order(vec![calls(&[("h1", "look", json!({"text": "x"}))])]);
    let host = place.cast(vec![("openai/m1", Arc::clone(&parent) as _), ("openai/m2", child)]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("I see."));
    let results = results(&parent.request(2));
    assert!(results[0].contains("answered as often as it may"), "{results:?}");
    assert!(results[1].contains("the script is over"), "{results:?}");
    assert!(children(&place).await.iter().all(|row| row.status == SessionStatus::Failed));
}

/// Answers after longer than a call may take.
struct Thinking;

impl Asker for Thinking {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(TASK_MS + 1)).await;
            AskAnswer::AllowOnce
        })
    }

    fn has_deadline(&self) -> bool {
        false
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_who_thinks_takes_no_time_of_the_tasks_above() {
    let deep = "---\ndescription: Delegates\nmode: all\nmodel: openai/m3\ninspectable: true\n---\nDelegate.\n";
    let mut place = Place::new().agent("deep", deep).agent("helper", HELPER);
    place.rules =
        vec![Rule::new("*", "*", RuleAction::Allow), Rule::new("order", "*", RuleAction::Ask)];
    place.asker = Arc::new(Thinking);
    let parent = Actor::in_order(vec![task("deep"), says("Thanks.")]);
    let middle = Actor::in_order(vec![task("helper"), says("Passed on.")]);
    let child = Actor::in_order(vec![
        calls(&[("h1", "order", json!({"text": "x"}))]),
        calls(&[("h2", "order", json!({"text": "y"}))]),
        says("Ordered."),
    ]);
    let host = place.cast(vec![
        ("openai/m1", Arc::clone(&parent) as _),
        ("openai/m2", child),
        ("openai/m3", Arc::clone(&middle) as _),
    ]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Thanks."));
    assert!(results(&middle.request(1))[0].contains("Ordered."));
    assert!(results(&parent.request(1))[0].contains("Passed on."));
    assert_eq!(place.world.done(), ["order x", "order y"]);
}
