//! Asks: the first valid answer wins, and what is shown goes with the end of the ask.

use expect_test::expect;
use haft_contract::{ContentDigest, Effect};

use super::told;
use crate::conformance::fixture::{call, open, record, request, run, scope};
use crate::conformance::{CaseResult, Shared};
use crate::{
    AskEnd, AskQuery, AskRow, AskState, AskVerdict, CallStatus, JournalError, NewAsk, NewAskAnswer,
    Retention,
};

const SHOWN: &str = r#"{"ask":"ask_1","content":"zwei"}"#;

fn ask(id: &str, run: &str) -> NewAsk {
    NewAsk {
        id: id.to_owned(),
        call: call(&scope(run), 1, Effect::Once).id,
        fencing_token: 1,
        tool: "write".to_owned(),
        front_end: "mcp".to_owned(),
        summary: r#"{"accesses":["write a"]}"#.to_owned(),
        shown: SHOWN.to_owned(),
        now_ms: 2_000,
        lasts_ms: None,
    }
}

fn answer(id: &str, verdict: AskVerdict) -> NewAskAnswer {
    NewAskAnswer {
        ask: id.to_owned(),
        verdict,
        by: "ada".to_owned(),
        through: "cli".to_owned(),
        shown_sha256: ContentDigest::of(SHOWN).sha256,
        words: Some("only this once".to_owned()),
        edited_input: None,
        now_ms: 3_000,
    }
}

async fn found(journal: &Shared, id: &str) -> CaseResult<AskRow> {
    Ok(journal.asks(AskQuery::of_id(id)).await?.remove(0))
}

async fn states(journal: &Shared, query: AskQuery) -> CaseResult<Vec<(String, AskState)>> {
    Ok(journal.asks(query).await?.into_iter().map(|ask| (ask.id, ask.state)).collect())
}

pub async fn an_ask_is_there_until_it_is_answered(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    let asked = journal.open_ask(ask("ask_1", "r")).await?;
    assert_eq!(
        (asked.state, asked.asker.as_str(), asked.agents.len()),
        (AskState::Pending, "process one", 0)
    );
    assert_eq!(asked.shown, ContentDigest::of(SHOWN));
    assert_eq!(journal.asks(AskQuery::pending()).await?, std::slice::from_ref(&asked));
    assert_eq!(journal.shown_of_ask(&asked).await?.as_deref(), Some(SHOWN));
    // A call that is asked about has no row yet, and the run goes on beside it.
    record(&*journal, call(&scope("r"), 2, Effect::Once), CallStatus::Succeeded).await?;
    let answered = journal.answer_ask(answer("ask_1", AskVerdict::Once)).await?;
    assert_eq!(answered.state, AskState::Answered);
    assert_eq!(journal.asks(AskQuery::pending()).await?, []);
    assert_eq!(journal.shown_of_ask(&asked).await?, None);
    let won = answered.answer.clone().ok_or(JournalError::UnknownAsk { ask: asked.id })?;
    assert_eq!(
        (won.verdict, won.by.as_str(), won.through.as_str(), won.words.as_deref()),
        (AskVerdict::Once, "ada", "cli", Some("only this once"))
    );
    assert_eq!((won.shown_sha256, won.received_at_ms), (answered.shown.sha256.clone(), None));
    let (received, input) = journal.receive_answer("ask_1", 4_000).await?;
    assert_eq!(input, None);
    assert!(received.answer.is_some_and(|answer| answer.received_at_ms.is_some()));
    assert_eq!(journal.verify().await?, []);
    Ok(())
}

