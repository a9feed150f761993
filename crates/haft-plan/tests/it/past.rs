//! The records of earlier processes in a run are taken for exactly what they are.

use std::sync::Arc;

use expect_test::expect;
use haft::{Call, ConnectionOptions, RunError, TaskAttempt};
use haft_contract::RunId;
use haft_plan::NodeStatus;
use haft_plan::drive::{PlanEnding, PlanRunError, PlanRunOptions, RunStartMode};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::ahead::SlowJournal;
use crate::resume::{abort_when_waiting, again};
use crate::stage::{Stage, allow, plan, text};

fn run() -> RunId {
    RunId::parse("r1").unwrap()
}

fn call_of(tool: &str, node: &str, iteration: u32) -> Call {
    let place = TaskAttempt { node: node.to_owned(), iteration, attempt: 1 };
    Call { task_attempt: place, ..Call::new(tool, json!({"text": "a"})) }
}

#[tokio::test]
async fn what_is_no_node_of_the_plan_answers_for_none() {
    for (tool, node, iteration) in [("danger", "n0", 1), ("danger", "n00", 0), ("danger", "n", 0)] {
        let stage = Stage::new();
        let dangerous = plan(vec![text("danger", "a", &[])]);
        let first = stage.drive(&dangerous, stage.options()).await;
        assert_eq!(first.trace.nodes[0].status, NodeStatus::Failed);
        stage.session.run(run()).call(call_of(tool, node, iteration)).await.unwrap();
        let again = stage.drive(&dangerous, again(&stage)).await;
        assert_eq!(again.trace, first.trace, "{node} {iteration}");
        assert_eq!(stage.world.done(), ["danger a"]);
    }
}

#[tokio::test]
async fn a_call_of_another_tool_is_no_answer_to_whether_one_may_be_called() {
    let stage = Stage::new();
    let dangerous = plan(vec![text("danger", "a", &[])]);
    let first = stage.drive(&dangerous, stage.options()).await;
    stage.session.run(run()).call(call_of("say", "n0", 0)).await.unwrap();
    assert_eq!(stage.drive(&dangerous, again(&stage)).await.trace, first.trace);
    let named = PlanRunOptions { allow: allow("danger"), ..again(&stage) };
    let err = stage.try_drive(&dangerous, named).await.unwrap_err();
    assert!(err.to_string().starts_with("the run has diverged"), "{err}");
    assert_eq!(stage.world.done(), ["say a"]);
}

#[tokio::test]
async fn whoever_drives_no_plan_makes_no_call_in_the_run_of_one() {
    let stage = Stage::new();
    let order = plan(vec![text("order", "a", &[])]);
    stage.drive(&order, stage.options()).await;
    let other = stage.runtime.open_connection(ConnectionOptions::headless("s2", "mcp")).unwrap();
    let err = other.run(run()).call(call_of("order", "main", 0)).await.unwrap_err();
    assert!(matches!(err, RunError::PlanRun { .. }), "{err}");
    // The same holds while another process drives it.
    let driving = stage.session.run(run());
    driving.call(call_of("say", "main", 0)).await.unwrap();
    let err = other.run(run()).call(call_of("order", "main", 0)).await.unwrap_err();
    expect!["the calls of run r1 are the nodes of a plan, so no other front end makes calls in it: nothing was executed; make this call in another run"].assert_eq(&err.to_string());
    assert_eq!(stage.world.done(), ["order a", "say a"]);
}

#[tokio::test]
async fn what_may_be_executed_after_a_look_is_allowed_first() {
    let stage = Stage::new();
    let dangerous = plan(vec![text("wait_danger", "a", &[])]);
    let named = |options| PlanRunOptions { allow: allow("wait_danger"), ..options };
    abort_when_waiting(&stage, &dangerous, named(stage.options()), 1).await;
    stage.world.open();
    let unnamed = stage.drive(&dangerous, again(&stage)).await;
    assert_eq!(unnamed.trace.ending, PlanEnding::InDoubt);
    expect!["in doubt: wait_danger was begun as call r1/n0/0/1/1 and its end is unknown, so it may or may not have happened. If it did not it would be made now, but wait_danger is dangerous, and the user did not name it"].assert_eq(&unnamed.doubts[0].text);
    assert_eq!(unnamed.doubts[0].call.as_deref(), Some("r1/n0/0/1/1"));
    assert_eq!(stage.world.done(), ["wait_danger a"]);
    let driven = stage.drive(&dangerous, named(again(&stage))).await;
    assert!(driven.trace.is_success(), "{}", driven.trace);
    assert_eq!(stage.world.done(), ["wait_danger a", "wait_danger a"]);
}

