//! Tests questions from tools to a person: the recipient, the order, and front ends that fail.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::{Expect, expect};
use haft::limits::{ANSWER_MS_DEFAULT, INQUIRY_MS_MAX};
use haft::{
    Ask, AskAnswer, AskKind, Asker, Call, Elicitation, ElicitationReply, HeadlessAsker, ShownAsk,
    WaitingAsker,
};
use haft_contract::{
    BoxFuture, ClientRequest, ClientRequestMethod, ClientRequester, Cx, Effect, Envelope,
    ErrorCode, HEADLESS_TEXT, Tool, ToolError, UserQuestion,
};
use haft_journal::{
    AskJournal as _, AskQuery, AskRow, AskState, AskVerdict, Journal, MemoryJournal, NewAskAnswer,
};
use haft_policy::{RuleAction, RuleScope};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore};

use crate::stage::{Setting, Stage, Text, rule};

/// A tool that asks what its text says, and answers with what was said.
fn curious() -> Tool {
    Tool::new("curious").effect(Effect::Read).execute_with(|input: Text, cx: Cx| async move {
        let question = UserQuestion {
            question: input.text,
            header: None,
            options: Vec::new(),
            multi_select: false,
        };
        let answers = cx.questions().ask(vec![question]).await?;
        Ok::<_, ToolError>(format!("{answers:?}"))
    })
}

/// Replies to everything alike. The mutex is written by the pipeline and read by the test.
struct Replies(fn() -> ElicitationReply, Mutex<Vec<Elicitation>>);

impl Asker for Replies {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::Reject })
    }

    fn elicit(&self, inquiry: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        self.1.lock().unwrap().push(inquiry);
        Box::pin(async { (self.0)() })
    }
}

fn setting(asker: Arc<dyn Asker>) -> Setting {
    let rules = vec![rule(RuleScope::Manifest, "curious", "*", RuleAction::Allow)];
    Setting { tools: vec![curious()], rules, asker, ..Setting::default() }
}

fn call(text: &str) -> Call {
    Call::new("curious", json!({"text": text}))
}

fn summary(envelope: &Envelope) -> String {
    let code = envelope.code().map_or("none", |code| code.as_str());
    format!("{code}: {}", envelope.text())
}

#[tokio::test]
async fn the_front_end_is_asked_and_its_person_answers() {
    let check = async |reply: fn() -> ElicitationReply, expect: Expect| {
        let asker = Arc::new(Replies(reply, Mutex::default()));
        let stage = Stage::new(setting(asker.clone())).await;
        expect.assert_eq(&summary(&stage.run.call(call("why?")).await.unwrap()));
        let asked = asker.1.lock().unwrap();
        assert_eq!((asked.len(), asked[0].questions[0].question.as_str()), (1, "why?"));
        assert_eq!((asked[0].tool.as_str(), asked[0].connection.as_str()), ("curious", "s1"));
    };
    check(
        || ElicitationReply::Answers(vec![vec!["because".to_owned()]]),
        expect![[r#"none: [["because"]]"#]],
    )
    .await;
    check(
        || ElicitationReply::Answers(Vec::new()),
        expect!["TOOL_FAILED: asking failed: the front end answered 0 questions of 1"],
    )
    .await;
    check(|| ElicitationReply::Dismissed(Some("the window was closed".to_owned())), expect!["TOOL_FAILED: the user did not answer (the window was closed): do not ask the same again; go on with your best assumption and say which one you made"]).await;
    check(|| ElicitationReply::Unanswered, expect!["HEADLESS: No one is here to answer. Do not ask; go on with your best assumption and say which one you made."]).await;
    check(|| panic!("no window"), expect!["TOOL_FAILED: asking failed: no window"]).await;
}

/// A front end that knows approvals only.
struct Approver;

impl Asker for Approver {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::AllowOnce })
    }
}

#[tokio::test]
async fn without_anybody_to_ask_the_answer_is_a_fixed_error() {
    for asker in [Arc::new(HeadlessAsker) as Arc<dyn Asker>, Arc::new(Approver)] {
        let stage = Stage::new(setting(asker)).await;
        let answer = stage.run.call(call("why?")).await.unwrap();
        assert_eq!(summary(&answer), format!("HEADLESS: {HEADLESS_TEXT}"));
    }
}

/// Answers when the test lets it.
struct Patient {
    asked: Notify,
    open: Mutex<usize>,
    may_answer: Semaphore,
}

impl Asker for Patient {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::Reject })
    }

    fn elicit(&self, _: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async {
            *self.open.lock().unwrap() += 1;
            self.asked.notify_one();
            self.may_answer.acquire().await.unwrap().forget();
            ElicitationReply::Answers(vec![vec!["yes".to_owned()]])
        })
    }
}

