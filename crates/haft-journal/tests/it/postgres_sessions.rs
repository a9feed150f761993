//! Sessions on a server whose connections are cut and that crashes: what was acknowledged is kept, once, and as it was said.

use std::sync::Arc;

use haft_contract::Effect;
use haft_journal::SessionRecord::{Message, Part, Session};
use haft_journal::{
    CallQuery, CallStatus, Journal, MemoryJournal, MessageFinish, MessageKind, MessagePart,
    MessageQuery, PartState, PostgresJournal, RunQuery, SessionDurability, SessionJournal,
    SessionMessage, SessionRow, SessionStatus,
};

use crate::fixture::{call, outcome, request, run, scope};
use crate::postgres_proxy::{Cut, Proxy};
use crate::postgres_server::Server;
use crate::session_fixture::{
    answer, begin_session, child, message_id, open_session, record_all, said, session, session_id,
    text_part, tool_part, transcript,
};

/// Names what a conversation begins: apart from the names of all conversations of a test.
const CHILDREN: u128 = 1_000_000;

/// Has a conversation with everything that is recorded of one: both firmnesses, rows that replace others, a subagent, and an
/// end that is set aside. Before each record `prepare` is called.
async fn converse(journal: &dyn Journal, number: u128, prepare: impl Fn()) {
    let (own, begun) = (number, CHILDREN + number);
    let of = |part: u128| number * 100 + part;
    prepare();
    let lease = journal.open_run(run(session_id(own).as_str()), request("one")).await.unwrap();
    let of_child = open_session(journal, begun).await.unwrap();
    let text = |text: &str| Part(text_part(own, of(20), of(21), text));
    let call = |state: PartState| Part(tool_part(own, of(20), of(22), state));
    let ended =
        SessionRow { status: SessionStatus::Completed, delivered: true, ..child(begun, own) };
    let notice = SessionMessage { kind: MessageKind::Notice, ..said(own, of(30)) };
    let (ordered, durable) = (SessionDurability::Ordered, SessionDurability::Durable);
    let records = [
        (&lease, ordered, vec![Session(session(own))]),
        (
            &lease,
            durable,
            vec![Message(said(own, of(10))), Part(text_part(own, of(10), of(11), "mend the test"))],
        ),
        (&lease, ordered, vec![Message(answer(own, of(20), None)), text("I lo")]),
        (&lease, ordered, vec![text("I look."), call(PartState::InputAvailable)]),
        (
            &lease,
            durable,
            vec![
                Message(answer(own, of(20), Some(MessageFinish::ToolCalls))),
                Session(SessionRow { steps: 1, ..session(own) }),
            ],
        ),
        (&of_child, durable, vec![Session(child(begun, own))]),
        (&lease, ordered, vec![call(PartState::OutputAvailable)]),
        (&lease, durable, vec![Message(notice), Session(ended)]),
        (&lease, ordered, vec![Message(said(own, of(40)))]),
    ];
    for (lease, firmness, records) in records {
        prepare();
        journal.record_session(lease, records, firmness).await.unwrap();
    }
    prepare();
    let rewound = journal.rewind_session(&lease, &message_id(of(30)), 9_000).await.unwrap();
    assert_eq!(rewound, 2, "how many were set aside is what the first to try it did");
    prepare();
    assert_eq!(journal.rewind_session(&lease, &message_id(of(30)), 9_500).await.unwrap(), 0);
    for lease in [lease, of_child] {
        prepare();
        journal.close_run(lease).await.unwrap();
    }
}

/// One session with everything that was said in it.
type Kept = (SessionRow, Vec<(SessionMessage, Vec<MessagePart>)>);

async fn kept(journal: &dyn Journal, session: u128) -> Vec<Kept> {
    let mut kept = Vec::new();
    for number in [session, CHILDREN + session] {
        let session = journal.session(&session_id(number)).await.unwrap().unwrap();
        let query = MessageQuery { with_rewound: true, ..MessageQuery::default() };
        kept.push((session, journal.session_messages(&session_id(number), query).await.unwrap()));
    }
    kept
}

/// Each use of the connection is cut in one of the conversations, up to the answer to the last commit of the longest record.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_as_if_its_connection_had_never_been_cut() {
    for cut in [Cut::BeforeRequest, Cut::InsideRequest, Cut::BeforeAnswer] {
        let server = Server::shared();
        let proxy = Proxy::start(server.port());
        let database = server.database();
        let url = format!("postgres://haft@127.0.0.1:{}/{database}", proxy.port());
        let journal = PostgresJournal::connect(&url).await.unwrap();
        let watch = PostgresJournal::connect(&server.url_of(&database)).await.unwrap();
        let memory = MemoryJournal::new();
        for uses in 0_u32.. {
            let (session, before) = (u128::from(uses) + 1, proxy.cuts());
            converse(&journal, session, || proxy.cut_after(cut, uses)).await;
            let is_uncut = proxy.cuts() == before;
            converse(&memory, session, || {}).await;
            assert_eq!(
                kept(&watch, session).await,
                kept(&memory, session).await,
                "{cut:?} after {uses} uses"
            );
            if is_uncut {
                assert!(uses >= 5, "a record takes several turns: {cut:?} after {uses} uses");
                break;
            }
        }
        assert_eq!(watch.verify().await.unwrap(), [], "{cut:?}");
        let runs = watch.runs(RunQuery::default()).await.unwrap();
        assert!(runs.iter().all(|run| run.holder.is_none()), "{runs:?}");
    }
}

/// Messages that were recorded before an effect are there if the effect is, and durable messages are there in any case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_before_a_crash_of_the_server_is_kept() {
    const CRASHES: u128 = 4;
    // Only commits that a caller waits for are written to the disk.
    let server = Arc::new(Server::start("fsync = on\nwal_writer_delay = 10s"));
    let journal = PostgresJournal::connect(&server.url()).await.unwrap();
    let lease = begin_session(&journal, 1).await.unwrap();
    for number in 1..=CRASHES {
        let id = number * 10;
        let words = Part(text_part(1, id, id, &format!("words {number}")));
        record_all(&journal, &lease, vec![Message(said(1, id)), words]).await.unwrap();
        if number % 2 == 0 {
            let message = vec![Message(said(1, id + 1))];
            journal.record_session(&lease, message, SessionDurability::Durable).await.unwrap();
        } else {
            let seq = u32::try_from(number).unwrap();
            let call = call(&scope(session_id(1).as_str()), seq, Effect::Once);
            let intent = journal.intend(call).await.unwrap();
            journal.settle(intent, outcome(CallStatus::Succeeded)).await.unwrap();
        }
        let server = Arc::clone(&server);
        let crash = move || {
            server.crash();
            server.restart();
        };
        tokio::task::spawn_blocking(crash).await.unwrap();
    }
    expect_test::expect![[r#"
        10 user said - | 10 text - "words 1"
        20 user said - | 20 text - "words 2"
        21 user said -
        30 user said - | 30 text - "words 3"
        40 user said - | 40 text - "words 4"
        41 user said -
    "#]]
    .assert_eq(&transcript(&journal, 1, MessageQuery::default()).await.unwrap());
    let calls = journal.calls(CallQuery::default()).await.unwrap();
    assert!(calls.iter().all(|row| row.status == CallStatus::Succeeded), "{calls:?}");
    assert_eq!((calls.len(), journal.verify().await.unwrap().len()), (2, 0));
}
