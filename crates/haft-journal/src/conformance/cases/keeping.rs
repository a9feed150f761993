//! Snapshots beside calls, the removal of old runs, and the check of a journal.

use crate::limits::PRUNE_CALLS_MAX;
use crate::{
    CallQuery, CallStatus, Journal, PlannedCall, PrunedRuns, Retention, RunQuery, SettledBy,
    Settlement, SettlementVerdict, SnapshotNote,
};
use expect_test::expect;
use haft_contract::{CallAddress, ContentDigest, Effect, RunId};

use super::{check_calls, check_error};
use crate::conformance::fixture::{
    brief_request, call, call_of, open, outcome, record, request, run, run_lines, scope,
};
use crate::conformance::{CaseResult, Shared};

fn note(run: &str, seq: u32, root: &str, after: &str) -> SnapshotNote {
    SnapshotNote {
        call: call(&scope(run), seq, Effect::Once).id,
        root: root.to_owned(),
        before: Some("b1".to_owned()),
        after: Some(after.to_owned()),
        note: None,
        taken_at_ms: 4_000,
        repositories: Vec::new(),
    }
}

pub async fn snapshots_belong_to_calls(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    open(&*journal, "s").await?;
    let missing = SnapshotNote {
        before: None,
        after: None,
        note: Some("too large".to_owned()),
        ..note("r", 1, "/b", "")
    };
    let notes = [
        note("r", 2, "/a", "a1"),
        missing,
        note("r", 1, "/a", "a2"),
        note("s", 1, "/a", "a3"),
        note("r", 2, "/a", "a4"),
    ];
    for note in &notes {
        journal.note_snapshot(note.clone()).await?;
    }
    let [_, missing, first, other, latest] = notes;
    let r = run("r").id;
    assert_eq!(
        journal.snapshots(&r, None).await?,
        [latest.clone(), missing.clone(), first.clone()]
    );
    assert_eq!(journal.snapshots(&r, Some(&first.call)).await?, [missing, first]);
    assert_eq!(journal.snapshots(&r, Some(&latest.call)).await?, [latest]);
    assert_eq!(journal.snapshots(&run("s").id, None).await?, [other]);
    assert_eq!(journal.snapshots(&run("t").id, None).await?, []);
    check_error(
        journal.note_snapshot(note("t", 1, "/a", "a1")).await,
        expect!["run t is not in the journal: open it before recording its calls"],
    );
    Ok(())
}

pub async fn contents_are_kept_until_they_are_removed(journal: Shared) -> CaseResult {
    let (lease, other) = (open(&*journal, "r").await?, open(&*journal, "s").await?);
    let text = "{\"content\":\"zwei\u{0}\u{1a} \u{10ffff}\"}\n".to_owned();
    let digest = journal.keep_content(&lease, text.clone()).await?;
    assert_eq!(digest, ContentDigest::of(&text));
    // The same text again is the same text.
    assert_eq!(journal.keep_content(&lease, text.clone()).await?, digest);
    let empty = journal.keep_content(&lease, String::new()).await?;
    journal.keep_content(&other, text.clone()).await?;
    assert_eq!(journal.content(&lease.run, &digest).await?.as_ref(), Some(&text));
    assert_eq!(journal.content(&lease.run, &empty).await?.as_deref(), Some(""));
    assert_eq!(journal.content(&run("t").id, &digest).await?, None);
    assert_eq!(journal.content(&lease.run, &ContentDigest::of("other")).await?, None);
    // More texts than one commit removes.
    for number in 0..=PRUNE_CALLS_MAX {
        journal.keep_content(&lease, number.to_string()).await?;
    }
    journal.remove_contents(&lease).await?;
    assert_eq!(journal.content(&lease.run, &digest).await?, None);
    assert_eq!(journal.content(&lease.run, &ContentDigest::of("7")).await?, None);
    assert_eq!(journal.content(&other.run, &digest).await?.as_ref(), Some(&text));
    // Removing again does nothing, and texts can be kept again.
    journal.remove_contents(&lease).await?;
    journal.keep_content(&lease, text.clone()).await?;
    assert_eq!(journal.content(&lease.run, &digest).await?.as_ref(), Some(&text));
    journal.close_run(lease.clone()).await?;
    check_error(
        journal.keep_content(&lease, "late".to_owned()).await.map(drop),
        expect![
            "run r was taken over while this process was not heard of (its fencing token 1 is over): nothing of the run was changed, and an outcome that came with it was kept as a late one; open the run again to go on"
        ],
    );
    assert_eq!(journal.content(&lease.run, &ContentDigest::of("late")).await?, None);
    Ok(())
}

