//! A process ends while subagents delegate to others. The end of each of them is reported, their calls are answered, and possible
//! effects are named.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use haft_agent::{AgentHost, TurnPrompt};
use haft_faults::{InterceptedJournal, JournalInterceptor, JournalMethod, failing_answer};
use haft_journal::{
    CallQuery, Journal, JournalError, JournalFuture, MemoryJournal, SessionId, SessionStatus,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::dying::MortalJournal;
use crate::kill::{chat_begun, check_transcripts};
use crate::models::{Actor, Reply, calls, last_said, results, says};
use crate::stage::{Cast, Place, begin, done, go_on, say};
use crate::subagents::{HELPER, children, task};

const LEAD: &str =
    "---\ndescription: Leads\nmode: all\nmodel: openai/m2\ninspectable: true\n---\nLead.\n";
/// The number of records after which the longest of these sessions ends by itself.
const RECORDS_MAX: u64 = 100;

fn background(agent: &str) -> Reply {
    let input = json!({"subagent_type": agent, "prompt": "help me", "background": true});
    calls(&[("t1", "task", input)])
}

fn orders() -> Arc<Actor> {
    Actor::in_order(vec![calls(&[("h1", "order_long", json!({"text": "x"}))])])
}

fn place(journal: &Arc<MemoryJournal>) -> Place {
    let helper = HELPER.replace("m2", "m3");
    Place::with_journal(Arc::clone(journal) as _).agent("lead", LEAD).agent("helper", &helper)
}

fn cast(parent: &Arc<Actor>, lead: &Arc<Actor>, helper: &Arc<Actor>) -> Cast {
    Cast(vec![
        ("openai/m1", Arc::clone(parent) as _),
        ("openai/m2", Arc::clone(lead) as _),
        ("openai/m3", Arc::clone(helper) as _),
    ])
}

fn none() -> Arc<Actor> {
    Actor::in_order(Vec::new())
}

async fn statuses(place: &Place) -> Vec<(String, SessionStatus)> {
    let mut rows: Vec<_> =
        children(place).await.into_iter().map(|row| (row.agent, row.status)).collect();
    rows.sort_by(|one, other| one.0.cmp(&other.0));
    rows
}

#[tokio::test]
async fn what_may_have_happened_beneath_a_subagent_is_told() {
    let place = place(&Arc::new(MemoryJournal::new()));
    let parent = Actor::in_order(vec![background("lead"), says("It runs."), says("I see.")]);
    let lead = Actor::in_order(vec![task("helper")]);
    let host = place.cast(cast(&parent, &lead, &orders()).0);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("It runs."));
    place.world.until_waiting(1).await;
    assert_eq!(chat.stop_background().await, 1);
    assert_eq!(go_on(&mut chat).await, done("I see."));
    let told = last_said(&parent.request(2));
    assert!(told.contains("(lead) was stopped before it was done. It may or may not"), "{told}");
    assert!(told.contains("order_long"), "{told}");
}

#[tokio::test]
async fn a_call_that_was_stopped_midway_is_told() {
    let place = place(&Arc::new(MemoryJournal::new()));
    let parent = Actor::in_order(vec![background("helper"), says("It runs."), says("I see.")]);
    let host = place.cast(cast(&parent, &none(), &orders()).0);
    let mut chat = begin(&host, "build").await;
    assert_eq!(say(&mut chat, "go").await, done("It runs."));
    place.world.until_waiting(1).await;
    assert_eq!(chat.stop_background().await, 1);
    assert_eq!(go_on(&mut chat).await, done("I see."));
    let told = last_said(&parent.request(2));
    assert!(told.contains("look before you repeat it: order_long"), "{told}");
}

/// A journal that fails one change.
struct FailingOnce {
    inner: Arc<MemoryJournal>,
    before: AtomicU64,
}

impl JournalInterceptor for FailingOnce {
    type Inner = MemoryJournal;

    fn inner(&self) -> &MemoryJournal {
        &self.inner
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        step: JournalMethod,
        ask: impl FnOnce(&'a MemoryJournal) -> JournalFuture<'a, T>,
    ) -> JournalFuture<'a, T> {
        match step.is_change() && self.before.fetch_sub(1, Ordering::Relaxed) == 0 {
            true => failing_answer(JournalError::Stopped { path: "journal".into() }),
            false => ask(&self.inner),
        }
    }
}

