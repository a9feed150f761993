//! Tests asks as rows: who answers first, what an answer is bound to, and how an ask ends without one.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::expect;
use haft::{
    Ask, AskAnswer, Asker, Call, CallLimits, HeadlessAsker, ShownAsk, WaitingAsker, Watchdog,
    WatchdogVerdict, WatchedCall,
};
use haft_contract::{Access, BoxFuture, Effect, Envelope, RequirementSet, Tool, ToolError};
use haft_journal::{
    AskEnd, AskJournal as _, AskQuery, AskRow, AskState, AskVerdict, Journal, JournalError,
    MemoryJournal, NewAskAnswer,
};
use haft_policy::RuleAction;
use haft_policy::RuleScope;
use serde_json::{Value, json};

use crate::stage::{Setting, Stage, Text, rule};

/// The calls that a tool executed.
type Executed = Arc<Mutex<Vec<String>>>;

fn writer(executed: &Executed) -> Tool {
    let executed = Arc::clone(executed);
    Tool::new("note")
        .effect(Effect::Once)
        .requires(RequirementSet {
            capabilities: vec!["notes".to_owned()],
            ..RequirementSet::default()
        })
        .accesses(|_: &Text| vec![Access::Named { name: "notes".to_owned() }])
        .execute_with(move |input: Text, _| {
            executed.lock().unwrap().push(input.text);
            async { Ok::<_, ToolError>("noted") }
        })
}

/// Shows a question and never answers it. Keeps how each question ended.
#[derive(Default)]
struct Silent {
    ended: Mutex<Vec<String>>,
}

impl Asker for Silent {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(pending())
    }

    fn note_end(&self, _: &str, how: &str) {
        self.ended.lock().unwrap().push(how.to_owned());
    }
}

struct Case {
    stage: Stage,
    journal: Arc<MemoryJournal>,
    executed: Executed,
}

impl Case {
    async fn new(asker: Arc<dyn Asker>, setting: impl FnOnce(Setting) -> Setting) -> Self {
        let (journal, executed) = (Arc::new(MemoryJournal::new()), Executed::default());
        let plain = Setting {
            tools: vec![writer(&executed)],
            rules: vec![rule(RuleScope::Manifest, "note", "forbidden", RuleAction::Deny)],
            asker,
            journal: Arc::clone(&journal) as Arc<dyn Journal>,
            ..Setting::default()
        };
        Self { stage: Stage::new(setting(plain)).await, journal, executed }
    }

    fn begin(&self, call: Call) -> tokio::task::JoinHandle<Envelope> {
        let run = self.stage.run.clone();
        tokio::spawn(async move { run.call(call).await.unwrap() })
    }

