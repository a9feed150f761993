//! The cases that every store must pass. Each case is written once and runs on all stores.

mod asks;
mod doubt;
mod keeping;
mod leases;
mod sessions;

use std::sync::Arc;

use crate::limits::{QUERY_BYTES_MAX, QUERY_CALLS_MAX, QUERY_RUNS_MAX};
use crate::{
    CallOrder, CallQuery, CallStatus, Journal, JournalError, LeaseRequest, NewRun, Outcome,
    PlannedCall, RunOrder, RunQuery,
};
use expect_test::{Expect, expect};
use haft_contract::{AttemptAddress, CallKey, Effect};
use serde_json::json;

use crate::conformance::fixture::{
    call, call_of, lines, open, outcome, output, record, request, run, run_lines, scope,
};
use crate::conformance::{CaseResult, Shared};

pub use asks::*;
pub use doubt::*;
pub use keeping::*;
pub use leases::*;
pub use sessions::*;

/// Returns what a journal answered, or why it could not.
fn told<T: std::fmt::Debug>(result: Result<T, JournalError>) -> String {
    result.map_or_else(|err| err.to_string(), |answer| format!("{answer:?}"))
}

async fn check_calls(journal: &dyn Journal, query: CallQuery, expect: Expect) -> CaseResult {
    expect.assert_eq(&lines(&journal.calls(query).await?));
    Ok(())
}

async fn check_runs(journal: &dyn Journal, query: RunQuery, expect: Expect) -> CaseResult {
    expect.assert_eq(&run_lines(&journal.runs(query).await?));
    Ok(())
}

fn check_error<T>(result: Result<T, JournalError>, expect: Expect) {
    expect.assert_eq(&result.err().map_or("no error".to_owned(), |err| err.to_string()));
}

fn in_order(order: CallOrder) -> CallQuery {
    CallQuery { order, ..CallQuery::default() }
}