/// Opens a killed session with a journal that fails once after so many changes. Returns whether the journal never failed.
async fn check_failing_once(before: u64) -> bool {
    let journal = Arc::new(MemoryJournal::new());
    let place = place(&journal);
    let mortal = MortalJournal::new(&journal, RECORDS_MAX);
    let parent = Actor::in_order(vec![background("helper"), says("It runs.")]);
    let one = place.process("one", Arc::clone(&mortal) as _, cast(&parent, &none(), &orders()));
    let mut chat = begin(&one, "build").await;
    let id = chat.id().clone();
    say(&mut chat, "go").await;
    place.world.until_waiting(1).await;
    mortal.die();
    drop(chat);
    one.close().await;
    let inner = Arc::clone(&journal);
    let once = Arc::new(InterceptedJournal(FailingOnce { inner, before: AtomicU64::new(before) }));
    let two = place.process("two", Arc::clone(&once) as _, cast(&none(), &none(), &none()));
    let is_open = two.open(&id).await.is_ok();
    two.close().await;
    let has_failed = once.before.load(Ordering::Relaxed) > RECORDS_MAX;
    let three = place.process("three", Arc::clone(&journal) as _, cast(&none(), &none(), &none()));
    let mut chat = three.open(&id).await.unwrap();
    assert!(chat.wait_for_background().await, "failing after {before}");
    chat.row().await.unwrap();
    let name = format!("failing after {before}, {is_open}");
    check_transcripts(&place, &journal, &[SessionStatus::Failed], &name).await;
    !has_failed
}

#[tokio::test]
async fn a_journal_that_fails_once_leaves_no_call_without_its_answer() {
    let mut before = 0;
    while !check_failing_once(before).await {
        before += 1;
        assert!(before < RECORDS_MAX, "the chat is never open");
    }
    assert!(before > 3, "only {before} changes were made, so little was tried");
}

#[tokio::test]
async fn a_subagent_that_waits_for_another_one_is_gone_on_with() {
    let journal = Arc::new(MemoryJournal::new());
    let place = place(&journal);
    let mortal = MortalJournal::new(&journal, RECORDS_MAX);
    let parent = Actor::in_order(vec![task("lead")]);
    let lead = Actor::in_order(vec![background("helper"), says("It runs.")]);
    let one = place.process("one", Arc::clone(&mortal) as _, cast(&parent, &lead, &orders()));
    let mut chat = begin(&one, "build").await;
    let id = chat.id().clone();
    let waiting = async {
        place.world.until_waiting(1).await;
        // The turn is over when it has been recorded.
        while !place.told(&["turn_ended"]).iter().any(|event| event["session"] != id.as_str()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        _ = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()) => unreachable!("it waits"),
        () = waiting => mortal.die(),
    }
    drop(chat);
    one.close().await;
    let (parent, lead) =
        (Actor::in_order(vec![says("Thanks.")]), Actor::in_order(vec![says("It failed.")]));
    let two = place.process("two", Arc::clone(&journal) as _, cast(&parent, &lead, &none()));
    let mut chat = two.open(&id).await.unwrap();
    assert_eq!(go_on(&mut chat).await, done("Thanks."));
    let told = last_said(&lead.request(0));
    assert!(told.contains("(helper) failed: haft ended before it was done"), "{told}");
    assert!(results(&parent.request(0))[0].contains("It failed."));
    let expected = [("helper", SessionStatus::Failed), ("lead", SessionStatus::Completed)];
    assert_eq!(statuses(&place).await, expected.map(|(name, status)| (name.to_owned(), status)));
}