pub async fn the_first_valid_answer_wins(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    journal.open_ask(ask("ask_1", "r")).await?;
    // An answer about something else is none.
    let other = NewAskAnswer {
        shown_sha256: ContentDigest::of("other").sha256,
        ..answer("ask_1", AskVerdict::Once)
    };
    expect![[r#"ask ask_1 shows something else than this answer is about: look at it again, and then answer"#]]
        .assert_eq(&told(journal.answer_ask(other).await.map(drop)));
    expect!["ask ask_2 is not in the journal"]
        .assert_eq(&told(journal.answer_ask(answer("ask_2", AskVerdict::Once)).await.map(drop)));
    // Of many answers at once, one wins, and all others learn which one.
    let mut answering = tokio::task::JoinSet::new();
    for number in 0..20 {
        let journal = journal.clone();
        let verdict = if number % 2 == 0 { AskVerdict::Once } else { AskVerdict::Reject };
        let mine = NewAskAnswer { by: format!("person {number}"), ..answer("ask_1", verdict) };
        answering.spawn(async move { (mine.by.clone(), journal.answer_ask(mine).await) });
    }
    let (mut winners, mut told_of) = (Vec::new(), Vec::new());
    while let Some(Ok((by, result))) = answering.join_next().await {
        match result {
            Ok(_) => winners.push(by),
            Err(JournalError::AskEnded { ask }) => {
                told_of.extend(ask.answer.map(|answer| answer.by));
            }
            Err(err) => return Err(err.into()),
        }
    }
    assert_eq!((winners.len(), told_of.len()), (1, 19));
    assert!(told_of.iter().all(|by| *by == winners[0]), "{told_of:?}");
    assert_eq!(found(&journal, "ask_1").await?.answer.map(|it| it.by).as_ref(), winners.first());
    // The name stays taken.
    expect!["ask ask_1 cannot be recorded in session r, and nothing that came with it was: expected a name that no other ask has"]
        .assert_eq(&told(journal.open_ask(ask("ask_1", "r")).await.map(drop)));
    Ok(())
}

pub async fn an_edited_input_reaches_the_process_that_asked_once(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    journal.open_ask(ask("ask_1", "r")).await?;
    let without = journal.answer_ask(answer("ask_1", AskVerdict::Edited)).await;
    assert!(matches!(without, Err(JournalError::UnfitRecord { .. })), "{without:?}");
    let edited = NewAskAnswer {
        edited_input: Some(r#"{"path":"b","content":"drei"}"#.to_owned()),
        ..answer("ask_1", AskVerdict::Edited)
    };
    let answered = journal.answer_ask(edited).await?;
    let digest = answered.answer.and_then(|answer| answer.edited);
    let digest = digest.ok_or(JournalError::UnknownAsk { ask: "ask_1".to_owned() })?;
    assert!(journal.content(&run("r").id, &digest).await?.is_some());
    let (_, input) = journal.receive_answer("ask_1", 4_000).await?;
    assert_eq!(input.as_deref(), Some(r#"{"path":"b","content":"drei"}"#));
    assert_eq!(journal.content(&run("r").id, &digest).await?, None);
    assert_eq!(journal.receive_answer("ask_1", 5_000).await?.1, None);
    // The answers to questions take the same way.
    journal.open_ask(ask("ask_2", "r")).await?;
    let answers = NewAskAnswer {
        edited_input: Some(r#"[["yes"]]"#.to_owned()),
        ..answer("ask_2", AskVerdict::Once)
    };
    let answered = journal.answer_ask(answers).await?;
    assert!(answered.answer.is_some_and(|answer| answer.edited.is_some()));
    assert_eq!(journal.receive_answer("ask_2", 6_000).await?.1.as_deref(), Some(r#"[["yes"]]"#));
    Ok(())
}

pub async fn an_ask_ends_at_its_deadline(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    journal.open_ask(NewAsk { lasts_ms: Some(0), ..ask("ask_1", "r") }).await?;
    let late = journal.answer_ask(answer("ask_1", AskVerdict::Once)).await;
    expect!["ask ask_1 cannot be answered any more: its time is over, so its call was denied"]
        .assert_eq(&told(late.map(drop)));
    assert_eq!(found(&journal, "ask_1").await?.state, AskState::Expired);
    journal.open_ask(NewAsk { lasts_ms: Some(600_000), ..ask("ask_2", "r") }).await?;
    let ended = journal.end_ask("ask_2", AskEnd::Expired, 4_000).await?;
    assert_eq!((ended.state, ended.ended_at_ms.is_some()), (AskState::Expired, true));
    assert_eq!(journal.shown_of_ask(&ended).await?, None);
    // It has ended, and stays so.
    assert_eq!(journal.end_ask("ask_2", AskEnd::Withdrawn, 5_000).await?, ended);
    Ok(())
}

pub async fn asks_end_with_the_lease_of_their_call(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "r").await?;
    let other = open(&*journal, "s").await?;
    for (id, run) in [("ask_1", "r"), ("ask_2", "r"), ("ask_3", "s")] {
        journal.open_ask(NewAsk { shown: format!("{{\"of\":\"{id}\"}}"), ..ask(id, run) }).await?;
    }
    let edited = NewAskAnswer {
        shown_sha256: ContentDigest::of("{\"of\":\"ask_2\"}").sha256,
        edited_input: Some("{}".to_owned()),
        ..answer("ask_2", AskVerdict::Edited)
    };
    let edited = journal.answer_ask(edited).await?.answer.and_then(|answer| answer.edited);
    let edited = edited.ok_or(JournalError::UnknownAsk { ask: "ask_2".to_owned() })?;
    // The process dies, and another one takes the run.
    let holders = journal.lease_holders().await?.into_iter();
    for holder in holders.filter(|holder| holder.run == lease.run) {
        journal.abandon_run(holder).await?;
    }
    let expected = [("ask_1", AskState::Withdrawn), ("ask_2", AskState::Answered)];
    let expected = expected.map(|(id, state)| (id.to_owned(), state));
    let of_run = AskQuery { run: Some(lease.run.clone()), ..AskQuery::default() };
    assert_eq!(states(&journal, of_run).await?, expected);
    assert_eq!(journal.content(&lease.run, &edited).await?, None);
    assert_eq!(journal.shown_of_ask(&found(&journal, "ask_1").await?).await?, None);
    expect!["ask ask_1 cannot be answered any more: its call was cancelled, or the process of its call ended"]
        .assert_eq(&told(journal.answer_ask(answer("ask_1", AskVerdict::Once)).await.map(drop)));
    // The answer was given, and the process that came too late does not get it.
    journal.open_run(run("r"), request("two")).await?;
    assert!(matches!(
        journal.receive_answer("ask_2", 5_000).await,
        Err(JournalError::Fenced { .. })
    ));
    assert!(matches!(journal.open_ask(ask("ask_4", "r")).await, Err(JournalError::Fenced { .. })));
    assert_eq!(found(&journal, "ask_3").await?.state, AskState::Pending);
    journal.close_run(other).await?;
    assert_eq!(found(&journal, "ask_3").await?.state, AskState::Withdrawn);
    assert_eq!(journal.verify().await?, []);
    Ok(())
}

pub async fn asks_are_listed_in_order_and_go_with_their_run(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "r").await?;
    for id in ["ask_b", "ask_a", "ask_c"] {
        journal.open_ask(NewAsk { shown: format!("{{\"of\":\"{id}\"}}"), ..ask(id, "r") }).await?;
        // A store that several machines share has a clock of milliseconds.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let ids = |asks: Vec<(String, AskState)>| -> String {
        asks.into_iter().map(|(id, _)| id).collect::<Vec<_>>().join(" ")
    };
    let oldest = AskQuery { limit: 2, ..AskQuery::pending() };
    let all = ids(states(&journal, AskQuery::default()).await?);
    // All of the same moment come in the order of their names.
    assert!(["ask_b ask_a ask_c", "ask_a ask_b ask_c"].contains(&all.as_str()), "{all}");
    assert!(all.starts_with(&ids(states(&journal, oldest).await?)));
    let latest = AskQuery { latest_first: true, limit: 1, ..AskQuery::default() };
    assert_eq!(ids(states(&journal, latest).await?), "ask_c");
    journal.close_run(lease).await?;
    let retention =
        Retention { before_ms: Some(u64::MAX / 2), bytes_max: None, keeps_in_doubt: true };
    journal.prune(retention).await?;
    assert_eq!(journal.asks(AskQuery::default()).await?, []);
    assert_eq!(journal.verify().await?, []);
    Ok(())
}

pub async fn a_waiting_process_is_told_of_answers(journal: Shared) -> CaseResult {
    open(&*journal, "r").await?;
    journal.open_ask(ask("ask_1", "r")).await?;
    let mut changes = journal.ask_changes();
    let waiting = {
        let journal = journal.clone();
        tokio::spawn(async move {
            loop {
                let asks = journal.asks(AskQuery::pending()).await?;
                if asks.is_empty() {
                    return Ok::<(), JournalError>(());
                }
                changes.changed().await;
            }
        })
    };
    journal.answer_ask(answer("ask_1", AskVerdict::Reject)).await?;
    waiting.await??;
    Ok(())
}
