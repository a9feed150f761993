//! The questions of a plan as rows that another process answers: those of person nodes, and those about dangerous tools.

use std::sync::Arc;

use haft::{AskKind, ShownAsk, WaitingAsker};
use haft_contract::ErrorCode;
use haft_journal::{AskQuery, AskRow, AskState, AskVerdict, Journal, NewAskAnswer};
use haft_plan::drive::{DangerousToolAsker, PlanEnding, PlanRunOptions};
use serde_json::{Value, json};

use crate::resume::again;
use crate::stage::{Stage, plan, text};

fn waiting(options: PlanRunOptions) -> PlanRunOptions {
    let asking = DangerousToolAsker {
        asker: Arc::new(WaitingAsker),
        session: "s1".to_owned(),
        root: "/project".into(),
    };
    PlanRunOptions { asking: Some(asking), ..options }
}

async fn pending(journal: &dyn Journal) -> (AskRow, ShownAsk) {
    loop {
        if let Some(ask) = journal.asks(AskQuery::pending()).await.unwrap().pop() {
            let shown = journal.shown_of_ask(&ask).await.unwrap().unwrap();
            return (ask, ShownAsk::parse(&shown).unwrap());
        }
        tokio::task::yield_now().await;
    }
}

async fn answer(
    journal: &dyn Journal,
    (ask, verdict): (&AskRow, AskVerdict),
    (words, answers): (Option<&str>, Option<Value>),
) {
    let answer = NewAskAnswer {
        ask: ask.id.clone(),
        verdict,
        by: "ada".to_owned(),
        through: "asks".to_owned(),
        shown_sha256: ask.shown.sha256.clone(),
        words: words.map(str::to_owned),
        edited_input: answers.map(|answers| answers.to_string()),
        now_ms: 0,
    };
    journal.answer_ask(answer).await.unwrap();
}

fn asking_plan() -> Value {
    plan(vec![
        text("order", "a", &[]),
        json!({"question": "Ship {{STEPS.0.said}}?", "options": ["yes", "no"], "depends_on": [0]}),
        text("order", "{{STEPS.1}}", &[1]),
    ])
}

#[tokio::test]
async fn another_process_answers_a_person_node() {
    let stage = Stage::new();
    let whole = asking_plan();
    let options = PlanRunOptions {
        allow: haft_plan::drive::AllowedDangerousTools::All,
        ..waiting(stage.options())
    };
    let person = async {
        let (ask, shown) = pending(&*stage.journal).await;
        assert_eq!((shown.kind, ask.call.scope.node.as_str()), (AskKind::Question, "n1"));
        assert_eq!(shown.questions[0].question, "Ship a?");
        let labels: Vec<&str> =
            shown.questions[0].options.iter().map(|option| option.label.as_str()).collect();
        assert_eq!(labels, ["yes", "no"]);
        answer(&*stage.journal, (&ask, AskVerdict::Once), (None, Some(json!([["no"]])))).await;
    };
    let (driven, ()) = tokio::join!(stage.drive(&whole, options), person);
    assert_eq!(driven.trace.final_output(), Some(&json!({"said": "no"})));
    assert_eq!(stage.world.done(), ["order a", "order no"]);
    let recalled = stage.drive(&whole, again(&stage)).await;
    assert_eq!(recalled.trace, driven.trace);
    assert_eq!(stage.journal.asks(AskQuery::default()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_stopped_plan_withdraws_its_question_and_asks_again_when_resumed() {
    let stage = Stage::new();
    let whole = asking_plan();
    let options = waiting(stage.options());
    let abort = options.abort.clone();
    let person = async {
        let (ask, _) = pending(&*stage.journal).await;
        abort.cancel();
        ask
    };
    let (stopped, first) = tokio::join!(stage.drive(&whole, options), person);
    assert_eq!(stopped.trace.ending, PlanEnding::Aborted);
    let first = stage.journal.asks(AskQuery::of_id(&first.id)).await.unwrap().remove(0);
    assert_eq!(first.state, AskState::Withdrawn);
    let person = async {
        let (ask, _) = pending(&*stage.journal).await;
        answer(&*stage.journal, (&ask, AskVerdict::Once), (None, Some(json!([["yes"]])))).await;
        ask
    };
    let (driven, second) = tokio::join!(stage.drive(&whole, waiting(again(&stage))), person);
    assert_ne!(first.id, second.id);
    assert_eq!(driven.trace.final_output(), Some(&json!({"said": "yes"})));
    assert_eq!(stage.world.done(), ["order a", "order yes"]);
}

#[tokio::test]
async fn a_question_that_a_person_leaves_is_asked_by_the_next_resume() {
    let stage = Stage::new();
    let whole = asking_plan();
    let person = async {
        let (ask, _) = pending(&*stage.journal).await;
        let verdict = (&ask, AskVerdict::Reject);
        answer(&*stage.journal, verdict, (Some("not today"), None)).await;
    };
    let (driven, ()) = tokio::join!(stage.drive(&whole, waiting(stage.options())), person);
    let error = driven.trace.nodes[1].error.clone().unwrap();
    assert_eq!(error.code, ErrorCode::ProcessAborted);
    assert!(error.text.contains("The next resume of the run asks it again"), "{}", error.text);
    assert_eq!(stage.world.done(), ["order a"]);
}

#[tokio::test]
async fn another_process_answers_whether_a_plan_may_call_a_dangerous_tool() {
    let whole = plan(vec![text("danger", "a", &[]), text("danger", "b", &[0])]);
    let drive = async |verdict: AskVerdict, words: Option<&str>| {
        let stage = Stage::new();
        let person = async {
            let (ask, shown) = pending(&*stage.journal).await;
            assert_eq!((shown.kind, ask.tool.as_str()), (AskKind::Tool, "danger"));
            assert_eq!(shown.input, json!({"text": "a"}));
            assert!(shown.check_answer(AskVerdict::Edited, Some("{}")).is_err());
            answer(&*stage.journal, (&ask, verdict), (words, None)).await;
        };
        let (driven, ()) = tokio::join!(stage.drive(&whole, waiting(stage.options())), person);
        // The answer holds for all calls of the tool.
        assert_eq!(stage.journal.asks(AskQuery::default()).await.unwrap().len(), 1);
        (driven.trace.to_string(), stage.world.done())
    };
    let (_, done) = drive(AskVerdict::Once, None).await;
    assert_eq!(done, ["danger a", "danger b"]);
    let (trace, done) = drive(AskVerdict::Reject, Some("not on Fridays")).await;
    let expected = "danger is dangerous, and the user rejected it and says: not on Fridays";
    assert!(trace.contains(expected), "{trace}");
    assert!(done.is_empty(), "{done:?}");
}
