//! A process is killed between any two records of a session, and another one resumes it. No effect that is not safe to repeat happens
//! twice, and the record is true.

use std::sync::Arc;

use haft_agent::{AgentSession, NewSession, TurnEnd, TurnPrompt};
use haft_contract::Envelope;
use haft_journal::{
    Journal, MemoryJournal, MessageFinish, MessagePart, PartKind, PartState, SessionId,
    SessionJournal, SessionQuery, SessionStatus, SqliteJournal,
};
use haft_model::{Model, ModelEvent, ModelMessage, ModelRequest, ModelStopReason};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::dying::MortalJournal;
use crate::models::{Actor, Reply, call, calls, ends, says};
use crate::stage::{Cast, Place, begin, say};
use crate::subagents::HELPER;

/// The number of records after which the longest of these sessions ends by itself.
const RECORDS_MAX: u64 = 200;

/// Returns the names of calls that have results in a request.
fn made(request: &ModelRequest) -> Vec<&str> {
    request.messages.iter().filter_map(result_of).collect()
}

fn result_of(message: &ModelMessage) -> Option<&str> {
    match message {
        ModelMessage::ToolResult { call_id, .. } => Some(call_id),
        ModelMessage::User(_) | ModelMessage::Assistant { .. } => None,
    }
}

/// Returns a model that requests its calls one after the other. Its answers depend only on the calls that were made.
fn worker() -> Arc<Actor> {
    Actor::new(|request| {
        let made = made(request);
        let has =
            |name: &str| made.iter().any(|it| *it == name || it.starts_with(&format!("{name}-")));
        let text = |text: &str| json!({ "text": text });
        let steps: [(&str, Vec<ModelEvent>); 4] = [
            ("a1", vec![call("a1", "look", text("1")), call("a2", "order", text("2"))]),
            (
                "b1",
                vec![
                    call("b1", "order", text("3")),
                    call("b2", "order", text("4")),
                    call("b3", "put", text("5")),
                ],
            ),
            ("c1", vec![call("c1", "task", json!({"subagent_type": "helper", "prompt": "help"}))]),
            ("d1", vec![call("d1", "write", json!({"path": "a.txt", "content": "six"}))]),
        ];
        match steps.into_iter().find(|(first, _)| !has(first)) {
            Some((_, calls)) => ends(
                [vec![ModelEvent::Text("I go on. ".to_owned())], calls].concat(),
                ModelStopReason::ToolCalls,
            ),
            None => says("Done."),
        }
    })
}

fn helper() -> Arc<Actor> {
    Actor::new(|request| {
        if made(request).is_empty() {
            ends(vec![call("h1", "order", json!({"text": "helped"}))], ModelStopReason::ToolCalls)
        } else {
            says("Helped.")
        }
    })
}

fn cast() -> Cast {
    let models: [Arc<dyn Model>; 2] = [worker(), helper()];
    let [worker, helper] = models;
    Cast(vec![("openai/m1", worker), ("openai/m2", helper)])
}

fn place(journal: &Arc<MemoryJournal>) -> Place {
    let helper = "---\ndescription: Helps\nmode: subagent\nmodel: openai/m2\ninspectable: true\n---\nHelp.\n";
    Place::with_journal(Arc::clone(journal) as Arc<dyn Journal>).agent("helper", helper)
}

/// Has a process work until it has made so many records; returns whether it came to its end before.
async fn work(place: &Place, journal: &Arc<MemoryJournal>, id: &str, records: u64) -> bool {
    let mortal = MortalJournal::new(journal, records);
    let host = place.process(id, Arc::clone(&mortal) as Arc<dyn Journal>, cast());
    // The answer of a dead process is ignored.
    let begun = match chat_begun(journal).await {
        None => host.begin(NewSession { agent: "build".to_owned(), ..NewSession::default() }).await,
        Some(id) => host.open(&id).await,
    };
    if let Ok(mut chat) = begun {
        let is_empty = chat.history().await.unwrap().is_empty();
        let prompt = if is_empty { TurnPrompt::Message("go".into()) } else { TurnPrompt::Continue };
        let _ = chat.run_turn(prompt, CancellationToken::new()).await;
    }
    host.close().await;
    mortal.left() > 0
}

pub(crate) async fn chat_begun(journal: &MemoryJournal) -> Option<SessionId> {
    let top = SessionQuery { only_top: true, ..SessionQuery::default() };
    journal.sessions(top).await.unwrap().pop().map(|row| row.id)
}