#[tokio::test]
async fn an_effect_that_was_cancelled_before_it_began_is_made_when_the_run_goes_on() {
    let abort = CancellationToken::new();
    let stage = Stage::with_journal(Arc::new(SlowJournal::aborting(abort.clone())));
    let order = plan(vec![text("order", "a", &[])]);
    let first = stage.drive(&order, PlanRunOptions { abort, ..stage.options() }).await;
    assert_eq!(first.trace.nodes[0].status, NodeStatus::Cancelled);
    assert!(stage.world.done().is_empty());
    let driven = stage.drive(&order, again(&stage)).await;
    assert!(driven.trace.is_success(), "{}", driven.trace);
    assert_eq!(stage.world.done(), ["order a"]);
}

#[tokio::test]
async fn a_run_that_somebody_else_began_just_now_is_not_begun_again() {
    let stage = Stage::with_journal(Arc::new(SlowJournal::early()));
    let order = plan(vec![text("order", "a", &[])]);
    let first = stage.drive(&order, stage.options()).await;
    stage.runtime.shut_down().await;
    assert_eq!(stage.drive(&order, stage.options()).await.trace, first.trace);
    stage.runtime.shut_down().await;
    let other = plan(vec![text("order", "b", &[])]);
    let err = stage.try_drive(&other, stage.options()).await.unwrap_err();
    assert!(matches!(err, PlanRunError::RunExists(_)), "{err}");
    assert_eq!(stage.world.done(), ["order a"]);
}

fn anew(stage: &Stage) -> PlanRunOptions {
    PlanRunOptions { start: RunStartMode::RetryFailed, ..stage.options() }
}

#[tokio::test(start_paused = true)]
async fn what_failed_is_tried_anew_when_somebody_wants_it_and_nothing_else_is() {
    let stage = Stage::new();
    let halting = plan(vec![
        text("order", "a", &[]),
        json!({"tool": "flaky", "inputs": {"text": "b", "fails": 3}, "retry": 1, "depends_on": [0]}),
        json!({"tool": "keyed", "inputs": {"text": "{{STEPS.1.tries}} tries"}, "depends_on": [1]}),
    ]);
    let first = stage.drive(&halting, stage.options()).await;
    assert_eq!(first.trace, stage.drive(&halting, again(&stage)).await.trace);
    let flaky_again = stage.drive(&halting, anew(&stage)).await;
    expect![[r#"
        0 order succeeded
        1 flaky succeeded after 2 attempts
        2 keyed failed: UNAVAILABLE: the first attempt fails
        halted because node 2 failed
        no output: node 2 has none
    "#]]
    .assert_eq(&flaky_again.trace.to_string());
    // A node that was tried anew keeps its result, however the run is resumed.
    assert_eq!(flaky_again.trace, stage.drive(&halting, again(&stage)).await.trace);
    let done = stage.drive(&halting, anew(&stage)).await;
    assert!(done.trace.is_success(), "{}", done.trace);
    assert_eq!(done.trace, stage.drive(&halting, again(&stage)).await.trace);
    assert_eq!(done.trace, stage.drive(&halting, anew(&stage)).await.trace);
    let tools = stage.world.done();
    let tools: Vec<&str> = tools.iter().map(|done| done.split(' ').next().unwrap()).collect();
    assert_eq!(tools, ["order", "flaky", "flaky", "flaky", "flaky", "keyed", "keyed"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_in_doubt_is_not_tried_anew() {
    let stage = Stage::new();
    let late = plan(vec![json!({"tool": "wait_once", "inputs": {"text": "a"}, "timeout": 2})]);
    stage.drive(&late, stage.options()).await;
    let driven = stage.drive(&late, anew(&stage)).await;
    assert_eq!(driven.trace.ending, PlanEnding::InDoubt);
    assert_eq!(stage.world.done(), ["wait_once a"]);
}