/// Stops a subagent that waits for another one, and lets the process die after so many more records. Returns the session above, and
/// whether the process reached its end.
async fn stopped_and_killed(
    place: &Place,
    journal: &Arc<MemoryJournal>,
    first: Reply,
    records: u64,
) -> (SessionId, bool) {
    let mortal = MortalJournal::new(journal, RECORDS_MAX);
    let parent = Actor::in_order(vec![first, says("It runs.")]);
    let lead = Actor::in_order(vec![background("helper"), says("It runs.")]);
    let one = place.process("one", Arc::clone(&mortal) as _, cast(&parent, &lead, &orders()));
    let mut chat = begin(&one, "build").await;
    let id = chat.id().clone();
    let stop = CancellationToken::new();
    let stopping = async {
        place.world.until_waiting(1).await;
        while !place.told(&["turn_ended"]).iter().any(|event| event["session"] != id.as_str()) {
            tokio::task::yield_now().await;
        }
        mortal.die_after(records);
        stop.cancel();
    };
    let _ = tokio::join!(chat.run_turn(TurnPrompt::Message("go".into()), stop.clone()), stopping);
    chat.stop_background().await;
    drop(chat);
    one.close().await;
    (id, mortal.left() > 0)
}

/// Has another process go on after one that was stopped and killed; returns whether the first one came to its end.
async fn check_stopped_and_killed(first: Reply, records: u64) -> bool {
    let journal = Arc::new(MemoryJournal::new());
    let place = place(&journal);
    let (id, is_over) = stopped_and_killed(&place, &journal, first, records).await;
    let parent = Actor::new(|_| says("Thanks."));
    let lead = Actor::new(|_| says("It failed."));
    let two = place.process("two", Arc::clone(&journal) as _, cast(&parent, &lead, &none()));
    let mut chat = two.open(&id).await.unwrap();
    go_on(&mut chat).await;
    let name = format!("killed {records} records after it was stopped");
    let over = [SessionStatus::Completed, SessionStatus::Failed, SessionStatus::Aborted];
    check_transcripts(&place, &journal, &over, &name).await;
    is_over
}

#[tokio::test]
async fn nobody_stays_at_work_beneath_one_that_was_stopped() {
    for first in [|| task("lead"), || background("lead")] {
        let mut records = 0;
        while !check_stopped_and_killed(first(), records).await {
            records += 1;
            assert!(records < RECORDS_MAX, "the chat is never over");
        }
        assert!(records > 3, "only {records} records were made, so little was tried");
    }
}

#[tokio::test]
async fn one_that_was_stopped_stays_so_where_an_agent_beneath_it_is_gone() {
    let left = [("helper", SessionStatus::Running), ("lead", SessionStatus::Aborted)]
        .map(|(name, status)| (name.to_owned(), status));
    for first in [|| task("lead"), || background("lead")] {
        let mut tried = 0;
        for records in 0..10 {
            let journal = Arc::new(MemoryJournal::new());
            let place = place(&journal);
            let (id, _) = stopped_and_killed(&place, &journal, first(), records).await;
            if statuses(&place).await != left {
                continue;
            }
            tried += 1;
            let place = place.without_agent("helper");
            let parent = Actor::new(|_| says("Thanks."));
            let two =
                place.process("two", Arc::clone(&journal) as _, cast(&parent, &none(), &none()));
            let mut chat = two.open(&id).await.unwrap();
            go_on(&mut chat).await;
            assert_eq!(statuses(&place).await, left);
            let request = parent.request(parent.count() - 1);
            let told = format!("{:?}{}", results(&request), last_said(&request));
            assert!(told.contains("stopped before it was done"), "{told}");
            assert!(!told.contains("in doubt"), "{told}");
        }
        assert!(tried > 0, "the process never died between the two");
    }
}

/// Kills a process while its helper makes a long call.
async fn killed_with_a_call(place: &Place, journal: &Arc<MemoryJournal>) -> SessionId {
    let mortal = MortalJournal::new(journal, RECORDS_MAX);
    let parent = Actor::in_order(vec![task("helper")]);
    let one = place.process("one", Arc::clone(&mortal) as _, cast(&parent, &none(), &orders()));
    let mut chat = begin(&one, "build").await;
    tokio::select! {
        biased;
        _ = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()) => unreachable!("it waits"),
        () = place.world.until_waiting(1) => mortal.die(),
    }
    drop(chat);
    one.close().await;
    chat_begun(journal).await.unwrap()
}

