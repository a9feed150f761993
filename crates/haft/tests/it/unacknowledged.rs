//! Tests unacknowledged calls, held-back calls and runs whose lease was lost. Whatever a driver does next, no call is
//! repeated under a different key.

use std::sync::Arc;

use expect_test::expect;
use haft::{
    Call, PendingEffect, RepeatPolicy, ResumeMode, Run, RunError, SnapshotError, Snapshots,
    TaskAttempt,
};
use haft_contract::{
    Access, BoxFuture, CallAddress, Cx, Effect, Envelope, EnvelopeMetadata, ErrorCode, FileChange,
    Precondition, Tool, ToolError,
};
use haft_faults::JournalMethod;
use haft_journal::{CallStatus, Journal, JournalError, SettledBy, Settlement, SettlementVerdict};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::durability::{World, answer, changes_files, check, line, text};
use crate::stage::{Setting, Stage, Text};

/// Settles the only call in doubt that a recovery finds.
async fn settle(world: &World, stage: &Stage, verdict: SettlementVerdict) {
    let rows = stage.rows().await;
    let row = rows.iter().find(|row| row.status == CallStatus::Unknown).unwrap();
    let envelope =
        Envelope::Output { data: json!("as settled"), metadata: EnvelopeMetadata::default() };
    let by = SettledBy::Operator;
    let settlement = Settlement { call: row.id(), verdict, by, envelope, settled_at_ms: 1 };
    world.journal.resolve(settlement).await.unwrap();
}

async fn ordered(run: &Run) -> String {
    answer(run, "order", text("milk")).await
}

