//! Tasks of one answer: their subagents work beside each other, one person is asked one thing at a time, and whatever becomes of
//! the process or the turn, nothing that one of them did is done again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft::{Ask, AskAnswer, Asker};
use haft_agent::{AgentSession, NewSession, TurnEnd, TurnPrompt};
use haft_contract::BoxFuture;
use haft_journal::{Journal, MemoryJournal, PartState, SessionStatus};
use haft_model::{Model, ModelEvent};
use haft_policy::{Rule, RuleAction};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::dying::MortalJournal;
use crate::kill::{chat_begun, check_effects, check_transcripts};
use crate::models::{Actor, Reply, calls, last_said, results, says};
use crate::stage::{Cast, Place, begin, done, say};
use crate::subagents::{HELPER, children};

/// The number of records after which the longest of these sessions ends by itself.
const RECORDS_MAX: u64 = 200;

/// Has the helper do these, all in one answer.
fn tasks(prompts: &[&str]) -> Reply {
    let names: Vec<String> = (1..=prompts.len()).map(|number| format!("t{number}")).collect();
    let input = |prompt: &str| json!({"subagent_type": "helper", "prompt": prompt});
    let asked = names.iter().zip(prompts);
    let asked: Vec<_> =
        asked.map(|(name, prompt)| (name.as_str(), "task", input(prompt))).collect();
    calls(&asked)
}

fn parent(prompts: &'static [&'static str]) -> Arc<Actor> {
    Actor::new(move |request| match results(request).is_empty() {
        true => tasks(prompts),
        false => says("Thanks."),
    })
}

/// Makes one call with its task as the text, and then says that.
fn helper(tool: &'static str) -> Arc<Actor> {
    Actor::new(move |request| match results(request).is_empty() {
        true => calls(&[("h1", tool, json!({"text": last_said(request)}))]),
        false => says(&format!("Did {}.", last_said(request))),
    })
}

fn cast(parent: &Arc<Actor>, helper: &Arc<Actor>) -> Vec<(&'static str, Arc<dyn Model>)> {
    vec![("openai/m1", Arc::clone(parent) as _), ("openai/m2", Arc::clone(helper) as _)]
}

#[tokio::test]
async fn tasks_of_one_answer_are_done_beside_each_other() {
    let place = Place::new().agent("helper", HELPER);
    let parent = parent(&["one", "two", "three"]);
    let host = place.cast(cast(&parent, &helper("look_long")));
    let mut chat = begin(&host, "build").await;
    let opening = async {
        // Each waits in a separate call until all wait.
        place.world.until_waiting(3).await;
        place.world.open();
    };
    let (end, ()) = tokio::join!(say(&mut chat, "go"), opening);
    assert_eq!(end, done("Thanks."));
    assert_eq!(place.world.at_once(), 3);
    // Each answer belongs to the right call.
    let results = results(&parent.request(1));
    let said: Vec<(&str, bool)> = ["one", "two", "three"]
        .iter()
        .zip(&results)
        .map(|(word, result)| (*word, result.contains(&format!("Did {word}."))))
        .collect();
    assert_eq!(said, [("one", true), ("two", true), ("three", true)], "{results:?}");
    // Whose an event is can be told, in whatever order they come.
    let told = place.told(&["subagent", "session", "tool_result"]);
    for row in children(&place).await {
        let call = row.parent_tool_call_id.as_deref().unwrap();
        let began = told.iter().find(|event| event["child"] == row.id.as_str()).unwrap();
        assert_eq!((&began["call"], &began["session"]), (&json!(call), &json!(chat.id())));
        let of_child = told.iter().filter(|event| event["session"] == row.id.as_str());
        let kinds: Vec<&str> = of_child.map(|event| event["type"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["session", "tool_result"]);
    }
}

/// Looks at how many questions there are at a time.
#[derive(Default)]
struct Counting {
    open: AtomicUsize,
    most: AtomicUsize,
    asked: Mutex<Vec<String>>,
}

impl Asker for Counting {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async move {
            let open = self.open.fetch_add(1, Ordering::Relaxed) + 1;
            self.most.fetch_max(open, Ordering::Relaxed);
            self.asked.lock().unwrap().push(ask.input);
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            self.open.fetch_sub(1, Ordering::Relaxed);
            AskAnswer::AllowOnce
        })
    }
}

#[tokio::test]
async fn a_person_is_asked_one_thing_at_a_time() {
    let asker = Arc::new(Counting::default());
    let mut place = Place::new().agent("helper", HELPER);
    place.rules = vec![
        Rule::new("*", "*", RuleAction::Allow),
        Rule::new("order", "*", RuleAction::Ask),
        Rule::new("order_long", "*", RuleAction::Ask),
    ];
    place.asker = Arc::clone(&asker) as Arc<dyn Asker>;
    let host = place.cast(cast(&parent(&["one", "two", "three"]), &helper("order")));
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Thanks."));
    assert_eq!(asker.asked.lock().unwrap().len(), 3);
    assert_eq!(asker.most.load(Ordering::Relaxed), 1);
    // A question and its answer are adjacent in the stream.
    let told = place.told(&["asked", "answered"]);
    for pair in told.chunks(2) {
        assert_eq!((&pair[0]["type"], &pair[1]["type"]), (&json!("asked"), &json!("answered")));
        assert_eq!(pair[0]["session"], pair[1]["session"]);
    }
    assert_eq!(place.world.done().len(), 3);
}