#[tokio::test]
async fn a_task_whose_model_is_gone_says_what_may_have_happened() {
    let journal = Arc::new(MemoryJournal::new());
    let place = place(&journal);
    let id = killed_with_a_call(&place, &journal).await;
    let parent = Actor::in_order(vec![says("I see.")]);
    let models = Cast(vec![("openai/m1", Arc::clone(&parent) as _)]);
    let two = place.process("two", Arc::clone(&journal) as _, models);
    let mut chat = two.open(&id).await.unwrap();
    assert_eq!(go_on(&mut chat).await, done("I see."));
    let told = results(&parent.request(0)).remove(0);
    assert!(told.contains("look before you repeat it: order_long.]"), "{told}");
    check_transcripts(&place, &journal, &[SessionStatus::Failed], "its model is gone").await;
}

/// A journal that takes its time, and has something happen at one change.
struct Hooked {
    inner: Arc<MemoryJournal>,
    before: AtomicU64,
    hook: Box<dyn Fn() + Send + Sync>,
}

impl JournalInterceptor for Hooked {
    type Inner = MemoryJournal;

    fn inner(&self) -> &MemoryJournal {
        &self.inner
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        step: JournalMethod,
        ask: impl FnOnce(&'a MemoryJournal) -> JournalFuture<'a, T>,
    ) -> JournalFuture<'a, T> {
        if step.is_change() && self.before.fetch_sub(1, Ordering::Relaxed) == 0 {
            (self.hook)();
        }
        let asked = ask(&self.inner);
        Box::pin(async move {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            asked.await
        })
    }
}

fn hooked(
    inner: &Arc<MemoryJournal>,
    before: u64,
    hook: impl Fn() + Send + Sync + 'static,
) -> Arc<dyn Journal> {
    let (inner, before) = (Arc::clone(inner), AtomicU64::new(before));
    Arc::new(InterceptedJournal(Hooked { inner, before, hook: Box::new(hook) }))
}

#[tokio::test]
async fn that_a_host_is_closing_settles_no_task() {
    for before in 0..20 {
        let journal = Arc::new(MemoryJournal::new());
        let place = place(&journal);
        let id = killed_with_a_call(&place, &journal).await;
        let host = Arc::<OnceLock<AgentHost>>::default();
        let closing = Arc::clone(&host);
        let hook = move || {
            let _ = closing.get().map(|host| host.close().now_or_never());
        };
        let says = || Actor::new(|_| says("I see."));
        let models = cast(&says(), &says(), &says());
        let two = place.process("two", hooked(&journal, before, hook), models);
        assert!(host.set(two).is_ok());
        let two = host.get().unwrap();
        if let Ok(mut chat) = two.open(&id).await {
            let _ = chat.run_turn(TurnPrompt::Continue, CancellationToken::new()).await;
        }
        two.close().await;
        let rows = journal.calls(CallQuery::of_run(id.run())).await.unwrap();
        assert!(!format!("{rows:?}").contains("haft is closing"), "{before}: {rows:?}");
    }
}

#[tokio::test]
async fn a_task_that_is_stopped_before_its_calls_are_looked_up_answers_them() {
    for before in 0..20 {
        let journal = Arc::new(MemoryJournal::new());
        let place = place(&journal);
        let id = killed_with_a_call(&place, &journal).await;
        let stop = CancellationToken::new();
        let stopping = stop.clone();
        let says = || Actor::new(|_| says("I see."));
        let models = cast(&says(), &says(), &says());
        let two = place.process("two", hooked(&journal, before, move || stopping.cancel()), models);
        let mut chat = two.open(&id).await.unwrap();
        chat.run_turn(TurnPrompt::Continue, stop).await.unwrap();
        drop(chat);
        two.close().await;
        let models = cast(&says(), &says(), &says());
        let three = place.process("three", Arc::clone(&journal) as _, models);
        let mut chat = three.open(&id).await.unwrap();
        assert_eq!(go_on(&mut chat).await, done("I see."));
        let over = [SessionStatus::Completed, SessionStatus::Aborted];
        check_transcripts(&place, &journal, &over, &format!("stopped after {before}")).await;
    }
}
