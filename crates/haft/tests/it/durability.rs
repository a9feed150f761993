//! Processes die and runs go on: nothing that was acknowledged is lost, and nothing that may have happened is silently
//! repeated. A process dies here by failing to record the end of a call and being known as gone from then on.

use std::sync::Arc;

use expect_test::{Expect, expect};
use haft::{Call, RepeatPolicy, ResumeMode, Run, RunError, TaskAttempt};
use haft_contract::{
    Access, Cx, Effect, Envelope, EnvelopeMetadata, ErrorCode, FileChange, Precondition,
    ProbeResult, RequirementSet, RunId, Tool, ToolError,
};
use haft_faults::JournalMethod;
use haft_journal::{
    Journal, JournalError, LeaseOwner, LeaseRequest, NewRun, SettledBy, Settlement,
    SettlementVerdict,
};
use haft_policy::{Rule, RuleAction, RuleScope};
use serde_json::{Value, json};

use crate::faulty::FaultyJournal;
use crate::stage::{Counter, Setting, Stage, Text};

/// A world that outlives processes: a journal, a workspace, and a count of what happened.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) journal: Arc<FaultyJournal>,
    pub(crate) directory: Arc<tempfile::TempDir>,
    pub(crate) orders: Counter,
    pub(crate) reads: Counter,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            journal: Arc::default(),
            directory: Arc::new(tempfile::tempdir().unwrap()),
            orders: Counter::default(),
            reads: Counter::default(),
        }
    }

    pub(crate) fn setting(&self, owner: &'static str) -> Setting {
        let reads = self.reads.clone();
        let looks = Tool::new("looks").execute(move |args: Text| {
            reads.add();
            let text = format!("{} {}", args.text, reads.count());
            async { Ok::<_, ToolError>(text) }
        });
        let save = Tool::new("save")
            .effect(Effect::Once)
            .requires(changes_files())
            .redacted(&["text"])
            .only_changes_files()
            .accesses(|_: &Text| vec![Access::write("a.txt"), Access::write("b.txt")])
            .execute_blocking(save);
        Setting {
            tools: vec![orders("order", &self.orders), looks, save],
            journal: Arc::clone(&self.journal) as Arc<dyn Journal>,
            directory: Some(Arc::clone(&self.directory)),
            owner,
            ..Setting::default()
        }
    }

    pub(crate) async fn process(&self, owner: &'static str) -> Stage {
        Stage::new(self.setting(owner)).await
    }

    /// Has a process make calls of which the last one is never recorded as ended.
    pub(crate) async fn die_in(&self, calls: &[(&str, Value)], step: JournalMethod) {
        let stage = self.process("dead").await;
        let (last, first) = calls.split_last().unwrap();
        for (tool, input) in first {
            stage.call(tool, input.clone()).await;
        }
        self.journal.fail_from(step);
        let died = stage.run.call(Call::new(last.0, last.1.clone())).await;
        self.journal.mend();
        if step == JournalMethod::Settle {
            assert!(matches!(died, Err(RunError::Unrecorded { .. })), "{died:?}");
        }
    }

    pub(crate) fn resume(&self, stage: &Stage, resume: ResumeMode) -> Run {
        stage.session.resume(RunId::parse("r1").unwrap(), resume)
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.directory.path().join("root").join(name)).ok()
    }
}

pub(crate) fn changes_files() -> RequirementSet {
    let mut requires = RequirementSet::default();
    requires.fs.write.push("{workspace}/**".to_owned());
    requires.fs.read.push("{workspace}/**".to_owned());
    requires
}

fn orders(id: &str, count: &Counter) -> Tool {
    let count = count.clone();
    Tool::new(id).effect(Effect::Once).execute_with(move |args: Text, cx: Cx| {
        count.add();
        let text = format!("ordered {} as {}", args.text, &cx.idempotency_key()[..9]);
        async { Ok::<_, ToolError>(text) }
    })
}