/// Has processes work that are killed after so many records each, and then one that goes on with `prompt` and is not killed.
/// Returns whether the first one came to its end.
async fn check(kills: &[u64], prompt: TurnPrompt) -> bool {
    let journal = Arc::new(MemoryJournal::new());
    let place = place(&journal);
    let mut ended = Vec::new();
    for (place_in_line, records) in kills.iter().enumerate() {
        ended.push(work(&place, &journal, &format!("killed-{place_in_line}"), *records).await);
    }
    let name = format!("killed after {kills:?}");
    if let Some(id) = chat_begun(&journal).await {
        let last = place.process("last", Arc::clone(&journal) as Arc<dyn Journal>, cast());
        let mut chat = last.open(&id).await.unwrap();
        // The process may have died before anything was said.
        let is_empty = chat.history().await.unwrap().is_empty();
        let prompt = if is_empty { TurnPrompt::Message("go".into()) } else { prompt };
        let end = chat.run_turn(prompt, CancellationToken::new()).await.unwrap();
        assert_eq!(end, TurnEnd::Done { text: "Done.".to_owned() }, "{name}");
        last.close().await;
        check_effects(&place, &name);
        check_transcripts(&place, &journal, &[SessionStatus::Completed], &name).await;
    }
    ended.first() == Some(&true)
}

/// Checks that effects that are not safe to repeat happened at most once.
pub(crate) fn check_effects(place: &Place, name: &str) {
    let mut orders: Vec<String> =
        place.world.done().into_iter().filter(|it| it.starts_with("order")).collect();
    orders.sort();
    let mut once = orders.clone();
    once.dedup();
    assert_eq!(orders, once, "{name}");
}

/// Checks that every recorded call has an answer, and that the answers tell what was done. This includes the sessions of subagents that
/// failed with their process.
pub(crate) async fn check_transcripts(
    place: &Place,
    journal: &MemoryJournal,
    of_children: &[SessionStatus],
    name: &str,
) {
    let all = SessionQuery { with_opaque: true, ..SessionQuery::default() };
    let done = place.world.done();
    for row in journal.sessions(all).await.unwrap() {
        let expected = if row.parent_id.is_some() { of_children } else { &[SessionStatus::Idle] };
        assert!(expected.contains(&row.status), "{name}: {} is {}", row.agent, row.status);
        for (message, parts) in journal.session_messages(&row.id, Default::default()).await.unwrap()
        {
            assert!(message.completed_at_ms.is_some(), "{name}: {message:?}");
            for part in parts.iter().filter(|part| part.kind == PartKind::Tool) {
                check_part(part, &done, name);
            }
        }
    }
}

fn check_part(part: &MessagePart, done: &[String], name: &str) {
    let state = part.state.unwrap();
    assert!(state.is_finished(), "{name}: {part:?}");
    if part.tool.as_deref() != Some("order") {
        return;
    }
    let input: Value = serde_json::from_str(part.input_json.as_deref().unwrap()).unwrap();
    let is_done = done.contains(&format!("order {}", input["text"].as_str().unwrap()));
    let envelope: Envelope = serde_json::from_str(part.output_json.as_deref().unwrap()).unwrap();
    if state == PartState::OutputAvailable {
        assert!(is_done, "{name}: {part:?}");
    } else if is_done {
        let text = envelope.text();
        assert!(text.contains("may or may not have happened"), "{name}: {text}");
    }
}

#[tokio::test]
async fn no_effect_is_repeated_wherever_a_process_is_killed() {
    let mut records = 0;
    while !check(&[records], TurnPrompt::Continue).await {
        records += 1;
        assert!(records < RECORDS_MAX, "the chat is never over");
    }
    assert!(records > 30, "only {records} records were made, so little was tried");
}

#[tokio::test]
async fn nor_when_those_who_go_on_are_killed_too() {
    for first in (1..60).step_by(3) {
        // A few that are spread over all that is left to do.
        for second in [first * 7 % 23, first * 5 % 41] {
            check(&[first, second, first * 3 % 17], TurnPrompt::Continue).await;
        }
    }
}

#[tokio::test]
async fn whoever_says_something_else_meanwhile_has_no_new_effects() {
    let mut records = 0;
    while !check(&[records], TurnPrompt::Message("go on".into())).await {
        records += 1;
        assert!(records < RECORDS_MAX, "the chat is never over");
    }
    assert!(records > 30, "only {records} records were made, so little was tried");
}

