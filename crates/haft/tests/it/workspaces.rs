//! Tests that the calls of a run apply to the files of one workspace, wherever the run is resumed.

use std::sync::Arc;

use expect_test::expect;
use haft::{Call, ResumeMode, RunError};
use haft_contract::{Cx, Effect, RunId, Tool, ToolError};
use haft_journal::{Journal, LeaseOwner, LeaseRequest, MemoryJournal, NewRun, RunQuery};
use serde_json::json;

use crate::stage::{Setting, Stage, Text};

fn say() -> Tool {
    Tool::new("say")
        .effect(Effect::Once)
        .execute_with(|input: Text, _: Cx| async move { Ok::<_, ToolError>(input.text) })
}

/// Returns a process in a separate workspace.
async fn process(journal: &Arc<dyn Journal>, owner: &'static str) -> Stage {
    let journal = Arc::clone(journal);
    Stage::new(Setting { tools: vec![say()], journal, owner, ..Setting::default() }).await
}

fn call() -> Call {
    Call { driver_call_id: Some("c1".to_owned()), ..Call::new("say", json!({"text": "secret"})) }
}

fn root(stage: &Stage) -> String {
    stage.runtime.roots().workspace().to_string_lossy().into_owned()
}

#[tokio::test]
async fn a_run_is_neither_recalled_nor_gone_on_with_in_another_workspace() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let there = process(&journal, "first").await;
    assert_eq!(there.run.call(call()).await.unwrap().text(), "secret");
    there.runtime.shut_down().await;
    let here = process(&journal, "second").await;
    for resume in [ResumeMode::Continue, ResumeMode::Replay, ResumeMode::Rejudge] {
        let run = here.session.resume(there.run.id().clone(), resume);
        // It is refused each time, and not only when the run is taken.
        for _ in 0..2 {
            let err = run.call(call()).await.unwrap_err();
            assert!(matches!(err, RunError::OtherWorkspace { .. }), "{err}");
            let message = err.to_string();
            assert!(!message.contains("secret"), "{message}");
            let message = message.replace(&root(&there), "[there]").replace(&root(&here), "[here]");
            expect!["run r1 was begun in [there], and this is [here], where its paths mean other files: nothing was executed or recalled; make this call there, or in another run"].assert_eq(&message);
        }
    }
    assert_eq!(there.rows().await.len(), 1);
    // The run can still be resumed in the workspace where it was begun.
    let directory = Some(Arc::clone(&there.directory));
    let setting =
        Setting { tools: vec![say()], journal, owner: "third", directory, ..Setting::default() };
    let again = Stage::new(setting).await;
    assert!(again.run.call(call()).await.unwrap().metadata().replayed);
}

#[tokio::test]
async fn a_run_of_another_workspace_is_given_back_at_once() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let (there, here) = (process(&journal, "first").await, process(&journal, "second").await);
    there.run.call(call()).await.unwrap();
    there.runtime.shut_down().await;
    here.run.call(call()).await.unwrap_err();
    assert!(journal.lease_holders().await.unwrap().is_empty());
    // A run that nothing was recorded of belongs to a workspace as well.
    let run = RunId::parse("empty").unwrap();
    open(&journal, &run, &root(&there)).await;
    let err = here.session.run(run.clone()).call(call()).await.unwrap_err();
    assert!(matches!(err, RunError::OtherWorkspace { .. }), "{err}");
    assert_eq!(
        journal.runs(RunQuery { run: Some(run), ..RunQuery::default() }).await.unwrap()[0].calls,
        0
    );
}

#[tokio::test]
async fn a_run_that_names_no_workspace_goes_on_anywhere() {
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let here = process(&journal, "first").await;
    open(&journal, here.run.id(), "").await;
    assert_eq!(here.run.call(call()).await.unwrap().text(), "secret");
}

/// Opens a run in a workspace, and gives it back.
async fn open(journal: &Arc<dyn Journal>, run: &RunId, root: &str) {
    let new = NewRun {
        id: run.clone(),
        front_end: "test".to_owned(),
        root: root.to_owned(),
        started_at_ms: 1,
        version: "0".to_owned(),
        settings: "{}".to_owned(),
    };
    let owner = LeaseOwner { id: "earlier".to_owned(), location: "earlier".to_owned() };
    let lease =
        journal.open_run(new, LeaseRequest { owner, now_ms: 1, lasts_ms: 1 }).await.unwrap();
    journal.close_run(lease).await.unwrap();
}
