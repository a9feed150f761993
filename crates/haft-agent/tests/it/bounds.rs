//! Bounds, each at the last that is let through and the first that is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use haft_agent::limits::{
    ANSWER_PARTS_MAX, BACKGROUND_MAX, CALL_NAME_CHARS_MAX, CALLS_AT_ONCE_MAX, NESTED_CALLS_MAX,
    PROMPT_BYTES_MAX, SUBAGENTS_AT_ONCE_MAX, SUBAGENTS_BEGUN_MAX, TITLE_CHARS_MAX,
    TOOL_NAME_CHARS_MAX, UNWRITTEN_BYTES_MAX, UNWRITTEN_MS_MAX, WRITTEN_TIMES_MAX,
};
use haft_agent::{AgentBounds, AgentError, TurnEnd, TurnPrompt};
use haft_contract::BoxFuture;
use haft_faults::{InterceptedJournal, JournalInterceptor};
use haft_journal::{
    JournalFuture, Lease, MemoryJournal, SessionDurability, SessionJournal as _, SessionRecord,
};
use haft_model::limits::TOOL_CALLS_MAX;
use haft_model::{
    Model, ModelAnswerEnd, ModelAnswerStream, ModelError, ModelEvent, ModelMessage, ModelRequest,
    ModelStopReason, ModelUsage,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::dying::MortalJournal;
use crate::models::{Actor, Reply, call, calls, ends, last_said, results, says};
use crate::stage::{Cast, Place, begin, done, go_on, say};
use crate::subagents::HELPER;

#[tokio::test]
async fn a_prompt_has_a_length() {
    let place = Place::new();
    let host = place.host(Actor::in_order(vec![says("Long.")]));
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, &"x".repeat(PROMPT_BYTES_MAX)).await, done("Long."));
    let title = chat.row().await.unwrap().title.unwrap();
    assert_eq!(title.chars().count(), TITLE_CHARS_MAX + 1);
    let prompt = TurnPrompt::Message("x".repeat(PROMPT_BYTES_MAX + 1).into());
    let end = chat.run_turn(prompt, CancellationToken::new()).await;
    assert!(matches!(end, Err(AgentError::PromptTooLong { .. })), "{end:?}");
}

#[tokio::test]
async fn a_turn_has_so_many_steps() {
    let mut place = Place::new();
    place.bounds = AgentBounds { steps: 2, ..AgentBounds::default() };
    let look = |name| calls(&[(name, "look", json!({"text": name}))]);
    let model = Actor::in_order(vec![look("1"), look("2"), look("3"), says("Done.")]);
    let host = place.host(model);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, TurnEnd::StepsSpent);
    assert_eq!(place.world.done(), ["look 1", "look 2"]);
    assert_eq!(go_on(&mut chat).await, done("Done."));
}

#[tokio::test]
async fn an_answer_asks_for_so_many_calls() {
    let place = Place::new();
    let many = |count: usize| {
        let calls = (0..count).map(|n| call(&format!("c{n}"), "look_long", json!({"text": "x"})));
        ends(calls.collect(), ModelStopReason::ToolCalls)
    };
    let model = Actor::in_order(vec![many(TOOL_CALLS_MAX), says("Done."), many(1_000)]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    let opening = async {
        place.world.until_waiting(u32::try_from(CALLS_AT_ONCE_MAX).unwrap()).await;
        place.world.open();
    };
    let (end, ()) = tokio::join!(say(&mut chat, "go"), opening);
    assert_eq!(end, done("Done."));
    assert_eq!(place.world.at_once(), CALLS_AT_ONCE_MAX);
    assert_eq!(results(&model.request(1)).len(), TOOL_CALLS_MAX);
    let end = chat.run_turn(TurnPrompt::Message("more".into()), CancellationToken::new()).await;
    assert!(matches!(end, Err(AgentError::Model(ModelError::TooLong))), "{end:?}");
    assert_eq!(place.world.done().len(), TOOL_CALLS_MAX, "none of the thousand was made");
    for (_, parts) in chat.history().await.unwrap() {
        assert!(parts.iter().all(|part| part.state.is_none_or(|state| state.is_finished())));
    }
}

#[tokio::test]
async fn an_answer_is_kept_in_so_many_parts() {
    let place = Place::new();
    let piece = |n: usize| match n % 2 {
        0 => ModelEvent::Text("t".to_owned()),
        _ => ModelEvent::Reasoning("r".to_owned()),
    };
    let pieces = ANSWER_PARTS_MAX + 10;
    let model =
        Actor::in_order(vec![ends((0..pieces).map(piece).collect(), ModelStopReason::Done)]);
    let host = place.host(model);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done(&"t".repeat(pieces / 2)));
    let history = chat.history().await.unwrap();
    assert_eq!(history[1].1.len(), ANSWER_PARTS_MAX);
}