#[tokio::test]
async fn a_turn_that_is_stopped_at_any_record_leaves_what_was() {
    for records in 0..RECORDS_MAX {
        let journal = Arc::new(MemoryJournal::new());
        let place = place(&journal);
        let stop = CancellationToken::new();
        let telling = MortalJournal::telling(&journal, records, &stop);
        let host = place.process("one", Arc::clone(&telling) as Arc<dyn Journal>, cast());
        let mut chat = begin(&host, "build").await;
        let end = chat.run_turn(TurnPrompt::Message("go".into()), stop.clone()).await.unwrap();
        let name = format!("stopped after {records}");
        let of_children = [SessionStatus::Completed, SessionStatus::Aborted];
        check_effects(&place, &name);
        check_transcripts(&place, &journal, &of_children, &name).await;
        if end != TurnEnd::Aborted {
            assert_eq!(end, TurnEnd::Done { text: "Done.".to_owned() }, "{name}");
            assert!(records > 30, "only {records} records were made, so little was tried");
            return;
        }
        let is_empty = chat.history().await.unwrap().is_empty();
        let prompt = if is_empty { TurnPrompt::Message("go".into()) } else { TurnPrompt::Continue };
        let end = chat.run_turn(prompt, CancellationToken::new()).await.unwrap();
        assert_eq!(end, TurnEnd::Done { text: "Done.".to_owned() }, "{name}");
        check_effects(&place, &name);
        check_transcripts(&place, &journal, &of_children, &name).await;
    }
    panic!("the chat is never over");
}

/// Has a process die after so many records and the one who goes on be stopped after so many more; then a third one goes on.
async fn check_stopped(killed: u64, stopped: u64) {
    let journal = Arc::new(MemoryJournal::new());
    let place = place(&journal);
    work(&place, &journal, "killed", killed).await;
    let Some(id) = chat_begun(&journal).await else { return };
    let stop = CancellationToken::new();
    let telling = MortalJournal::telling(&journal, stopped, &stop);
    let host = place.process("stopped", telling as Arc<dyn Journal>, cast());
    let first = async |chat: &AgentSession| match chat.history().await.unwrap().is_empty() {
        true => TurnPrompt::Message("go".into()),
        false => TurnPrompt::Continue,
    };
    let mut chat = host.open(&id).await.unwrap();
    let prompt = first(&chat).await;
    chat.run_turn(prompt, stop).await.unwrap();
    drop(chat);
    host.close().await;
    let name = format!("killed after {killed}, stopped after {stopped}");
    let last = place.process("last", Arc::clone(&journal) as Arc<dyn Journal>, cast());
    let mut chat = last.open(&id).await.unwrap();
    let prompt = first(&chat).await;
    let end = chat.run_turn(prompt, CancellationToken::new()).await.unwrap();
    assert_eq!(end, TurnEnd::Done { text: "Done.".to_owned() }, "{name}");
    last.close().await;
    check_effects(&place, &name);
    let of_children = [SessionStatus::Completed, SessionStatus::Aborted];
    check_transcripts(&place, &journal, &of_children, &name).await;
    // haft knows what a subagent did, so no task is in doubt.
    for (_, parts) in chat.history().await.unwrap() {
        for part in parts.iter().filter(|part| part.tool.as_deref() == Some("task")) {
            let output = part.output_json.as_deref().unwrap();
            assert!(!output.contains("IN_DOUBT"), "{name}: {output}");
        }
    }
}

#[tokio::test]
async fn nor_when_those_who_go_on_are_stopped() {
    for killed in (1..60).step_by(4) {
        for stopped in (0..36).step_by(6) {
            check_stopped(killed, stopped).await;
        }
    }
}

