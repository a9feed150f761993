//! Going on with a run.

use std::sync::Arc;

use expect_test::expect;
use haft::RunError;
use haft_contract::{AttemptAddress, CallAddress, Envelope, EnvelopeMetadata, RunId};
use haft_journal::{Journal, SettledBy, Settlement, SettlementVerdict};
use haft_plan::drive::{
    PlanEnding, PlanRunError, PlanRunOptions, RunStartMode, recorded_plan, run_plan,
};
use haft_plan::{NodeStatus, PlanTrace};
use serde_json::{Value, json};

use crate::stage::{Stage, allow, plan, text};

pub(crate) fn again(stage: &Stage) -> PlanRunOptions {
    PlanRunOptions { start: RunStartMode::Resume, ..stage.options() }
}

/// Drives a plan, and aborts it when so many of its calls wait.
pub(crate) async fn abort_when_waiting(
    stage: &Stage,
    plan: &Value,
    options: PlanRunOptions,
    count: u32,
) -> PlanTrace {
    let abort = options.abort.clone();
    let aborting = async {
        stage.world.until_waiting(count).await;
        abort.cancel();
    };
    let checked = stage.check(plan);
    let driving = run_plan(&stage.session, &stage.journal, &checked, options);
    let (driven, ()) = tokio::join!(driving, aborting);
    driven.unwrap().trace
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_over_is_recalled_and_nothing_is_repeated() {
    let stage = Stage::new();
    let whole = plan(vec![
        text("order", "a", &[]),
        json!({"tool": "flaky", "inputs": {"text": "b", "fails": 1}, "retry": 1}),
        json!({"tool": "wait", "inputs": {"text": "c"}, "timeout": 2, "on_fail": "continue"}),
        json!({"tool": "wait_once", "inputs": {"text": "d"}, "timeout": 2, "on_fail": "continue"}),
        text("danger", "{{STEPS.0.said}}", &[0]),
    ]);
    let first =
        stage.drive(&whole, PlanRunOptions { allow: allow("danger"), ..stage.options() }).await;
    let done = stage.world.done();
    // A question that was answered once is not asked again.
    let second = stage.drive(&whole, again(&stage)).await;
    assert_eq!(first.trace, second.trace);
    assert_eq!(first.trace.to_json().to_string(), second.trace.to_json().to_string());
    assert!(second.timings.nodes.iter().all(|node| node.replayed));
    assert_eq!(stage.world.done(), done);
}

#[tokio::test(start_paused = true)]
async fn a_halted_run_that_is_gone_on_with_starts_nothing_new() {
    let stage = Stage::new();
    let halting = plan(vec![
        text("say", "a", &[]),
        json!({"tool": "flaky", "inputs": {"text": "b", "fails": 9}}),
        text("order", "c", &[0]),
    ]);
    let one = haft_plan::drive::PlanBounds {
        parallel: std::num::NonZeroUsize::MIN,
        ..haft_plan::drive::PlanBounds::default()
    };
    let first = stage.drive(&halting, PlanRunOptions { bounds: one, ..stage.options() }).await;
    let second = stage.drive(&halting, again(&stage)).await;
    assert_eq!(first.trace, second.trace);
    assert_eq!(stage.world.done(), ["say a", "flaky b"]);
}

#[tokio::test]
async fn what_was_cancelled_is_made_again() {
    let stage = Stage::new();
    let waiting =
        plan(vec![text("order", "a", &[]), text("wait", "b", &[0]), text("say", "c", &[1])]);
    let trace = abort_when_waiting(&stage, &waiting, stage.options(), 1).await;
    assert_eq!(trace.ending, PlanEnding::Aborted);
    let statuses: Vec<NodeStatus> = trace.nodes.iter().map(|node| node.status).collect();
    assert_eq!(statuses, [NodeStatus::Succeeded, NodeStatus::Cancelled, NodeStatus::Pending]);
    abort_when_waiting(&stage, &waiting, again(&stage), 2).await;
    stage.world.open();
    let resumed = stage.drive(&waiting, again(&stage)).await;
    let undisturbed = Stage::new();
    undisturbed.world.open();
    let expected = undisturbed.drive(&waiting, undisturbed.options()).await;
    assert_eq!(resumed.trace, expected.trace);
    assert_eq!(stage.world.done(), ["order a", "wait b", "wait b", "wait b", "say c"]);
}

async fn settle(journal: &Arc<dyn Journal>, verdict: SettlementVerdict) {
    let run = RunId::parse("r1").unwrap();
    let scope = AttemptAddress { run, node: "n0".to_owned(), iteration: 0, attempt: 1 };
    let envelope = match verdict {
        SettlementVerdict::Happened => {
            Envelope::Output { data: json!({"waited": "a"}), metadata: EnvelopeMetadata::default() }
        }
        SettlementVerdict::NotHappened | SettlementVerdict::Retry => Envelope::Error {
            error_text: "it did not".to_owned(),
            metadata: EnvelopeMetadata::default(),
        },
    };
    let call = CallAddress { scope, seq: 1 };
    let by = SettledBy::Operator;
    journal.resolve(Settlement { call, verdict, by, envelope, settled_at_ms: 1 }).await.unwrap();
}

#[tokio::test]
async fn a_call_in_doubt_stops_the_run_until_it_is_settled() {
    for &verdict in SettlementVerdict::ALL {
        let stage = Stage::new();
        let once =
            plan(vec![text("wait_once", "a", &[]), text("say", "b", &[0]), text("say", "c", &[])]);
        let one = haft_plan::drive::PlanBounds {
            parallel: std::num::NonZeroUsize::MIN,
            ..haft_plan::drive::PlanBounds::default()
        };
        let options = PlanRunOptions { bounds: one, ..stage.options() };
        abort_when_waiting(&stage, &once, options, 1).await;
        let driven = stage.drive(&once, again(&stage)).await;
        if verdict == SettlementVerdict::Retry {
            expect![[r#"
                0 wait_once in doubt: IN_DOUBT: wait_once was begun and its end is unknown, so it may or may not have happened
                1 say       pending
                2 say       pending
                stopped, because a call is in doubt
                no output: node 2 has none
            "#]].assert_eq(&driven.trace.to_string());
            expect![[r#"
                [
                  {
                    "node": 0,
                    "call": "r1/n0/0/1/1",
                    "text": "in doubt: wait_once was begun as call r1/n0/0/1/1 and was stopped before its end, so it may or may not have happened. It is not repeated.",
                    "refusal": {
                      "code": "IN_DOUBT",
                      "decided_by": "journal",
                      "because": "in doubt: wait_once was begun as call r1/n0/0/1/1 and was stopped before its end, so it may or may not have happened. It is not repeated.",
                      "remedies": [
                        {
                          "settle": "r1/n0/0/1/1"
                        }
                      ]
                    }
                  }
                ]"#]].assert_eq(&serde_json::to_string_pretty(&driven.doubts).unwrap());
        }
        assert_eq!(driven.trace.ending, PlanEnding::InDoubt);
        assert_eq!(stage.world.done(), ["wait_once a"]);
        settle(&stage.journal, verdict).await;
        stage.world.open();
        let settled = stage.drive(&once, again(&stage)).await;
        assert!(settled.trace.is_success(), "{}", settled.trace);
        let repeats = stage.world.done().iter().filter(|done| *done == "wait_once a").count();
        assert_eq!(repeats, if verdict == SettlementVerdict::Happened { 1 } else { 2 });
    }
}

#[tokio::test]
async fn another_plan_is_not_driven_in_a_run() {
    let stage = Stage::new();
    stage.drive(&plan(vec![text("order", "a", &[])]), stage.options()).await;
    let other = plan(vec![text("order", "b", &[])]);
    let err = stage.try_drive(&other, again(&stage)).await.unwrap_err();
    assert!(matches!(err, PlanRunError::Run(RunError::Diverged(_))), "{err}");
    assert_eq!(stage.world.done(), ["order a"]);
}

#[tokio::test]
async fn a_run_is_gone_on_with_from_its_journal_alone() {
    let stage = Stage::new();
    let written =
        plan(vec![text("wait", "{{INPUT.x}}", &[]), text("order", "{{STEPS.0.waited}}", &[0])]);
    let options = PlanRunOptions { input: Some(json!({"x": "a"})), ..stage.options() };
    abort_when_waiting(&stage, &written, options, 1).await;
    let run = RunId::parse("r1").unwrap();
    let (plan, input) = recorded_plan(&*stage.journal, &run).await.unwrap().unwrap();
    stage.world.open();
    let driven = stage.drive(&json!(plan), PlanRunOptions { input, ..again(&stage) }).await;
    assert_eq!(driven.trace.final_output(), Some(&json!({"said": "a"})));
}