#[tokio::test]
async fn so_many_subagents_are_in_the_background() {
    let place = Place::new().agent("helper", HELPER);
    let input = json!({"subagent_type": "helper", "prompt": "help me", "background": true});
    let names: Vec<String> = (0..=BACKGROUND_MAX).map(|n| format!("t{n}")).collect();
    let tasks = names.iter().map(|name| call(name, "task", input.clone()));
    let parent =
        Actor::in_order(vec![ends(tasks.collect(), ModelStopReason::ToolCalls), says("They run.")]);
    let child = Actor::new(|_| Reply::Hold(Vec::new()));
    let host = place.cast(vec![("openai/m1", Arc::clone(&parent) as _), ("openai/m2", child)]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("They run."));
    let results = results(&parent.request(1));
    let refused: Vec<&String> =
        results.iter().filter(|text| text.contains("are in the background already")).collect();
    assert_eq!(refused.len(), 1);
    assert!(refused[0].starts_with(&names[BACKGROUND_MAX]));
    host.close().await;
}

/// Asks for so many tasks at once.
fn tasks(count: usize, agent: &str, background: bool) -> Reply {
    let input = json!({"subagent_type": agent, "prompt": "help me", "background": background});
    let tasks = (0..count).map(|n| call(&format!("t{n}"), "task", input.clone()));
    ends(tasks.collect(), ModelStopReason::ToolCalls)
}

#[tokio::test]
async fn so_many_subagents_are_at_work_beneath_one_session() {
    let deep = "---\ndescription: Delegates\nmode: all\nmodel: openai/m2\n---\nDelegate.\n";
    let place = Place::new().agent("deep", deep).agent("helper", &HELPER.replace("m2", "m3"));
    // A tree in which no session exceeds its limit: the subagents of a session that begin further ones.
    let parent = Actor::new(|request| match results(request).is_empty() {
        true => tasks(BACKGROUND_MAX, "deep", true),
        false => says("They run."),
    });
    let middle = Actor::new(|request| match results(request).is_empty() {
        true => tasks(BACKGROUND_MAX, "helper", true),
        false => Reply::Hold(Vec::new()),
    });
    let leaf = Actor::new(|_| Reply::Hold(Vec::new()));
    let host = place.cast(vec![
        ("openai/m1", parent),
        ("openai/m2", Arc::clone(&middle) as _),
        ("openai/m3", Arc::clone(&leaf) as _),
    ]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("They run."));
    let leaves = SUBAGENTS_AT_ONCE_MAX - BACKGROUND_MAX;
    leaf.until_holding(u32::try_from(leaves).unwrap()).await;
    middle.until_holding(u32::try_from(BACKGROUND_MAX).unwrap()).await;
    assert_eq!(crate::subagents::children(&place).await.len(), SUBAGENTS_AT_ONCE_MAX);
    let told = place.told(&["tool_result"]);
    let is_refused = |event: &&serde_json::Value| {
        event["envelope"]["metadata"]["code"] == "QUOTA_EXCEEDED"
            && event.to_string().contains("are at work beneath this session already")
    };
    let refused = told.iter().filter(is_refused).count();
    assert_eq!(refused, BACKGROUND_MAX * BACKGROUND_MAX - leaves);
    host.close().await;
}