pub async fn contents_go_with_their_run(journal: Shared) -> CaseResult {
    let mut digests = Vec::new();
    for id in ["old", "new"] {
        let lease = open(&*journal, id).await?;
        digests.push(journal.keep_content(&lease, format!("text of {id}")).await?);
        let intent = journal.intend(call(&scope(id), 1, Effect::Read)).await?;
        let finished_at_ms = if id == "old" { 5_000 } else { 9_000 };
        let ended = crate::Outcome { finished_at_ms, ..outcome(CallStatus::Succeeded) };
        journal.settle(intent, ended).await?;
        journal.close_run(lease).await?;
    }
    let retention = Retention { before_ms: Some(6_000), bytes_max: None, keeps_in_doubt: true };
    assert_eq!(journal.prune(retention).await?.runs, [run("old").id]);
    assert_eq!(journal.content(&run("old").id, &digests[0]).await?, None);
    let left = journal.content(&run("new").id, &digests[1]).await?;
    assert_eq!(left.as_deref(), Some("text of new"));
    Ok(())
}

/// Records a run of that many calls of which the last ends so late, and gives it back.
async fn finished_run(
    journal: &dyn Journal,
    id: &str,
    calls: u32,
    finished_at_ms: u64,
) -> CaseResult {
    let lease = open(journal, id).await?;
    for seq in 1..=calls {
        let intent = journal.intend(call(&scope(id), seq, Effect::Read)).await?;
        let ended = crate::Outcome { finished_at_ms, ..outcome(CallStatus::Succeeded) };
        journal.settle(intent, ended).await?;
    }
    journal.close_run(lease).await?;
    Ok(())
}

async fn runs_left(journal: &dyn Journal) -> CaseResult<String> {
    Ok(run_lines(&journal.runs(RunQuery::default()).await?))
}

/// Makes a run with one call in doubt, and returns the call.
async fn doubtful_run(
    journal: &dyn Journal,
    id: &str,
    finished_at_ms: u64,
) -> CaseResult<CallAddress> {
    let lease = open(journal, id).await?;
    let planned = PlannedCall {
        started_at_ms: finished_at_ms,
        ..call_of(&scope(id), 1, ("bash", Effect::Once), "{}")
    };
    let call = planned.id.clone();
    drop(journal.intend(planned).await?);
    journal.close_run(lease).await?;
    Ok(call)
}