pub async fn an_effect_is_recorded_in_two_steps(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let planned = PlannedCall {
        driver_call_id: Some("toolu_1".to_owned()),
        accesses: r#"[{"capability":"fs.write","path":"ä"}]"#.to_owned(),
        ..call_of(
            &scope("r"),
            1,
            ("write", Effect::Once),
            r#"{"path":"ä","size":18446744073709551616}"#,
        )
    };
    let intent = journal.intend(planned.clone()).await?;
    assert_eq!(*intent.call(), planned);
    let open = journal.calls(CallQuery::default()).await?;
    assert_eq!(open[0].parsed_envelope()?, None);
    expect![[r#"{"change":1,"run":"r","node":"main","iteration":0,"attempt":1,"seq":1,"tool":"write","effect":"once","status":"intended","started_at_ms":2010,"finished_at_ms":null,"first_key":"148e6662cca2df42fac9e3a2c972365cd27588709523ec11e5a638cfb7a39383","call_key":"148e6662cca2df42fac9e3a2c972365cd27588709523ec11e5a638cfb7a39383","driver_call_id":"toolu_1","input":{"path":"ä","size":18446744073709551616},"accesses":[{"capability":"fs.write","path":"ä"}],"epoch":1,"details":null,"envelope":null,"verdict":null,"settled_by":null}"#]]
        .assert_eq(&serde_json::to_string(&open[0])?);

    let ended = outcome(CallStatus::Succeeded);
    journal.settle(intent, ended.clone()).await?;
    let closed = journal.calls(CallQuery::default()).await?;
    assert_eq!(closed[0].parsed_envelope()?, Some(ended.envelope));
    expect![[r#"{"change":2,"run":"r","node":"main","iteration":0,"attempt":1,"seq":1,"tool":"write","effect":"once","status":"succeeded","started_at_ms":2010,"finished_at_ms":3000,"first_key":"148e6662cca2df42fac9e3a2c972365cd27588709523ec11e5a638cfb7a39383","call_key":"148e6662cca2df42fac9e3a2c972365cd27588709523ec11e5a638cfb7a39383","driver_call_id":"toolu_1","input":{"path":"ä","size":18446744073709551616},"accesses":[{"capability":"fs.write","path":"ä"}],"epoch":1,"details":null,"envelope":{"type":"output","data":"ok","metadata":{"duration_ms":3}},"verdict":null,"settled_by":null}"#]].assert_eq(&serde_json::to_string(&closed[0])?);
    Ok(())
}

pub async fn what_is_settled_ahead_is_there_before_what_comes_later(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "r").await?;
    let mut settled = Vec::new();
    for (seq, effect) in [(1, Effect::Once), (2, Effect::Read), (3, Effect::Idempotent)] {
        let intent = journal.intend(call(&scope("r"), seq, effect)).await?;
        settled.push(journal.settle_ahead(intent, outcome(CallStatus::Succeeded)).await?);
    }
    // No caller has waited for them.
    let last = journal.intend(call(&scope("r"), 4, Effect::Once)).await?;
    let rows = journal.calls(CallQuery::default()).await?;
    let statuses: Vec<CallStatus> = rows.iter().map(|row| row.status).collect();
    assert_eq!(
        statuses,
        [CallStatus::Succeeded, CallStatus::Succeeded, CallStatus::Succeeded, CallStatus::Intended]
    );
    for settled in settled {
        settled.await?;
    }
    // The caller that waits gets the error of an outcome that comes too late.
    journal.close_run(lease).await?;
    let late = async { journal.settle_ahead(last, outcome(CallStatus::Succeeded)).await?.await };
    let late = late.await;
    assert!(matches!(late, Err(JournalError::Fenced { .. })), "{late:?}");
    assert_eq!(journal.late_outcomes(&run("r").id).await?.len(), 1);
    Ok(())
}

pub async fn a_read_is_one_row_once_it_is_settled(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let intent = journal.intend(call(&scope("r"), 1, Effect::Read)).await?;
    check_calls(&*journal, CallQuery::default(), expect![""]).await?;
    journal.settle(intent, outcome(CallStatus::Failed)).await?;
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        1 r/main/0/1/1 read failed
    "#]],
    )
    .await?;
    Ok(())
}

pub async fn a_refusal_is_a_row(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let refused = call(&scope("r"), 1, Effect::Once);
    journal.refuse(refused, outcome(CallStatus::Refused)).await?;
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        1 r/main/0/1/1 write refused
    "#]],
    )
    .await?;
    Ok(())
}

pub async fn what_is_never_settled_stays_intended(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    for (seq, effect) in [(1, Effect::Once), (2, Effect::Idempotent), (3, Effect::Read)] {
        drop(journal.intend(call(&scope("r"), seq, effect)).await?);
    }
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        1 r/main/0/1/1 write intended
        2 r/main/0/1/2 todo intended
    "#]],
    )
    .await?;
    Ok(())
}