fn save(input: Text, cx: &Cx) -> Result<&'static str, ToolError> {
    let write = |name: &str| {
        let (path, _) = cx.fs().resolve(name)?;
        let contents = format!("{} in {name}", input.text).into_bytes();
        Ok(FileChange::Write { path, contents, mode: None, precondition: Precondition::Any })
    };
    let changes: Result<Vec<_>, ToolError> = ["a.txt", "b.txt"].map(write).into_iter().collect();
    cx.fs().apply_with_answer(changes?, &json!("saved"))?;
    Ok("saved")
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "text": text })
}

pub(crate) async fn answer(run: &Run, tool: &str, input: Value) -> String {
    line(&run.call(Call::new(tool, input)).await)
}

/// One line of what matters: the answer, and how it came about.
pub(crate) fn line(result: &Result<Envelope, RunError>) -> String {
    let envelope = match result {
        Ok(envelope) => envelope,
        Err(err) => return format!("Err: {err}"),
    };
    let EnvelopeMetadata { replayed, code, call_id, .. } = envelope.metadata();
    let code = code.map_or(String::new(), |code| format!(" {code}"));
    let replayed = if *replayed { " replayed" } else { "" };
    let call = call_id.as_deref().unwrap_or("none");
    format!("{}{code}{replayed} [{call}]", envelope.text())
}

