//! Driving a plan from its beginning to its end.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use expect_test::{expect, expect_file};
use haft::AskAnswer;
use haft_contract::{RunId, ToolId};
use haft_journal::{CallQuery, MemoryJournal};
use haft_plan::NodeStatus;
use haft_plan::drive::{
    AllowedDangerousTools, DangerousToolAsker, PLAN_TOOL, PlanBounds, PlanEnding, PlanRunError,
    PlanRunOptions, PlanToolBounds,
};
use haft_policy::{Rule, RuleAction};
use serde_json::{Value, json};

use crate::stage::{Answers, Slow, Stage, allow, plan, text};

/// A plan in which everything happens that does not stop it.
fn varied() -> Value {
    let failing = json!({
        "tool": "flaky", "inputs": {"text": "b", "fails": 9}, "on_fail": "continue", "retry": 1
    });
    plan(vec![
        text("say", "hello {{INPUT.name}}", &[]),
        json!({"tool": "flaky", "inputs": {"text": "a", "fails": 2}, "retry": 2}),
        failing,
        text("order", "after {{STEPS.2}}", &[2]),
        text("order", "{{STEPS.0.said}}!", &[0, 1]),
        json!({
            "tool": "echo", "inputs": {"value": "{{STEPS.1.no.such}}"}, "depends_on": [1],
            "on_fail": "continue"
        }),
        text("say", "never", &[3, 5]),
        text("secret", "{{STEPS.4.said}}", &[4]),
        json!({
            "tool": "echo", "inputs": {"value": {"tries": "{{STEPS.1.tries}}", "all": "{{STEPS.4}}"}},
            "depends_on": [1, 4, 7]
        }),
    ])
}

fn of_parallel(stage: &Stage, parallel: usize) -> PlanRunOptions {
    let parallel = NonZeroUsize::new(parallel).unwrap();
    PlanRunOptions {
        input: Some(json!({"name": "world"})),
        bounds: PlanBounds { parallel, ..PlanBounds::default() },
        ..stage.options()
    }
}