pub async fn a_run_begins_once(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let elsewhere = NewRun { root: "/elsewhere".to_owned(), ..run("r") };
    journal.open_run(elsewhere, request("one")).await?;
    let mut runs = journal.runs(RunQuery::default()).await?;
    // When is the backend's affair.
    runs[0].holder = None;
    expect![[r#"[{"id":"r","front_end":"cli","root":"/project","version":"0.1.0","started_at_ms":1000,"last_call_at_ms":null,"calls":0,"failed":0,"refused":0,"intended":0,"unknown":0,"settings":{},"holder":null}]"#]].assert_eq(&serde_json::to_string(&runs)?);
    Ok(())
}

pub async fn a_taken_number_is_a_conflict(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    record(&*journal, call(&scope("r"), 1, Effect::Once), CallStatus::Succeeded).await?;

    let again = call(&scope("r"), 1, Effect::Idempotent);
    check_error(
        journal.intend(again.clone()).await,
        expect![
            "call r/main/0/1/1 is recorded already: expected a number that the attempt has not used; ask the journal how far the attempt has come and count on from there"
        ],
    );
    let refusal = outcome(CallStatus::Refused);
    check_error(
        journal.refuse(again, refusal).await,
        expect![
            "call r/main/0/1/1 is recorded already: expected a number that the attempt has not used; ask the journal how far the attempt has come and count on from there"
        ],
    );
    let read = journal.intend(call(&scope("r"), 1, Effect::Read)).await?;
    check_error(
        journal.settle(read, outcome(CallStatus::Failed)).await,
        expect![
            "call r/main/0/1/1 is recorded already: expected a number that the attempt has not used; ask the journal how far the attempt has come and count on from there"
        ],
    );
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        2 r/main/0/1/1 write succeeded
    "#]],
    )
    .await?;
    Ok(())
}

pub async fn a_call_needs_its_run(journal: Shared) -> CaseResult {
    let effect = journal.intend(call(&scope("r"), 1, Effect::Once)).await;
    check_error(effect, expect!["run r is not in the journal: open it before recording its calls"]);
    let read = journal.intend(call(&scope("r"), 1, Effect::Read)).await?;
    check_error(
        journal.settle(read, outcome(CallStatus::Succeeded)).await,
        expect!["run r is not in the journal: open it before recording its calls"],
    );
    check_calls(&*journal, CallQuery::default(), expect![""]).await?;
    Ok(())
}

pub async fn only_an_open_intent_is_settled(journal: Shared) -> CaseResult {
    // An intent of another journal is the only one that can be wrong.
    let other = crate::MemoryJournal::new();
    open(&other, "r").await?;
    let never_open = other.intend(call(&scope("r"), 1, Effect::Once)).await?;
    let closed = other.intend(call(&scope("r"), 2, Effect::Once)).await?;

    open(&*journal, "r").await?;
    record(&*journal, call(&scope("r"), 2, Effect::Once), CallStatus::Failed).await?;
    for intent in [never_open, closed] {
        let result = journal.settle(intent, outcome(CallStatus::Succeeded)).await;
        assert!(matches!(result, Err(JournalError::NoOpenIntent { .. })), "{result:?}");
    }
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        2 r/main/0/1/2 write failed
    "#]],
    )
    .await?;
    Ok(())
}

pub async fn a_call_ends_with_a_status_that_fits(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let intent = journal.intend(call(&scope("r"), 1, Effect::Once)).await?;
    check_error(
        journal.settle(intent, outcome(CallStatus::Intended)).await,
        expect![
            "call r/main/0/1/1 cannot be recorded as intended: expected succeeded, failed, refused or unknown"
        ],
    );
    let planned = call(&scope("r"), 2, Effect::Once);
    check_error(
        journal.refuse(planned, outcome(CallStatus::Failed)).await,
        expect!["call r/main/0/1/2 cannot be recorded as failed: expected refused"],
    );
    let ends =
        [CallStatus::Succeeded, CallStatus::Failed, CallStatus::Refused, CallStatus::Unknown];
    for (seq, status) in (3..).zip(ends) {
        record(&*journal, call(&scope("r"), seq, Effect::Once), status).await?;
    }
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        1 r/main/0/1/1 write intended
        3 r/main/0/1/3 write succeeded
        5 r/main/0/1/4 write failed
        7 r/main/0/1/5 write refused
        9 r/main/0/1/6 write unknown
    "#]],
    )
    .await?;
    Ok(())
}

