//! Facts that a resume and a retry need: the recorded calls, the calls in doubt, and what was found out about them
//! later.

use crate::{
    CallQuery, CallStatus, Journal, Outcome, PlannedCall, SettledBy, Settlement, SettlementVerdict,
    UnacknowledgedCall,
};
use expect_test::expect;
use haft_contract::{AttemptAddress, CallAddress, Effect, Envelope, EnvelopeMetadata, ErrorCode};

use super::{check_error, told};
use crate::conformance::fixture::{
    call, call_of, lines, open, outcome, record, request, run, scope,
};
use crate::conformance::{CaseResult, Shared};

fn settlement(seq: u32, verdict: SettlementVerdict, by: SettledBy) -> Settlement {
    Settlement {
        call: call(&scope("r"), seq, Effect::Once).id,
        verdict,
        by,
        envelope: outcome(verdict.status()).envelope,
        settled_at_ms: 4_000,
    }
}

pub async fn what_happened_is_found_out_later(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "r").await?;
    for seq in [1, 2, 3] {
        drop(journal.intend(call(&scope("r"), seq, Effect::Once)).await?);
    }
    record(&*journal, call(&scope("r"), 4, Effect::Once), CallStatus::Unknown).await?;
    journal.close_run(lease).await?;
    for (seq, verdict, by) in [
        (1, SettlementVerdict::Happened, SettledBy::Probe),
        (2, SettlementVerdict::NotHappened, SettledBy::Operator),
        (3, SettlementVerdict::Retry, SettledBy::Operator),
        (4, SettlementVerdict::Retry, SettledBy::Probe),
        (4, SettlementVerdict::Happened, SettledBy::Operator),
    ] {
        let said = settlement(seq, verdict, by);
        let row = journal.resolve(said.clone()).await?;
        assert_eq!(row.parsed_envelope()?, Some(said.envelope));
        assert_eq!(journal.calls(CallQuery::of_call(said.call)).await?, [row]);
    }
    let rows = journal.calls(CallQuery::default()).await?;
    let verdicts: Vec<String> = rows
        .iter()
        .map(|row| format!("{:?} {:?} {:?}", row.verdict, row.settled_by, row.finished_at_ms))
        .collect();
    expect![[r#"
        9 r/main/0/1/1 write succeeded
        10 r/main/0/1/2 write failed
        11 r/main/0/1/3 write unknown
        13 r/main/0/1/4 write succeeded
        Some(Happened) Some(Probe) Some(4000)
        Some(NotHappened) Some(Operator) Some(4000)
        Some(Retry) Some(Operator) Some(4000)
        Some(Happened) Some(Operator) Some(4000)"#]]
    .assert_eq(&(lines(&rows) + &verdicts.join("\n")));
    Ok(())
}

pub async fn only_a_call_in_doubt_is_settled_later(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "r").await?;
    let statuses = [CallStatus::Succeeded, CallStatus::Failed, CallStatus::Refused];
    for (seq, status) in (1..).zip(statuses) {
        record(&*journal, call(&scope("r"), seq, Effect::Once), status).await?;
    }
    drop(journal.intend(call(&scope("r"), 4, Effect::Once)).await?);
    drop(journal.intend(call(&scope("r"), 5, Effect::Once)).await?);
    let before = journal.calls(CallQuery::default()).await?;
    let mut answers = String::new();
    for seq in [1, 2, 3, 4, 6] {
        let result = journal
            .resolve(settlement(seq, SettlementVerdict::Happened, SettledBy::Operator))
            .await;
        answers += &(told(result) + "\n");
    }
    assert_eq!(journal.calls(CallQuery::default()).await?, before);
    journal.close_run(lease).await?;
    journal.resolve(settlement(5, SettlementVerdict::NotHappened, SettledBy::Probe)).await?;
    let result =
        journal.resolve(settlement(5, SettlementVerdict::Happened, SettledBy::Operator)).await;
    answers += &told(result);
    expect![[r#"
        call r/main/0/1/1 is not in doubt: it is recorded as succeeded, and only an unknown call can be settled
        call r/main/0/1/2 is not in doubt: it is recorded as failed, and only an unknown call can be settled
        call r/main/0/1/3 is not in doubt: it is recorded as refused, and only an unknown call can be settled
        call r/main/0/1/4 is not in doubt: it is recorded as intended, and only an unknown call can be settled
        call r/main/0/1/6 is not in the journal
        call r/main/0/1/5 is not in doubt: it is recorded as failed, and only an unknown call can be settled"#]].assert_eq(&answers);
    Ok(())
}

pub async fn an_intent_says_what_is_about_to_change(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let effect = journal.intend(call(&scope("r"), 1, Effect::Once)).await?;
    let read = journal.intend(call(&scope("r"), 2, Effect::Read)).await?;
    for details in [r#"{"before":null}"#, r#"{"before":"ä"}"#] {
        journal.amend(&effect, details.to_owned()).await?;
        let rows = journal.calls(CallQuery::default()).await?;
        assert_eq!((rows[0].details.as_deref(), rows[0].change), (Some(details), 1));
    }
    check_error(
        journal.amend(&read, "{}".to_owned()).await,
        expect![
            "call r/main/0/1/2 has no open intent in this journal: expected one that was intended here and not settled since; look at what the journal holds of it before going on"
        ],
    );
    journal.settle(effect, outcome(CallStatus::Succeeded)).await?;
    let rows = journal.calls(CallQuery::default()).await?;
    assert_eq!((rows[0].details.as_deref(), rows[0].change), (Some(r#"{"before":"ä"}"#), 2));

    let other = crate::MemoryJournal::new();
    open(&other, "r").await?;
    let closed = other.intend(call(&scope("r"), 1, Effect::Once)).await?;
    check_error(
        journal.amend(&closed, "{}".to_owned()).await,
        expect![
            "call r/main/0/1/1 has no open intent in this journal: expected one that was intended here and not settled since; look at what the journal holds of it before going on"
        ],
    );
    Ok(())
}

pub async fn an_attempt_is_told_in_short(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "r").await?;
    for seq in [7, 2] {
        drop(journal.intend(call(&scope("r"), seq, Effect::Once)).await?);
    }
    record(&*journal, call(&scope("r"), 3, Effect::Read), CallStatus::Failed).await?;
    let retry = AttemptAddress { attempt: 2, ..scope("r") };
    record(&*journal, call(&retry, 1, Effect::Read), CallStatus::Succeeded).await?;
    journal.close_run(lease).await?;
    journal.resolve(settlement(2, SettlementVerdict::Retry, SettledBy::Operator)).await?;
    let recorded = journal.recorded_calls(&scope("r")).await?;
    let key = |seq, effect| call(&scope("r"), seq, effect).call_key.to_string();
    assert!(
        recorded
            .iter()
            .zip([(2, Effect::Once), (3, Effect::Read), (7, Effect::Once)])
            .all(|(found, (seq, effect))| found.call_key == key(seq, effect)
                && found.effect == effect)
    );
    let text: Vec<String> = recorded
        .iter()
        .map(|call| format!("{} {} {:?}", call.seq, call.status, call.verdict))
        .collect();
    expect!["2 unknown Some(Retry); 3 failed None; 7 unknown None"].assert_eq(&text.join("; "));
    assert_eq!(journal.recorded_calls(&AttemptAddress { attempt: 3, ..scope("r") }).await?, []);
    Ok(())
}

pub async fn a_call_is_found_by_its_drivers_name(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let named = |scope: &AttemptAddress, seq, name: &str| PlannedCall {
        driver_call_id: Some(name.to_owned()),
        ..call(scope, seq, Effect::Once)
    };
    let retry = AttemptAddress { attempt: 2, ..scope("r") };
    for (scope, seq, name) in [
        (scope("r"), 1, "a"),
        (scope("r"), 3, "a"),
        (scope("r"), 2, "a"),
        (retry.clone(), 9, "a"),
        (scope("r"), 4, "ab"),
    ] {
        record(&*journal, named(&scope, seq, name), CallStatus::Succeeded).await?;
    }
    record(&*journal, call(&scope("r"), 5, Effect::Once), CallStatus::Succeeded).await?;
    let mut found = String::new();
    for (scope, name) in [
        (scope("r"), "a"),
        (scope("r"), "ab"),
        (retry.clone(), "a"),
        (retry, "ab"),
        (scope("s"), "a"),
    ] {
        let row = journal.by_driver_id(&scope, name).await?;
        found += &row.map_or("nothing".to_owned(), |row| row.id().to_string());
        found.push('\n');
    }
    expect![[r#"
        r/main/0/1/3
        r/main/0/1/4
        r/main/0/2/9
        nothing
        nothing
    "#]]
    .assert_eq(&found);
    Ok(())
}

pub async fn a_repeated_call_counts_once(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let same = |seq| call_of(&scope("r"), seq, ("write", Effect::Once), "{}");
    record(&*journal, same(1), CallStatus::Unknown).await?;
    // The same call again, as a resume executes it.
    record(&*journal, same(2), CallStatus::Succeeded).await?;
    let second = PlannedCall { call_key: same(3).first_key.with_repeat_index(1), ..same(3) };
    record(&*journal, second, CallStatus::Succeeded).await?;
    let state = journal.attempt_state(&scope("r")).await?;
    assert_eq!(state.last_seq, 3);
    let mut keys = [0, 1].map(|call| same(1).first_key.with_repeat_index(call).to_string());
    keys.sort_unstable();
    assert_eq!(state.calls, [(same(1).first_key.to_string(), keys.to_vec())].into());
    Ok(())
}

/// Refuses a call for now, as one that would repeat what is in doubt.
async fn hold_back(journal: &dyn Journal, call: PlannedCall) -> CaseResult {
    let metadata = EnvelopeMetadata { held_back: true, ..EnvelopeMetadata::default() };
    let error_text = "not executed yet".to_owned();
    let envelope = Envelope::Error { error_text, metadata };
    let refused = Outcome { envelope, ..outcome(CallStatus::Refused) };
    journal.refuse(call, refused).await?;
    Ok(())
}

pub async fn what_was_held_back_is_still_to_be_made(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let same = |seq| call_of(&scope("r"), seq, ("write", Effect::Once), "{}");
    // A text that looks like the mark is none.
    let metadata =
        EnvelopeMetadata { code: Some(ErrorCode::InDoubt), ..EnvelopeMetadata::default() };
    let error_text = r#"denied {"held_back":true}"#.to_owned();
    let refused = Outcome {
        envelope: Envelope::Error { error_text, metadata },
        ..outcome(CallStatus::Refused)
    };
    let denied = PlannedCall { call_key: same(1).first_key.with_repeat_index(7), ..same(1) };
    journal.refuse(denied, refused).await?;
    let state = journal.attempt_state(&scope("r")).await?;
    assert_eq!((state.was_held_back, state.last_seq), (false, 1));
    hold_back(&*journal, same(2)).await?;
    hold_back(&*journal, same(3)).await?;
    let state = journal.attempt_state(&scope("r")).await?;
    assert_eq!((state.was_held_back, state.last_seq), (true, 3));
    let first = same(1).first_key;
    assert_eq!(
        state.calls,
        [(first.to_string(), vec![first.with_repeat_index(7).to_string()])].into()
    );
    assert_eq!(state.unacknowledged, []);
    let seqs: Vec<_> =
        journal.recorded_calls(&scope("r")).await?.iter().map(|call| call.seq).collect();
    assert_eq!(seqs, [1]);
    Ok(())
}

pub async fn calls_are_unacknowledged_until_they_are_executed_again(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "r").await?;
    let same = |seq, occurrence| {
        let call = call_of(&scope("r"), seq, ("order", Effect::Once), "{}");
        PlannedCall { call_key: call.first_key.with_repeat_index(occurrence), ..call }
    };
    // Begun and never heard of, answered as unknown, answered, and a call that is safe to repeat.
    for seq in [1, 2] {
        drop(journal.intend(same(seq, seq)).await?);
    }
    record(&*journal, same(3, 3), CallStatus::Unknown).await?;
    record(&*journal, same(4, 4), CallStatus::Succeeded).await?;
    drop(journal.intend(call(&scope("r"), 5, Effect::Idempotent)).await?);
    let unheard = async || {
        let state = journal.attempt_state(&scope("r")).await?;
        let line = |call: &UnacknowledgedCall| {
            let key = same(call.seq, call.seq).call_key.to_string();
            assert_eq!(
                (&call.call_key, &call.first_key),
                (&key, &same(1, 0).first_key.to_string())
            );
            call.seq.to_string()
        };
        CaseResult::Ok(state.unacknowledged.iter().map(line).collect::<Vec<_>>().join(" "))
    };
    // An open call belongs to its owner.
    assert_eq!(unheard().await?, "");
    journal.close_run(lease).await?;
    assert_eq!(unheard().await?, "1 2");
    for (seq, verdict) in [(1, SettlementVerdict::Happened), (3, SettlementVerdict::Retry)] {
        journal.resolve(settlement(seq, verdict, SettledBy::Operator)).await?;
    }
    assert_eq!(unheard().await?, "1 2 3");
    let fencing_token = journal.open_run(run("r"), request("one")).await?.fencing_token;
    // Held back, it was not executed again.
    hold_back(&*journal, PlannedCall { fencing_token, ..same(6, 1) }).await?;
    assert_eq!(unheard().await?, "1 2 3");
    record(&*journal, PlannedCall { fencing_token, ..same(7, 2) }, CallStatus::Succeeded).await?;
    assert_eq!(unheard().await?, "1 3");
    journal.acknowledge(same(1, 1).id).await?;
    assert_eq!(unheard().await?, "3");
    check_error(
        journal.acknowledge(same(99, 0).id).await,
        expect!["call r/main/0/1/99 is not in the journal"],
    );
    Ok(())
}

pub async fn earlier_effects_are_those_that_may_have_happened(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let attempt = |attempt| AttemptAddress { attempt, ..scope("r") };
    let elsewhere = AttemptAddress { node: "other".to_owned(), ..scope("r") };
    let later = AttemptAddress { iteration: 1, ..scope("r") };
    for scope in [attempt(2), attempt(1), attempt(3), elsewhere, later] {
        record(&*journal, call(&scope, 1, Effect::Once), CallStatus::Succeeded).await?;
        record(&*journal, call(&scope, 2, Effect::Read), CallStatus::Succeeded).await?;
        record(&*journal, call(&scope, 3, Effect::Idempotent), CallStatus::Unknown).await?;
        record(&*journal, call_of(&scope, 4, ("bash", Effect::Once), "{}"), CallStatus::Unknown)
            .await?;
        journal.refuse(call(&scope, 5, Effect::Once), outcome(CallStatus::Refused)).await?;
        drop(journal.intend(call(&scope, 6, Effect::Once)).await?);
    }
    // A call that is known not to have happened needs no warning. Its input is cut.
    let long = format!(r#"{{"text":"{}"}}"#, "ä".repeat(300));
    record(&*journal, call_of(&attempt(2), 7, ("bash", Effect::Once), &long), CallStatus::Unknown)
        .await?;
    let in_doubt = CallAddress { scope: attempt(2), seq: 4 };
    let not_happened = settlement(4, SettlementVerdict::NotHappened, SettledBy::Operator);
    journal.resolve(Settlement { call: in_doubt, ..not_happened }).await?;
    let before = journal.earlier_effects(&attempt(3), 9).await?;
    let last = before.first.last().map(|effect| effect.input.clone());
    assert_eq!(last, Some(long.chars().take(200).collect()));
    let mut text = String::new();
    for (number, calls_max) in [(1, 9), (2, 9), (3, 4), (4, 0)] {
        let found = journal.earlier_effects(&attempt(number), calls_max).await?;
        text += &format!("before {number}: {} of {:?}\n", found.total, found.tools);
        for effect in found.first {
            text += &format!(
                "  {} {}/{} {} {:?}\n",
                effect.tool, effect.attempt, effect.seq, effect.status, effect.verdict
            );
        }
    }
    expect![[r#"
        before 1: 0 of []
        before 2: 3 of ["bash", "write"]
          write 1/1 succeeded None
          bash 1/4 unknown None
          write 1/6 intended None
        before 3: 6 of ["bash", "write"]
          write 1/1 succeeded None
          bash 1/4 unknown None
          write 1/6 intended None
          write 2/1 succeeded None
        before 4: 9 of ["bash", "write"]
    "#]]
    .assert_eq(&text);
    Ok(())
}
