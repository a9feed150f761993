//! What every backend promises. Each case is written once and runs on all of them; a new backend is one line at the end.

mod chats;
mod doubt;
mod keeping;
mod leases;

use std::sync::Arc;

use expect_test::{Expect, expect};
use haft_contract::{CallKey, Effect, Scope};
use haft_journal::limits::{QUERY_BYTES_MAX, QUERY_CALLS_MAX, QUERY_RUNS_MAX};
use haft_journal::{
    CallOrder, CallQuery, Journal, JournalError, MemoryJournal, NewRun, Outcome, PlannedCall,
    RunQuery, SqliteJournal, Status,
};
use serde_json::json;

use crate::fixture::{
    call, call_of, claim, lines, open, outcome, output, record, run, run_lines, scope,
};

use chats::*;
use doubt::*;
use keeping::*;
use leases::*;

type Shared = Arc<dyn Journal>;

/// Returns what a journal answered, or why it could not.
fn told<T: std::fmt::Debug>(result: Result<T, JournalError>) -> String {
    result.map_or_else(|err| err.to_string(), |answer| format!("{answer:?}"))
}

async fn check_calls(journal: &dyn Journal, query: CallQuery, expect: Expect) {
    expect.assert_eq(&lines(&journal.calls(query).await.unwrap()));
}

async fn check_runs(journal: &dyn Journal, query: RunQuery, expect: Expect) {
    expect.assert_eq(&run_lines(&journal.runs(query).await.unwrap()));
}

fn check_error<T>(result: Result<T, JournalError>, expect: Expect) {
    expect.assert_eq(&result.err().map_or("no error".to_owned(), |err| err.to_string()));
}

fn in_order(order: CallOrder) -> CallQuery {
    CallQuery { order, ..CallQuery::default() }
}