pub async fn runs_with_calls_in_doubt_stay_where_they_are_to_be_kept(
    journal: Shared,
) -> CaseResult {
    let call = doubtful_run(&*journal, "oldest", 2_000).await?;
    finished_run(&*journal, "old", 1, 5_000).await?;
    doubtful_run(&*journal, "older", 6_000).await?;
    finished_run(&*journal, "new", 1, 9_000).await?;
    let check = async |before_ms, bytes_max, going: &[&str], kept: &[&str]| {
        let retention = Retention { before_ms, bytes_max, keeps_in_doubt: true };
        let due = journal.due_runs(retention).await?;
        let names = |runs: &[RunId]| runs.iter().map(|run| run.to_string()).collect::<Vec<_>>();
        assert_eq!((names(&due.runs), names(&due.kept_in_doubt)), {
            let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
            (words(going), words(kept))
        });
        CaseResult::Ok(due)
    };
    check(Some(2_500), None, &[], &["oldest"]).await?;
    // Another one goes for the room of one that stays.
    let all = Retention { before_ms: Some(u64::MAX), bytes_max: None, keeps_in_doubt: false };
    assert_eq!(journal.due_runs(all).await?.runs.len(), 4);
    check(None, Some(0), &["old", "new"], &["oldest", "older"]).await?;
    let due = check(Some(7_000), None, &["old"], &["oldest", "older"]).await?;
    let kept = Retention { before_ms: Some(7_000), bytes_max: None, keeps_in_doubt: true };
    let pruned = journal.prune(kept).await?;
    assert_eq!((pruned.runs, pruned.kept_in_doubt), (due.runs, due.kept_in_doubt));
    let settlement = Settlement {
        call,
        verdict: SettlementVerdict::Happened,
        by: SettledBy::Operator,
        envelope: outcome(CallStatus::Succeeded).envelope,
        settled_at_ms: 3_000,
    };
    journal.resolve(settlement).await?;
    check(Some(3_500), None, &["oldest"], &[]).await?;
    Ok(())
}

