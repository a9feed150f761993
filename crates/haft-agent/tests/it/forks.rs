//! Forking and rewinding: nothing is deleted, and nothing that was done is done again.

use std::sync::Arc;

use expect_test::expect;
use haft_agent::limits::ANSWER_PARTS_MAX;
use haft_agent::{AgentError, SessionChanges};
use haft_journal::{
    Journal, MemoryJournal, MessageId, MessageQuery, SessionId, SessionJournal as _, SessionQuery,
    TokenCounts,
};
use haft_model::{Model, ModelEvent, ModelStopReason};
use serde_json::json;

use crate::dying::MortalJournal;
use crate::models::{Actor, calls, ends, last_said, says};
use crate::stage::{Cast, Place, begin, done, say, shown};

pub(crate) fn by(agent: &str) -> SessionChanges {
    SessionChanges { agent: Some(agent.to_owned()), ..SessionChanges::default() }
}

#[tokio::test]
async fn a_fork_shares_the_beginning() {
    let place = Place::new();
    let model = Actor::in_order(vec![
        calls(&[("c1", "order", json!({"text": "x"}))]),
        says("Ordered."),
        says("Second."),
        calls(&[("c1", "order", json!({"text": "y"}))]),
        says("Forked."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    say(&mut chat, "one").await;
    say(&mut chat, "two").await;
    let history = chat.history().await.unwrap();
    let through = &history[2].0.id;
    let mut fork = host.fork(chat.id(), Some(through)).await.unwrap();
    let row = fork.row().await.unwrap();
    assert_eq!(row.forked_from_id.as_ref(), Some(chat.id()));
    assert_eq!(row.forked_from_message_id.as_ref(), Some(through));
    assert_eq!(row.tokens, TokenCounts::default());
    assert_eq!(say(&mut fork, "three").await, done("Forked."));
    expect![[r#"
        user said
          text "one"
        assistant said (tool-calls)
          tool c1 order {"text":"x"} output-available "{\"done\":\"x\"}"
        assistant said (stop)
          text "Ordered."
        user said
          text "three"
        assistant said (tool-calls)
          tool c1-2 order {"text":"y"} output-available "{\"done\":\"y\"}"
        assistant said (stop)
          text "Forked."
    "#]]
    .assert_eq(&shown(&fork).await);
    assert_eq!(place.world.done(), ["order x", "order y"]);
    assert_eq!(chat.history().await.unwrap(), history, "the other chat has changed");
    let unknown = host.fork(chat.id(), Some(&MessageId::from_bits(1))).await.err().unwrap();
    assert!(matches!(unknown, AgentError::UnknownMessage { .. }), "{unknown}");
}

#[tokio::test]
async fn what_is_rewound_is_not_read_any_more() {
    let place = Place::new();
    let order = || json!({"text": "x"});
    let model = Actor::in_order(vec![
        says("First."),
        calls(&[("c1", "order", order())]),
        says("Second."),
        calls(&[("c1", "order", order())]),
        says("Third."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "build").await;
    say(&mut chat, "one").await;
    say(&mut chat, "two").await;
    let from = chat.history().await.unwrap()[2].0.id.clone();
    assert_eq!(chat.rewind(&from).await.unwrap(), 3);
    assert_eq!(say(&mut chat, "three").await, done("Third."));
    assert_eq!(last_said(&model.request(3)), "three");
    assert_eq!(model.request(3).messages.len(), 3);
    // A call of the name that was set aside is another call.
    expect![[r#"
        user said
          text "one"
        assistant said (stop)
          text "First."
        user said
          text "three"
        assistant said (tool-calls)
          tool c1-2 order {"text":"x"} output-available "{\"done\":\"x\"}"
        assistant said (stop)
          text "Third."
    "#]]
    .assert_eq(&shown(&chat).await);
    assert_eq!(place.world.done(), ["order x", "order x"]);
    let all = MessageQuery { with_rewound: true, ..MessageQuery::default() };
    assert_eq!(place.journal.session_messages(chat.id(), all).await.unwrap().len(), 8);
}

#[tokio::test]
async fn another_agent_goes_on_with_a_chat() {
    let place = Place::new();
    let model = Actor::in_order(vec![
        says("Planned."),
        calls(&[("c1", "order", json!({"text": "x"}))]),
        says("Built."),
    ]);
    let host = place.host(Arc::clone(&model) as _);
    let mut chat = begin(&host, "plan").await;
    let id = chat.id().clone();
    say(&mut chat, "one").await;
    drop(chat);
    let mut chat = host.open_with(&id, &by("build")).await.unwrap();
    assert_eq!(chat.agent(), "build");
    assert_eq!(say(&mut chat, "two").await, done("Built."));
    assert_eq!(place.world.done(), ["order x"]);
    let offered =
        |request: usize| model.request(request).tools.iter().any(|tool| tool.name == "order");
    assert_eq!((offered(0), offered(1)), (false, true));
    drop(chat);
    let mut chat = host.open(&id).await.unwrap();
    assert_eq!(chat.agent(), "build");
    assert_eq!(chat.row().await.unwrap().agent, "build");
    drop(chat);
    let err = host.open_with(&id, &by("explore")).await.err().unwrap();
    assert!(matches!(err, AgentError::UnknownAgent { .. }), "{err}");
}

/// Forks a session in a process that dies after so many records. Returns whether the fork finished first.
async fn forks_until(
    place: &Place,
    journal: &Arc<MemoryJournal>,
    id: &SessionId,
    records: u64,
) -> bool {
    let mortal = MortalJournal::new(journal, records);
    let model: Arc<dyn Model> = Actor::in_order(Vec::new());
    let cast = Cast(vec![("openai/m1", model)]);
    let host = place.process(&format!("forks-{records}"), mortal as Arc<dyn Journal>, cast);
    let forked = host.fork(id, None).await.is_ok();
    host.close().await;
    forked
}

/// Checks that a fork is complete or absent, wherever its process is killed. Returns the number of records of a complete one.
async fn check_killed_forks(answers: usize, parts: usize) -> u64 {
    let journal = Arc::new(MemoryJournal::new());
    let place = Place::with_journal(Arc::clone(&journal) as _);
    let piece = |number: usize| match number % 2 {
        0 => ModelEvent::Text("t".to_owned()),
        _ => ModelEvent::Reasoning("r".to_owned()),
    };
    let answer = || ends((0..parts).map(piece).collect(), ModelStopReason::Done);
    let host = place.host(Actor::in_order((0..answers).map(|_| answer()).collect()));
    let mut chat = begin(&host, "build").await;
    for _ in 0..answers {
        say(&mut chat, "more").await;
    }
    let id = chat.id().clone();
    let said = chat.history().await.unwrap();
    drop((chat, host));
    let shape = |(_, parts): &(_, Vec<_>)| parts.len();
    let mut records = 0;
    loop {
        let forked = forks_until(&place, &journal, &id, records).await;
        let all = SessionQuery { with_opaque: true, ..SessionQuery::default() };
        let rows = journal.sessions(all).await.unwrap();
        let listed = journal.sessions(SessionQuery::default()).await.unwrap();
        let host = place.host(Actor::in_order(Vec::new()));
        for row in rows.iter().filter(|row| row.forked_from_id.is_some()) {
            let opened = host.open(&row.id).await;
            assert_eq!(opened.is_ok(), listed.contains(row), "after {records}");
            match opened {
                Ok(chat) => {
                    let copied = chat.history().await.unwrap();
                    assert!(copied.iter().map(shape).eq(said.iter().map(shape)), "after {records}");
                }
                Err(err) => assert!(matches!(err, AgentError::UnfinishedFork(_)), "{err}"),
            }
            let forked = host.fork(&row.id, None).await;
            assert_eq!(forked.is_ok(), listed.contains(row), "no fork of half a fork");
            if let Ok(mut chat) = forked {
                // Out of the way of what is counted here.
                chat.rename("again".to_owned()).await.unwrap();
            }
        }
        let of_it = |row: &&haft_journal::SessionRow| row.forked_from_id.as_ref() == Some(&id);
        assert_eq!(listed.iter().filter(of_it).count(), usize::from(forked), "after {records}");
        if forked {
            return records;
        }
        records += 1;
    }
}

#[tokio::test]
async fn a_fork_is_whole_or_not_there_wherever_a_process_is_killed() {
    // The run, and the whole session in one record.
    assert_eq!(check_killed_forks(2, 2).await, 2);
    // A session that is too long for one record.
    let records = check_killed_forks(3, ANSWER_PARTS_MAX).await;
    assert!(records > 2, "all of it came in one, so nothing of this was tried");
}