#[tokio::test(start_paused = true)]
async fn a_trace_does_not_depend_on_how_much_happens_at_once() {
    let mut traces = Vec::new();
    for parallel in [1, 2, 16] {
        let stage = Stage::new();
        let driven = stage.drive(&varied(), of_parallel(&stage, parallel)).await;
        traces.push((driven.trace.to_json().to_string(), driven.trace.to_string()));
    }
    let directory = tempfile::tempdir().unwrap();
    tokio::time::resume();
    let stage = Stage::on_disk(directory.path());
    let mut options = of_parallel(&stage, 4);
    options.bounds.backoff.first_ms = 1;
    let driven = stage.drive(&varied(), options).await;
    traces.push((driven.trace.to_json().to_string(), driven.trace.to_string()));
    for trace in &traces {
        assert_eq!(trace, &traces[0]);
    }
    expect![[r#"
        0 say    succeeded
        1 flaky  succeeded after 3 attempts
        2 flaky  failed after 2 attempts: UNAVAILABLE: try 2 failed
        3 order  skipped because of node 2
        4 order  succeeded
        5 echo   failed: INVALID_INPUT: inputs.value: {{STEPS.1.no.such}} names nothing: STEPS.1 is an object with tries
        6 say    skipped because of node 2
        7 secret succeeded
        8 echo   succeeded
        finished
        output: {"tries":3,"all":{"said":"hello world!"}}
    "#]].assert_eq(&traces[0].1);
    let json: Value = serde_json::from_str(&traces[0].0).unwrap();
    let text = format!("{}\n", serde_json::to_string_pretty(&json).unwrap());
    expect_file!["varied_trace.json"].assert_eq(&text);
}

#[tokio::test(start_paused = true)]
async fn events_come_as_things_happen() {
    let stage = Stage::new();
    stage.drive(&varied(), of_parallel(&stage, 1)).await;
    expect![[r#"
        {"event":"plan_started","run":"r1","nodes":9}
        {"event":"node_started","node":0,"tool":"say","attempt":1}
        {"event":"node_finished","node":0,"status":"succeeded","replayed":false}
        {"event":"node_started","node":1,"tool":"flaky","attempt":1}
        {"event":"node_retrying","node":1,"attempt":1,"delay_ms":1000,"error":{"code":"UNAVAILABLE","text":"try 1 failed"}}
        {"event":"node_started","node":2,"tool":"flaky","attempt":1}
        {"event":"node_retrying","node":2,"attempt":1,"delay_ms":1000,"error":{"code":"UNAVAILABLE","text":"try 1 failed"}}
        {"event":"node_started","node":1,"tool":"flaky","attempt":2}
        {"event":"node_retrying","node":1,"attempt":2,"delay_ms":2000,"error":{"code":"UNAVAILABLE","text":"try 2 failed"}}
        {"event":"node_started","node":2,"tool":"flaky","attempt":2}
        {"event":"node_finished","node":2,"status":"failed","replayed":false,"error":{"code":"UNAVAILABLE","text":"try 2 failed"}}
        {"event":"node_skipped","node":3,"because_of":2}
        {"event":"node_skipped","node":6,"because_of":2}
        {"event":"node_started","node":1,"tool":"flaky","attempt":3}
        {"event":"node_finished","node":1,"status":"succeeded","replayed":false}
        {"event":"node_started","node":4,"tool":"order","attempt":1}
        {"event":"node_finished","node":4,"status":"succeeded","replayed":false}
        {"event":"node_started","node":5,"tool":"echo","attempt":1}
        {"event":"node_finished","node":5,"status":"failed","replayed":false,"error":{"code":"INVALID_INPUT","text":"inputs.value: {{STEPS.1.no.such}} names nothing: STEPS.1 is an object with tries"}}
        {"event":"node_started","node":7,"tool":"secret","attempt":1}
        {"event":"node_finished","node":7,"status":"succeeded","replayed":false}
        {"event":"node_started","node":8,"tool":"echo","attempt":1}
        {"event":"node_finished","node":8,"status":"succeeded","replayed":false}
        {"event":"plan_finished","ending":"finished"}
    "#]].assert_eq(&stage.events());
}

#[tokio::test(start_paused = true)]
async fn a_node_is_stopped_when_its_time_is_over() {
    let stage = Stage::new();
    let waiting = plan(vec![
        json!({"tool": "wait", "inputs": {"text": "a"}, "timeout": 3, "retry": 1}),
        text("say", "b", &[0]),
        text("say", "c", &[]),
    ]);
    let driven = stage.drive(&waiting, PlanRunOptions { bounds: one(), ..stage.options() }).await;
    assert_eq!(driven.timings.nodes[0].duration_ms, 3_000);
    expect![[r#"
        0 wait failed after 2 attempts: TOOL_TIMEOUT: node 0 took longer than its timeout of 3 s and was stopped
        1 say  skipped because of node 0
        2 say  succeeded
        halted because node 0 failed
        output: {"said":"c"}
    "#]].assert_eq(&driven.trace.to_string());
    // Another node has its turn while the first waits for its second attempt.
    assert_eq!(stage.world.done(), ["wait a", "say c", "wait a"]);
}

fn one() -> PlanBounds {
    PlanBounds { parallel: NonZeroUsize::MIN, ..PlanBounds::default() }
}

#[tokio::test(start_paused = true)]
async fn a_halt_cancels_what_runs_and_lets_it_be_recorded() {
    let stage = Stage::new();
    // The first node waits longer than its time; the others would wait for ever.
    let halting = plan(vec![
        json!({"tool": "wait", "inputs": {"text": "a"}, "timeout": 1}),
        json!({"tool": "wait", "inputs": {"text": "b"}, "timeout": 50}),
        text("wait_once", "c", &[]),
        text("say", "d", &[1]),
        text("say", "e", &[0]),
    ]);
    let driven = stage.drive(&halting, stage.options()).await;
    expect![[r#"
        0 wait      failed: TOOL_TIMEOUT: node 0 took longer than its timeout of 1 s and was stopped
        1 wait      cancelled because of node 0
        2 wait_once cancelled because of node 0: PROCESS_ABORTED: stopped while it waited; its effect may or may not have happened: check before repeating
        3 say       cancelled because of node 0
        4 say       skipped because of node 0
        halted because node 0 failed
        no output: node 4 has none
    "#]]
    .assert_eq(&driven.trace.to_string());
    let rows = stage.journal.calls(CallQuery::default()).await.unwrap();
    let ends: Vec<String> =
        rows.iter().map(|row| format!("{} {}", row.scope.node, row.status)).collect();
    expect![[r#"
        n0 failed
        n1 failed
        n2 unknown
        plan succeeded"#]]
    .assert_eq(&ends.join("\n"));
}

#[tokio::test]
async fn nodes_of_one_resource_never_overlap() {
    let stage = Stage::new();
    let node = |name: &str, resource: &str| json!({"tool": "wait", "inputs": {"text": name}, "resources": [resource]});
    let sharing = plan(vec![node("a", "x"), node("b", "x"), node("c", "y")]);
    let checked = stage.check(&sharing);
    let driving =
        haft_plan::drive::run_plan(&stage.session, &stage.journal, &checked, stage.options());
    let looking = async {
        stage.world.until_waiting(2).await;
        let mut done = stage.world.done();
        done.sort();
        assert_eq!(done, ["wait a", "wait c"]);
        stage.world.open();
    };
    let (driven, ()) = tokio::join!(driving, looking);
    assert!(driven.unwrap().trace.is_success());
}

#[tokio::test]
async fn dangerous_tools_need_a_user_who_named_them() {
    let dangerous = || {
        let mut nodes =
            vec![text("danger", "a", &[]), text("danger", "b", &[]), text("say", "c", &[])];
        for node in &mut nodes {
            node["on_fail"] = json!("continue");
        }
        plan(nodes)
    };
    let refused = Stage::new();
    let driven = refused.drive(&dangerous(), refused.options()).await;
    expect![[r#"
        0 danger failed: PERMISSION_DENIED: danger is dangerous, and the user did not name it
        1 danger failed: PERMISSION_DENIED: danger is dangerous, and the user did not name it
        2 say    succeeded
        finished
        output: {"said":"c"}
    "#]]
    .assert_eq(&driven.trace.to_string());
    assert_eq!(refused.world.done(), ["say c"]);
    for allow in [allow("danger"), AllowedDangerousTools::All] {
        let stage = Stage::new();
        let driven = stage.drive(&dangerous(), PlanRunOptions { allow, ..stage.options() }).await;
        assert!(driven.trace.is_success());
    }
    for (answer, succeeds) in [(AskAnswer::AllowOnce, true), (AskAnswer::Reject, false)] {
        let stage = Stage::new();
        let answers = Answers::always(answer);
        let options = PlanRunOptions { asking: answers.asking(), ..stage.options() };
        let driven = stage.drive(&dangerous(), options).await;
        assert_eq!(driven.trace.is_success(), succeeds);
        assert_eq!(answers.asked.lock().unwrap().len(), 1, "one question for one tool");
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_that_a_person_takes_to_answer_is_not_the_nodes() {
    let rules = vec![Rule::new("wait", "*", RuleAction::Ask)];
    let stage = Stage::built(Arc::new(MemoryJournal::new()), rules, |_| true);
    let asking = plan(vec![json!({"tool": "wait", "inputs": {"text": "a"}, "timeout": 3})]);
    let asker = Arc::new(Slow(Duration::from_secs(100)));
    let asking_options =
        DangerousToolAsker { asker, session: "s1".to_owned(), root: "/project".into() };
    let options = PlanRunOptions { asking: Some(asking_options), ..stage.options() };
    let driven = stage.drive(&asking, options).await;
    assert_eq!(driven.timings.nodes[0].duration_ms, 3_000);
    expect![[r#"
        0 wait failed: TOOL_TIMEOUT: node 0 took longer than its timeout of 3 s and was stopped
        halted because node 0 failed
        no output: node 0 has none
    "#]]
    .assert_eq(&driven.trace.to_string());
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_tool_itself_is_not_the_nodes() {
    let rules = vec![Rule::new("wait_shortly", "*", RuleAction::Ask)];
    let stage = Stage::built(Arc::new(MemoryJournal::new()), rules, |_| true);
    let asking = plan(vec![json!({"tool": "wait_shortly", "inputs": {"text": "a"}, "timeout": 3})]);
    let asker = Arc::new(Slow(Duration::from_secs(100)));
    let asking_options =
        DangerousToolAsker { asker, session: "s1".to_owned(), root: "/project".into() };
    let options = PlanRunOptions { asking: Some(asking_options), ..stage.options() };
    let driven = stage.drive(&asking, options).await;
    assert_eq!(driven.timings.nodes[0].duration_ms, 1_000);
    let error = driven.trace.nodes[0].error.as_ref().unwrap().to_string();
    assert_eq!(error, "TOOL_TIMEOUT: stopped while it waited");
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_deduplicates_gets_the_same_key_again() {
    let stage = Stage::new();
    let keyed = json!({"tool": "keyed", "inputs": {"text": "a"}, "retry": 1});
    let driven = stage.drive(&plan(vec![keyed]), stage.options()).await;
    assert!(driven.trace.is_success());
    let done = stage.world.done();
    assert_eq!(done.len(), 2);
    assert_eq!(done[0], done[1]);
}

#[tokio::test]
async fn a_runtime_must_be_able_to_keep_plans() {
    let stage =
        Stage::built(Arc::new(MemoryJournal::new()), Vec::new(), |id| id.as_str() != PLAN_TOOL);
    let err = stage.try_drive(&plan(vec![text("order", "a", &[])]), stage.options()).await;
    expect![[r#"the plan cannot be kept with run r1: no tool is called "plan": use a listed tool (danger, echo, flaky, keyed, order, paint, say, secret, wait, wait_danger, wait_once, wait_shortly)"#]]
    .assert_eq(&err.unwrap_err().to_string());
    assert!(stage.world.done().is_empty());
}

#[tokio::test]
async fn a_plan_is_stopped_at_once_or_in_good_order() {
    for (is_abort, status) in [(false, NodeStatus::Succeeded), (true, NodeStatus::Cancelled)] {
        let stage = Stage::new();
        let two = plan(vec![text("wait", "a", &[]), text("say", "b", &[0])]);
        let options = stage.options();
        let (stop, abort) = (options.stop.clone(), options.abort.clone());
        let stopping = async {
            stage.world.until_waiting(1).await;
            if is_abort {
                abort.cancel()
            } else {
                stop.cancel()
            }
            // The driver takes the stop in before the node ends, whose end it waits for.
            tokio::task::yield_now().await;
            stage.world.open();
        };
        let checked = stage.check(&two);
        let driving = haft_plan::drive::run_plan(&stage.session, &stage.journal, &checked, options);
        let (driven, ()) = tokio::join!(driving, stopping);
        let trace = driven.unwrap().trace;
        assert_eq!(trace.ending, if is_abort { PlanEnding::Aborted } else { PlanEnding::Stopped });
        assert_eq!((trace.nodes[0].status, trace.nodes[1].status), (status, NodeStatus::Pending));
        assert_eq!(stage.world.done(), ["wait a"]);
    }
}

#[tokio::test]
async fn what_cannot_be_driven_says_why() {
    let stage = Stage::new();
    let asking = plan(vec![text("say", "{{INPUT.name}}", &[])]);
    let err = stage.try_drive(&asking, stage.options()).await.unwrap_err();
    assert!(matches!(err, PlanRunError::Input(_)));
    let plain = plan(vec![text("say", "a", &[])]);
    stage.drive(&plain, stage.options()).await;
    let err = stage.try_drive(&plain, stage.options()).await.unwrap_err();
    expect![["there is a run r1 already: go on with it, or begin one of another name"]]
        .assert_eq(&err.to_string());
    assert_eq!(stage.options().run, RunId::parse("r1").unwrap());
}

/// Returns what was told of nodes that waited.
fn waits(stage: &Stage) -> String {
    let events = stage.events.lock().unwrap();
    let waits = events.iter().filter(|event| event["event"] == "node_waiting");
    waits.map(|event| format!("{event}\n")).collect()
}

#[tokio::test(start_paused = true)]
async fn it_is_told_what_nodes_wait_for() {
    let stage = Stage::new();
    let mut nodes = vec![text("say", "a", &[]), text("say", "b", &[]), text("say", "c", &[])];
    for user in &mut nodes {
        user["resources"] = json!(["port", "disk"]);
    }
    stage.drive(&plan(nodes), stage.options()).await;
    expect![[r#"
        {"event":"node_waiting","node":1,"waits_for":"resource","resource":"disk","used_by":0}
        {"event":"node_waiting","node":2,"waits_for":"resource","resource":"disk","used_by":1}
    "#]]
    .assert_eq(&waits(&stage));
    let stage = Stage::new();
    let nodes = (0..4).map(|number| text("say", &number.to_string(), &[])).collect();
    let [two, three] = [2, 3].map(std::num::NonZeroU32::new);
    let bounds = PlanToolBounds { at_once: two, per_minute: three };
    let tools = [(ToolId::parse("say").unwrap(), bounds)].into();
    let bounds = PlanBounds { tools, ..PlanBounds::default() };
    stage.drive(&plan(nodes), PlanRunOptions { bounds, ..stage.options() }).await;
    expect![[r#"
        {"event":"node_waiting","node":2,"waits_for":"concurrency","at_once":2}
        {"event":"node_waiting","node":3,"waits_for":"concurrency","at_once":2}
        {"event":"node_waiting","node":3,"waits_for":"rate","per_minute":3,"wait_ms":60000}
    "#]]
    .assert_eq(&waits(&stage));
}

#[tokio::test]
async fn a_reference_into_an_output_that_was_cut_says_so() {
    let stage = Stage::new();
    let long = "x".repeat(300_000);
    let cut = plan(vec![
        json!({"tool": "echo", "inputs": {"value": {"text": long, "size": 7}}}),
        json!({"tool": "echo", "inputs": {"value": "{{STEPS.0.size}}"}, "depends_on": [0]}),
    ]);
    let driven = stage.drive(&cut, stage.options()).await;
    expect!["inputs.value: {{STEPS.0.size}} names nothing: STEPS.0 is an object with head (that output was over the limit of its tool, and this is what was left of it: ask the tool for less, or refer to head)"].assert_eq(&driven.trace.nodes[1].error.as_ref().unwrap().text);
}