#[tokio::test]
async fn stopping_reaches_all_of_them() {
    let place = Place::new().agent("helper", HELPER);
    let helper = Actor::new(|_| Reply::Hold(vec![ModelEvent::Text("I".to_owned())]));
    let host = place.cast(cast(&parent(&["one", "two", "three"]), &helper));
    let mut chat = begin(&host, "build").await;
    let stop = CancellationToken::new();
    let stopping = async {
        helper.until_holding(3).await;
        stop.cancel();
    };
    let (end, ()) =
        tokio::join!(chat.run_turn(TurnPrompt::Message("go".into()), stop.clone()), stopping);
    assert_eq!(end.unwrap(), TurnEnd::Aborted);
    let rows = children(&place).await;
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().all(|row| row.status == SessionStatus::Aborted), "{rows:?}");
    let history = chat.history().await.unwrap();
    let (_, parts) = history.last().unwrap();
    assert_eq!(parts.len(), 3);
    for part in parts {
        assert_eq!(part.state, Some(PartState::OutputError));
        assert!(part.output_json.as_deref().unwrap().contains("was stopped before it was done"));
    }
}

#[tokio::test]
async fn two_that_edit_one_file_lose_nothing_of_each_other() {
    let place = Place::new().agent("helper", HELPER);
    std::fs::write(place.root().join("list"), "red\nblue\nlime\nteal\n").unwrap();
    let helper = Actor::new(|request| {
        let word = last_said(request);
        let input = json!({"path": "list", "old_string": word, "new_string": word.to_uppercase()});
        match results(request).is_empty() {
            true => calls(&[("h1", "edit", input)]),
            false => says("Done."),
        }
    });
    let host = place.cast(cast(&parent(&["red", "blue", "lime", "teal"]), &helper));
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Thanks."));
    let list = std::fs::read_to_string(place.root().join("list")).unwrap();
    assert_eq!(list, "RED\nBLUE\nLIME\nTEAL\n");
}

/// A helper whose every order is another one, so that each of its calls is known wherever it is made again.
fn orderer(orders: &Arc<AtomicUsize>) -> Arc<Actor> {
    let orders = Arc::clone(orders);
    Actor::new(move |request| match results(request).is_empty() {
        true => {
            let number = orders.fetch_add(1, Ordering::Relaxed);
            calls(&[("h1", "order", json!({"text": number.to_string()}))])
        }
        false => says("Done."),
    })
}

/// Has processes work that are killed after so many records each, and then one that is not. Returns whether the first one came
/// to its end.
async fn check_killed(kills: &[u64], prompts: &'static [&'static str]) -> bool {
    let journal = Arc::new(MemoryJournal::new());
    let place =
        Place::with_journal(Arc::clone(&journal) as Arc<dyn Journal>).agent("helper", HELPER);
    let orders = Arc::<AtomicUsize>::default();
    let cast = || Cast(cast(&parent(prompts), &orderer(&orders)));
    let mut ended = Vec::new();
    let first = async |chat: &AgentSession| match chat.history().await.unwrap().is_empty() {
        true => TurnPrompt::Message("go".into()),
        false => TurnPrompt::Continue,
    };
    for (number, records) in kills.iter().enumerate() {
        let mortal = MortalJournal::new(&journal, *records);
        let name = format!("killed-{number}");
        let host = place.process(&name, Arc::clone(&mortal) as Arc<dyn Journal>, cast());
        let begun = match chat_begun(&journal).await {
            None => {
                host.begin(NewSession { agent: "build".to_owned(), ..NewSession::default() }).await
            }
            Some(id) => host.open(&id).await,
        };
        if let Ok(mut chat) = begun {
            let prompt = first(&chat).await;
            let _ = chat.run_turn(prompt, CancellationToken::new()).await;
        }
        host.close().await;
        ended.push(mortal.left() > 0);
    }
    let name = format!("{prompts:?}, killed after {kills:?}");
    let Some(id) = chat_begun(&journal).await else { return false };
    let last = place.process("last", Arc::clone(&journal) as Arc<dyn Journal>, cast());
    let mut chat = last.open(&id).await.unwrap();
    let prompt = first(&chat).await;
    let end = chat.run_turn(prompt, CancellationToken::new()).await.unwrap();
    assert_eq!(end, done("Thanks."), "{name}");
    last.close().await;
    check_effects(&place, &name);
    check_transcripts(&place, &journal, &[SessionStatus::Completed], &name).await;
    let rows = children(&place).await;
    assert_eq!(rows.len(), prompts.len(), "{name}: a task was begun again");
    assert!(place.world.done().len() <= prompts.len(), "{name}: {:?}", place.world.done());
    ended.first() == Some(&true)
}

#[tokio::test]
async fn nothing_is_repeated_wherever_a_process_is_killed_that_has_several_at_work() {
    // Tasks that are all the same, too: which of them was begun is told by its call.
    for prompts in [&["one", "two"][..], &["one", "one", "one"]] {
        let mut records = 0;
        while !check_killed(&[records], prompts).await {
            records += 1;
            assert!(records < RECORDS_MAX, "the chat is never over");
        }
        assert!(records > 15, "only {records} records were made, so little was tried");
    }
}

#[tokio::test]
async fn nor_when_those_who_go_on_with_several_are_killed_too() {
    for first in (3..40).step_by(3) {
        for second in [first * 7 % 23, first * 5 % 31] {
            check_killed(&[first, second, first * 3 % 17], &["one", "one"]).await;
        }
    }
}
