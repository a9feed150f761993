//! The rows of sessions, who may write them, and what is removed together.

use crate::limits::{
    PRUNE_CALLS_MAX, QUERY_BYTES_MAX, QUERY_MESSAGES_MAX, QUERY_SESSIONS_MAX, RESUMES_MAX,
    SESSION_RECORD_BYTES_MAX, SESSION_RECORDS_MAX, TOOL_CALL_ID_BYTES_MAX,
};
use crate::{
    CallStatus, Journal, JournalError, Lease, MessageFinish, MessageKind, MessagePart,
    MessageQuery, PartKind, PartState, Retention, SessionDurability, SessionId, SessionMessage,
    SessionMode, SessionQuery, SessionRecord, SessionRow, SessionStatus,
};
use expect_test::expect;
use haft_contract::{ContentDigest, Effect, RunId};

use super::check_error;
use crate::conformance::fixture::{brief_request, call, open, record, request, run};
use crate::conformance::session_fixture::{
    answer, begin_session, child, message_id, open_session, record_all, said, session, session_id,
    text_part, tool_part, transcript,
};
use crate::conformance::{CaseResult, Shared};

use SessionRecord::{Message, Part, Session};

pub async fn what_lies_apart_comes_back(journal: Shared) -> CaseResult {
    let lease = begin_session(&*journal, 1).await?;
    let apart = |number, state| MessagePart { lies_apart: true, ..tool_part(1, 10, number, state) };
    let failed =
        r#"{"type":"error","error_text":"no such passage: a","metadata":{"duration_ms":3}}"#;
    let digest = ContentDigest::of("a").to_json();
    let parts = [
        apart(20, PartState::InputAvailable),
        apart(21, PartState::OutputAvailable),
        MessagePart { output_json: Some(failed.to_owned()), ..apart(22, PartState::OutputError) },
        MessagePart { input_json: None, ..apart(23, PartState::InputStreaming) },
        tool_part(1, 10, 24, PartState::InputAvailable),
    ];
    // A model may write what looks like a digest.
    let alike = MessagePart {
        input_json: Some(digest.clone()),
        ..tool_part(1, 10, 25, PartState::InputAvailable)
    };
    let mut records = vec![Message(answer(1, 10, Some(MessageFinish::ToolCalls)))];
    records.extend(parts.iter().chain([&alike]).cloned().map(Part));
    record_all(&*journal, &lease, records).await?;
    // A row that was recorded before, with its text, and lies apart from now on.
    let moved = MessagePart { lies_apart: true, ..parts[4].clone() };
    record_all(&*journal, &lease, vec![Part(moved.clone())]).await?;
    let found = journal.session_messages(&session_id(1), MessageQuery::default()).await?;
    let [(_, found)] = found.as_slice() else { panic!("{found:?}") };
    let streaming = MessagePart { lies_apart: false, ..parts[3].clone() };
    let alike = MessagePart { lies_apart: true, ..alike };
    let expected =
        [parts[0].clone(), parts[1].clone(), parts[2].clone(), streaming, moved, alike.clone()];
    assert_eq!(*found, expected);
    // Without its text, a part is answered with the digest.
    journal.remove_contents(&lease).await?;
    let left = journal.session_messages(&session_id(1), MessageQuery::default()).await?;
    let input = left[0].1[0].input_json.as_deref().unwrap_or_default();
    assert_eq!(ContentDigest::parse(input), Some(ContentDigest::of(r#"{"path":"a"}"#)));
    Ok(())
}

pub async fn a_session_is_kept_as_it_was_recorded(journal: Shared) -> CaseResult {
    open_session(&*journal, 1).await?;
    let lease = begin_session(&*journal, 2).await?;
    let session = SessionRow {
        forked_from_id: Some(session_id(1)),
        forked_from_message_id: Some(message_id(9)),
        title: Some("a \0 in a title \u{1A}".to_owned()),
        status: SessionStatus::Running,
        inspectable: false,
        delivered: true,
        permissions_json: r#"{"tools":["read"]}"#.to_owned(),
        metadata_json: r#"{"ticket":18446744073709551616}"#.to_owned(),
        depth: 3,
        tokens: answer(2, 1, None).tokens,
        steps: 7,
        updated_at_ms: 9_000,
        ..child(2, 1)
    };
    let session = SessionRow { parent_id: None, ..session };
    let messages = [said(2, 10), answer(2, 11, Some(MessageFinish::ToolCalls))];
    let summary = SessionMessage {
        kind: MessageKind::Summary,
        covers_through: Some(message_id(11)),
        error: Some("the model was busy".to_owned()),
        ..answer(2, 12, Some(MessageFinish::Error))
    };
    let parts = [
        MessagePart { kind: PartKind::Reasoning, ..text_part(2, 11, 20, "hm \0") },
        tool_part(2, 11, 21, PartState::OutputAvailable),
    ];
    let mut records = vec![Session(session.clone())];
    records.extend(messages.iter().chain([&summary]).cloned().map(Message));
    records.extend(parts.iter().cloned().map(Part));
    journal.record_session(&lease, records, SessionDurability::Durable).await?;

    assert_eq!(journal.session(&session_id(2)).await?.as_ref(), Some(&session));
    assert_eq!(journal.session(&session_id(3)).await?, None);
    let [question, answered] = messages;
    assert_eq!(
        journal.session_messages(&session_id(2), MessageQuery::default()).await?,
        [(question, Vec::new()), (answered, parts.to_vec()), (summary, Vec::new())]
    );
    expect![[r#"{"id":"ses_00000000000000000000000002","parent_id":null,"parent_tool_call_id":"toolu_1","forked_from_id":"ses_00000000000000000000000001","forked_from_message_id":"msg_00000000000000000000000009","agent":"build","title":"a \u0000 in a title \u001a","model":"acme/large","root":"/project","status":"running","mode":"background","inspectable":false,"delivered":true,"permissions_json":{"tools":["read"]},"metadata_json":{"ticket":18446744073709551616},"depth":3,"tokens_input":5,"tokens_output":4,"tokens_reasoning":3,"tokens_cache_read":2,"tokens_cache_write":1,"steps":7,"created_at_ms":2000,"updated_at_ms":9000}"#]].assert_eq(&serde_json::to_string(&session)?);
    let rows = journal.session_messages(&session_id(2), MessageQuery::default()).await?;
    expect![[r#"[{"id":"msg_0000000000000000000000000b","session_id":"ses_00000000000000000000000002","role":"assistant","kind":"said","agent":"build","model":"acme/large","finish":"tool-calls","error":null,"covers_through":null,"tokens_input":5,"tokens_output":4,"tokens_reasoning":3,"tokens_cache_read":2,"tokens_cache_write":1,"created_at_ms":3000,"completed_at_ms":3500,"rewound_at_ms":null},[{"id":"prt_0000000000000000000000000m","message_id":"msg_0000000000000000000000000b","session_id":"ses_00000000000000000000000002","type":"reasoning","text":"hm \u0000","tool_call_id":null,"tool":null,"state":null,"input_json":null,"output_json":null,"call_id":null,"signatures_json":null,"created_at_ms":3100,"updated_at_ms":3200},{"id":"prt_0000000000000000000000000n","message_id":"msg_0000000000000000000000000b","session_id":"ses_00000000000000000000000002","type":"tool","text":null,"tool_call_id":"toolu_21","tool":"read","state":"output-available","input_json":{"path":"a"},"output_json":{"type":"output","data":"ok","metadata":{"duration_ms":3}},"call_id":"ses_00000000000000000000000002/main/0/1/1","signatures_json":{"acme":"c2ln"},"created_at_ms":3100,"updated_at_ms":3200}]]"#]].assert_eq(&serde_json::to_string(&rows[1])?);
    assert_eq!(journal.verify().await?, []);
    Ok(())
}

pub async fn what_is_recorded_again_replaces_what_was_there(journal: Shared) -> CaseResult {
    let lease = begin_session(&*journal, 1).await?;
    let records = vec![
        Message(answer(1, 10, None)),
        Part(text_part(1, 10, 20, "I l")),
        Part(tool_part(1, 10, 21, PartState::InputStreaming)),
    ];
    record_all(&*journal, &lease, records).await?;
    let later = MessagePart { updated_at_ms: 8_000, ..text_part(1, 10, 20, "I look") };
    let records = vec![
        Part(later),
        Part(tool_part(1, 10, 21, PartState::OutputError)),
        Message(answer(1, 10, Some(MessageFinish::Aborted))),
        Session(SessionRow { status: SessionStatus::Aborted, ..session(1) }),
    ];
    record_all(&*journal, &lease, records).await?;
    expect![[r#"
        10 assistant said aborted | 20 text - "I look" | 21 tool output-error ""
    "#]]
    .assert_eq(&transcript(&*journal, 1, MessageQuery::default()).await?);
    let session = journal.session(&session_id(1)).await?;
    // The row that came with them was older.
    let shown = session.map(|session| (session.status, session.updated_at_ms));
    assert_eq!(shown, Some((SessionStatus::Aborted, 8_000)));
    record_all(&*journal, &lease, Vec::new()).await?;
    Ok(())
}

/// Expects that nothing of the records is recorded, and why.
async fn check_unfit(
    journal: &Shared,
    lease: &Lease,
    records: Vec<SessionRecord>,
    expect: expect_test::Expect,
) -> CaseResult {
    let before =
        journal.sessions(SessionQuery { with_opaque: true, ..SessionQuery::default() }).await;
    let said = transcript(&**journal, 1, MessageQuery::default()).await?;
    let mut batch = vec![Message(said_first())];
    batch.extend(records);
    check_error(record_all(&**journal, lease, batch).await, expect);
    let after =
        journal.sessions(SessionQuery { with_opaque: true, ..SessionQuery::default() }).await;
    assert_eq!(before?, after?);
    assert_eq!(transcript(&**journal, 1, MessageQuery::default()).await?, said);
    Ok(())
}

fn said_first() -> SessionMessage {
    said(1, 5)
}

pub async fn what_does_not_fit_leaves_nothing_behind(journal: Shared) -> CaseResult {
    begin_session(&*journal, 2).await?;
    let lease = begin_session(&*journal, 1).await?;
    let other = journal.open_run(run(session_id(2).as_str()), request("one")).await?;
    record_all(&*journal, &other, vec![Message(said(2, 30))]).await?;
    let first =
        vec![Message(answer(1, 10, None)), Part(tool_part(1, 10, 21, PartState::InputAvailable))];
    record_all(&*journal, &lease, first).await?;

    check_unfit(&journal, &lease, vec![Session(session(2))], expect!["ses_00000000000000000000000002 cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected that session, or one that it began"]).await?;
    check_unfit(&journal, &lease, vec![Session(child(2, 1))], expect!["ses_00000000000000000000000002 cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected that session, or one that it began"]).await?;
    check_unfit(&journal, &lease, vec![Session(child(3, 1))], expect!["ses_00000000000000000000000003 cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected that session, or one that it began"]).await?;
    check_unfit(&journal, &lease, vec![Message(said(2, 11))], expect!["msg_0000000000000000000000000b cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected a message of that session, which is recorded before its messages"]).await?;
    check_unfit(&journal, &lease, vec![Message(said(1, 30))], expect!["msg_0000000000000000000000000y cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected a message of that session, which is recorded before its messages"]).await?;
    check_unfit(&journal, &lease, vec![Part(text_part(1, 30, 22, ""))], expect!["prt_0000000000000000000000000p cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected a part of a message of that session, which is recorded before its parts, and a tool call id that no other part of the session has"]).await?;
    check_unfit(&journal, &lease, vec![Part(text_part(1, 99, 22, ""))], expect!["prt_0000000000000000000000000p cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected a part of a message of that session, which is recorded before its parts, and a tool call id that no other part of the session has"]).await?;
    check_unfit(&journal, &lease, vec![Part(text_part(1, 5, 21, ""))], expect!["prt_0000000000000000000000000n cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected a part of a message of that session, which is recorded before its parts, and a tool call id that no other part of the session has"]).await?;
    let again = MessagePart {
        tool_call_id: Some("toolu_21".to_owned()),
        ..tool_part(1, 10, 23, PartState::InputAvailable)
    };
    check_unfit(&journal, &lease, vec![Part(again)], expect!["prt_0000000000000000000000000q cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected a part of a message of that session, which is recorded before its parts, and a tool call id that no other part of the session has"]).await?;
    let over = MessagePart { output_json: None, ..tool_part(1, 10, 24, PartState::OutputError) };
    check_unfit(&journal, &lease, vec![Part(over)], expect!["prt_0000000000000000000000000r with no output cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected a state and a tool call id, and an output once the call is over"]).await?;
    let spoken = MessagePart { state: Some(PartState::InputAvailable), ..text_part(1, 10, 25, "") };
    check_unfit(&journal, &lease, vec![Part(spoken)], expect!["prt_0000000000000000000000000s with a state cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected neither state, tool call id nor output"]).await?;
    // A call of another session may have the same name.
    let elsewhere =
        MessagePart { session_id: session_id(2), message_id: message_id(30), ..first_call() };
    record_all(&*journal, &other, vec![Part(elsewhere)]).await?;
    assert_eq!(journal.verify().await?, []);
    Ok(())
}

fn first_call() -> MessagePart {
    MessagePart {
        tool_call_id: Some("toolu_21".to_owned()),
        ..tool_part(1, 10, 40, PartState::InputAvailable)
    }
}

pub async fn a_session_says_what_became_of_one_that_it_began(journal: Shared) -> CaseResult {
    let lease = begin_session(&*journal, 1).await?;
    let of_child = open_session(&*journal, 2).await?;
    record_all(&*journal, &of_child, vec![Session(child(2, 1))]).await?;
    let ended = SessionRow { status: SessionStatus::Failed, delivered: true, ..child(2, 1) };
    let notice = SessionMessage { kind: MessageKind::Notice, ..said(1, 10) };
    let told = vec![Message(notice), Session(ended.clone())];
    record_all(&*journal, &lease, told.clone()).await?;
    assert_eq!(journal.session(&session_id(2)).await?, Some(ended));
    let orphan = vec![Session(SessionRow { parent_id: None, ..child(2, 1) })];
    let moved = record_all(&*journal, &of_child, orphan).await;
    assert!(matches!(moved, Err(JournalError::UnfitRecord { .. })), "{moved:?}");
    // Only its own lease may write its messages.
    let words = record_all(&*journal, &lease, vec![Message(said(2, 11))]).await;
    assert!(matches!(words, Err(JournalError::UnfitRecord { .. })), "{words:?}");
    Ok(())
}

pub async fn under_a_lease_that_is_over_nothing_is_said(journal: Shared) -> CaseResult {
    let id = session_id(1);
    let late = journal.open_run(run(id.as_str()), brief_request("one")).await?;
    record_all(&*journal, &late, vec![Session(session(1)), Message(said(1, 10))]).await?;
    let lease = journal.open_run(run(id.as_str()), request("two")).await?;
    let results = [
        record_all(&*journal, &late, vec![Message(said(1, 11))]).await,
        journal.rewind_session(&late, &message_id(10), 4_000).await.map(drop),
        record_all(&*journal, &Lease { owner: late.owner.clone(), ..lease.clone() }, Vec::new())
            .await,
    ];
    for result in results {
        assert!(matches!(result, Err(JournalError::Fenced { .. })), "{result:?}");
    }
    expect![[r#"
        10 user said -
    "#]]
    .assert_eq(&transcript(&*journal, 1, MessageQuery::default()).await?);
    let unknown = Lease { run: session_id(9).run(), ..lease.clone() };
    check_error(
        record_all(&*journal, &unknown, Vec::new()).await,
        expect![
            "run ses_00000000000000000000000009 is not in the journal: open it before recording its calls"
        ],
    );
    journal.close_run(lease.clone()).await?;
    let closed = record_all(&*journal, &lease, vec![Message(said(1, 12))]).await;
    assert!(matches!(closed, Err(JournalError::Fenced { .. })), "{closed:?}");
    Ok(())
}

pub async fn what_is_rewound_is_set_aside(journal: Shared) -> CaseResult {
    let lease = begin_session(&*journal, 1).await?;
    let messages = (10..15).map(|number| Message(said(1, number))).collect();
    record_all(&*journal, &lease, messages).await?;
    assert_eq!(journal.rewind_session(&lease, &message_id(13), 4_000).await?, 2);
    assert_eq!(journal.rewind_session(&lease, &message_id(12), 5_000).await?, 1);
    assert_eq!(journal.rewind_session(&lease, &message_id(12), 6_000).await?, 0);
    check_error(
        journal.rewind_session(&lease, &message_id(99), 7_000).await,
        expect![
            "message msg_00000000000000000000000033 is not in session ses_00000000000000000000000001"
        ],
    );
    // Recording one again does not bring it back.
    record_all(&*journal, &lease, vec![Message(said(1, 13)), Message(said(1, 16))]).await?;
    expect![[r#"
        10 user said -
        11 user said -
        16 user said -
    "#]]
    .assert_eq(&transcript(&*journal, 1, MessageQuery::default()).await?);
    let all = MessageQuery { with_rewound: true, ..MessageQuery::default() };
    let rows = journal.session_messages(&session_id(1), all).await?;
    let times: Vec<_> = rows.iter().map(|(message, _)| message.rewound_at_ms).collect();
    assert_eq!(times, [None, None, Some(5_000), Some(4_000), Some(4_000), None]);
    let session = journal.session(&session_id(1)).await?;
    assert_eq!(session.map(|session| session.updated_at_ms), Some(6_000));
    Ok(())
}

pub async fn sessions_are_found_by_what_is_asked_for(journal: Shared) -> CaseResult {
    for number in 1..=5 {
        let lease = open_session(&*journal, number).await?;
        let session = match number {
            2 => child(2, 1),
            3 => SessionRow { inspectable: false, ..child(3, 1) },
            4 => SessionRow { root: "/elsewhere".to_owned(), ..session(4) },
            _ => session(number),
        };
        record_all(&*journal, &lease, vec![Session(session)]).await?;
    }
    let check = async |query: SessionQuery, expected: &[u128]| {
        let found = journal.sessions(query.clone()).await?;
        let numbers: Vec<u128> = found.iter().map(|session| session.id.bits()).collect();
        assert_eq!(numbers, expected, "{query:?}");
        CaseResult::Ok(())
    };
    let any = SessionQuery::default;
    check(any(), &[5, 4, 2, 1]).await?;
    check(SessionQuery { with_opaque: true, ..any() }, &[5, 4, 3, 2, 1]).await?;
    check(SessionQuery { only_top: true, ..any() }, &[5, 4, 1]).await?;
    check(SessionQuery { parent: Some(session_id(1)), ..any() }, &[2]).await?;
    let children = SessionQuery { parent: Some(session_id(1)), with_opaque: true, ..any() };
    check(children, &[3, 2]).await?;
    check(SessionQuery { root: Some("/project".to_owned()), ..any() }, &[5, 2, 1]).await?;
    check(SessionQuery { before: Some(session_id(4)), ..any() }, &[2, 1]).await?;
    check(SessionQuery { limit: 2, ..any() }, &[5, 4]).await?;
    let all = SessionQuery {
        root: Some("/project".to_owned()),
        before: Some(session_id(5)),
        only_top: true,
        limit: 1,
        ..any()
    };
    check(all, &[1]).await?;
    Ok(())
}

pub async fn messages_are_asked_for_in_parts(journal: Shared) -> CaseResult {
    let lease = begin_session(&*journal, 1).await?;
    let mut records: Vec<_> = (10..14).map(|number| Message(said(1, number))).collect();
    records.push(Part(text_part(1, 11, 21, "second")));
    records.push(Part(text_part(1, 11, 20, "first")));
    record_all(&*journal, &lease, records).await?;
    let query = MessageQuery { limit: 2, ..MessageQuery::default() };
    expect![[r#"
        10 user said -
        11 user said - | 20 text - "first" | 21 text - "second"
    "#]]
    .assert_eq(&transcript(&*journal, 1, query.clone()).await?);
    let query = MessageQuery { after: Some(message_id(11)), ..query };
    expect![[r#"
        12 user said -
        13 user said -
    "#]]
    .assert_eq(&transcript(&*journal, 1, query.clone()).await?);
    let query = MessageQuery { after: Some(message_id(13)), ..query };
    expect![[r#""#]].assert_eq(&transcript(&*journal, 1, query).await?);
    let none = MessageQuery { limit: 0, ..MessageQuery::default() };
    expect![[r#""#]].assert_eq(&transcript(&*journal, 1, none).await?);
    Ok(())
}

pub async fn an_answer_of_messages_is_bounded(journal: Shared) -> CaseResult {
    let lease = begin_session(&*journal, 1).await?;
    let text = "x".repeat(SESSION_RECORD_BYTES_MAX);
    let per_answer = u128::try_from(QUERY_BYTES_MAX / SESSION_RECORD_BYTES_MAX)?;
    for number in 0..=per_answer {
        let part = Part(text_part(1, 10 + number, 20 + number, &text));
        record_all(&*journal, &lease, vec![Message(said(1, 10 + number)), part]).await?;
    }
    let first = journal.session_messages(&session_id(1), MessageQuery::default()).await?;
    assert_eq!(u128::try_from(first.len())?, per_answer);
    let after = first.last().map(|(message, _)| message.id.clone());
    let rest = MessageQuery { after, ..MessageQuery::default() };
    assert_eq!(journal.session_messages(&session_id(1), rest).await?.len(), 1);
    Ok(())
}

pub async fn what_is_recorded_of_a_session_is_bounded(journal: Shared) -> CaseResult {
    let lease = begin_session(&*journal, 1).await?;
    record_all(&*journal, &lease, vec![Message(said(1, 10))]).await?;
    let whole = "x".repeat(SESSION_RECORD_BYTES_MAX);
    let long = format!("{whole}x");
    record_all(&*journal, &lease, vec![Part(text_part(1, 10, 20, &whole))]).await?;
    let refused = record_all(&*journal, &lease, vec![Part(text_part(1, 10, 21, &long))]).await;
    check_error(
        refused,
        expect![
            "prt_0000000000000000000000000n with 8388609 bytes of text cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected at most 8388608 bytes"
        ],
    );
    let named = |bytes: usize| {
        let tool_call_id = Some("x".repeat(bytes));
        Part(MessagePart { tool_call_id, ..tool_part(1, 10, 22, PartState::InputAvailable) })
    };
    record_all(&*journal, &lease, vec![named(TOOL_CALL_ID_BYTES_MAX)]).await?;
    let refused = record_all(&*journal, &lease, vec![named(TOOL_CALL_ID_BYTES_MAX + 1)]).await;
    check_error(
        refused,
        expect![
            "prt_0000000000000000000000000p with a tool call id of 1025 bytes cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected at most 1024 bytes"
        ],
    );
    let many = |count: usize| -> Vec<SessionRecord> {
        (100..).take(count).map(|number| Message(said(1, number))).collect()
    };
    record_all(&*journal, &lease, many(SESSION_RECORDS_MAX)).await?;
    check_error(
        record_all(&*journal, &lease, many(SESSION_RECORDS_MAX + 1)).await,
        expect![
            "a batch of 4097 records cannot be recorded in session ses_00000000000000000000000001, and nothing that came with it was: expected at most 4096 at once: bring the others after them"
        ],
    );
    Ok(())
}

pub async fn an_answer_ends_at_so_many_sessions_and_messages(journal: Shared) -> CaseResult {
    let mut parent = begin_session(&*journal, 1).await?;
    for number in 0..u128::from(QUERY_SESSIONS_MAX) {
        parent = begin_session(&*journal, 2 + number).await?;
    }
    let asked = SessionQuery { limit: QUERY_SESSIONS_MAX + 1, ..SessionQuery::default() };
    let found = journal.sessions(asked).await?;
    assert_eq!(u32::try_from(found.len())?, QUERY_SESSIONS_MAX);
    let session = found[0].id.bits();
    let messages: Vec<_> = (0..=u128::from(QUERY_MESSAGES_MAX))
        .map(|number| Message(said(session, 1 + number)))
        .collect();
    for messages in messages.chunks(SESSION_RECORDS_MAX) {
        record_all(&*journal, &parent, messages.to_vec()).await?;
    }
    let asked = MessageQuery { limit: QUERY_MESSAGES_MAX + 1, ..MessageQuery::default() };
    let found = journal.session_messages(&session_id(session), asked).await?;
    assert_eq!(u32::try_from(found.len())?, QUERY_MESSAGES_MAX);
    Ok(())
}

pub async fn who_speaks_gets_further(journal: Shared) -> CaseResult {
    let id = session_id(1);
    let take = async |life: u32| {
        let owner = format!("life-{life}");
        journal.open_run(run(id.as_str()), brief_request(&owner)).await
    };
    let lease = take(0).await?;
    let running = SessionRow { status: SessionStatus::Running, ..session(1) };
    record_all(&*journal, &lease, vec![Session(running)]).await?;
    for life in 1..RESUMES_MAX * 3 {
        let lease = take(life).await?;
        let number = u128::from(life) * 10;
        let step = match life % 6 {
            0 => said(1, number),
            3 => answer(1, number, Some(MessageFinish::ToolCalls)),
            _ => answer(1, number, Some(MessageFinish::Interrupted)),
        };
        record_all(&*journal, &lease, vec![Message(step)]).await?;
    }
    for life in 0..RESUMES_MAX * 2 {
        let Ok(lease) = take(100 + life).await else { break };
        let number = 1_000 + u128::from(life);
        record_all(&*journal, &lease, vec![Message(answer(1, number, None))]).await?;
    }
    let stuck = take(200).await;
    assert!(matches!(stuck, Err(JournalError::Stuck { .. })), "{stuck:?}");
    Ok(())
}

pub async fn who_dies_while_nothing_is_under_way_counts_for_nothing(journal: Shared) -> CaseResult {
    let id = session_id(1);
    let take = async |life: u32| {
        let owner = format!("life-{life}");
        journal.open_run(run(id.as_str()), brief_request(&owner)).await
    };
    let lease = take(0).await?;
    record_all(&*journal, &lease, vec![Session(session(1))]).await?;
    // As an editor that opens the session each time, and kills haft when it ends.
    for life in 1..RESUMES_MAX * 2 {
        take(life).await?;
    }
    let lease = take(100).await?;
    let running = SessionRow { status: SessionStatus::Running, ..session(1) };
    record_all(&*journal, &lease, vec![Session(running)]).await?;
    for life in 1..RESUMES_MAX {
        take(200 + life).await.unwrap_or_else(|err| panic!("life {life}: {err}"));
    }
    let stuck = take(300).await;
    assert!(matches!(stuck, Err(JournalError::Stuck { .. })), "{stuck:?}");
    Ok(())
}

/// Records a session of so many messages that ended so late, and gives it back.
async fn ended_session(
    journal: &dyn Journal,
    session: SessionRow,
    messages: u128,
    at_ms: u64,
) -> CaseResult {
    let number = session.id.bits();
    let lease = open_session(journal, number).await?;
    record_all(journal, &lease, vec![Session(session)]).await?;
    for message in 0..messages {
        let id = number * 10_000 + message;
        let part =
            MessagePart { updated_at_ms: at_ms, ..text_part(number, id, id, "twelve bytes") };
        record_all(journal, &lease, vec![Message(said(number, id)), Part(part)]).await?;
    }
    journal.close_run(lease).await?;
    Ok(())
}

async fn sessions_left(journal: &dyn Journal) -> CaseResult<Vec<u128>> {
    let query = SessionQuery { with_opaque: true, ..SessionQuery::default() };
    let sessions = journal.sessions(query).await?;
    Ok(sessions.iter().map(|session| session.id.bits()).collect())
}

fn runs(numbers: &[u128]) -> Vec<RunId> {
    numbers.iter().map(|number| session_id(*number).run()).collect()
}

pub async fn a_session_goes_with_its_run_and_with_those_that_it_began(
    journal: Shared,
) -> CaseResult {
    ended_session(&*journal, session(1), 1, 5_000).await?;
    ended_session(&*journal, child(2, 1), 1, 9_000).await?;
    ended_session(&*journal, session(3), u128::from(PRUNE_CALLS_MAX) + 2, 6_000).await?;
    ended_session(&*journal, child(4, 3), 1, 4_000).await?;
    ended_session(&*journal, SessionRow { mode: SessionMode::Foreground, ..child(5, 4) }, 0, 0)
        .await?;
    ended_session(&*journal, session(6), 2, 8_000).await?;
    let until = |before_ms| Retention {
        before_ms: Some(before_ms),
        bytes_max: None,
        keeps_in_doubt: false,
    };
    assert_eq!(journal.due_runs(until(6_000)).await?.runs, []);
    // The parent was quiet for long, what it began was not.
    let held = open_session(&*journal, 5).await?;
    assert_eq!(journal.due_runs(until(7_000)).await?.runs, []);
    journal.close_run(held).await?;
    assert_eq!(journal.due_runs(until(7_000)).await?.runs, runs(&[3, 4, 5]));
    assert_eq!(journal.prune(until(7_000)).await?.runs, runs(&[3, 4, 5]));
    assert_eq!(sessions_left(&*journal).await?, [6, 2, 1]);
    assert_eq!(journal.session(&session_id(3)).await?, None);
    expect![[r#""#]].assert_eq(&transcript(&*journal, 3, MessageQuery::default()).await?);
    let fits = Retention { before_ms: None, bytes_max: Some(48), keeps_in_doubt: false };
    assert_eq!(journal.due_runs(fits).await?.runs, []);
    let crowded = Retention { bytes_max: Some(47), ..fits };
    assert_eq!(journal.prune(crowded).await?.runs, runs(&[6]));
    // A session of that name begins with nothing.
    let lease = open_session(&*journal, 6).await?;
    assert_eq!(journal.session(&session_id(6)).await?, None);
    record_all(&*journal, &lease, vec![Session(session(6))]).await?;
    expect![[r#""#]].assert_eq(&transcript(&*journal, 6, MessageQuery::default()).await?);
    assert_eq!(journal.verify().await?, []);
    Ok(())
}

pub async fn a_session_goes_with_the_run_whose_call_it_works_for(journal: Shared) -> CaseResult {
    let lease = open(&*journal, "nightly").await?;
    let nightly = lease.run.clone();
    journal.close_run(lease).await?;
    let parent_id = Some(SessionId::standing_for(&nightly));
    ended_session(&*journal, SessionRow { parent_id, ..child(1, 9) }, 1, 9_000).await?;
    ended_session(&*journal, child(2, 1), 1, 4_000).await?;
    let until = |before_ms| Retention {
        before_ms: Some(before_ms),
        bytes_max: None,
        keeps_in_doubt: false,
    };
    assert_eq!(journal.due_runs(until(9_000)).await?.runs, []);
    let all = [vec![nightly], runs(&[1, 2])].concat();
    assert_eq!(journal.due_runs(until(9_001)).await?.runs, all);
    assert_eq!(journal.prune(until(9_001)).await?.runs, all);
    assert_eq!(journal.verify().await?, []);
    Ok(())
}

pub async fn calls_of_a_session_are_rows_of_the_journal(journal: Shared) -> CaseResult {
    let lease = begin_session(&*journal, 1).await?;
    let scope = haft_contract::AttemptAddress::first_of_run(session_id(1).run());
    let made = call(&scope, 1, Effect::Once);
    record_all(&*journal, &lease, vec![Message(answer(1, 10, Some(MessageFinish::ToolCalls)))])
        .await?;
    record(&*journal, made, CallStatus::Succeeded).await?;
    let part = tool_part(1, 10, 20, PartState::OutputAvailable);
    record_all(&*journal, &lease, vec![Part(part)]).await?;
    let rows = journal.runs(crate::RunQuery::default()).await?;
    assert_eq!((rows[0].id.as_str(), rows[0].calls), (session_id(1).as_str(), 1));
    assert_eq!(journal.verify().await?, []);
    let stray = MessagePart {
        call_id: Some("elsewhere/main/0/1/1".to_owned()),
        output_json: Some("no JSON".to_owned()),
        ..tool_part(1, 10, 20, PartState::OutputAvailable)
    };
    let uncovered = SessionMessage { kind: MessageKind::Summary, ..answer(1, 11, None) };
    let odd = SessionRow { permissions_json: "{".to_owned(), ..session(1) };
    record_all(&*journal, &lease, vec![Part(stray), Message(uncovered), Session(odd)]).await?;
    let findings = journal.verify().await?;
    let told: Vec<String> =
        findings.iter().map(|finding| format!("{}: {}", finding.rule, finding.detail)).collect();
    expect![[r#"
        what is noted of sessions is JSON: session ses_00000000000000000000000001: EOF while parsing an object at line 1 column 1
        summaries cover messages: message msg_0000000000000000000000000b
        what tools are given and answer is JSON: part prt_0000000000000000000000000m: expected ident at line 1 column 2
        calls of parts are of their session: part prt_0000000000000000000000000m"#]].assert_eq(&told.join("\n"));
    Ok(())
}