pub async fn an_attempt_tells_how_far_it_has_come(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let first = scope("r");
    let second = AttemptAddress { attempt: 2, ..first.clone() };
    let input = r#"{"path":"a"}"#;
    for (earlier, seq) in (0..).zip([1, 2, 5]) {
        let mut repeated = call_of(&first, seq, ("write", Effect::Once), input);
        repeated.call_key = repeated.first_key.with_repeat_index(earlier);
        record(&*journal, repeated, CallStatus::Succeeded).await?;
    }
    let refused = call_of(&first, 7, ("bash", Effect::Once), input);
    journal.refuse(refused.clone(), outcome(CallStatus::Refused)).await?;
    record(&*journal, call_of(&second, 1, ("write", Effect::Once), input), CallStatus::Failed)
        .await?;

    let state = journal.attempt_state(&first).await?;
    let repeated = call_of(&first, 1, ("write", Effect::Once), input).first_key;
    assert_eq!(state.last_seq, 7);
    let keys = |key: CallKey, calls: u32| {
        let mut keys: Vec<_> =
            (0..calls).map(|call| key.with_repeat_index(call).to_string()).collect();
        keys.sort_unstable();
        (key.to_string(), keys)
    };
    assert_eq!(state.calls, [keys(repeated, 3), keys(refused.first_key, 1)].into());
    assert_eq!(journal.attempt_state(&second).await?.last_seq, 1);
    for not_begun in
        [AttemptAddress { attempt: 3, ..first.clone() }, AttemptAddress { iteration: 1, ..first }]
    {
        assert_eq!(journal.attempt_state(&not_begun).await?, Default::default());
    }
    Ok(())
}

/// Records calls of two runs, out of the order of their places, and leaves one open.
async fn record_two_runs(journal: &dyn Journal) -> CaseResult {
    open(journal, "b").await?;
    open(journal, "a").await?;
    let inner = AttemptAddress { node: "inner".to_owned(), iteration: 2, ..scope("b") };
    let open = journal.intend(call(&scope("b"), 2, Effect::Once)).await?;
    record(journal, call(&inner, 1, Effect::Read), CallStatus::Succeeded).await?;
    record(journal, call(&scope("a"), 1, Effect::Once), CallStatus::Failed).await?;
    drop(journal.intend(call(&scope("b"), 1, Effect::Idempotent)).await?);
    journal.settle(open, outcome(CallStatus::Unknown)).await?;
    record(
        journal,
        call(&AttemptAddress { attempt: 2, ..inner }, 1, Effect::Read),
        CallStatus::Failed,
    )
    .await?;
    Ok(())
}

