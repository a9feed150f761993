//! What a tool wants to know from a person: who is asked, in whose turn, and what becomes of a front end that fails.

use std::sync::{Arc, Mutex};

use expect_test::{Expect, expect};
use haft::{Answer, Ask, Asker, Call, Headless, Inquiry, Reply};
use haft_contract::{
    BoxFuture, Cx, Effect, Envelope, HEADLESS_TEXT, Tool, ToolError, UserQuestion,
};
use haft_policy::{Action, RuleScope};
use serde_json::json;
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
struct Replies(fn() -> Reply, Mutex<Vec<Inquiry>>);

impl Asker for Replies {
    fn ask(&self, _: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Reject })
    }

    fn inquire(&self, inquiry: Inquiry) -> BoxFuture<'_, Reply> {
        self.1.lock().unwrap().push(inquiry);
        Box::pin(async { (self.0)() })
    }
}

fn setting(asker: Arc<dyn Asker>) -> Setting {
    let rules = vec![rule(RuleScope::Manifest, "curious", "*", Action::Allow)];
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
    let check = async |reply: fn() -> Reply, expect: Expect| {
        let asker = Arc::new(Replies(reply, Mutex::default()));
        let stage = Stage::new(setting(asker.clone())).await;
        expect.assert_eq(&summary(&stage.run.call(call("why?")).await.unwrap()));
        let asked = asker.1.lock().unwrap();
        assert_eq!((asked.len(), asked[0].questions[0].question.as_str()), (1, "why?"));
        assert_eq!((asked[0].tool.as_str(), asked[0].session.as_str()), ("curious", "s1"));
    };
    check(|| Reply::Answers(vec![vec!["because".to_owned()]]), expect![[r#"none: [["because"]]"#]])
        .await;
    check(
        || Reply::Answers(Vec::new()),
        expect!["TOOL_FAILED: the front end answered 0 questions of 1"],
    )
    .await;
    check(|| Reply::Dismissed(Some("the window was closed".to_owned())), expect!["TOOL_FAILED: the user did not answer (the window was closed): do not ask the same again; go on with your best assumption and say which one you made"]).await;
    check(|| Reply::Nobody, expect!["HEADLESS: No one is here to answer. Do not ask; go on with your best assumption and say which one you made."]).await;
    check(|| panic!("no window"), expect!["TOOL_FAILED: asking failed: no window"]).await;
}

/// A front end that knows approvals only.
struct Approver;

impl Asker for Approver {
    fn ask(&self, _: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Once })
    }
}

#[tokio::test]
async fn without_anybody_to_ask_the_answer_is_a_fixed_error() {
    for asker in [Arc::new(Headless) as Arc<dyn Asker>, Arc::new(Approver)] {
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
    fn ask(&self, _: Ask) -> BoxFuture<'_, Answer> {
        Box::pin(async { Answer::Reject })
    }

    fn inquire(&self, _: Inquiry) -> BoxFuture<'_, Reply> {
        Box::pin(async {
            *self.open.lock().unwrap() += 1;
            self.asked.notify_one();
            self.may_answer.acquire().await.unwrap().forget();
            Reply::Answers(vec![vec!["yes".to_owned()]])
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