#[tokio::test]
async fn questions_wait_for_their_turn() {
    let patient = Arc::new(Patient {
        asked: Notify::new(),
        open: Mutex::default(),
        may_answer: Semaphore::new(0),
    });
    let stage = Stage::new(setting(patient.clone())).await;
    let person = async {
        patient.asked.notified().await;
        // Whatever else can run has run: there is one thread.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(*patient.open.lock().unwrap(), 1);
        patient.may_answer.add_permits(2);
    };
    let (one, other) = (stage.run.call(call("first?")), stage.run.call(call("second?")));
    let (one, other, ()) = tokio::join!(one, other, person);
    let expected = "none: [[\"yes\"]]";
    assert_eq!([summary(&one.unwrap()), summary(&other.unwrap())], [expected, expected]);
}

/// Thinks for so many milliseconds before it answers.
struct Slow(u64);

impl Asker for Slow {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::Reject })
    }

    fn elicit(&self, _: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(self.0)).await;
            ElicitationReply::Answers(vec![vec!["yes".to_owned()]])
        })
    }
}

/// A tool that asks, and then works for as many milliseconds as its text says.
fn asks_and_works() -> Tool {
    Tool::new("curious").effect(Effect::Read).execute_with(|input: Text, cx: Cx| async move {
        let question = UserQuestion {
            question: "why?".to_owned(),
            header: None,
            options: Vec::new(),
            multi_select: false,
        };
        let answers = cx.questions().ask(vec![question]).await?;
        let work = Duration::from_millis(input.text.parse().unwrap_or_default());
        tokio::select! {
            () = tokio::time::sleep(work) => Ok(format!("{answers:?}")),
            () = cx.cancellation().cancelled() => {
                Err(ToolError::new(ErrorCode::ProcessAborted, "stopped"))
            }
        }
    })
}