#[tokio::test]
async fn a_chat_that_another_process_has_is_not_opened() {
    let journal = Arc::new(MemoryJournal::new());
    let place = place(&journal);
    let one = place.living("one", Arc::clone(&journal) as Arc<dyn Journal>, cast());
    let mut chat = begin(&one, "build").await;
    let two = place.living("two", Arc::clone(&journal) as Arc<dyn Journal>, cast());
    let err = two.open(chat.id()).await.err().unwrap();
    assert!(err.to_string().contains("is held by process one"), "{err}");
    let row = chat.row().await.unwrap();
    drop((chat, one));
    // Giving a run back takes until it is recorded.
    loop {
        if journal.lease_holders().await.unwrap().is_empty() {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(two.open(&row.id).await.unwrap().row().await.unwrap().id, row.id);
}

#[tokio::test]
async fn an_answer_that_was_cut_by_a_kill_keeps_its_text() {
    let journal = Arc::new(MemoryJournal::new());
    let place = place(&journal);
    let long = "x".repeat(10_000);
    let text = long.clone();
    let model = Actor::new(move |_| Reply::Hold(vec![ModelEvent::Text(text.clone())]));
    // The run, the session, its status, the prompt and the first piece of the answer.
    let mortal = MortalJournal::new(&journal, 5);
    let model_of_one = Cast(vec![("openai/m1", Arc::clone(&model) as Arc<dyn Model>)]);
    let one = place.process("one", Arc::clone(&mortal) as Arc<dyn Journal>, model_of_one);
    let mut chat = begin(&one, "build").await;
    tokio::select! {
        biased;
        _ = chat.run_turn(TurnPrompt::Message("go".into()), CancellationToken::new()) => unreachable!("the model holds back"),
        () = model.until_holding(1) => {}
    }
    let id = chat.id().clone();
    one.close().await;
    let again = Actor::in_order(vec![says("Gone on.")]);
    let two = place.process(
        "two",
        Arc::clone(&journal) as _,
        Cast(vec![("openai/m1", Arc::clone(&again) as _)]),
    );
    let mut chat = two.open(&id).await.unwrap();
    let history = chat.history().await.unwrap();
    let (message, parts) = &history[1];
    assert_eq!(message.finish, Some(MessageFinish::Interrupted));
    assert_eq!(parts[0].text.as_deref(), Some(long.as_str()));
    let end = chat.run_turn(TurnPrompt::Continue, CancellationToken::new()).await.unwrap();
    assert_eq!(end, TurnEnd::Done { text: "Gone on.".to_owned() });
    let request = again.request(0);
    assert!(matches!(&request.messages[1], ModelMessage::Assistant { text, .. } if *text == long));
    assert!(
        crate::models::last_said(&request).contains("ended while your last answer was arriving")
    );
}

#[tokio::test]
async fn what_was_cut_out_of_an_output_is_read_by_whoever_goes_on() {
    let place = Place::new();
    let model =
        Actor::in_order(vec![calls(&[("c1", "much", json!({"text": "the end"}))]), says("Much.")]);
    let host = place.host(Arc::clone(&model) as Arc<dyn Model>);
    let mut chat = begin(&host, "build").await;
    say(&mut chat, "go").await;
    let id = chat.id().clone();
    drop((chat, host));
    let path = |request: &ModelRequest| {
        let text = crate::models::results(request).remove(0);
        let (_, path) = text.split_once("all of it: ").unwrap();
        path.split(" (").next().unwrap().to_owned()
    };
    let reads = Actor::new(move |request| match crate::models::results(request).len() {
        1 => {
            let input = json!({"path": path(request), "byte_offset": 250_000, "byte_limit": 100});
            calls(&[("c2", "read", input)])
        }
        _ => says("Read."),
    });
    // Also who goes on after one who went on.
    for _ in 0..2 {
        let host = place.host(Arc::clone(&reads) as Arc<dyn Model>);
        let chat = host.open(&id).await.unwrap();
        let mut fork = host.fork(&id, None).await.unwrap();
        say(&mut fork, "read on").await;
        let told = crate::models::results(&reads.request(reads.count() - 1));
        assert_eq!(told.last().map(String::as_str), Some("c2: the end"));
        drop((chat, host));
    }
}

#[tokio::test]
async fn a_chat_on_disk_is_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("journal.sqlite");
    let open = || Arc::new(SqliteJournal::open(&file).unwrap()) as Arc<dyn Journal>;
    let place = Place::with_journal(open()).agent("helper", HELPER);
    let id = {
        let host = place.process("one", open(), cast());
        let mut chat = begin(&host, "build").await;
        let stop = CancellationToken::new();
        let end = chat.run_turn(TurnPrompt::Message("go".into()), stop).await.unwrap();
        assert_eq!(end, TurnEnd::Done { text: "Done.".to_owned() });
        chat.id().clone()
    };
    let host = place.process("two", open(), cast());
    let mut chat = host.open(&id).await.unwrap();
    assert_eq!(say(&mut chat, "more").await, TurnEnd::Done { text: "Done.".to_owned() });
    let calls = chat.history().await.unwrap().into_iter().flat_map(|(_, parts)| parts);
    assert_eq!(calls.filter(|part| part.kind == PartKind::Tool).count(), 7);
    check_effects(&place, "on disk");
}