async fn an_effect_is_recorded_in_two_steps(journal: Shared) {
    open(&*journal, "r").await;
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
    let intent = journal.intend(planned.clone()).await.unwrap();
    assert_eq!(*intent.call(), planned);
    let open = journal.calls(CallQuery::default()).await.unwrap();
    assert_eq!(open[0].parsed_envelope().unwrap(), None);
    expect![[r#"{"change":1,"run":"r","node":"main","iteration":0,"attempt":1,"seq":1,"tool":"write","effect":"once","status":"intended","started_at_ms":2010,"finished_at_ms":null,"first_key":"148e6662cca2df42fac9e3a2c972365cd27588709523ec11e5a638cfb7a39383","call_key":"148e6662cca2df42fac9e3a2c972365cd27588709523ec11e5a638cfb7a39383","driver_call_id":"toolu_1","input":{"path":"ä","size":18446744073709551616},"accesses":[{"capability":"fs.write","path":"ä"}],"epoch":1,"details":null,"envelope":null,"verdict":null,"settled_by":null}"#]]
        .assert_eq(&serde_json::to_string(&open[0]).unwrap());

    let ended = outcome(Status::Succeeded);
    journal.settle(intent, ended.clone()).await.unwrap();
    let closed = journal.calls(CallQuery::default()).await.unwrap();
    assert_eq!(closed[0].parsed_envelope().unwrap(), Some(ended.envelope));
    expect![[r#"{"change":2,"run":"r","node":"main","iteration":0,"attempt":1,"seq":1,"tool":"write","effect":"once","status":"succeeded","started_at_ms":2010,"finished_at_ms":3000,"first_key":"148e6662cca2df42fac9e3a2c972365cd27588709523ec11e5a638cfb7a39383","call_key":"148e6662cca2df42fac9e3a2c972365cd27588709523ec11e5a638cfb7a39383","driver_call_id":"toolu_1","input":{"path":"ä","size":18446744073709551616},"accesses":[{"capability":"fs.write","path":"ä"}],"epoch":1,"details":null,"envelope":{"type":"output","data":"ok","metadata":{"duration_ms":3}},"verdict":null,"settled_by":null}"#]].assert_eq(&serde_json::to_string(&closed[0]).unwrap());
}

async fn what_is_settled_ahead_is_there_before_what_comes_later(journal: Shared) {
    let lease = open(&*journal, "r").await;
    let mut settled = Vec::new();
    for (seq, effect) in [(1, Effect::Once), (2, Effect::Read), (3, Effect::Idempotent)] {
        let intent = journal.intend(call(&scope("r"), seq, effect)).await.unwrap();
        settled.push(journal.settle_ahead(intent, outcome(Status::Succeeded)).await.unwrap());
    }
    // Nobody has waited for them.
    let last = journal.intend(call(&scope("r"), 4, Effect::Once)).await.unwrap();
    let rows = journal.calls(CallQuery::default()).await.unwrap();
    let statuses: Vec<Status> = rows.iter().map(|row| row.status).collect();
    assert_eq!(
        statuses,
        [Status::Succeeded, Status::Succeeded, Status::Succeeded, Status::Intended]
    );
    for settled in settled {
        settled.await.unwrap();
    }
    // What comes too late is said to whoever waits.
    journal.close_run(lease).await.unwrap();
    let late = async { journal.settle_ahead(last, outcome(Status::Succeeded)).await?.await };
    let late = late.await;
    assert!(matches!(late, Err(JournalError::Fenced { .. })), "{late:?}");
    assert_eq!(journal.late_outcomes(&run("r").id).await.unwrap().len(), 1);
}

async fn a_read_is_one_row_once_it_is_settled(journal: Shared) {
    open(&*journal, "r").await;
    let intent = journal.intend(call(&scope("r"), 1, Effect::Read)).await.unwrap();
    check_calls(&*journal, CallQuery::default(), expect![""]).await;
    journal.settle(intent, outcome(Status::Failed)).await.unwrap();
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        1 r/main/0/1/1 read failed
    "#]],
    )
    .await;
}

async fn a_refusal_is_a_row(journal: Shared) {
    open(&*journal, "r").await;
    let refused = call(&scope("r"), 1, Effect::Once);
    journal.refuse(refused, outcome(Status::Refused)).await.unwrap();
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        1 r/main/0/1/1 write refused
    "#]],
    )
    .await;
}

async fn what_is_never_settled_stays_intended(journal: Shared) {
    open(&*journal, "r").await;
    for (seq, effect) in [(1, Effect::Once), (2, Effect::Idempotent), (3, Effect::Read)] {
        drop(journal.intend(call(&scope("r"), seq, effect)).await.unwrap());
    }
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        1 r/main/0/1/1 write intended
        2 r/main/0/1/2 todo intended
    "#]],
    )
    .await;
}

async fn a_run_begins_once(journal: Shared) {
    open(&*journal, "r").await;
    let elsewhere = NewRun { root: "/elsewhere".to_owned(), ..run("r") };
    journal.open_run(elsewhere, claim("one")).await.unwrap();
    let mut runs = journal.runs(RunQuery::default()).await.unwrap();
    // When is the backend's affair.
    runs[0].holder = None;
    expect![[r#"[{"id":"r","front_end":"cli","root":"/project","version":"0.1.0","started_at_ms":1000,"last_call_at_ms":null,"calls":0,"failed":0,"refused":0,"intended":0,"unknown":0,"settings":{},"holder":null}]"#]].assert_eq(&serde_json::to_string(&runs).unwrap());
}

async fn a_taken_number_is_a_conflict(journal: Shared) {
    open(&*journal, "r").await;
    record(&*journal, call(&scope("r"), 1, Effect::Once), Status::Succeeded).await;

    let again = call(&scope("r"), 1, Effect::Idempotent);
    check_error(
        journal.intend(again.clone()).await,
        expect![
            "call r/main/0/1/1 is recorded already: expected a number that the attempt has not used; ask the journal how far the attempt has come and count on from there"
        ],
    );
    let refusal = outcome(Status::Refused);
    check_error(
        journal.refuse(again, refusal).await,
        expect![
            "call r/main/0/1/1 is recorded already: expected a number that the attempt has not used; ask the journal how far the attempt has come and count on from there"
        ],
    );
    let read = journal.intend(call(&scope("r"), 1, Effect::Read)).await.unwrap();
    check_error(
        journal.settle(read, outcome(Status::Failed)).await,
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
    .await;
}

async fn a_call_needs_its_run(journal: Shared) {
    let effect = journal.intend(call(&scope("r"), 1, Effect::Once)).await;
    check_error(effect, expect!["run r is not in the journal: open it before recording its calls"]);
    let read = journal.intend(call(&scope("r"), 1, Effect::Read)).await.unwrap();
    check_error(
        journal.settle(read, outcome(Status::Succeeded)).await,
        expect!["run r is not in the journal: open it before recording its calls"],
    );
    check_calls(&*journal, CallQuery::default(), expect![""]).await;
}

async fn only_an_open_intent_is_settled(journal: Shared) {
    // An intent of another journal is the only one that can be wrong.
    let other = MemoryJournal::new();
    open(&other, "r").await;
    let never_open = other.intend(call(&scope("r"), 1, Effect::Once)).await.unwrap();
    let closed = other.intend(call(&scope("r"), 2, Effect::Once)).await.unwrap();

    open(&*journal, "r").await;
    record(&*journal, call(&scope("r"), 2, Effect::Once), Status::Failed).await;
    for intent in [never_open, closed] {
        let result = journal.settle(intent, outcome(Status::Succeeded)).await;
        assert!(matches!(result, Err(JournalError::NoOpenIntent { .. })), "{result:?}");
    }
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        2 r/main/0/1/2 write failed
    "#]],
    )
    .await;
}

async fn a_call_ends_with_a_status_that_fits(journal: Shared) {
    open(&*journal, "r").await;
    let intent = journal.intend(call(&scope("r"), 1, Effect::Once)).await.unwrap();
    check_error(
        journal.settle(intent, outcome(Status::Intended)).await,
        expect![
            "call r/main/0/1/1 cannot be recorded as intended: expected succeeded, failed, refused or unknown"
        ],
    );
    let planned = call(&scope("r"), 2, Effect::Once);
    check_error(
        journal.refuse(planned, outcome(Status::Failed)).await,
        expect!["call r/main/0/1/2 cannot be recorded as failed: expected refused"],
    );
    let ends = [Status::Succeeded, Status::Failed, Status::Refused, Status::Unknown];
    for (seq, status) in (3..).zip(ends) {
        record(&*journal, call(&scope("r"), seq, Effect::Once), status).await;
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
    .await;
}

async fn an_attempt_tells_how_far_it_has_come(journal: Shared) {
    open(&*journal, "r").await;
    let first = scope("r");
    let second = Scope { attempt: 2, ..first.clone() };
    let input = r#"{"path":"a"}"#;
    for (earlier, seq) in (0..).zip([1, 2, 5]) {
        let mut repeated = call_of(&first, seq, ("write", Effect::Once), input);
        repeated.call_key = repeated.first_key.occurrence(earlier);
        record(&*journal, repeated, Status::Succeeded).await;
    }
    let refused = call_of(&first, 7, ("bash", Effect::Once), input);
    journal.refuse(refused.clone(), outcome(Status::Refused)).await.unwrap();
    record(&*journal, call_of(&second, 1, ("write", Effect::Once), input), Status::Failed).await;

    let state = journal.attempt(&first).await.unwrap();
    let repeated = call_of(&first, 1, ("write", Effect::Once), input).first_key;
    assert_eq!(state.last_seq, 7);
    let keys = |key: CallKey, calls: u32| {
        let mut keys: Vec<_> = (0..calls).map(|call| key.occurrence(call).to_string()).collect();
        keys.sort_unstable();
        (key.to_string(), keys)
    };
    assert_eq!(state.calls, [keys(repeated, 3), keys(refused.first_key, 1)].into());
    assert_eq!(journal.attempt(&second).await.unwrap().last_seq, 1);
    for not_begun in [Scope { attempt: 3, ..first.clone() }, Scope { iteration: 1, ..first }] {
        assert_eq!(journal.attempt(&not_begun).await.unwrap(), Default::default());
    }
}

/// Records calls of two runs, out of the order of their places, and leaves one open.
async fn record_two_runs(journal: &dyn Journal) {
    open(journal, "b").await;
    open(journal, "a").await;
    let inner = Scope { node: "inner".to_owned(), iteration: 2, ..scope("b") };
    let open = journal.intend(call(&scope("b"), 2, Effect::Once)).await.unwrap();
    record(journal, call(&inner, 1, Effect::Read), Status::Succeeded).await;
    record(journal, call(&scope("a"), 1, Effect::Once), Status::Failed).await;
    drop(journal.intend(call(&scope("b"), 1, Effect::Idempotent)).await.unwrap());
    journal.settle(open, outcome(Status::Unknown)).await.unwrap();
    record(journal, call(&Scope { attempt: 2, ..inner }, 1, Effect::Read), Status::Failed).await;
}

async fn calls_come_in_the_order_asked_for(journal: Shared) {
    record_two_runs(&*journal).await;
    check_calls(
        &*journal,
        in_order(CallOrder::Place),
        expect![[r#"
        4 a/main/0/1/1 write failed
        2 b/inner/2/1/1 read succeeded
        7 b/inner/2/2/1 read failed
        5 b/main/0/1/1 todo intended
        6 b/main/0/1/2 write unknown
    "#]],
    )
    .await;
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
    .await;
    let latest = CallQuery { limit: 2, ..in_order(CallOrder::Latest) };
    check_calls(
        &*journal,
        latest,
        expect![[r#"
        7 b/inner/2/2/1 read failed
        6 b/main/0/1/2 write unknown
    "#]],
    )
    .await;
}

async fn a_query_answers_what_fits_every_field(journal: Shared) {
    record_two_runs(&*journal).await;
    let all = journal.calls(in_order(CallOrder::Place)).await.unwrap();
    for order in [CallOrder::Place, CallOrder::Change, CallOrder::Latest] {
        for row in &all {
            let of_call = CallQuery { order, ..CallQuery::of_call(row.id()) };
            assert_eq!(journal.calls(of_call).await.unwrap(), std::slice::from_ref(row));

            let of_run = CallQuery { order, ..CallQuery::of_run(row.scope.run.clone()) };
            let after = CallQuery { after_change: Some(row.change), ..of_run };
            let mut found = journal.calls(after).await.unwrap();
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
    .await;
    let second = CallQuery { iteration: Some(2), attempt: Some(2), ..inner };
    check_calls(
        &*journal,
        second,
        expect![[r#"
        7 b/inner/2/2/1 read failed
    "#]],
    )
    .await;
    let nowhere = CallQuery { after_change: Some(u64::MAX), ..CallQuery::default() };
    check_calls(&*journal, nowhere, expect![""]).await;
}

async fn following_the_changes_misses_nothing(journal: Shared) {
    open(&*journal, "r").await;
    let mut seen = String::new();
    let mut last = None;
    for seq in 1..=3 {
        let intent = journal.intend(call(&scope("r"), seq, Effect::Once)).await.unwrap();
        record(&*journal, call(&scope("r"), seq + 10, Effect::Read), Status::Succeeded).await;
        seen += &follow(&*journal, &mut last).await;
        journal.settle(intent, outcome(Status::Succeeded)).await.unwrap();
        seen += &follow(&*journal, &mut last).await;
        seen += &follow(&*journal, &mut last).await;
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
}

async fn follow(journal: &dyn Journal, last: &mut Option<u64>) -> String {
    let query = CallQuery { after_change: *last, ..in_order(CallOrder::Change) };
    let rows = journal.calls(query).await.unwrap();
    *last = rows.last().map(|row| row.change).or(*last);
    lines(&rows)
}

async fn runs_come_latest_first_with_their_counts(journal: Shared) {
    record_two_runs(&*journal).await;
    open(&*journal, "empty").await;
    check_runs(
        &*journal,
        RunQuery::default(),
        expect![[r#"
        empty last None calls 0 failed 0 refused 0 intended 0 unknown 0
        a last Some(2010) calls 1 failed 1 refused 0 intended 0 unknown 0
        b last Some(2020) calls 4 failed 1 refused 0 intended 1 unknown 1
    "#]],
    )
    .await;
    let latest = RunQuery { limit: 1, ..RunQuery::default() };
    check_runs(
        &*journal,
        latest,
        expect![[r#"
        empty last None calls 0 failed 0 refused 0 intended 0 unknown 0
    "#]],
    )
    .await;
    let next = RunQuery { before: Some(run("empty").id), limit: 1, ..RunQuery::default() };
    check_runs(
        &*journal,
        next,
        expect![[r#"
        a last Some(2010) calls 1 failed 1 refused 0 intended 0 unknown 0
    "#]],
    )
    .await;
    let last = RunQuery { before: Some(run("b").id), ..RunQuery::default() };
    check_runs(&*journal, last, expect![""]).await;
    let one = RunQuery { run: Some(run("b").id), ..RunQuery::default() };
    check_runs(
        &*journal,
        one,
        expect![[r#"
        b last Some(2020) calls 4 failed 1 refused 0 intended 1 unknown 1
    "#]],
    )
    .await;
    let none = RunQuery { run: Some(run("c").id), ..RunQuery::default() };
    check_runs(&*journal, none, expect![""]).await;
}

async fn texts_come_back_as_they_went_in(journal: Shared) {
    open(&*journal, "r").await;
    let texts =
        ["", "ä\u{1F600}\u{202e}", "'; DROP TABLE calls; --", "\0\u{1}\n", &"x".repeat(1_000_000)];
    for (seq, text) in (1..).zip(texts) {
        let input = json!({ "content": text }).to_string();
        let planned = call_of(&scope("r"), seq, ("write", Effect::Once), &input);
        let intent = journal.intend(planned).await.unwrap();
        let ended = Outcome { envelope: output(json!(text)), ..outcome(Status::Succeeded) };
        journal.settle(intent, ended.clone()).await.unwrap();

        let query = CallQuery { seq: Some(seq), ..CallQuery::default() };
        let rows = journal.calls(query).await.unwrap();
        assert_eq!(rows[0].input, input);
        assert_eq!(rows[0].parsed_envelope().unwrap(), Some(ended.envelope));
    }
}

async fn an_answer_ends_at_the_bound_of_rows(journal: Shared) {
    open(&*journal, "r").await;
    for seq in 1..=QUERY_CALLS_MAX + 1 {
        record(&*journal, call(&scope("r"), seq, Effect::Read), Status::Succeeded).await;
    }
    for (limit, expected) in [(0, 0), (7, 7), (QUERY_CALLS_MAX, 10_000), (u32::MAX, 10_000)] {
        let query = CallQuery { limit, ..CallQuery::default() };
        assert_eq!(journal.calls(query).await.unwrap().len(), expected, "limit {limit}");
    }
    for number in 1..=QUERY_RUNS_MAX {
        open(&*journal, &format!("run-{number}")).await;
    }
    for (limit, expected) in [(0, 0), (7, 7), (u32::MAX, 1_000)] {
        let query = RunQuery { limit, ..RunQuery::default() };
        assert_eq!(journal.runs(query).await.unwrap().len(), expected, "limit {limit}");
    }
}

async fn an_answer_ends_at_the_bound_of_bytes(journal: Shared) {
    open(&*journal, "r").await;
    for seq in 1..=5 {
        let data = json!("x".repeat(QUERY_BYTES_MAX / 4));
        let intent = journal.intend(call(&scope("r"), seq, Effect::Read)).await.unwrap();
        let ended = Outcome { envelope: output(data), ..outcome(Status::Succeeded) };
        journal.settle(intent, ended).await.unwrap();
    }
    let mut last = None;
    expect!["4 then 1 then 0"].assert_eq(&format!(
        "{} then {} then {}",
        follow(&*journal, &mut last).await.lines().count(),
        follow(&*journal, &mut last).await.lines().count(),
        follow(&*journal, &mut last).await.lines().count(),
    ));
}

async fn a_hundred_tasks_get_their_own_answers(journal: Shared) {
    open(&*journal, "r").await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..100_u32 {
        let journal = Arc::clone(&journal);
        let scope = Scope { iteration: task, ..scope("r") };
        tasks.spawn(async move {
            for seq in 1..=10 {
                let effect = [Effect::Read, Effect::Idempotent, Effect::Once][(seq % 3) as usize];
                record(&*journal, call(&scope, seq, effect), Status::Succeeded).await;
                let taken = call(&scope, seq, Effect::Once);
                let result = journal.intend(taken.clone()).await;
                let is_mine =
                    matches!(&result, Err(JournalError::Conflict { call }) if *call == taken.id);
                assert!(is_mine, "{result:?}");
            }
            assert_eq!(journal.attempt(&scope).await.unwrap().last_seq, 10);
        });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap();
    }
    let rows = journal.calls(in_order(CallOrder::Change)).await.unwrap();
    assert_eq!(rows.len(), 1_000);
    assert!(rows.windows(2).all(|pair| pair[0].change < pair[1].change));
    assert!(rows.iter().all(|row| row.status == Status::Succeeded));
}

macro_rules! conformance {
    ($backend:ident, $open:expr) => {
        conformance!($backend, $open; [
            an_effect_is_recorded_in_two_steps,
            a_read_is_one_row_once_it_is_settled,
            a_refusal_is_a_row,
            what_is_never_settled_stays_intended,
            a_run_begins_once,
            a_taken_number_is_a_conflict,
            a_call_needs_its_run,
            only_an_open_intent_is_settled,
            a_call_ends_with_a_status_that_fits,
            what_is_settled_ahead_is_there_before_what_comes_later,
            an_attempt_tells_how_far_it_has_come,
            calls_come_in_the_order_asked_for,
            a_query_answers_what_fits_every_field,
            following_the_changes_misses_nothing,
            runs_come_latest_first_with_their_counts,
            texts_come_back_as_they_went_in,
            an_answer_ends_at_the_bound_of_rows,
            an_answer_ends_at_the_bound_of_bytes,
            a_hundred_tasks_get_their_own_answers,
            one_owner_at_a_time_has_a_run,
            an_owner_gets_its_lease_again,
            a_lease_is_held_for_longer_or_it_is_over,
            a_run_given_back_is_free_and_leaves_doubt,
            giving_up_an_owner_leaves_its_open_calls_in_doubt,
            a_holder_that_was_heard_of_is_not_given_up,
            under_an_epoch_that_is_over_nothing_changes,
            an_outcome_that_comes_too_late_is_kept,
            a_run_that_gets_no_further_is_given_to_nobody,
            getting_further_starts_the_count_anew,
            what_happened_is_found_out_later,
            only_a_call_in_doubt_is_settled_later,
            an_intent_says_what_is_about_to_change,
            an_attempt_is_told_in_short,
            a_call_is_found_by_its_drivers_name,
            a_repeated_call_counts_once,
            what_was_held_back_is_still_to_be_made,
            calls_are_unheard_of_until_they_are_executed_again,
            earlier_effects_are_those_that_may_have_happened,
            snapshots_belong_to_calls,
            old_runs_go_and_held_ones_stay,
            runs_with_calls_in_doubt_stay_where_they_are_to_be_kept,
            the_quietest_runs_go_until_the_rest_fits,
            a_long_run_goes_whole,
            a_run_that_is_made_again_has_new_epochs,
            a_sound_journal_has_no_findings,
            a_chat_is_kept_as_it_was_recorded,
            what_is_recorded_again_replaces_what_was_there,
            what_does_not_fit_leaves_nothing_behind,
            a_chat_says_what_became_of_one_that_it_began,
            under_an_epoch_that_is_over_nothing_is_said,
            what_is_rewound_is_set_aside,
            chats_are_found_by_what_is_asked_for,
            messages_are_asked_for_in_parts,
            an_answer_of_messages_is_bounded,
            what_is_recorded_of_a_chat_is_bounded,
            an_answer_ends_at_so_many_chats_and_messages,
            who_speaks_gets_further,
            who_dies_while_nothing_is_under_way_counts_for_nothing,
            a_chat_goes_with_its_run_and_with_those_that_it_began,
            calls_of_a_chat_are_rows_of_the_journal,
        ]);
    };
    ($backend:ident, $open:expr; [$($case:ident,)*]) => {
        mod $backend {
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let directory = tempfile::tempdir().unwrap();
                    let open: fn(&std::path::Path) -> Shared = $open;
                    super::$case(open(directory.path())).await;
                }
            )*
        }
    };
}

conformance!(memory, |_| Arc::new(MemoryJournal::new()));
conformance!(sqlite, |directory| Arc::new(
    SqliteJournal::open(directory.join("journal.db")).unwrap()
));
#[cfg(feature = "postgres")]
conformance!(postgres, |_| crate::postgres_server::journal());
