//! A run keeps its plan.

use std::sync::Arc;

use expect_test::expect;
use haft::{Call, TaskAttempt};
use haft_contract::{AttemptAddress, CallAddress, ContentDigest, RunId};
use haft_journal::{CallQuery, CallRow, CallStatus, MemoryJournal};
use haft_plan::NodeId;
use haft_plan::drive::limits::KEPT_PART_BYTES_MAX;
use haft_plan::drive::{
    PlanRunError, PlanRunOptions, RunStartMode, finished_plan, nodes_using_call, recorded_plan,
};
use haft_policy::{Rule, RuleAction};
use serde_json::{Value, json};

use crate::stage::{Stage, plan, text};

/// A plan whose text is so long that it has to be cut, with characters of several bytes everywhere.
fn long() -> Value {
    let body = "\"\\ü€".repeat(100);
    plan((0..500).map(|_| text("say", &body, &[])).collect())
}

/// Returns the plan with one more node, which fails when all others have ended. So the run can be resumed, and keeps its contents.
fn with_failure(written: &Value) -> Value {
    let mut written = written.clone();
    let nodes = written["nodes"].as_array_mut().unwrap();
    let before: Vec<usize> = (0..nodes.len()).collect();
    nodes.push(json!({
        "id": before.len(), "tool": "flaky", "inputs": {"text": "end", "fails": 9}, "depends_on": before,
    }));
    written
}

async fn check_kept(stage: &Stage, written: &Value, input: Option<Value>) -> usize {
    let run = RunId::parse("r1").unwrap();
    assert!(recorded_plan(&*stage.journal, &run).await.unwrap().is_none());
    let written = &with_failure(written);
    let driven =
        stage.drive(written, PlanRunOptions { input: input.clone(), ..stage.options() }).await;
    assert!(!driven.trace.is_success());
    let (plan, kept_input) = recorded_plan(&*stage.journal, &run).await.unwrap().unwrap();
    assert_eq!(&plan, stage.check(written).plan());
    assert_eq!(kept_input, input);
    let query = CallQuery { node: Some("plan".to_owned()), ..CallQuery::of_run(run) };
    stage.journal.calls(query).await.unwrap().len()
}

#[tokio::test]
async fn a_plan_and_its_input_are_read_back() {
    let short = || plan(vec![text("say", "{{INPUT.a}}", &[])]);
    assert_eq!(check_kept(&Stage::new(), &short(), Some(json!({"a": "b"}))).await, 1);
    let parts = check_kept(&Stage::new(), &long(), None).await;
    assert!(parts > 1, "{parts}");
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(check_kept(&Stage::on_disk(directory.path()), &long(), None).await, parts);
}

#[tokio::test]
async fn fields_keep_their_order_when_a_run_is_gone_on_with() {
    let stage = Stage::new();
    let ordered = || {
        plan(vec![
            text("say", "{{INPUT}} {{INPUT.row}}", &[]),
            json!({"tool": "echo", "inputs": {"value": {"name": 1, "count": 2, "area": {"z": 1, "a": 2}}}}),
            text("say", "got {{STEPS.1}}", &[1]),
        ])
    };
    let input = Some(json!({"z": 1, "row": {"name": 1, "area": 2}}));
    let ordered = with_failure(&ordered());
    let first = stage.drive(&ordered, PlanRunOptions { input, ..stage.options() }).await;
    assert!(!first.trace.is_success(), "{}", first.trace);
    let (kept, input) =
        recorded_plan(&*stage.journal, &RunId::parse("r1").unwrap()).await.unwrap().unwrap();
    let kept = serde_json::to_value(&kept).unwrap();
    let options = PlanRunOptions { start: RunStartMode::Resume, input, ..stage.options() };
    let second = stage.drive(&kept, options).await;
    assert_eq!(first.trace.to_json().to_string(), second.trace.to_json().to_string());
}