pub async fn calls_come_in_the_order_asked_for(journal: Shared) -> CaseResult {
    record_two_runs(&*journal).await?;
    check_calls(
        &*journal,
        in_order(CallOrder::Address),
        expect![[r#"
        4 a/main/0/1/1 write failed
        2 b/inner/2/1/1 read succeeded
        7 b/inner/2/2/1 read failed
        5 b/main/0/1/1 todo intended
        6 b/main/0/1/2 write unknown
    "#]],
    )
    .await?;
    check_calls(
        &*journal,
        in_order(CallOrder::Change),
        expect![[r#"
        2 b/inner/2/1/1 read succeeded
        4 a/main/0/1/1 write failed
        5 b/main/0/1/1 todo intended
        6 b/main/0/1/2 write unknown
        7 b/inner/2/2/1 read failed
    "#]],
    )
    .await?;
    let latest = CallQuery { limit: 2, ..in_order(CallOrder::Latest) };
    check_calls(
        &*journal,
        latest,
        expect![[r#"
        7 b/inner/2/2/1 read failed
        6 b/main/0/1/2 write unknown
    "#]],
    )
    .await?;
    Ok(())
}

pub async fn a_query_answers_what_fits_every_field(journal: Shared) -> CaseResult {
    record_two_runs(&*journal).await?;
    let all = journal.calls(in_order(CallOrder::Address)).await?;
    for order in [CallOrder::Address, CallOrder::Change, CallOrder::Latest] {
        for row in &all {
            let of_call = CallQuery { order, ..CallQuery::of_call(row.id()) };
            assert_eq!(journal.calls(of_call).await?, std::slice::from_ref(row));

            let of_run = CallQuery { order, ..CallQuery::of_run(row.scope.run.clone()) };
            let after = CallQuery { after_change: Some(row.change), ..of_run };
            let mut found = journal.calls(after).await?;
            found.sort_by_key(|found| all.iter().position(|row| row == found));
            let mut expected = all.clone();
            expected.retain(|other| other.scope.run == row.scope.run && other.change > row.change);
            assert_eq!(found, expected, "after {} in {order:?}", row.change);
        }
    }
    let inner = CallQuery { node: Some("inner".to_owned()), ..CallQuery::default() };
    check_calls(
        &*journal,
        inner.clone(),
        expect![[r#"
        2 b/inner/2/1/1 read succeeded
        7 b/inner/2/2/1 read failed
    "#]],
    )
    .await?;
    let second = CallQuery { iteration: Some(2), attempt: Some(2), ..inner };
    check_calls(
        &*journal,
        second,
        expect![[r#"
        7 b/inner/2/2/1 read failed
    "#]],
    )
    .await?;
    let failed = CallQuery { statuses: vec![CallStatus::Failed], ..CallQuery::default() };
    for order in [CallOrder::Address, CallOrder::Change, CallOrder::Latest] {
        let all = journal.calls(in_order(order)).await?;
        let mut expected = all.clone();
        expected.retain(|row| row.status == CallStatus::Failed);
        let found = journal.calls(CallQuery { order, ..failed.clone() }).await?;
        assert_eq!(found, expected, "failed ones in {order:?}");
        let statuses = vec![CallStatus::Succeeded, CallStatus::Intended];
        let mut expected = all;
        expected.retain(|row| statuses.contains(&row.status) && row.tool == "read");
        let query = CallQuery { order, statuses, ..CallQuery::default() };
        let found = journal.calls(CallQuery { tool: Some("read".to_owned()), ..query }).await?;
        assert_eq!(found, expected, "reads that did not fail in {order:?}");
    }
    let nowhere = CallQuery { after_change: Some(u64::MAX), ..CallQuery::default() };
    check_calls(&*journal, nowhere, expect![""]).await?;
    Ok(())
}

pub async fn following_the_changes_misses_nothing(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let mut seen = String::new();
    let mut last = None;
    for seq in 1..=3 {
        let intent = journal.intend(call(&scope("r"), seq, Effect::Once)).await?;
        record(&*journal, call(&scope("r"), seq + 10, Effect::Read), CallStatus::Succeeded).await?;
        seen += &follow(&*journal, &mut last).await?;
        journal.settle(intent, outcome(CallStatus::Succeeded)).await?;
        seen += &follow(&*journal, &mut last).await?;
        seen += &follow(&*journal, &mut last).await?;
    }
    expect![[r#"
        1 r/main/0/1/1 write intended
        2 r/main/0/1/11 read succeeded
        3 r/main/0/1/1 write succeeded
        4 r/main/0/1/2 write intended
        5 r/main/0/1/12 read succeeded
        6 r/main/0/1/2 write succeeded
        7 r/main/0/1/3 write intended
        8 r/main/0/1/13 read succeeded
        9 r/main/0/1/3 write succeeded
    "#]]
    .assert_eq(&seen);
    Ok(())
}

async fn follow(journal: &dyn Journal, last: &mut Option<u64>) -> CaseResult<String> {
    let query = CallQuery { after_change: *last, ..in_order(CallOrder::Change) };
    let rows = journal.calls(query).await?;
    *last = rows.last().map(|row| row.change).or(*last);
    Ok(lines(&rows))
}

pub async fn runs_come_latest_first_with_their_counts(journal: Shared) -> CaseResult {
    record_two_runs(&*journal).await?;
    open(&*journal, "empty").await?;
    check_runs(
        &*journal,
        RunQuery::default(),
        expect![[r#"
        empty last None calls 0 failed 0 refused 0 intended 0 unknown 0
        a last Some(2010) calls 1 failed 1 refused 0 intended 0 unknown 0
        b last Some(2020) calls 4 failed 1 refused 0 intended 1 unknown 1
    "#]],
    )
    .await?;
    let latest = RunQuery { limit: 1, ..RunQuery::default() };
    check_runs(
        &*journal,
        latest,
        expect![[r#"
        empty last None calls 0 failed 0 refused 0 intended 0 unknown 0
    "#]],
    )
    .await?;
    let next = RunQuery { before: Some(run("empty").id), limit: 1, ..RunQuery::default() };
    check_runs(
        &*journal,
        next,
        expect![[r#"
        a last Some(2010) calls 1 failed 1 refused 0 intended 0 unknown 0
    "#]],
    )
    .await?;
    let last = RunQuery { before: Some(run("b").id), ..RunQuery::default() };
    check_runs(&*journal, last, expect![""]).await?;
    let one = RunQuery { run: Some(run("b").id), ..RunQuery::default() };
    check_runs(
        &*journal,
        one,
        expect![[r#"
        b last Some(2020) calls 4 failed 1 refused 0 intended 1 unknown 1
    "#]],
    )
    .await?;
    let none = RunQuery { run: Some(run("c").id), ..RunQuery::default() };
    check_runs(&*journal, none, expect![""]).await?;
    Ok(())
}

pub async fn texts_come_back_as_they_went_in(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let texts =
        ["", "ä\u{1F600}\u{202e}", "'; DROP TABLE calls; --", "\0\u{1}\n", &"x".repeat(1_000_000)];
    for (seq, text) in (1..).zip(texts) {
        let input = json!({ "content": text }).to_string();
        let planned = call_of(&scope("r"), seq, ("write", Effect::Once), &input);
        let intent = journal.intend(planned).await?;
        let ended = Outcome { envelope: output(json!(text)), ..outcome(CallStatus::Succeeded) };
        journal.settle(intent, ended.clone()).await?;

        let query = CallQuery { seq: Some(seq), ..CallQuery::default() };
        let rows = journal.calls(query).await?;
        assert_eq!(rows[0].input, input);
        assert_eq!(rows[0].parsed_envelope()?, Some(ended.envelope));
    }
    Ok(())
}

pub async fn an_answer_ends_at_the_bound_of_rows(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    for seq in 1..=QUERY_CALLS_MAX + 1 {
        record(&*journal, call(&scope("r"), seq, Effect::Read), CallStatus::Succeeded).await?;
    }
    for (limit, expected) in [(0, 0), (7, 7), (QUERY_CALLS_MAX, 10_000), (u32::MAX, 10_000)] {
        let query = CallQuery { limit, ..CallQuery::default() };
        assert_eq!(journal.calls(query).await?.len(), expected, "limit {limit}");
    }
    for number in 1..=QUERY_RUNS_MAX {
        open(&*journal, &format!("run-{number}")).await?;
    }
    for (limit, expected) in [(0, 0), (7, 7), (u32::MAX, 1_000)] {
        let query = RunQuery { limit, ..RunQuery::default() };
        assert_eq!(journal.runs(query).await?.len(), expected, "limit {limit}");
    }
    Ok(())
}

pub async fn an_answer_ends_at_the_bound_of_bytes(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    for seq in 1..=5 {
        let data = json!("x".repeat(QUERY_BYTES_MAX / 4));
        let intent = journal.intend(call(&scope("r"), seq, Effect::Read)).await?;
        let ended = Outcome { envelope: output(data), ..outcome(CallStatus::Succeeded) };
        journal.settle(intent, ended).await?;
    }
    let mut last = None;
    expect!["4 then 1 then 0"].assert_eq(&format!(
        "{} then {} then {}",
        follow(&*journal, &mut last).await?.lines().count(),
        follow(&*journal, &mut last).await?.lines().count(),
        follow(&*journal, &mut last).await?.lines().count(),
    ));
    Ok(())
}

pub async fn a_hundred_tasks_get_their_own_answers(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..100_u32 {
        let journal = Arc::clone(&journal);
        let scope = AttemptAddress { iteration: task, ..scope("r") };
        tasks.spawn(async move {
            for seq in 1..=10 {
                let effect = [Effect::Read, Effect::Idempotent, Effect::Once][(seq % 3) as usize];
                record(&*journal, call(&scope, seq, effect), CallStatus::Succeeded).await?;
                let taken = call(&scope, seq, Effect::Once);
                let result = journal.intend(taken.clone()).await;
                let is_mine =
                    matches!(&result, Err(JournalError::Conflict { call }) if *call == taken.id);
                assert!(is_mine, "{result:?}");
            }
            assert_eq!(journal.attempt_state(&scope).await?.last_seq, 10);
            CaseResult::Ok(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let rows = journal.calls(in_order(CallOrder::Change)).await?;
    assert_eq!(rows.len(), 1_000);
    assert!(rows.windows(2).all(|pair| pair[0].change < pair[1].change));
    assert!(rows.iter().all(|row| row.status == CallStatus::Succeeded));
    Ok(())
}

pub async fn runs_are_found_by_the_beginning_of_a_name(journal: Shared) -> CaseResult {
    let made = |prefix: &str, chance: &str| format!("{prefix}_01m84h1h4n{chance:0<16}");
    let ids = [
        made("run", "k7f"),
        made("ses", "k7fxa"),
        made("run", "m2p"),
        made("ses", "m2p"),
        "nightly".to_owned(),
        "Nightly".to_owned(),
        "night_z".to_owned(),
    ];
    for id in &ids {
        open(&*journal, id).await?;
    }
    let check = async |beginning: &str, expect: &[usize]| -> CaseResult {
        let found = journal.runs_beginning_with(beginning).await?;
        let mut expected: Vec<&str> = expect.iter().map(|place| ids[*place].as_str()).collect();
        expected.sort_unstable();
        let found: Vec<&str> = found.iter().map(|id| id.as_str()).collect();
        assert_eq!(found, expected, "{beginning:?}");
        Ok(())
    };
    check("k7f", &[0, 1]).await?;
    check("k7fx", &[1]).await?;
    check("m2p", &[2, 3]).await?;
    check("run_01", &[0, 2]).await?;
    check(&ids[2], &[2]).await?;
    // Letters differ by their case, in a database of any language.
    check("night", &[4, 6]).await?;
    check("N", &[5]).await?;
    check("", &[]).await?;
    check("z", &[]).await?;
    let shared = [Some(3), Some(3), Some(16), Some(16), Some(5), Some(0), Some(5)];
    for (id, expect) in ids.iter().zip(shared) {
        assert_eq!(journal.shared_key_chars(&run(id).id).await?, expect, "{id}");
    }
    Ok(())
}

pub async fn runs_come_by_the_end_of_their_lease(journal: Shared) -> CaseResult {
    let lasting = |lasts_ms: u64| LeaseRequest { lasts_ms, ..request("one") };
    let mut leases = Vec::new();
    for (id, lasts_ms) in [("a", 10_000), ("b", 20_000), ("c", 30_000)] {
        leases.push(journal.open_run(run(id), lasting(lasts_ms)).await?);
    }
    let other = NewRun { root: "/other".to_owned(), ..run("d") };
    leases.push(journal.open_run(other, lasting(40_000)).await?);
    let held = RunQuery { order: RunOrder::Held, ..RunQuery::default() };
    let check = async |query: RunQuery, expect: &[&str]| -> CaseResult {
        let found = journal.runs(query).await?;
        let found: Vec<&str> = found.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(found, expect);
        Ok(())
    };
    check(held.clone(), &["d", "c", "b", "a"]).await?;
    // The first run is used for longest, and a run that is given back keeps its place.
    journal.renew_lease(leases.remove(0), lasting(500_000)).await?;
    journal.close_run(leases.remove(1)).await?;
    check(held.clone(), &["a", "d", "c", "b"]).await?;
    let here = RunQuery { root: Some("/project".to_owned()), ..held.clone() };
    check(here.clone(), &["a", "c", "b"]).await?;
    let first = RunQuery { limit: 1, ..here.clone() };
    check(first, &["a"]).await?;
    let next = RunQuery { before: Some(run("a").id), ..here };
    check(next, &["c", "b"]).await?;
    check(RunQuery { before: Some(run("c").id), ..held }, &["b"]).await?;
    let begun = RunQuery { root: Some("/project".to_owned()), ..RunQuery::default() };
    check(begun, &["c", "b", "a"]).await?;
    Ok(())
}