pub async fn old_runs_go_and_held_ones_stay(journal: Shared) -> CaseResult {
    finished_run(&*journal, "new", 1, 9_000).await?;
    finished_run(&*journal, "old", 2, 5_000).await?;
    finished_run(&*journal, "older", 1, 4_000).await?;
    open(&*journal, "held").await?;
    journal.open_run(run("dead"), brief_request("two")).await?;
    journal.note_snapshot(note("old", 1, "/a", "a1")).await?;
    let before = |before_ms| Retention {
        before_ms: Some(before_ms),
        bytes_max: None,
        keeps_in_doubt: false,
    };
    assert_eq!(journal.prune(Retention::default()).await?, PrunedRuns::default());
    assert_eq!(journal.prune(before(4_000)).await?, PrunedRuns::default());
    let due = journal.due_runs(before(9_000)).await?;
    assert_eq!(due.runs, [run("older").id, run("old").id]);
    let pruned = journal.prune(before(9_000)).await?;
    assert_eq!(
        pruned,
        PrunedRuns {
            runs: vec![run("older").id, run("old").id],
            calls: 3,
            kept_in_doubt: Vec::new()
        }
    );
    expect![[r#"
        dead last None calls 0 failed 0 refused 0 intended 0 unknown 0
        held last None calls 0 failed 0 refused 0 intended 0 unknown 0
        new last Some(2010) calls 1 failed 0 refused 0 intended 0 unknown 0
    "#]]
    .assert_eq(&runs_left(&*journal).await?);
    check_calls(
        &*journal,
        CallQuery::default(),
        expect![[r#"
        1 new/main/0/1/1 read succeeded
    "#]],
    )
    .await?;
    assert_eq!(journal.snapshots(&run("old").id, None).await?, []);
    assert_eq!(journal.attempt_state(&scope("old")).await?.last_seq, 0);
    assert_eq!(journal.verify().await?, []);
    Ok(())
}

pub async fn the_quietest_runs_go_until_the_rest_fits(journal: Shared) -> CaseResult {
    for (id, end) in [("b", 6_000), ("a", 5_000), ("c", 7_000)] {
        finished_run(&*journal, id, 4, end).await?;
    }
    open(&*journal, "held").await?;
    let rows = journal.calls(CallQuery::of_run(run("c").id)).await?;
    let texts = |row: &crate::CallRow| {
        row.input.len() + row.accesses.len() + row.envelope.as_ref().map_or(0, String::len)
    };
    let bytes_of_run = rows.iter().map(texts).sum::<usize>() as u64;
    let most = |bytes_max| Retention {
        bytes_max: Some(bytes_max),
        before_ms: None,
        keeps_in_doubt: false,
    };
    assert_eq!(journal.prune(most(bytes_of_run * 3)).await?, PrunedRuns::default());
    let pruned = journal.prune(most(bytes_of_run * 3 - 1)).await?;
    assert_eq!(pruned, PrunedRuns { runs: vec![run("a").id], calls: 4, kept_in_doubt: Vec::new() });
    let pruned = journal.prune(most(0)).await?;
    assert_eq!(
        pruned,
        PrunedRuns { runs: vec![run("b").id, run("c").id], calls: 8, kept_in_doubt: Vec::new() }
    );
    expect![[r#"
        held last None calls 0 failed 0 refused 0 intended 0 unknown 0
    "#]]
    .assert_eq(&runs_left(&*journal).await?);
    Ok(())
}

pub async fn a_long_run_goes_whole(journal: Shared) -> CaseResult {
    let calls = PRUNE_CALLS_MAX * 2 + 1;
    finished_run(&*journal, "long", calls, 3_000).await?;
    finished_run(&*journal, "exact", PRUNE_CALLS_MAX, 3_001).await?;
    let pruned = journal
        .prune(Retention { before_ms: Some(20_000), bytes_max: None, keeps_in_doubt: false })
        .await?;
    let runs = vec![run("exact").id, run("long").id];
    assert_eq!(
        pruned,
        PrunedRuns { runs, calls: u64::from(calls + PRUNE_CALLS_MAX), kept_in_doubt: Vec::new() }
    );
    assert_eq!(journal.calls(CallQuery::default()).await?, []);
    assert_eq!(journal.runs(RunQuery::default()).await?, []);
    Ok(())
}

pub async fn a_run_that_is_made_again_has_new_fencing_tokens(journal: Shared) -> CaseResult {
    finished_run(&*journal, "r", 1, 3_000).await?;
    let last = journal.open_run(run("r"), request("one")).await?;
    let open_still = crate::PlannedCall {
        fencing_token: last.fencing_token,
        ..call(&scope("r"), 2, Effect::Once)
    };
    let late = journal.intend(open_still).await?;
    journal.close_run(last.clone()).await?;
    let change = journal.calls(CallQuery::default()).await?.iter().map(|row| row.change).max();
    journal.prune(Retention { bytes_max: Some(0), before_ms: None, keeps_in_doubt: false }).await?;
    let again = journal.open_run(run("r"), request("two")).await?;
    assert!(again.fencing_token > last.fencing_token, "{again:?} follows {last:?}");
    assert!(journal.settle(late, outcome(CallStatus::Succeeded)).await.is_err());
    let planned = crate::PlannedCall {
        fencing_token: again.fencing_token,
        ..call(&scope("r"), 1, Effect::Once)
    };
    record(&*journal, planned, CallStatus::Succeeded).await?;
    let rows = journal.calls(CallQuery::default()).await?;
    assert_eq!(rows.len(), 1);
    assert!(Some(rows[0].change) > change, "a change number was given twice");
    Ok(())
}

pub async fn a_sound_journal_has_no_findings(journal: Shared) -> CaseResult {
    assert_eq!(journal.verify().await?, []);
    let lease = open(&*journal, "r").await?;
    for (seq, status) in (1..).zip([CallStatus::Succeeded, CallStatus::Failed, CallStatus::Unknown])
    {
        record(&*journal, call(&scope("r"), seq, Effect::Once), status).await?;
    }
    let amended = journal.intend(call(&scope("r"), 4, Effect::Once)).await?;
    journal.amend(&amended, "{}".to_owned()).await?;
    // The reads before this one were in flight when their process died.
    record(&*journal, call(&scope("r"), 9, Effect::Read), CallStatus::Succeeded).await?;
    assert_eq!(journal.verify().await?, []);
    journal.close_run(lease).await?;
    assert!(journal.settle(amended, outcome(CallStatus::Succeeded)).await.is_err());
    let settlement = Settlement {
        call: call(&scope("r"), 3, Effect::Once).id,
        verdict: SettlementVerdict::Retry,
        by: SettledBy::Operator,
        envelope: outcome(CallStatus::Unknown).envelope,
        settled_at_ms: 4_000,
    };
    journal.resolve(settlement).await?;
    assert_eq!(journal.verify().await?, []);
    Ok(())
}