#[tokio::test]
async fn a_plan_that_has_ended_is_read_from_its_rows_without_contents() {
    let stage = Stage::new();
    let run = RunId::parse("r1").unwrap();
    let written = plan(vec![
        text("secret", "{{INPUT.a}} and more", &[]),
        text("say", "so: {{STEPS.0}}", &[0]),
        text("secret", "{{STEPS.1.said}}", &[1]),
    ]);
    let input = Some(json!({"a": "b"}));
    let first = stage.drive(&written, PlanRunOptions { input, ..stage.options() }).await;
    assert!(first.trace.is_success(), "{}", first.trace);
    let rows = parts(&stage).await;
    assert!(!rows[0].input.contains("and more"), "{}", rows[0].input);
    let finished = finished_plan(&*stage.journal, &run).await.unwrap().unwrap();
    assert_eq!(finished.trace.to_json(), first.trace.to_json());
    let (shown, input) = recorded_plan(&*stage.journal, &run).await.unwrap().unwrap();
    let digest = ContentDigest::of("{{INPUT.a}} and more");
    let expected = format!("[{} bytes, SHA-256 {}]", digest.bytes, digest.sha256);
    assert_eq!(*shown.nodes[0].work.input(), json!({ "text": expected }));
    let referring = shown.nodes[2].work.input();
    let text = referring["text"].as_str().unwrap();
    assert!(text.ends_with("] {{STEPS.1}}"), "{text}");
    assert_eq!(input, Some(ContentDigest::of_value(&json!({"a": "b"})).to_value()));
    // A driver that goes on all the same has another plan than the run keeps.
    let options = PlanRunOptions { start: RunStartMode::Resume, ..stage.options() };
    let shown = serde_json::to_value(&shown).unwrap();
    assert!(stage.try_drive(&shown, options).await.is_err());
}

#[tokio::test]
async fn a_plan_that_an_older_haft_kept_in_its_row_is_resumed() {
    let stage = Stage::new();
    let run = RunId::parse("r1").unwrap();
    let written = with_failure(&plan(vec![text("secret", "a body", &[])]));
    let kept = json!({"plan": stage.check(&written).plan()}).to_string();
    let place = TaskAttempt { node: "plan".to_owned(), iteration: 0, attempt: 1 };
    let input = json!({"text": kept, "part": 1, "parts": 1});
    let call = Call { task_attempt: place, ..Call::new("plan", input) };
    stage.session.run(run.clone()).call(call).await.unwrap();
    let (plan, _) = recorded_plan(&*stage.journal, &run).await.unwrap().unwrap();
    assert_eq!(&plan, stage.check(&written).plan());
    let options = PlanRunOptions { start: RunStartMode::Resume, ..stage.options() };
    let driven = stage.drive(&written, options).await;
    assert_eq!(driven.trace.nodes[0].output, Some(json!("6")));
    assert_eq!(parts(&stage).await.len(), 1, "the plan is not kept a second time");
}

/// Returns the calls by which the run of a stage keeps its plan.
async fn parts(stage: &Stage) -> Vec<CallRow> {
    let run = RunId::parse("r1").unwrap();
    let query = CallQuery { node: Some("plan".to_owned()), ..CallQuery::of_run(run) };
    stage.journal.calls(query).await.unwrap()
}

#[tokio::test]
async fn a_run_that_only_keeps_part_of_its_plan_is_begun_again() {
    let whole = Stage::new();
    whole.drive(&long(), whole.options()).await;
    let first = parts(&whole).await.into_iter().next().unwrap();
    let stage = Stage::new();
    let run = RunId::parse("r1").unwrap();
    let place = TaskAttempt { node: "plan".to_owned(), iteration: 0, attempt: 1 };
    let input = serde_json::from_str(&first.input).unwrap();
    let call = Call { task_attempt: place, ..Call::new("plan", input) };
    stage.session.run(run.clone()).call(call).await.unwrap();
    let incomplete = recorded_plan(&*stage.journal, &run).await.unwrap_err();
    expect!["only 1 of the 5 parts of the plan of run r1 were kept before the process ended, so no node was started: begin it again with the same plan and the same name"].assert_eq(&incomplete.to_string());
    let other = plan(vec![text("say", "a", &[])]);
    let err = stage.try_drive(&other, stage.options()).await.unwrap_err();
    assert!(matches!(err, PlanRunError::RunExists(_)), "{err}");
    assert!(stage.drive(&long(), stage.options()).await.trace.is_success());
    assert_eq!(parts(&stage).await.len(), parts(&whole).await.len());
    // From the first node on it is a run like any.
    let err = stage.try_drive(&long(), stage.options()).await.unwrap_err();
    assert!(matches!(err, PlanRunError::RunExists(_)), "{err}");
}

