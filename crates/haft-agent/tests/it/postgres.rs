//! Sessions in a journal on a PostgreSQL server. Another process, which only has the address of the database, resumes unfinished
//! work.

use std::sync::Arc;

use expect_test::expect;
use haft_agent::{AgentHost, NewSession, TurnPrompt};
use haft_journal::{Journal, PostgresJournal, SessionId, SessionQuery, SessionStatus};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::models::{Actor, Reply, calls, results, says};
use crate::postgres_server::Server;
use crate::stage::{Cast, Place, done, go_on, say, shown};
use crate::subagents::{HELPER, children, task};

async fn journal(url: &str) -> Arc<dyn Journal> {
    Arc::new(PostgresJournal::connect(url).await.unwrap())
}

/// Has a process begin to work whose parent and subagent answer so.
async fn process(
    place: &Place,
    url: &str,
    id: &str,
    [parent, child]: [Vec<Reply>; 2],
) -> (AgentHost, [Arc<Actor>; 2]) {
    let [parent, child] = [parent, child].map(Actor::in_order);
    let cast =
        Cast(vec![("openai/m1", Arc::clone(&parent) as _), ("openai/m2", Arc::clone(&child) as _)]);
    (place.process(id, journal(url).await, cast), [parent, child])
}

fn order(name: &str, tool: &str) -> Reply {
    calls(&[(name, tool, json!({"text": name}))])
}

/// Begins a session whose subagent makes an endless call, in a runtime that is dropped meanwhile.
async fn die_in_a_subagent(place: &Arc<Place>, url: &str) {
    let process_one = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (theirs, url) = (Arc::clone(place), url.to_owned());
    process_one.spawn(async move {
        let parent = vec![order("a1", "order"), task("helper")];
        let child = vec![order("h1", "order"), order("h2", "order_long")];
        let (host, _) = process(&theirs, &url, "dead", [parent, child]).await;
        let new = NewSession { agent: "build".to_owned(), ..NewSession::default() };
        let mut chat = host.begin(new).await.unwrap();
        let prompt = TurnPrompt::Message("go".into());
        chat.run_turn(prompt, CancellationToken::new()).await.unwrap();
    });
    place.world.until_waiting(1).await;
    // Dropping a runtime waits until nothing runs in it.
    tokio::task::spawn_blocking(move || drop(process_one)).await.unwrap();
}

async fn begun(place: &Place) -> SessionId {
    let top = SessionQuery { only_top: true, ..SessionQuery::default() };
    place.journal.sessions(top).await.unwrap().pop().unwrap().id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_goes_on_with_a_chat_and_its_subagent() {
    let url = Server::shared().url();
    let place = Arc::new(Place::with_journal(journal(&url).await).agent("helper", HELPER));
    die_in_a_subagent(&place, &url).await;
    let id = begun(&place).await;
    assert_eq!(children(&place).await[0].status, SessionStatus::Running);

    let answers = [vec![says("Thanks.")], vec![says("h2 is in doubt.")]];
    let (host, [parent, child]) = process(&place, &url, "second", answers).await;
    let mut chat = host.open(&id).await.unwrap();
    assert_eq!(go_on(&mut chat).await, done("Thanks."));
    // Nothing was done twice, because the subagent resumed its own session.
    assert_eq!(place.world.done(), ["order a1", "order h1", "order_long h2"]);
    let helper = children(&place).await.remove(0);
    let told = results(&child.request(0)).join("\n").replace(helper.id.as_str(), "CHILD");
    expect![[r#"
        h1: {"done":"h1"}
        h2: in doubt: order_long was begun as call CHILD/main/0/1/2 and its end was never recorded, so it may or may not have happened. It is not repeated.

        [haft: Do not make it again. Tell the user: find out whether it happened, then settle call CHILD/main/0/1/2.]"#]].assert_eq(&told);
    expect![[r#"
        a1: {"done":"a1"}
        t1: h2 is in doubt."#]]
    .assert_eq(&results(&parent.request(0)).join("\n"));
    drop(chat);
    host.close().await;

    let (host, _) = process(&place, &url, "third", [vec![says("Nothing more.")], vec![]]).await;
    let mut chat = host.open(&id).await.unwrap();
    assert_eq!(say(&mut chat, "What else?").await, done("Nothing more."));
    expect![[r#"
        user said
          text "go"
        assistant said (tool-calls)
          tool a1 order {"text":"a1"} output-available "{\"done\":\"a1\"}"
        assistant said (tool-calls)
          tool t1 task {"subagent_type":"helper","prompt":"help me"} output-available "h2 is in doubt."
        assistant said (stop)
          text "Thanks."
        user said
          text "What else?"
        assistant said (stop)
          text "Nothing more."
    "#]].assert_eq(&shown(&chat).await);
    assert_eq!((helper.status, helper.parent_id), (SessionStatus::Completed, Some(id)));
    assert_eq!(children(&place).await.len(), 1);
    host.close().await;
    assert_eq!(place.journal.verify().await.unwrap(), []);
}