#[tokio::test]
async fn what_nobody_heard_of_is_not_repeated_however_often_it_is_asked_for() {
    for resume in [ResumeMode::Continue, ResumeMode::Replay] {
        let world = World::new();
        world.die_in(&[("order", text("milk"))], JournalMethod::Settle).await;
        let stage = world.process("second").await;
        stage.runtime.recover().await.unwrap();
        let run = world.resume(&stage, resume);
        for _ in 0..3 {
            let again = ordered(&run).await;
            assert!(
                again.starts_with("in doubt: order was begun as call r1/main/0/1/1"),
                "{again}"
            );
        }
        assert_eq!(world.orders.count(), 1, "{resume:?}");
        assert!(answer(&run, "order", text("tea")).await.starts_with("ordered tea"));

        // The first call keeps its earlier key; the call after it has a separate key.
        settle(&world, &stage, SettlementVerdict::Retry).await;
        let keys = [ordered(&run).await, ordered(&run).await];
        check(
            &keys,
            expect![[r#"
                ordered milk as haft_a95a [r1/main/0/1/3]
                ordered milk as haft_af6e [r1/main/0/1/4]"#]],
        );
    }
}

#[tokio::test]
async fn what_was_settled_as_happened_is_heard_once() {
    let world = World::new();
    world.die_in(&[("order", text("milk"))], JournalMethod::Settle).await;
    let stage = world.process("second").await;
    stage.runtime.recover().await.unwrap();
    settle(&world, &stage, SettlementVerdict::Happened).await;
    let lines = [ordered(&stage.run).await, ordered(&stage.run).await];
    check(
        &lines,
        expect![[r#"
            as settled replayed [r1/main/0/1/1]
            ordered milk as haft_af6e [r1/main/0/1/2]"#]],
    );
}

#[tokio::test]
async fn an_end_that_could_not_be_recorded_is_unheard_of_in_the_same_process_too() {
    let world = World::new();
    let stage = world.process("first").await;
    world.journal.fail_from(JournalMethod::Settle);
    let lost = stage.run.call(Call::new("order", text("milk"))).await;
    assert!(matches!(lost, Err(RunError::Unrecorded { .. })), "{lost:?}");
    world.journal.mend();
    for _ in 0..2 {
        let again = ordered(&stage.run).await;
        assert!(again.starts_with("in doubt"), "{again}");
    }
    assert_eq!(world.orders.count(), 1);
}

#[tokio::test]
async fn an_answer_that_left_ahead_of_its_record_is_in_doubt_if_that_is_not_made() {
    let world = World::new();
    let stage = world.process("first").await;
    let order = || Call::new("order", text("milk"));
    let (_, recording) = stage.run.call_before_record(order()).await.unwrap();
    assert!(!recording.is_done());
    recording.await.unwrap();

    world.journal.fail_from(JournalMethod::Settle);
    let (answer, recording) = stage.run.call_before_record(order()).await.unwrap();
    assert!(answer.text().starts_with("ordered milk"), "{}", answer.text());
    let lost = recording.await;
    assert!(matches!(lost, Err(RunError::Unrecorded { .. })), "{lost:?}");
    world.journal.mend();
    let again = ordered(&stage.run).await;
    assert!(again.starts_with("in doubt"), "{again}");
    assert_eq!(world.orders.count(), 2);

    // The outcome of a refused or failed call is recorded before the driver gets the answer.
    let (refused, recording) =
        stage.run.call_before_record(Call::new("ordr", text("milk"))).await.unwrap();
    assert!(refused.code().is_some() && recording.is_done());
}

#[tokio::test]
async fn a_call_that_was_answered_as_unknown_may_be_made_again() {
    let world = World::new();
    let count = world.orders.clone();
    let panics = Tool::new("panics").effect(Effect::Once).execute_with(move |_: Text, _: Cx| {
        count.add();
        async { fails() }
    });
    let mut setting = world.setting("first");
    setting.tools.push(panics);
    let stage = Stage::new(setting).await;
    for _ in 0..2 {
        let said = answer(&stage.run, "panics", text("x")).await;
        assert!(said.contains("TOOL_PANICKED"), "{said}");
    }
    assert_eq!(world.orders.count(), 2);
}

fn fails() -> Result<&'static str, ToolError> {
    panic!("over")
}

fn in_attempt(attempt: u32) -> Call {
    let place = TaskAttempt { attempt, ..TaskAttempt::default() };
    Call { task_attempt: place, ..Call::new("order", text("milk")) }
}

#[tokio::test]
async fn a_repeat_that_is_refused_is_refused_each_time() {
    let world = World::new();
    let setting = |owner| Setting { on_repeat: RepeatPolicy::Refuse, ..world.setting(owner) };
    let stage = Stage::new(setting("first")).await;
    stage.run.call(in_attempt(1)).await.unwrap();
    for _ in 0..2 {
        let refused = stage.run.call(in_attempt(2)).await.unwrap();
        assert_eq!(refused.code(), Some(ErrorCode::PermissionDenied));
        assert!(refused.metadata().held_back);
    }
    stage.runtime.shut_down().await;
    let stage = Stage::new(setting("second")).await;
    let refused = stage.run.call(in_attempt(2)).await.unwrap();
    assert_eq!(refused.code(), Some(ErrorCode::PermissionDenied));
    assert_eq!(world.orders.count(), 1);
}

#[tokio::test]
async fn a_repeat_that_is_in_doubt_stays_so() {
    for on_repeat in [RepeatPolicy::Refuse, RepeatPolicy::Recall] {
        let world = World::new();
        world.die_in(&[("order", text("milk"))], JournalMethod::Settle).await;
        let stage = Stage::new(Setting { on_repeat, ..world.setting("second") }).await;
        stage.runtime.recover().await.unwrap();
        for _ in 0..3 {
            let again = stage.run.call(in_attempt(2)).await.unwrap();
            assert_eq!(again.code(), Some(ErrorCode::InDoubt));
        }
        assert_eq!(world.orders.count(), 1);
    }
}

#[tokio::test]
async fn what_was_held_back_has_its_key_in_the_next_process() {
    let world = World::new();
    let setting = |owner| Setting { holds_repeats_back: true, ..world.setting(owner) };
    let stage = Stage::new(setting("first")).await;
    let first = stage.run.call(in_attempt(1)).await.unwrap().text();
    let held = stage.run.call(in_attempt(2)).await.unwrap();
    assert_eq!((held.code(), held.metadata().held_back), (Some(ErrorCode::InDoubt), true));
    stage.runtime.shut_down().await;
    for resume in [ResumeMode::Continue, ResumeMode::Replay] {
        let stage = Stage::new(setting("second")).await;
        let run = world.resume(&stage, resume);
        let executed = run.call(in_attempt(2)).await.unwrap();
        assert_eq!(executed.metadata().replayed, resume == ResumeMode::Replay);
        assert_eq!(executed.text(), first, "{resume:?}");
        stage.runtime.shut_down().await;
    }
    assert_eq!(world.orders.count(), 2);
}

#[tokio::test]
async fn a_driver_that_starts_over_is_held_back_under_the_same_key() {
    let world = World::new();
    let setting = |owner| Setting { holds_repeats_back: true, ..world.setting(owner) };
    let stage = Stage::new(setting("first")).await;
    let first = stage.run.call(in_attempt(1)).await.unwrap().text();
    let run = world.resume(&stage, ResumeMode::Replay);
    assert!(run.call(in_attempt(2)).await.unwrap().metadata().held_back);
    assert_eq!(run.call(in_attempt(2)).await.unwrap().text(), first);
}

#[tokio::test]
async fn a_named_call_that_was_held_back_is_executed_when_it_comes_again() {
    let world = World::new();
    let stage = Stage::new(Setting { holds_repeats_back: true, ..world.setting("first") }).await;
    let first = stage.run.call(in_attempt(1)).await.unwrap().text();
    let named = || Call { driver_call_id: Some("a".to_owned()), ..in_attempt(2) };
    assert!(stage.run.call(named()).await.unwrap().metadata().held_back);
    assert_eq!(stage.run.call(named()).await.unwrap().text(), first);
    let recalled = stage.run.call(named()).await.unwrap();
    assert!(recalled.metadata().replayed);
    assert_eq!(world.orders.count(), 2);
}

#[tokio::test]
async fn calls_that_their_driver_tells_apart_are_not_taken_for_each_other() {
    let world = World::new();
    let mut keys = Vec::new();
    for (owner, id) in [("dead", "a"), ("dead2", "b"), ("dead3", "a"), ("last", "b")] {
        let stage = world.process(owner).await;
        let run = world.resume(&stage, ResumeMode::Replay);
        let named =
            Call { driver_call_id: Some(id.to_owned()), ..Call::new("order", text("milk")) };
        keys.push(line(&run.call(named).await));
    }
    check(
        &keys,
        expect![[r#"
        ordered milk as haft_a95a [r1/main/0/1/1]
        ordered milk as haft_af6e [r1/main/0/1/2]
        ordered milk as haft_a95a replayed [r1/main/0/1/1]
        ordered milk as haft_af6e replayed [r1/main/0/1/2]"#]],
    );
    assert_eq!(world.orders.count(), 2);
}

#[tokio::test]
async fn a_run_that_was_taken_away_is_taken_again_with_what_others_did_in_it() {
    for resume in [ResumeMode::Continue, ResumeMode::Replay] {
        let world = World::new();
        // Known to be gone, and not so.
        let first = world.process("dead").await;
        let run = world.resume(&first, resume);
        assert!(ordered(&run).await.starts_with("ordered"));
        let second = world.process("second").await;
        let other = world.resume(&second, ResumeMode::Continue);
        assert!(ordered(&other).await.starts_with("ordered"));
        let fenced = run.call(Call::new("order", text("milk"))).await;
        // Of what the other one did, a driver that starts over is told instead.
        match resume {
            ResumeMode::Continue => {
                let is_fenced =
                    matches!(&fenced, Err(RunError::Journal(JournalError::Fenced { .. })));
                assert!(is_fenced, "{fenced:?}");
            }
            ResumeMode::Replay | ResumeMode::Rejudge => assert!(fenced.is_err(), "{fenced:?}"),
        }
        let held = ordered(&run).await;
        assert!(held.contains("is held by test second"), "{held}");
        second.runtime.shut_down().await;
        let lines = [ordered(&run).await, ordered(&run).await];
        // A driver that starts over is told what the other one did when it gets there.
        let expect = match resume {
            ResumeMode::Continue => expect![[r#"
                ordered milk as haft_a095 [r1/main/0/1/3]
                ordered milk as haft_cea3 [r1/main/0/1/4]"#]],
            ResumeMode::Replay | ResumeMode::Rejudge => expect![[r#"
                ordered milk as haft_af6e replayed [r1/main/0/1/2]
                ordered milk as haft_a095 [r1/main/0/1/3]"#]],
        };
        check(&lines, expect);
    }
}

/// Cancels a call while its intent is being recorded.
struct CancelsBefore(CancellationToken);

impl Snapshots for CancelsBefore {
    fn before_effect<'a>(
        &'a self,
        _: &'a PendingEffect,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        self.0.cancel();
        Box::pin(async { Ok(()) })
    }

    fn durability_snapshot<'a>(
        &'a self,
        _: &'a str,
        _: &'a CallAddress,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_begins_does_not_begin() {
    let world = World::new();
    let call = Call::new("order", text("milk"));
    let snapshots = Arc::new(CancelsBefore(call.cancellation.clone()));
    let setting = Setting { snapshots: Some(snapshots), ..world.setting("first") };
    let stage = Stage::new(setting).await;
    let cancelled = stage.run.call(call).await;
    expect!["the call was cancelled before it began: nothing was executed PROCESS_ABORTED [r1/main/0/1/1]"]
        .assert_eq(&line(&cancelled));
    assert_eq!(world.orders.count(), 0);
    assert_eq!(stage.rows().await[0].status, CallStatus::Failed);
}

/// Writes a file, and then another one.
fn writes_twice(cx: &Cx) -> Result<&'static str, ToolError> {
    for name in ["a.txt", "b.txt"] {
        let (path, _) = cx.fs().resolve(name)?;
        let contents = b"written".to_vec();
        let precondition = Precondition::Any;
        cx.fs().apply(vec![FileChange::Write { path, contents, mode: None, precondition }])?;
    }
    Ok("written twice")
}

#[tokio::test]
async fn files_tell_nothing_of_a_tool_that_may_do_more_than_change_them() {
    let writes = || {
        Tool::new("writes")
            .effect(Effect::Once)
            .requires(changes_files())
            .accesses(|_: &Text| vec![Access::write("a.txt"), Access::write("b.txt")])
    };
    let once = |_: Text, cx: &Cx| -> Result<&'static str, ToolError> {
        let (path, _) = cx.fs().resolve("a.txt")?;
        let (contents, precondition) = (b"written".to_vec(), Precondition::Any);
        cx.fs().apply(vec![FileChange::Write { path, contents, mode: None, precondition }])?;
        Ok("written")
    };
    let check = async |tool: Tool, in_doubt: bool| {
        let world = World::new();
        let mut setting = world.setting("dead");
        setting.tools.push(tool.clone());
        let stage = Stage::new(setting).await;
        world.journal.fail_from(JournalMethod::Settle);
        assert!(stage.run.call(Call::new("writes", text("x"))).await.is_err());
        world.journal.mend();
        let mut setting = world.setting("second");
        setting.tools.push(tool);
        let recovered = Stage::new(setting).await.runtime.recover().await.unwrap();
        assert_eq!(recovered.in_doubt.len(), usize::from(in_doubt), "{recovered:?}");
    };
    check(writes().only_changes_files().execute_blocking(once), false).await;
    check(writes().execute_blocking(once), true).await;
    let twice = |_: Text, cx: &Cx| writes_twice(cx);
    check(writes().only_changes_files().execute_blocking(twice), true).await;
}