async fn asked_for(thinking_ms: u64, work_ms: u64) -> Envelope {
    let slow = setting(Arc::new(Slow(thinking_ms)));
    let stage = Stage::new(Setting { tools: vec![asks_and_works()], ..slow }).await;
    let call = Call { timeout_ms: Some(1_000), ..call(&work_ms.to_string()) };
    stage.run.call(call).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_stands_while_a_person_thinks() {
    assert_eq!(summary(&asked_for(120_000, 999).await), r#"none: [["yes"]]"#);
    let late = asked_for(120_000, 1_001).await;
    assert_eq!(summary(&late), "TOOL_TIMEOUT: stopped");
    assert_eq!(late.metadata().timeout_ms, Some(1_000));
}

#[tokio::test(start_paused = true)]
async fn a_person_is_waited_for_up_to_the_bound() {
    assert_eq!(summary(&asked_for(ANSWER_MS_DEFAULT - 1, 0).await), r#"none: [["yes"]]"#);
    expect!["TOOL_FAILED: the user did not answer (no answer came within 600 seconds): do not ask the same again; go on with your best assumption and say which one you made"].assert_eq(&summary(&asked_for(ANSWER_MS_DEFAULT + 1, 0).await));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_their_turn_to_ask_loses_no_time_either() {
    let slow = setting(Arc::new(Slow(120_000)));
    let stage = Stage::new(Setting { tools: vec![asks_and_works()], ..slow }).await;
    let timed = |work: &str| Call { timeout_ms: Some(1_000), ..call(work) };
    let (one, other) = tokio::join!(stage.run.call(timed("1")), stage.run.call(timed("2")));
    let expected = r#"none: [["yes"]]"#;
    assert_eq!([summary(&one.unwrap()), summary(&other.unwrap())], [expected, expected]);
}

/// A client that takes so many milliseconds to answer.
struct SlowClient(u64);

impl ClientRequester for SlowClient {
    fn supports(&self, _: ClientRequestMethod) -> bool {
        true
    }

    fn request(&self, _: Vec<ClientRequest>) -> BoxFuture<'_, Result<Vec<Value>, ToolError>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(self.0)).await;
            Ok(vec![json!({"roots": []})])
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_stands_while_its_client_is_asked() {
    let shows_a_form =
        Tool::new("curious").effect(Effect::Read).execute_with(|_: Text, cx: Cx| async move {
            let (name, params) = ("form".to_owned(), Value::Null);
            let form = ClientRequest { name, method: ClientRequestMethod::Form, params };
            Ok::<_, ToolError>(format!("{:?}", cx.client().request(vec![form]).await?))
        });
    let stage =
        Stage::new(Setting { tools: vec![shows_a_form], ..setting(Arc::new(HeadlessAsker)) }).await;
    let asked = async |thinking_ms: u64| {
        let client = Arc::new(SlowClient(thinking_ms));
        let call = Call { timeout_ms: Some(1_000), client, ..call("") };
        summary(&stage.run.call(call).await.unwrap())
    };
    assert_eq!(asked(120_000).await, r#"none: [Object {"roots": Array []}]"#);
    assert_eq!(asked(INQUIRY_MS_MAX - 1).await, r#"none: [Object {"roots": Array []}]"#);
    let late = "TOOL_FAILED: the client did not answer within 60 minutes";
    assert_eq!(asked(INQUIRY_MS_MAX + 1).await, late);
}

/// A stage whose questions other processes answer, and its journal.
async fn waiting() -> (Stage, Arc<MemoryJournal>) {
    let journal = Arc::new(MemoryJournal::new());
    let shared = Arc::clone(&journal) as Arc<dyn Journal>;
    let stage = Stage::new(Setting { journal: shared, ..setting(Arc::new(WaitingAsker)) }).await;
    (stage, journal)
}

fn begin(stage: &Stage, call: Call) -> tokio::task::JoinHandle<Envelope> {
    let run = stage.run.clone();
    tokio::spawn(async move { run.call(call).await.unwrap() })
}

async fn pending(journal: &MemoryJournal) -> AskRow {
    loop {
        if let Some(ask) = journal.asks(AskQuery::pending()).await.unwrap().pop() {
            return ask;
        }
        tokio::task::yield_now().await;
    }
}

async fn answer(journal: &MemoryJournal, verdict: AskVerdict, content: Option<&str>) -> AskRow {
    let ask = pending(journal).await;
    let answer = NewAskAnswer {
        ask: ask.id.clone(),
        verdict,
        by: "ada".to_owned(),
        through: "asks".to_owned(),
        shown_sha256: ask.shown.sha256.clone(),
        words: content.is_none().then(|| "ask me tomorrow".to_owned()),
        edited_input: content.map(str::to_owned),
        now_ms: 0,
    };
    journal.answer_ask(answer).await.unwrap()
}

#[tokio::test]
async fn another_process_answers_a_question_of_a_tool() {
    let (stage, journal) = waiting().await;
    let asked = begin(&stage, call("why?"));
    let ask = pending(&journal).await;
    let shown = ShownAsk::parse(&journal.shown_of_ask(&ask).await.unwrap().unwrap()).unwrap();
    assert_eq!((shown.kind, shown.questions[0].question.as_str()), (AskKind::Question, "why?"));
    assert_eq!((shown.input, ask.tool.as_str()), (json!({}), "curious"));
    assert_eq!(ask.call.to_string(), "r1/main/0/1/1");
    answer(&journal, AskVerdict::Once, Some(r#"[["because"]]"#)).await;
    assert_eq!(summary(&asked.await.unwrap()), r#"none: [["because"]]"#);
    let ask = journal.asks(AskQuery::of_id(&ask.id)).await.unwrap().remove(0);
    assert!(ask.answer.is_some_and(|answer| answer.received_at_ms.is_some()));
    // A person may leave it unanswered, and say why.
    let asked = begin(&stage, call("and why that?"));
    answer(&journal, AskVerdict::Reject, None).await;
    let left = summary(&asked.await.unwrap());
    assert!(left.starts_with("TOOL_FAILED: the user did not answer (ask me tomorrow)"), "{left}");
}

#[tokio::test]
async fn an_answer_that_fits_no_question_is_no_answer() {
    for (verdict, content) in [
        (AskVerdict::Once, None),
        (AskVerdict::Session, None),
        (AskVerdict::Once, Some(r#"[["a"],["b"]]"#)),
        (AskVerdict::Once, Some(r#"[[" "]]"#)),
        (AskVerdict::Edited, Some(r#"[["a"]]"#)),
    ] {
        let (stage, journal) = waiting().await;
        let asked = begin(&stage, call("why?"));
        answer(&journal, verdict, content).await;
        let answered = summary(&asked.await.unwrap());
        assert!(answered.starts_with("PROCESS_ABORTED: the question was withdrawn"), "{answered}");
    }
}

#[tokio::test]
async fn a_question_that_the_call_does_not_wait_for_is_withdrawn() {
    let (stage, journal) = waiting().await;
    let call = call("why?");
    let cancellation = call.cancellation.clone();
    let asked = begin(&stage, call);
    let ask = pending(&journal).await;
    cancellation.cancel();
    assert_eq!(asked.await.unwrap().code(), Some(ErrorCode::ProcessAborted));
    let ask = journal.asks(AskQuery::of_id(&ask.id)).await.unwrap().remove(0);
    assert_eq!(ask.state, AskState::Withdrawn);
    // A tool that stops waiting by itself withdraws its question as well.
    let impatient = Tool::new("impatient").effect(Effect::Read).execute_with(
        |input: Text, cx: Cx| async move {
            let question = UserQuestion {
                question: input.text,
                header: None,
                options: Vec::new(),
                multi_select: false,
            };
            let asking = cx.questions().ask(vec![question]);
            let waited = tokio::time::timeout(Duration::from_millis(20), asking).await;
            Ok::<_, ToolError>(if waited.is_err() { "gave up" } else { "answered" })
        },
    );
    let rules = vec![rule(RuleScope::Manifest, "impatient", "*", RuleAction::Allow)];
    let journal = Arc::new(MemoryJournal::new());
    let shared = Arc::clone(&journal) as Arc<dyn Journal>;
    let waiting = Setting { journal: shared, ..setting(Arc::new(WaitingAsker)) };
    let stage = Stage::new(Setting { tools: vec![impatient], rules, ..waiting }).await;
    let envelope = stage.run.call(Call::new("impatient", json!({"text": "why?"}))).await.unwrap();
    assert_eq!(envelope.text(), "gave up");
    let state = loop {
        let ask = journal.asks(AskQuery::default()).await.unwrap().remove(0);
        if ask.state != AskState::Pending {
            break ask.state;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(state, AskState::Withdrawn);
}