pub(crate) fn check(lines: &[String], expect: Expect) {
    expect.assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn a_replay_recalls_what_was_answered_and_executes_the_rest() {
    let world = World::new();
    {
        let stage = world.process("dead").await;
        for (tool, input) in
            [("order", "milk"), ("looks", "shelf"), ("order", "milk"), ("nothing", "x")]
        {
            stage.call(tool, text(input)).await;
        }
    }
    let stage = world.process("second").await;
    let run = world.resume(&stage, ResumeMode::Replay);
    // In another order than before: which call it is does not depend on it.
    let mut lines = vec![answer(&run, "looks", text("shelf")).await];
    for (tool, input) in [
        ("order", "milk"),
        ("order", "milk"),
        ("nothing", "x"),
        ("order", "milk"),
        ("order", "tea"),
    ] {
        lines.push(answer(&run, tool, text(input)).await);
    }
    check(
        &lines,
        expect![[r#"
            shelf 1 replayed [r1/main/0/1/2]
            ordered milk as haft_a95a replayed [r1/main/0/1/1]
            ordered milk as haft_af6e replayed [r1/main/0/1/3]
            no tool is called "nothing": use a listed tool (looks, order, save) TOOL_NOT_FOUND replayed [r1/main/0/1/4]
            ordered milk as haft_a095 [r1/main/0/1/5]
            ordered tea as haft_10d5 [r1/main/0/1/6]"#]],
    );
    assert_eq!((world.orders.count(), world.reads.count()), (4, 1));
}

#[tokio::test]
async fn going_on_counts_on() {
    let world = World::new();
    world.process("dead").await.call("order", text("milk")).await;
    let stage = world.process("second").await;
    let lines = [
        answer(&stage.run, "order", text("milk")).await,
        answer(&stage.run, "order", text("milk")).await,
    ];
    check(
        &lines,
        expect![[r#"
        ordered milk as haft_af6e [r1/main/0/1/2]
        ordered milk as haft_a095 [r1/main/0/1/3]"#]],
    );
    assert_eq!(world.orders.count(), 3);
}

#[tokio::test]
async fn what_may_have_happened_is_not_repeated_until_somebody_says_so() {
    let verdicts =
        [SettlementVerdict::Happened, SettlementVerdict::NotHappened, SettlementVerdict::Retry];
    for (verdict, times) in verdicts.into_iter().zip([1, 2, 2]) {
        let world = World::new();
        world
            .die_in(&[("looks", text("shelf")), ("order", text("milk"))], JournalMethod::Settle)
            .await;
        assert_eq!(world.orders.count(), 1);
        let stage = world.process("second").await;
        let recovered = stage.runtime.recover().await.unwrap();
        assert_eq!(recovered.in_doubt.len(), 1, "{recovered:?}");
        let run = world.resume(&stage, ResumeMode::Replay);
        let in_doubt = answer(&run, "order", text("milk")).await;
        assert!(in_doubt.contains("was begun as call r1/main/0/1/2"), "{in_doubt}");
        assert_eq!(world.orders.count(), 1);

        let call = recovered.in_doubt[0].clone();
        let envelope =
            Envelope::Output { data: json!("ordered"), metadata: EnvelopeMetadata::default() };
        let by = SettledBy::Operator;
        let settlement = Settlement { call, verdict, by, envelope, settled_at_ms: 1 };
        world.journal.resolve(settlement).await.unwrap();
        let run = world.resume(&stage, ResumeMode::Replay);
        let settled = answer(&run, "order", text("milk")).await;
        assert_eq!(world.orders.count(), times, "{verdict}: {settled}");
        let again = world.resume(&stage, ResumeMode::Replay);
        let recalled = answer(&again, "order", text("milk")).await;
        assert_eq!(world.orders.count(), times, "{verdict}: {recalled}");
        assert!(recalled.contains("replayed"), "{verdict}: {recalled}");
    }
}

#[tokio::test]
async fn files_tell_what_became_of_a_change() {
    // The outcome was lost: the change is there.
    let world = World::new();
    world.die_in(&[("save", text("one"))], JournalMethod::Settle).await;
    let stage = world.process("second").await;
    let recovered = stage.runtime.recover().await.unwrap();
    assert_eq!((recovered.in_doubt.len(), recovered.settled.len()), (0, 1));
    let run = world.resume(&stage, ResumeMode::Replay);
    check(&[answer(&run, "save", text("one")).await], expect!["saved replayed [r1/main/0/1/1]"]);
    assert_eq!(world.file("b.txt").as_deref(), Some("one in b.txt"));
    let row = stage.rows().await.remove(0);
    assert!(!row.details.unwrap_or_default().contains("one in"), "no contents in the journal");
}

#[tokio::test]
async fn a_change_that_was_not_announced_did_not_happen() {
    let world = World::new();
    world.die_in(&[("save", text("one"))], JournalMethod::Amend).await;
    assert_eq!(world.file("a.txt"), None);
    let stage = world.process("second").await;
    let recovered = stage.runtime.recover().await.unwrap();
    assert_eq!((recovered.in_doubt.len(), recovered.settled.len()), (0, 1));
    let run = world.resume(&stage, ResumeMode::Replay);
    check(&[answer(&run, "save", text("one")).await], expect!["saved [r1/main/0/1/2]"]);
    assert_eq!(world.file("a.txt").as_deref(), Some("one in a.txt"));
}

#[tokio::test]
async fn a_probe_is_asked_before_anything_is_repeated() {
    for (found, executed) in [("happened", 1), ("not", 2), ("unknown", 1), ("fails", 1)] {
        let world = World::new();
        let count = world.orders.clone();
        let probed = Tool::new("probed")
            .effect(Effect::Once)
            .probe(move |_: Text, cx: Cx| async move {
                let key = cx.idempotency_key();
                match found {
                    "happened" => Ok(ProbeResult::Happened(format!("found {}", &key[..9]))),
                    "not" => Ok(ProbeResult::NotHappened),
                    "unknown" => Ok(ProbeResult::Unknown),
                    _ => Err(ToolError::new(ErrorCode::ToolFailed, "the shop is closed")),
                }
            })
            .execute_with(move |_: Text, _: Cx| {
                count.add();
                async { Ok::<_, ToolError>("done") }
            });
        let setting = |owner| {
            let mut setting = world.setting(owner);
            setting.tools.push(probed.clone());
            setting
        };
        {
            let stage = Stage::new(setting("dead")).await;
            world.journal.fail_from(JournalMethod::Settle);
            let died = stage.run.call(Call::new("probed", text("x"))).await;
            assert!(died.is_err());
            world.journal.mend();
        }
        let stage = Stage::new(setting("second")).await;
        let run = world.resume(&stage, ResumeMode::Replay);
        let answer = answer(&run, "probed", text("x")).await;
        assert_eq!(world.orders.count(), executed, "{found}: {answer}");
        assert_eq!(answer.contains("IN_DOUBT"), ["unknown", "fails"].contains(&found), "{answer}");
        assert_eq!(answer.contains("replayed"), found == "happened", "{answer}");
    }
}

#[tokio::test]
async fn a_call_in_doubt_that_may_not_begin_now_is_in_doubt_still() {
    let world = World::new();
    let setting = |owner, action| {
        let mut setting = world.setting(owner);
        let probed = Tool::new("probed")
            .effect(Effect::Once)
            .probe(|_: Text, _: Cx| async { Ok::<_, ToolError>(ProbeResult::Happened("found")) })
            .execute_with(|_: Text, _: Cx| async { Ok::<_, ToolError>("done") });
        setting.tools.push(probed);
        setting.rules = vec![(RuleScope::Manifest, Rule::new("probed", "*", action))];
        setting
    };
    {
        let stage = Stage::new(setting("dead", RuleAction::Allow)).await;
        world.journal.fail_from(JournalMethod::Settle);
        assert!(stage.run.call(Call::new("probed", text("x"))).await.is_err());
        world.journal.mend();
    }
    let mut answers = Vec::new();
    for (owner, action) in [("second", RuleAction::Deny), ("third", RuleAction::Allow)] {
        let stage = Stage::new(setting(owner, action)).await;
        let run = world.resume(&stage, ResumeMode::Replay);
        answers.push(answer(&run, "probed", text("x")).await);
        stage.runtime.shut_down().await;
    }
    assert!(answers[0].contains("IN_DOUBT"), "{answers:?}");
    assert!(answers[1].contains("found") && answers[1].contains("replayed"), "{answers:?}");
}

#[tokio::test]
async fn a_driver_that_calls_something_else_has_diverged() {
    let world = World::new();
    let named = |id: &str, tool: &str, input: &str| Call {
        driver_call_id: Some(id.to_owned()),
        ..Call::new(tool, text(input))
    };
    let stage = world.process("first").await;
    let mut lines = Vec::new();
    for call in
        [named("a", "order", "milk"), named("a", "order", "milk"), named("a", "order", "tea")]
    {
        lines.push(line(&stage.run.call(call).await));
    }
    check(
        &lines,
        expect![[r#"
        ordered milk as haft_a95a [r1/main/0/1/1]
        ordered milk as haft_a95a replayed [r1/main/0/1/1]
        Err: the run has diverged: call r1/main/0/1/1 was recorded as order {"text":"milk"} and came again as order {"text":"tea"}; nothing was executed: make the call that was recorded, or begin another attempt"#]],
    );
    assert_eq!(world.orders.count(), 1);

    let plan = world.resume(&stage, ResumeMode::Rejudge);
    let place = TaskAttempt { node: "n1".to_owned(), ..TaskAttempt::default() };
    let at = |tool: &str, input: &str| Call {
        task_attempt: place.clone(),
        ..Call::new(tool, text(input))
    };
    let made = line(&plan.call(at("order", "milk")).await);
    let again = world.resume(&stage, ResumeMode::Rejudge);
    let other = world.resume(&stage, ResumeMode::Rejudge);
    check(
        &[
            made,
            line(&again.call(at("order", "milk")).await),
            line(&other.call(at("order", "tea")).await),
        ],
        expect![[r#"
            ordered milk as haft_b0b7 [r1/n1/0/1/1]
            ordered milk as haft_b0b7 replayed [r1/n1/0/1/1]
            Err: the run has diverged: call r1/n1/0/1/1 was recorded as order {"text":"milk"} and came again as order {"text":"tea"}; nothing was executed: make the call that was recorded, or begin another attempt"#]],
    );
    assert_eq!(world.orders.count(), 2);
}

#[tokio::test]
async fn a_retry_is_warned_and_keeps_its_keys() {
    let world = World::new();
    let stage = world.process("first").await;
    let first = answer(&stage.run, "order", text("milk")).await;
    stage.call("looks", text("shelf")).await;
    let place = TaskAttempt { attempt: 2, ..TaskAttempt::default() };
    let retried =
        |tool: &str| Call { task_attempt: place.clone(), ..Call::new(tool, text("milk")) };
    let warning = stage.run.retry_warning(&place).await.unwrap().unwrap();
    expect![[r#"
        This is attempt 2 of this task. Earlier attempts made 1 call whose effect is not safe to repeat and may already have happened:
        - order, attempt 1, call 1: succeeded: {"text":"milk"}
        Look whether they happened before you repeat one. A repeated call has the same idempotency key as before."#]].assert_eq(&warning.to_string());
    assert!(stage.run.retry_warning(&TaskAttempt::default()).await.unwrap().is_none());
    let envelope = stage.run.call(retried("looks")).await.unwrap();
    assert_eq!(envelope.metadata().retry_warning, Some(warning.to_string()));
    let envelope = stage.run.call(retried("order")).await.unwrap();
    assert_eq!(envelope.metadata().retry_warning, None, "it was told already");
    assert_eq!(envelope.text(), first.split(" [").next().unwrap());
}

#[tokio::test]
async fn a_front_end_may_have_the_first_repeat_held_back() {
    let world = World::new();
    let stage = Stage::new(Setting { holds_repeats_back: true, ..world.setting("first") }).await;
    let first = answer(&stage.run, "order", text("milk")).await;
    let place = TaskAttempt { attempt: 2, ..TaskAttempt::default() };
    let again = || Call { task_attempt: place.clone(), ..Call::new("order", text("milk")) };
    let held = stage.run.call(again()).await.unwrap();
    assert_eq!((held.code(), world.orders.count()), (Some(ErrorCode::InDoubt), 1));
    assert!(held.text().starts_with("not executed yet"), "{}", held.text());
    let executed = stage.run.call(again()).await.unwrap();
    assert_eq!(world.orders.count(), 2);
    assert_eq!(executed.text(), first.split(" [").next().unwrap(), "the key is the same");
}

#[tokio::test]
async fn repeats_are_refused_or_recalled_where_that_is_wanted() {
    for (on_repeat, expect) in [
        (
            RepeatPolicy::Refuse,
            expect![[r#"
                order was called with this very input in attempt 1 (call r1/main/0/1/1) and succeeded; it is not repeated (on_repeat = "refuse") PERMISSION_DENIED [r1/main/0/2/1]
                ordered tea as haft_10d5 [r1/main/0/2/2]"#]],
        ),
        (
            RepeatPolicy::Recall,
            expect![[r#"
        ordered milk as haft_a95a replayed [r1/main/0/1/1]
        ordered tea as haft_10d5 [r1/main/0/2/2]"#]],
        ),
    ] {
        let world = World::new();
        let stage = Stage::new(Setting { on_repeat, ..world.setting("first") }).await;
        stage.call("order", text("milk")).await;
        let place = TaskAttempt { attempt: 2, ..TaskAttempt::default() };
        let mut lines = Vec::new();
        for input in ["milk", "tea"] {
            let call = Call { task_attempt: place.clone(), ..Call::new("order", text(input)) };
            lines.push(line(&stage.run.call(call).await));
        }
        check(&lines, expect);
        assert_eq!(world.orders.count(), 2);
    }
}

#[tokio::test]
async fn two_processes_cannot_advance_one_run() {
    let world = World::new();
    let first = world.process("first").await;
    first.call("order", text("milk")).await;
    let second = world.process("second").await;
    let held = answer(&second.run, "order", text("tea")).await;
    assert!(held.contains("run r1 is held by test first"), "{held}");
    first.runtime.shut_down().await;
    assert!(answer(&second.run, "order", text("tea")).await.starts_with("ordered"));
    let fenced = first.run.call(Call::new("order", text("late"))).await;
    assert!(matches!(fenced, Err(RunError::Journal(JournalError::Fenced { .. }))), "{fenced:?}");
    assert_eq!(world.orders.count(), 2);
}

#[tokio::test]
async fn a_run_is_given_back_when_nobody_uses_it() {
    let world = World::new();
    let first = world.process("first").await;
    first.call("order", text("milk")).await;
    drop(first);
    let holders = || async { world.journal.lease_holders().await.unwrap().len() };
    // A separate task releases the lease.
    while holders().await > 0 {
        tokio::task::yield_now().await;
    }
    assert!(
        answer(&world.process("second").await.run, "order", text("tea"))
            .await
            .starts_with("ordered")
    );
}

#[tokio::test]
async fn a_named_call_that_is_executed_again_keeps_its_key() {
    let world = World::new();
    let named =
        |id: &str| Call { driver_call_id: Some(id.to_owned()), ..Call::new("order", text("milk")) };
    {
        let stage = world.process("dead").await;
        stage.run.call(named("a")).await.unwrap();
        world.journal.fail_from(JournalMethod::Settle);
        assert!(stage.run.call(named("b")).await.is_err());
        world.journal.mend();
    }
    let stage = world.process("second").await;
    let call = stage.runtime.recover().await.unwrap().in_doubt.remove(0);
    let envelope = Envelope::Output { data: json!(null), metadata: EnvelopeMetadata::default() };
    let (verdict, by) = (SettlementVerdict::Retry, SettledBy::Operator);
    let settlement = Settlement { call, verdict, by, envelope, settled_at_ms: 1 };
    world.journal.resolve(settlement).await.unwrap();
    // A driver that continues after a transcript does not make the first call again. The answer says that this is the
    // second time.
    let again = stage.run.call(named("b")).await.unwrap();
    let warning = again.metadata().retry_warning.clone().unwrap();
    assert!(warning.contains("may have happened then") && warning.contains("retry"), "{warning}");
    let other = stage.run.call(named("c")).await.unwrap();
    assert_eq!(other.metadata().retry_warning, None);
    let keys: Vec<String> = stage.rows().await.into_iter().map(|row| row.call_key).collect();
    let [first, second, again, _] = keys.as_slice() else { panic!("{keys:?}") };
    assert_eq!(second, again);
    assert_ne!(first, again);
}

#[tokio::test]
async fn a_process_that_was_not_heard_of_keeps_its_runs_if_it_is_seen_to_live() {
    let world = World::new();
    for owner in ["alive", "dead", "elsewhere"] {
        let new = NewRun {
            id: RunId::parse(owner).unwrap(),
            front_end: "test".to_owned(),
            root: "/project".to_owned(),
            started_at_ms: 1,
            version: "0".to_owned(),
            settings: "{}".to_owned(),
        };
        let owner = LeaseOwner { id: owner.to_owned(), location: owner.to_owned() };
        // Its time is long over when the others come.
        let claim = LeaseRequest { owner, now_ms: 1, lasts_ms: 1 };
        world.journal.open_run(new, claim).await.unwrap();
    }
    world.process("second").await.runtime.recover().await.unwrap();
    let holders = world.journal.lease_holders().await.unwrap();
    assert_eq!(holders.iter().map(|holder| holder.run.as_str()).collect::<Vec<_>>(), ["alive"]);
}

/// Returns a world with a change of files that was complete when its process died. The next process died too, before it
/// checked the files.
async fn unseen() -> World {
    let world = World::new();
    world.die_in(&[("save", text("new"))], JournalMethod::Settle).await;
    let holder = world.journal.lease_holders().await.unwrap().remove(0);
    world.journal.abandon_run(holder).await.unwrap();
    world
}

#[tokio::test]
async fn what_nobody_looked_at_is_looked_at_among_the_latest_or_with_its_run() {
    // It is the last one that is looked at, and one beyond it.
    for (later, is_found) in [(63, true), (64, false)] {
        let world = unseen().await;
        let other = world.process("other").await;
        let run = other.session.run(RunId::parse("r2").unwrap());
        for _ in 0..later {
            run.call(Call::new("looks", text("shelf"))).await.unwrap();
        }
        let stage = world.process("next").await;
        let recovered = stage.runtime.recover().await.unwrap();
        assert_eq!(recovered.settled.len(), usize::from(is_found), "{later}: {recovered:?}");
        assert_eq!(recovered.in_doubt, []);
        let replay = world.resume(&stage, ResumeMode::Replay);
        let answered = answer(&replay, "save", text("new")).await;
        assert_eq!(answered, "saved replayed [r1/main/0/1/1]", "{later}");
        assert_eq!(world.file("b.txt").unwrap(), "new in b.txt");
    }
}