    /// Returns the pending ask, once there is one.
    async fn pending(&self) -> AskRow {
        loop {
            if let Some(ask) = self.journal.asks(AskQuery::pending()).await.unwrap().pop() {
                return ask;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn ask(&self) -> AskRow {
        self.journal.asks(AskQuery::default()).await.unwrap().pop().unwrap()
    }

    async fn answer(&self, verdict: AskVerdict, more: (Option<&str>, Option<Value>)) -> AskRow {
        let ask = self.pending().await;
        let answer = NewAskAnswer {
            words: more.0.map(str::to_owned),
            edited_input: more.1.map(|input| input.to_string()),
            ..answer_of(&ask, verdict)
        };
        self.journal.answer_ask(answer).await.unwrap()
    }

    fn executed(&self) -> Vec<String> {
        self.executed.lock().unwrap().clone()
    }
}

fn answer_of(ask: &AskRow, verdict: AskVerdict) -> NewAskAnswer {
    NewAskAnswer {
        ask: ask.id.clone(),
        verdict,
        by: "ada".to_owned(),
        through: "asks".to_owned(),
        shown_sha256: ask.shown.sha256.clone(),
        words: None,
        edited_input: None,
        now_ms: 0,
    }
}

fn note(text: &str) -> Call {
    Call::new("note", json!({ "text": text }))
}

fn as_is(setting: Setting) -> Setting {
    setting
}

#[tokio::test]
async fn an_answer_of_another_front_end_lets_the_call_go_on() {
    let asker = Arc::new(Silent::default());
    let case = Case::new(asker.clone(), as_is).await;
    let call = case.begin(note("milk"));
    let ask = case.pending().await;
    assert_eq!((ask.tool.as_str(), ask.front_end.as_str()), ("note", "test"));
    assert_eq!(
        (ask.call.to_string().as_str(), ask.asker.as_str()),
        ("r1/main/0/1/1", "test first")
    );
    assert!(ask.deadline_ms.is_some());
    let shown = case.journal.shown_of_ask(&ask).await.unwrap().unwrap();
    let shown = ShownAsk::parse(&shown).unwrap();
    assert_eq!((shown.ask.as_str(), &shown.input), (ask.id.as_str(), &json!({"text": "milk"})));
    assert_eq!(shown.always_rules, ["allow note \"notes\""]);
    case.answer(AskVerdict::Once, (None, None)).await;
    assert_eq!(call.await.unwrap().text(), "noted");
    assert_eq!(case.executed(), ["milk"]);
    assert_eq!(*asker.ended.lock().unwrap(), ["ada allowed it once through asks"]);
    let ask = case.ask().await;
    assert!(ask.answer.as_ref().is_some_and(|answer| answer.received_at_ms.is_some()), "{ask:?}");
    assert_eq!(case.journal.shown_of_ask(&ask).await.unwrap(), None);
}

#[tokio::test]
async fn the_front_ends_own_answer_is_a_row_too() {
    struct Yes;
    impl Asker for Yes {
        fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
            Box::pin(async { AskAnswer::AllowForSession })
        }
    }
    let case = Case::new(Arc::new(Yes), as_is).await;
    case.begin(note("milk")).await.unwrap();
    case.begin(note("bread")).await.unwrap();
    assert_eq!(case.executed(), ["milk", "bread"]);
    let asks = case.journal.asks(AskQuery::default()).await.unwrap();
    assert_eq!(asks.len(), 1, "the rule answers the second call");
    let answer = asks[0].answer.clone().unwrap();
    assert_eq!((answer.verdict, answer.through.as_str()), (AskVerdict::Session, "test"));
    assert_eq!(answer.by, "test first");
}

#[tokio::test]
async fn an_answer_that_came_first_counts_and_not_the_one_of_the_front_end() {
    /// Says yes as soon as another front end said no.
    struct Late(Arc<MemoryJournal>);
    impl Asker for Late {
        fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
            Box::pin(async move {
                let row = self.0.asks(AskQuery::of_id(&ask.id)).await.unwrap().pop().unwrap();
                self.0.answer_ask(answer_of(&row, AskVerdict::Reject)).await.unwrap();
                AskAnswer::AllowOnce
            })
        }
    }
    let journal = Arc::new(MemoryJournal::new());
    let asker = Arc::new(Late(Arc::clone(&journal)));
    let case = Case::new(asker, |setting| Setting { journal, ..setting }).await;
    let envelope = case.begin(note("milk")).await.unwrap();
    assert!(envelope.text().starts_with("the user rejected the call"), "{}", envelope.text());
    assert_eq!(case.executed(), [""; 0]);
}

#[tokio::test]
async fn a_rejection_takes_words_to_the_model() {
    let case = Case::new(Arc::new(Silent::default()), as_is).await;
    let call = case.begin(note("milk"));
    case.answer(AskVerdict::Reject, (Some("buy oats instead"), None)).await;
    let text = call.await.unwrap().text();
    assert!(text.ends_with(", and says: buy oats instead"), "{text}");
    // The words of a permission come with the answer.
    let call = case.begin(note("bread"));
    case.answer(AskVerdict::Once, (Some("only rye"), None)).await;
    let envelope = call.await.unwrap();
    assert_eq!(
        envelope.metadata().approval_note.as_deref(),
        Some("the user allowed this call and says: only rye")
    );
    assert_eq!(case.executed(), ["bread"]);
}

#[tokio::test]
async fn an_edited_input_is_validated_and_judged_again() {
    let case = Case::new(Arc::new(Silent::default()), as_is).await;
    let call = case.begin(note("milk"));
    case.answer(AskVerdict::Edited, (None, Some(json!({"text": "oats"})))).await;
    let envelope = call.await.unwrap();
    assert_eq!(case.executed(), ["oats"]);
    expect![[r#"the user changed the input of this call to {"text":"oats"}"#]]
        .assert_eq(envelope.metadata().approval_note.as_deref().unwrap());
    expect![[r#"
        1 note succeeded {"text":"oats"}
    "#]]
    .assert_eq(&case.stage.journal().await);
    // The driver that starts over calls with its own input, and gets the answer of the call that was made.
    let again = case.stage.session.resume(case.stage.run.id().clone(), haft::ResumeMode::Replay);
    let again = again.call(note("milk")).await.unwrap();
    assert!(again.metadata().replayed);
    // An input that the schema does not accept is no input.
    let call = case.begin(note("eggs"));
    case.answer(AskVerdict::Edited, (None, Some(json!({"words": 1})))).await;
    assert_eq!(call.await.unwrap().code().unwrap().as_str(), "INVALID_INPUT");
    assert_eq!(case.executed(), ["oats"]);
}

#[tokio::test]
async fn a_watchdog_sees_the_edited_input_and_can_deny_it() {
    struct NoOats;
    impl Watchdog for NoOats {
        fn judge<'a>(&'a self, call: WatchedCall<'a>) -> BoxFuture<'a, WatchdogVerdict> {
            let denies = call.input["text"] == "oats";
            Box::pin(async move {
                match denies {
                    true => WatchdogVerdict::Deny("no oats".to_owned()),
                    false => WatchdogVerdict::Allow,
                }
            })
        }
    }
    let watched = |setting| Setting { watchdogs: vec![Arc::new(NoOats)], ..setting };
    let case = Case::new(Arc::new(Silent::default()), watched).await;
    let call = case.begin(note("milk"));
    case.answer(AskVerdict::Edited, (None, Some(json!({"text": "oats"})))).await;
    assert_eq!(call.await.unwrap().code().unwrap().as_str(), "WATCHDOG_DENIED");
    assert_eq!(case.executed(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn an_ask_that_nobody_answers_denies_at_its_deadline() {
    let asker = Arc::new(Silent::default());
    let limits = CallLimits { answer_ms: 60_000, ..CallLimits::default() };
    let case = Case::new(asker.clone(), |setting| Setting { limits, ..setting }).await;
    let begun = tokio::time::Instant::now();
    let envelope = case.begin(note("milk")).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::from_millis(60_000));
    let text = envelope.text();
    assert!(
        text.starts_with("no person answered within 60 seconds, so the call is denied"),
        "{text}"
    );
    // The time that a person had is no time of the call.
    assert!(envelope.metadata().duration_ms < 1_000, "{}", envelope.metadata().duration_ms);
    assert_eq!(case.ask().await.state, AskState::Expired);
    assert_eq!(*asker.ended.lock().unwrap(), ["no answer came in time, so the call is denied"]);
    let late = case.journal.answer_ask(answer_of(&case.ask().await, AskVerdict::Once)).await;
    assert!(matches!(late, Err(JournalError::AskEnded { .. })), "{late:?}");
    assert_eq!(case.executed(), [""; 0]);
}

#[tokio::test]
async fn a_cancelled_call_withdraws_its_ask() {
    let case = Case::new(Arc::new(Silent::default()), as_is).await;
    let call = note("milk");
    let cancellation = call.cancellation.clone();
    let call = case.begin(call);
    case.pending().await;
    cancellation.cancel();
    assert_eq!(call.await.unwrap().code().unwrap().as_str(), "PROCESS_ABORTED");
    assert_eq!(case.ask().await.state, AskState::Withdrawn);
}

#[tokio::test]
async fn only_a_front_end_that_may_wait_waits() {
    let case = Case::new(Arc::new(HeadlessAsker), as_is).await;
    let envelope = case.begin(note("milk")).await.unwrap();
    assert!(envelope.text().starts_with("no person can be asked here"), "{}", envelope.text());
    assert_eq!(case.journal.asks(AskQuery::default()).await.unwrap(), []);
    let case = Case::new(Arc::new(WaitingAsker), as_is).await;
    let call = case.begin(note("milk"));
    case.answer(AskVerdict::Always, (None, None)).await;
    assert_eq!(call.await.unwrap().text(), "noted");
    // «Always» holds for the next call.
    assert_eq!(case.begin(note("bread")).await.unwrap().text(), "noted");
    assert_eq!(case.executed(), ["milk", "bread"]);
}

#[tokio::test]
async fn a_call_whose_run_was_taken_over_does_not_execute() {
    let case = Case::new(Arc::new(Silent::default()), as_is).await;
    let call = {
        let run = case.stage.run.clone();
        tokio::spawn(async move { run.call(note("milk")).await })
    };
    case.pending().await;
    let holder = case.journal.lease_holders().await.unwrap().remove(0);
    case.journal.abandon_run(holder).await.unwrap();
    let err = call.await.unwrap();
    assert!(matches!(err, Err(haft::RunError::Journal(JournalError::Fenced { .. }))), "{err:?}");
    assert_eq!(case.ask().await.state, AskState::Withdrawn);
    let ended = case.journal.end_ask(&case.ask().await.id, AskEnd::Expired, 0).await.unwrap();
    assert_eq!(ended.state, AskState::Withdrawn);
    assert_eq!(case.executed(), [""; 0]);
}
