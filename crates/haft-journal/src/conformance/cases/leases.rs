//! Who may advance a run, and what becomes of calls whose owner may not any more. Time runs out here only for those who
//! asked for none, so that it does not matter whose clock a backend goes by.

use crate::limits::RESUMES_MAX;
use crate::{
    CallQuery, CallStatus, Journal, JournalError, Lease, LeaseHolder, PlannedCall, RunQuery,
    SettledBy, Settlement, SettlementVerdict,
};
use expect_test::expect;
use haft_contract::Effect;

use super::{check_calls, check_error, told};
use crate::conformance::fixture::{
    brief_request, call, open, outcome, record, request, run, scope,
};
use crate::conformance::{CaseResult, Shared};

/// Returns who holds which run, without the times, which are the backend's.
async fn holders(journal: &dyn Journal) -> CaseResult<String> {
    let text = |holder: LeaseHolder| {
        assert!(holder.expires_at_ms >= holder.since_ms);
        format!("{} {} {}\n", holder.run, holder.fencing_token, holder.owner.id)
    };
    Ok(journal.lease_holders().await?.into_iter().map(text).collect())
}

/// Takes a run whose owner's time is over, as one who dies after that.
async fn take_over(journal: &dyn Journal, owner: &str) -> CaseResult<Lease> {
    Ok(journal.open_run(run("r"), brief_request(owner)).await?)
}

fn under(lease: &Lease, call: PlannedCall) -> PlannedCall {
    PlannedCall { fencing_token: lease.fencing_token, ..call }
}

pub async fn one_owner_at_a_time_has_a_run(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let refusal = told(journal.open_run(run("r"), request("two")).await);
    let (who, when) = refusal.split_once(" until ").unwrap_or_default();
    expect!["run r is held by process one"].assert_eq(who);
    assert!(
        when.ends_with(
            " at least: wait for it, end that process, or work in a run of another name"
        ),
        "{when}"
    );
    open(&*journal, "s").await?;
    expect![[r#"
        r 1 one
        s 1 one
    "#]]
    .assert_eq(&holders(&*journal).await?);
    let rows = journal.runs(RunQuery::default()).await?;
    assert_eq!(rows[0].holder.as_ref(), journal.lease_holders().await?.get(1));
    Ok(())
}

pub async fn an_owner_gets_its_lease_again(journal: Shared) -> CaseResult {
    let lease = journal.open_run(run("r"), brief_request("one")).await?;
    let intent = journal.intend(call(&scope("r"), 1, Effect::Once)).await?;
    assert_eq!(open(&*journal, "r").await?, lease);
    journal.settle(intent, outcome(CallStatus::Succeeded)).await?;
    let refusal = journal.open_run(run("r"), request("two")).await;
    assert!(matches!(refusal, Err(crate::JournalError::LeaseHeld { .. })), "{refusal:?}");
    Ok(())
}

pub async fn a_lease_is_held_for_longer_or_it_is_over(journal: Shared) -> CaseResult {
    let lease = journal.open_run(run("r"), brief_request("one")).await?;
    journal.renew_lease(lease.clone(), request("one")).await?;
    let refusal = journal.open_run(run("r"), request("two")).await;
    assert!(matches!(refusal, Err(crate::JournalError::LeaseHeld { .. })), "{refusal:?}");
    journal.renew_lease(lease.clone(), brief_request("one")).await?;
    // No other owner took the run meanwhile, so the lease can still be renewed.
    journal.renew_lease(lease.clone(), brief_request("one")).await?;
    let next = journal.open_run(run("r"), request("two")).await?;
    assert!(next.fencing_token > lease.fencing_token);
    let late = || {
        expect![
            "run r was taken over while this process was not heard of (its fencing token 1 is over; process two has it now): nothing of the run was changed, and an outcome that came with it was kept as a late one; open the run again to go on"
        ]
    };
    check_error(journal.renew_lease(lease.clone(), request("one")).await, late());
    check_error(journal.close_run(lease).await, late());
    let elsewhere = Lease { run: run("s").id, ..next };
    check_error(
        journal.close_run(elsewhere).await,
        expect!["run s is not in the journal: open it before recording its calls"],
    );
    Ok(())
}

pub async fn a_run_given_back_is_free_and_leaves_doubt(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "r").await?;
    record(&*journal, call(&scope("r"), 1, Effect::Once), CallStatus::Succeeded).await?;
    drop(journal.intend(call(&scope("r"), 2, Effect::Idempotent)).await?);
    let read = journal.intend(call(&scope("r"), 3, Effect::Read)).await?;
    journal.close_run(lease.clone()).await?;
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        2 r/main/0/1/1 write succeeded
        4 r/main/0/1/2 todo unknown
    "#]],
    )
    .await?;
    let rows = journal.calls(CallQuery::default()).await?;
    assert_eq!((&rows[1].envelope, rows[1].finished_at_ms), (&None, None));
    expect![""].assert_eq(&holders(&*journal).await?);
    check_error(
        journal.settle(read, outcome(CallStatus::Succeeded)).await,
        expect![
            "run r was taken over while this process was not heard of (its fencing token 1 is over): nothing of the run was changed, and an outcome that came with it was kept as a late one; open the run again to go on"
        ],
    );
    let next = journal.open_run(run("r"), request("one")).await?;
    assert!(next.fencing_token > lease.fencing_token);
    Ok(())
}

