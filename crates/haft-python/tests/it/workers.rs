//! The lifetime of workers: warm ones are reused, stopped and oversized ones are replaced, idle
//! ones end, and calls wait in line.

use std::time::Duration;

use expect_test::expect;
use haft::{Call, Connection, Restrictions};
use haft_contract::{ErrorCode, FsRequirement, RequirementSet, RunId};
use haft_python::{ToolDirectory, WorkerOptions};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::stage::{Stage, fixtures, shown};

async fn stage(options: WorkerOptions) -> Stage {
    Stage::of_directory(&ToolDirectory::new(fixtures("calls")), options).await
}

impl Stage {
    async fn worker(&self) -> String {
        let envelope = self.call("hostile", json!({"how": "worker"})).await;
        assert_eq!(envelope.code(), None, "{envelope:?}");
        envelope.text()
    }
}

/// Returns the tools of a directory whose hostile tool has another METADATA.
async fn changed(from: &str, to: &str, options: WorkerOptions) -> (tempfile::TempDir, Stage) {
    let directory = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(fixtures("calls/hostile.py")).unwrap();
    assert!(source.contains(from));
    std::fs::write(directory.path().join("hostile.py"), source.replace(from, to)).unwrap();
    let stage = Stage::of_directory(&ToolDirectory::new(directory.path()), options).await;
    (directory, stage)
}

/// Returns the tools of a directory whose hostile tool keeps its state.
async fn stateful(options: WorkerOptions) -> (tempfile::TempDir, Stage) {
    changed("\"timeout\": 20", "\"timeout\": 20, \"stateful\": True", options).await
}

#[tokio::test]
async fn globals_last_for_one_call_unless_metadata_says_otherwise() {
    let stage = stage(WorkerOptions::default()).await;
    let worker = stage.worker().await;
    for _ in 0..3 {
        assert_eq!(shown(&stage.call("hostile", json!({"how": "counts"})).await), "ok: 1\n");
    }
    assert_eq!(stage.worker().await, worker, "the file was loaded once");
    let (_directory, stage) = stateful(WorkerOptions::default()).await;
    for count in 1..4 {
        let answer = shown(&stage.call("hostile", json!({"how": "counts"})).await);
        assert_eq!(answer, format!("ok: {count}\n"));
    }
}

#[tokio::test]
async fn a_file_that_starts_threads_is_loaded_for_each_call() {
    let begin = "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\nKEPT = []";
    let (_directory, stage) = changed("KEPT = []", begin, WorkerOptions::default()).await;
    let first = stage.worker().await;
    assert_ne!(stage.worker().await, first);
    for _ in 0..2 {
        assert_eq!(shown(&stage.call("hostile", json!({"how": "counts"})).await), "ok: 1\n");
    }
}

#[tokio::test]
async fn a_warm_worker_answers_again() {
    let stage = stage(WorkerOptions::default()).await;
    let first = stage.worker().await;
    for _ in 0..10 {
        assert_eq!(stage.worker().await, first);
    }
}

#[tokio::test]
async fn a_worker_serves_those_who_are_narrowed_alike() {
    let stage = stage(WorkerOptions::default()).await;
    let restricted = |pattern: &str| {
        let fs = FsRequirement { read: vec![pattern.to_owned()], ..FsRequirement::default() };
        let requires = Some(RequirementSet { fs, ..RequirementSet::default() });
        stage.session.restrict(Restrictions { requires, ..Restrictions::default() }).unwrap()
    };
    let worker = async |session: &Connection, run: &str| {
        let run = session.run(RunId::parse(run).unwrap());
        let envelope = run.call(Call::new("hostile", json!({"how": "worker"}))).await.unwrap();
        assert_eq!(envelope.code(), None, "{envelope:?}");
        envelope.text()
    };
    let unrestricted_worker = stage.worker().await;
    let (one, other) = (restricted("{workspace}/**"), restricted("{workspace}/**"));
    let restricted_worker = worker(&one, "one").await;
    assert_ne!(restricted_worker, unrestricted_worker);
    assert_eq!(worker(&other, "other").await, restricted_worker);
    // The reverse is not allowed either: data from one could reach the other.
    assert_ne!(stage.worker().await, restricted_worker);
    let refused = restricted("notes/**").run(RunId::parse("none").unwrap());
    let refused = refused.call(Call::new("hostile", json!({"how": "worker"}))).await.unwrap();
    assert_eq!(refused.code(), Some(ErrorCode::CapabilityDenied), "{refused:?}");
}