#[tokio::test]
async fn so_many_subagents_are_begun_until_somebody_says_something() {
    let place = Place::new().agent("helper", HELPER);
    let is_full = |text: &str| text.contains("were begun since the last message of the user");
    let parent = Actor::new(move |request| match request.messages.last() {
        Some(ModelMessage::ToolResult { text, .. }) if is_full(text) => says("Too many."),
        Some(ModelMessage::ToolResult { .. }) if last_said(request) == "one more" => says("One."),
        _ if last_said(request) == "one more" => tasks(1, "helper", false),
        _ => tasks(TOOL_CALLS_MAX, "helper", false),
    });
    let child = Actor::new(|_| says("Helped."));
    let host = place.cast(vec![("openai/m1", parent), ("openai/m2", child)]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Too many."));
    assert_eq!(crate::subagents::children(&place).await.len(), SUBAGENTS_BEGUN_MAX);
    assert_eq!(go_on(&mut chat).await, done("Too many."), "going on is no word of anybody");
    assert_eq!(say(&mut chat, "one more").await, done("One."));
}

#[tokio::test]
async fn an_opaque_subagent_lists_so_many_calls() {
    let count = usize::try_from(NESTED_CALLS_MAX).unwrap() + 1;
    let opaque = HELPER.replace("inspectable: true", "inspectable: false");
    let place = Place::new().agent("helper", &opaque);
    let looks = (0..count).map(|n| call(&format!("h{n}"), "look", json!({"text": "x"})));
    let child =
        Actor::in_order(vec![ends(looks.collect(), ModelStopReason::ToolCalls), says("Looked.")]);
    let parent = Actor::in_order(vec![crate::subagents::task("helper"), says("Thanks.")]);
    let host = place.cast(vec![("openai/m1", parent), ("openai/m2", child)]);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("Thanks."));
    let results = place.told(&["tool_result"]);
    let task = results.iter().find(|event| event["tool"] == "task").unwrap();
    assert_eq!(task["envelope"]["data"]["calls"].as_array().unwrap().len(), count - 1);
}

#[tokio::test]
async fn names_have_lengths() {
    let place = Place::new();
    let call_of = |id: usize, tool: usize| call(&"i".repeat(id), &"t".repeat(tool), json!({}));
    let model = Actor::in_order(vec![
        ends(
            vec![
                call_of(CALL_NAME_CHARS_MAX, TOOL_NAME_CHARS_MAX),
                call_of(CALL_NAME_CHARS_MAX + 1, TOOL_NAME_CHARS_MAX + 1),
            ],
            ModelStopReason::ToolCalls,
        ),
        says("I see."),
    ]);
    let host = place.host(model);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("I see."));
    let history = chat.history().await.unwrap();
    let names: Vec<(usize, String)> = history[1]
        .1
        .iter()
        .map(|part| {
            let id = part.tool_call_id.clone().unwrap();
            (part.tool.as_deref().unwrap().chars().count(), id.trim_start_matches('i').to_owned())
        })
        .collect();
    // The second one is the same when it is cut, and so it has a number.
    let expected =
        [(TOOL_NAME_CHARS_MAX, String::new()), (TOOL_NAME_CHARS_MAX + 1, "-2".to_owned())];
    assert_eq!(names, expected);
}