#[tokio::test]
async fn a_plan_that_was_refused_is_not_kept() {
    let no_plan = vec![Rule::new("plan", "*", RuleAction::Deny)];
    let stage = Stage::built(Arc::new(MemoryJournal::new()), no_plan, |_| true);
    let err =
        stage.try_drive(&plan(vec![text("say", "a", &[])]), stage.options()).await.unwrap_err();
    assert!(matches!(err, PlanRunError::NotRecorded { .. }), "{err}");
    let run = RunId::parse("r1").unwrap();
    assert!(recorded_plan(&*stage.journal, &run).await.unwrap().is_none());
}

#[tokio::test]
async fn what_uses_an_answer_is_known_from_the_journal() {
    let stage = Stage::new();
    let uses = plan(vec![
        text("say", "a", &[]),
        text("say", "b", &[0]),
        text("say", "so: {{STEPS.0.said}}", &[0]),
        json!({"tool": "echo", "inputs": {"value": [["{{STEPS.0}}"]]}, "depends_on": [0]}),
    ]);
    stage.drive(&uses, stage.options()).await;
    let users = async |node: &str, iteration: u32| {
        let run = RunId::parse("r1").unwrap();
        let scope = AttemptAddress { run, node: node.to_owned(), iteration, attempt: 1 };
        let users =
            nodes_using_call(&*stage.journal, &CallAddress { scope, seq: 1 }).await.unwrap();
        users.into_iter().map(NodeId::index).collect::<Vec<_>>()
    };
    // Any iteration may be the one whose answer was used.
    assert_eq!(users("n0", 0).await, [2, 3]);
    assert_eq!(users("n0", 1).await, [2, 3]);
    for (node, iteration) in [("n1", 0), ("n00", 0), ("plan", 0)] {
        assert_eq!(users(node, iteration).await, [0; 0], "{node} {iteration}");
    }
}

#[tokio::test]
async fn a_part_of_the_longest_is_kept_whole() {
    let stage = Stage::new();
    // Nothing of a text doubles more than quotes do.
    let quotes = "\"".repeat(3 * KEPT_PART_BYTES_MAX);
    check_kept(&stage, &plan(vec![text("secret", &quotes, &[])]), None).await;
}

#[tokio::test]
async fn a_plan_that_is_too_long_is_not_begun() {
    let stage = Stage::new();
    let input = Some(json!("x".repeat(haft_plan::drive::limits::KEPT_PLAN_BYTES_MAX)));
    let options = PlanRunOptions { input, ..stage.options() };
    let err = stage.try_drive(&plan(vec![text("say", "a", &[])]), options).await.unwrap_err();
    assert!(matches!(err, PlanRunError::TooLarge { .. }), "{err}");
    assert!(stage.journal.calls(CallQuery::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_plan_is_the_first_call_of_its_run() {
    let stage = Stage::new();
    stage.drive(&plan(vec![text("order", "a", &[])]), stage.options()).await;
    let rows = stage.journal.calls(CallQuery::default()).await.unwrap();
    let mut by_time: Vec<_> = rows.iter().collect();
    by_time.sort_by_key(|row| row.change);
    let names: Vec<String> = by_time.iter().map(|row| row.id().to_string()).collect();
    assert_eq!(names, ["r1/plan/0/1/1", "r1/n0/0/1/1"]);
    assert!(rows.iter().all(|row| row.status == CallStatus::Succeeded));
    let answer = by_time[0].parsed_envelope().unwrap().unwrap();
    assert_eq!(answer.text(), json!({"part": 1, "parts": 1}).to_string());
}