#[tokio::test]
async fn a_call_whose_time_is_up_costs_its_worker() {
    let directory = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(fixtures("calls/hostile.py")).unwrap();
    let source = source.replace("\"timeout\": 20", "\"timeout\": 0.3");
    std::fs::write(directory.path().join("hostile.py"), source).unwrap();
    let tools = ToolDirectory::new(directory.path());
    let stage = Stage::of_directory(&tools, WorkerOptions::default()).await;
    let envelope = stage.call("hostile", json!({"how": "sleeps"})).await;
    expect![[r#"
        TOOL_TIMEOUT: run_hostile was stopped, and its process killed with everything it started (time for the call: 300 ms): ask for less at once, or go on without it
    "#]].assert_eq(&shown(&envelope));
    stage.worker().await;
}

#[tokio::test]
async fn a_call_that_is_given_up_costs_its_worker() {
    let stage = stage(WorkerOptions::default()).await;
    let before = stage.worker().await;
    let cancellation = CancellationToken::new();
    let call = Call {
        cancellation: cancellation.clone(),
        ..Call::new("hostile", json!({"how": "sleeps"}))
    };
    let running = stage.run.call(call);
    let giving_up = async {
        tokio::task::yield_now().await;
        cancellation.cancel();
    };
    let (envelope, ()) = tokio::join!(running, giving_up);
    assert_eq!(envelope.unwrap().code(), Some(ErrorCode::ProcessAborted));
    assert_ne!(stage.worker().await, before);
}

#[tokio::test]
async fn a_worker_that_grew_is_replaced() {
    let (_directory, stage) = stateful(WorkerOptions::default()).await;
    let envelope = stage.call("hostile", json!({"how": "grows"})).await;
    assert_eq!(envelope.code(), None, "{envelope:?}");
    assert_ne!(stage.worker().await, envelope.text());
}

#[tokio::test]
async fn a_worker_that_needs_more_memory_than_it_may_have_is_ended_or_told_so() {
    let options = WorkerOptions { memory_bytes: Some(200 << 20), ..WorkerOptions::default() };
    let stage = stage(options).await;
    let before = stage.worker().await;
    let envelope = stage.call("hostile", json!({"how": "grows"})).await;
    assert_eq!(envelope.code(), Some(ErrorCode::ToolFailed), "{envelope:?}");
    let text = envelope.text();
    let is_told = text.starts_with("run_hostile raised MemoryError");
    let is_ended = text.contains("in the middle of the call") && text.contains("memory");
    assert!(is_told || (is_ended && stage.worker().await != before), "{text}");
}

#[tokio::test]
async fn an_idle_worker_is_ended() {
    let options = WorkerOptions { idle_ms: 60_000, ..WorkerOptions::default() };
    let stage = stage(options).await;
    let first = stage.worker().await;
    advance(59_000).await;
    assert_eq!(stage.worker().await, first);
    advance(59_000).await;
    assert_eq!(stage.worker().await, first);
    advance(61_000).await;
    assert_ne!(stage.worker().await, first);
}

/// Lets time pass while nothing is in progress.
async fn advance(ms: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_millis(ms)).await;
    tokio::task::yield_now().await;
    tokio::time::resume();
}

#[tokio::test]
async fn calls_of_one_file_wait_in_line_or_have_workers_of_their_own() {
    let alone = stage(WorkerOptions::default()).await;
    let (left, right) = tokio::join!(alone.worker(), alone.worker());
    assert_eq!(left, right);
    let several = stage(WorkerOptions { workers_per_file: 2, ..WorkerOptions::default() }).await;
    let (left, right) = tokio::join!(several.worker(), several.worker());
    assert_ne!(left, right);
}

/// Returns a tool that reports its worker, with these requirements.
fn telling(name: &str, requires: &str) -> String {
    format!(
        "import uuid\n\nWORKER = uuid.uuid4().hex\nMETADATA = {{'name': '{name}', 'function': 'tell_worker', \
         'requires': {requires}, 'parameters': {{'type': 'object', 'properties': {{}}}}}}\n\n\ndef tell_worker():\n    \
         return WORKER\n"
    )
}

#[tokio::test]
async fn what_one_run_was_granted_is_not_another_ones() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, requires: &str| {
        let path = directory.path().join(format!("{name}.py"));
        std::fs::write(path, telling(name, requires)).unwrap();
    };
    write("reads", "{}");
    write("connects", "{'net': {'hosts': ['*.example.com']}}");
    let tools = ToolDirectory::new(directory.path());
    let stage = Stage::of_directory(&tools, WorkerOptions::default()).await;
    for (tool, is_shared) in [("reads", true), ("connects", false)] {
        let first = stage.call(tool, json!({})).await;
        assert_eq!(first.code(), None, "{first:?}");
        assert_eq!(stage.call(tool, json!({})).await.text(), first.text());
        let other = stage.other_run.call(Call::new(tool, json!({}))).await.unwrap();
        assert_eq!(other.text() == first.text(), is_shared, "{tool}");
    }
}

#[tokio::test]
async fn an_answer_to_another_call_is_none() {
    let (_directory, stage) = stateful(WorkerOptions::default()).await;
    // The first call of a worker has number 1.
    let envelope = stage.call("hostile", json!({"how": "answers_another_call"})).await;
    expect![[r#"
        TOOL_BAD_OUTPUT: the answer of hostile.py could not be understood: it answered request 2, expected 1
    "#]]
    .assert_eq(&shown(&envelope));
    let envelope = stage.call("hostile", json!({"how": "answers_the_next_call_too"})).await;
    assert_eq!(shown(&envelope), "ok: \"forged\"\n", "a tool can lie about its own call");
    assert_ne!(stage.worker().await, "forged", "what it said besides cost the worker");
}

#[tokio::test]
async fn a_file_that_changed_is_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hostile.py");
    let source = std::fs::read_to_string(fixtures("calls/hostile.py")).unwrap();
    std::fs::write(&path, &source).unwrap();
    let tools = ToolDirectory::new(directory.path());
    let stage = Stage::of_directory(&tools, WorkerOptions::default()).await;
    let first = stage.worker().await;
    std::fs::write(&path, format!("{source}\n")).unwrap();
    let envelope = stage.call("hostile", json!({"how": "worker"})).await;
    expect![[r#"
        UNAVAILABLE: hostile.py has changed since it was checked: check it with haft registry check, and start haft again
    "#]].assert_eq(&shown(&envelope));
    // With the checked content restored, it runs again, in a new worker.
    std::fs::write(&path, &source).unwrap();
    assert_ne!(stage.worker().await, first);
    std::fs::remove_file(&path).unwrap();
    let envelope = stage.call("hostile", json!({"how": "worker"})).await;
    expect![[r#"
        UNAVAILABLE: hostile.py cannot be read any more: No such file or directory (os error 2)
    "#]]
    .assert_eq(&shown(&envelope));
}