/// Returns how many records were made of an answer of so many bytes, which is not over.
async fn records_of(bytes: usize) -> (u64, Arc<InterceptedJournal<MortalJournal>>, impl Sized) {
    let inner = Arc::new(MemoryJournal::new());
    let place = Place::with_journal(Arc::clone(&inner) as _);
    let journal = MortalJournal::new(&inner, u64::MAX);
    let model = Actor::new(move |_| Reply::Hold(vec![ModelEvent::Text("x".repeat(bytes))]));
    let cast = Cast(vec![("openai/m1", Arc::clone(&model) as _)]);
    let host = place.process("one", Arc::clone(&journal) as _, cast);
    let mut chat = begin(&host, "build").await;
    let turn = tokio::spawn(async move {
        chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()).await
    });
    model.until_holding(1).await;
    (u64::MAX - journal.left(), journal, (host, place, turn))
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_on_its_way_to_the_journal_for_so_long() {
    let (few, journal, rest) = records_of(UNWRITTEN_BYTES_MAX - 1).await;
    let made = || u64::MAX - journal.left();
    tokio::time::sleep(Duration::from_millis(UNWRITTEN_MS_MAX - 1)).await;
    assert_eq!(made(), few);
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert_eq!(made(), few + 1);
    drop(rest);
    let (many, _, _) = records_of(UNWRITTEN_BYTES_MAX).await;
    assert_eq!(many, few + 1);
}

/// Weighs what is written of answers.
struct Weighing {
    inner: Arc<MemoryJournal>,
    bytes: AtomicUsize,
}

impl JournalInterceptor for Weighing {
    type Inner = MemoryJournal;

    fn inner(&self) -> &MemoryJournal {
        &self.inner
    }

    fn record_session(
        &self,
        lease: &Lease,
        records: Vec<SessionRecord>,
        firmness: SessionDurability,
    ) -> JournalFuture<'_, ()> {
        let texts = records.iter().filter_map(|record| match record {
            SessionRecord::Part(part) => part.text.as_deref(),
            SessionRecord::Session(_) | SessionRecord::Message(_) => None,
        });
        self.bytes.fetch_add(texts.map(str::len).sum(), Ordering::Relaxed);
        let (inner, lease) = (Arc::clone(&self.inner), lease.clone());
        Box::pin(async move { inner.record_session(&lease, records, firmness).await })
    }
}

/// Says its text in pieces, each after a pause.
struct Slow {
    bytes: usize,
    piece: &'static str,
    pause: Duration,
}

impl Model for Slow {
    fn respond(&self, _: ModelRequest) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        let (piece, pause) = (self.piece, self.pause);
        let text = stream::iter(0..self.bytes / piece.len()).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok(ModelEvent::Text(piece.to_owned()))
        });
        let end = ModelEvent::End(ModelAnswerEnd {
            stop: ModelStopReason::Done,
            usage: ModelUsage::default(),
        });
        let all = text.chain(stream::iter([Ok(end)]));
        Box::pin(async move { Ok(ModelAnswerStream::new(all)) })
    }

    fn takes_images(&self) -> bool {
        false
    }
}

#[tokio::test(start_paused = true)]
async fn a_long_answer_that_comes_slowly_is_not_written_again_and_again() {
    const BYTES: usize = 200_000;
    let inner = Arc::new(MemoryJournal::new());
    let place = Place::with_journal(Arc::clone(&inner) as _);
    let journal = Arc::new(InterceptedJournal(Weighing { inner, bytes: AtomicUsize::new(0) }));
    // Fifty tokens a second.
    let slow = Slow { bytes: BYTES, piece: "word", pause: Duration::from_millis(20) };
    let cast = Cast(vec![("openai/m1", Arc::new(slow) as _)]);
    let host = place.process("one", Arc::clone(&journal) as _, cast);
    let mut chat = begin(&host, "build").await;
    assert!(matches!(say(&mut chat, "go").await, TurnEnd::Done { .. }));
    let history = chat.history().await.unwrap();
    assert_eq!(history[1].1[0].text.as_deref().map(str::len), Some(BYTES));
    let written = journal.bytes.load(Ordering::Relaxed);
    assert!(written <= BYTES * (WRITTEN_TIMES_MAX + 1), "{written} bytes were written");
    assert!(
        written > BYTES * 2,
        "only {written} bytes were written: nothing is kept while it comes"
    );
}