pub async fn a_lease_that_is_closed_can_be_closed_again(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "r").await?;
    drop(journal.intend(call(&scope("r"), 1, Effect::Once)).await?);
    journal.close_run(lease.clone()).await?;
    let closed = journal.calls(CallQuery::default()).await?;
    journal.close_run(lease.clone()).await?;
    assert_eq!(journal.calls(CallQuery::default()).await?, closed);
    // The next lease is not that lease, whether it is open or closed.
    let next = journal.open_run(run("r"), request("two")).await?;
    let refused = journal.close_run(lease.clone()).await;
    assert!(matches!(refused, Err(crate::JournalError::Fenced { .. })), "{refused:?}");
    expect![[r#"
        r 2 two
    "#]]
    .assert_eq(&holders(&*journal).await?);
    journal.close_run(next).await?;
    let refused = journal.close_run(lease).await;
    assert!(matches!(refused, Err(crate::JournalError::Fenced { .. })), "{refused:?}");
    Ok(())
}

pub async fn giving_up_an_owner_leaves_its_open_calls_in_doubt(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    open(&*journal, "s").await?;
    for seq in [3, 1] {
        drop(journal.intend(call(&scope("r"), seq, Effect::Once)).await?);
    }
    record(&*journal, call(&scope("r"), 2, Effect::Read), CallStatus::Failed).await?;
    drop(journal.intend(call(&scope("s"), 1, Effect::Once)).await?);
    let holder = journal.lease_holders().await?.remove(0);
    let given_up = journal.abandon_run(holder.clone()).await?;
    expect!["r/main/0/1/1 r/main/0/1/3"]
        .assert_eq(&given_up.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        5 r/main/0/1/1 write unknown
        3 r/main/0/1/2 read failed
        6 r/main/0/1/3 write unknown
        4 s/main/0/1/1 write intended
    "#]],
    )
    .await?;
    assert_eq!(journal.abandon_run(holder).await?, []);
    expect![[r#"
        s 1 one
    "#]]
    .assert_eq(&holders(&*journal).await?);
    Ok(())
}

pub async fn a_holder_that_was_heard_of_is_not_given_up(journal: Shared) -> CaseResult {
    let lease = journal.open_run(run("r"), brief_request("one")).await?;
    drop(journal.intend(call(&scope("r"), 1, Effect::Once)).await?);
    let holder = journal.lease_holders().await?.remove(0);
    journal.renew_lease(lease, request("one")).await?;
    assert_eq!(journal.abandon_run(holder.clone()).await?, []);
    let other = LeaseHolder { fencing_token: holder.fencing_token + 1, ..holder };
    assert_eq!(journal.abandon_run(other).await?, []);
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        1 r/main/0/1/1 write intended
    "#]],
    )
    .await?;
    Ok(())
}

pub async fn under_a_lease_that_is_over_nothing_changes(journal: Shared) -> CaseResult {
    take_over(&*journal, "one").await?;
    let intent = journal.intend(call(&scope("r"), 1, Effect::Once)).await?;
    let next = journal.open_run(run("r"), request("two")).await?;
    let results = [
        told(journal.intend(call(&scope("r"), 2, Effect::Once)).await),
        told(journal.amend(&intent, "{}".to_owned()).await),
        told(
            journal.refuse(call(&scope("r"), 3, Effect::Once), outcome(CallStatus::Refused)).await,
        ),
        told(journal.settle(intent, outcome(CallStatus::Succeeded)).await),
    ];
    for result in results {
        assert!(result.starts_with("run r was taken over"), "{result}");
    }
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        2 r/main/0/1/1 write unknown
    "#]],
    )
    .await?;
    record(&*journal, under(&next, call(&scope("r"), 2, Effect::Once)), CallStatus::Succeeded)
        .await?;
    let not_yet =
        PlannedCall { fencing_token: next.fencing_token + 1, ..call(&scope("r"), 3, Effect::Once) };
    assert!(told(journal.intend(not_yet).await).starts_with("run r was taken over"));
    Ok(())
}

pub async fn an_outcome_that_comes_too_late_is_kept(journal: Shared) -> CaseResult {
    take_over(&*journal, "one").await?;
    let effect = journal.intend(call(&scope("r"), 1, Effect::Once)).await?;
    let read = journal.intend(call(&scope("r"), 2, Effect::Read)).await?;
    let next = journal.open_run(run("r"), request("two")).await?;
    // The new owner uses the very number that the read had.
    record(&*journal, under(&next, call(&scope("r"), 2, Effect::Once)), CallStatus::Failed).await?;
    let before = journal.calls(CallQuery::default()).await?;
    assert!(journal.settle(effect, outcome(CallStatus::Succeeded)).await.is_err());
    assert!(journal.settle(read, outcome(CallStatus::Failed)).await.is_err());
    let refused = call(&scope("r"), 3, Effect::Once);
    assert!(journal.refuse(refused, outcome(CallStatus::Refused)).await.is_err());
    assert_eq!(journal.calls(CallQuery::default()).await?, before);
    let late = journal.late_outcomes(&run("r").id).await?;
    expect![[r#"
        [
          {
            "call": {
              "scope": {
                "run": "r",
                "node": "main",
                "iteration": 0,
                "attempt": 1
              },
              "seq": 1
            },
            "tool": "write",
            "epoch": 1,
            "status": "succeeded",
            "envelope": {"type":"output","data":"ok","metadata":{"duration_ms":3}},
            "finished_at_ms": 3000
          },
          {
            "call": {
              "scope": {
                "run": "r",
                "node": "main",
                "iteration": 0,
                "attempt": 1
              },
              "seq": 2
            },
            "tool": "read",
            "epoch": 1,
            "status": "failed",
            "envelope": {"type":"error","error_text":"there is no file \"a\"","metadata":{"duration_ms":0,"code":"TOOL_PATH_INVALID"}},
            "finished_at_ms": 3000
          },
          {
            "call": {
              "scope": {
                "run": "r",
                "node": "main",
                "iteration": 0,
                "attempt": 1
              },
              "seq": 3
            },
            "tool": "write",
            "epoch": 1,
            "status": "refused",
            "envelope": {"type":"error","error_text":"rule 3 denies it","metadata":{"duration_ms":0,"code":"PERMISSION_DENIED"}},
            "finished_at_ms": 3000
          }
        ]"#]].assert_eq(&serde_json::to_string_pretty(&late)?);
    assert_eq!(journal.late_outcomes(&run("s").id).await?, []);
    Ok(())
}

pub async fn a_run_that_gets_no_further_is_given_to_nobody(journal: Shared) -> CaseResult {
    for life in 0..RESUMES_MAX {
        let lease = take_over(&*journal, &format!("life-{life}")).await?;
        let fatal = under(&lease, call(&scope("r"), life + 1, Effect::Once));
        drop(journal.intend(fatal).await?);
        // A probe finds out the same each time.
        if life > 0 {
            settle(&*journal, life, SettledBy::Probe).await?;
        }
    }
    let stuck = || {
        expect![
            "run r was resumed 10 times and got no further each time, so it is not resumed again: look at what happens at call r/main/0/1/10 and settle that call, or have it resumed all the same"
        ]
    };
    check_error(journal.open_run(run("r"), request("last")).await, stuck());
    check_error(journal.open_run(run("r"), request("last")).await, stuck());
    expect![""].assert_eq(&holders(&*journal).await?);
    settle(&*journal, RESUMES_MAX, SettledBy::Operator).await?;
    journal.open_run(run("r"), request("last")).await?;
    Ok(())
}

pub async fn getting_further_starts_the_count_anew(journal: Shared) -> CaseResult {
    for life in 0..RESUMES_MAX * 2 {
        let lease = take_over(&*journal, &format!("life-{life}")).await?;
        if life % 3 == 0 {
            let step = under(&lease, call(&scope("r"), life + 1, Effect::Read));
            record(&*journal, step, CallStatus::Succeeded).await?;
        }
    }
    for life in 0..RESUMES_MAX * 2 {
        let lease = journal.open_run(run("s"), brief_request(&format!("life-{life}"))).await?;
        // One that says goodbye did not die.
        journal.close_run(lease).await?;
    }
    for life in 0..RESUMES_MAX {
        journal.open_run(run("empty"), brief_request(&format!("life-{life}"))).await?;
    }
    check_error(
        journal.open_run(run("empty"), request("last")).await,
        expect![
            "run empty was resumed 10 times and got no further each time, so it is not resumed again: look at what happens after the last of its calls, or have it resumed all the same"
        ],
    );
    // A person wants it resumed in spite of that, and then the count begins anew.
    journal.count_progress(&run("empty").id).await?;
    for life in 1..RESUMES_MAX {
        journal.open_run(run("empty"), brief_request(&format!("again-{life}"))).await?;
    }
    let unknown = journal.count_progress(&run("unknown").id).await;
    assert!(matches!(unknown, Err(JournalError::UnknownRun { .. })), "{unknown:?}");
    Ok(())
}

/// A driver that starts over receives recorded answers, and so gets further although nothing is recorded.
pub async fn a_recalled_call_is_progress(journal: Shared) -> CaseResult {
    let lease = take_over(&*journal, "first").await?;
    let step = under(&lease, call(&scope("r"), 1, Effect::Read));
    record(&*journal, step, CallStatus::Succeeded).await?;
    for life in 0..RESUMES_MAX * 2 {
        let lease = take_over(&*journal, &format!("life-{life}")).await?;
        journal.count_progress(&lease.run).await?;
    }
    Ok(())
}

async fn settle(journal: &dyn Journal, seq: u32, by: SettledBy) -> CaseResult {
    let settlement = Settlement {
        call: call(&scope("r"), seq, Effect::Once).id,
        verdict: SettlementVerdict::NotHappened,
        by,
        envelope: outcome(CallStatus::Failed).envelope,
        settled_at_ms: 4_000,
    };
    journal.resolve(settlement).await?;
    Ok(())
}
