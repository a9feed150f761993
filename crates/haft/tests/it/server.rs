//! Calls whose journal is a PostgreSQL server that goes away in the middle: what the caller is told is what is known, and what
//! a later process finds agrees with it.

use std::path::Path;
use std::sync::Arc;

use expect_test::expect;
use haft::{Call, ResumeMode};
use haft_contract::{Effect, RunId, Tool, ToolError};
use haft_journal::{CallStatus, PostgresJournal};
use serde_json::json;

use crate::postgres_proxy::{Cut, Proxy};
use crate::postgres_server::Server;
use crate::stage::{Counter, Setting, Stage, Text};

/// A fault of the server during the effect.
type Mishap = Arc<dyn Fn() + Send + Sync>;

/// A process whose tool `order` meets a mishap each time.
async fn process(url: &str, owner: &'static str, orders: &Counter, mishap: Mishap) -> Stage {
    let orders = orders.clone();
    let order = Tool::new("order").effect(Effect::Once).execute_blocking(move |input: Text, _| {
        orders.add();
        mishap();
        Ok::<_, ToolError>(format!("ordered {}", input.text))
    });
    let journal = Arc::new(PostgresJournal::connect(url).await.unwrap());
    // All processes are of one workspace, in which nothing is.
    let root = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("workspace"));
    Stage::new(Setting { tools: vec![order], journal, owner, root, ..Setting::default() }).await
}

fn nothing() -> Mishap {
    Arc::new(|| {})
}

fn order(text: &str) -> Call {
    Call::new("order", json!({ "text": text }))
}

/// Goes on as another process after the one before is gone, and returns what it is told of the first order.
async fn replayed(url: &str, orders: &Counter) -> (String, bool) {
    let next = process(url, "next", orders, nothing()).await;
    let replay = next.session.resume(RunId::parse("r1").unwrap(), ResumeMode::Replay);
    let envelope = replay.call(order("milk")).await.unwrap();
    assert_eq!(next.runtime.journal().verify().await.unwrap(), []);
    (envelope.text(), envelope.metadata().replayed)
}

async fn statuses(stage: &Stage) -> Vec<CallStatus> {
    stage.rows().await.into_iter().map(|row| row.status).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_cut_between_effect_and_outcome_loses_neither() {
    for cut in [Cut::BeforeRequest, Cut::InsideRequest, Cut::BeforeAnswer] {
        let server = Server::shared();
        let (database, orders) = (server.database(), Counter::default());
        let proxy = Arc::new(Proxy::start(server.port()));
        let url = format!("postgres://haft@127.0.0.1:{}/{database}", proxy.port());
        let cutter = Arc::clone(&proxy);
        let stage = process(&url, "dead", &orders, Arc::new(move || cutter.cut_next(cut))).await;
        assert_eq!(stage.run.call(order("milk")).await.unwrap().text(), "ordered milk", "{cut:?}");
        assert_eq!(proxy.cuts(), 1, "{cut:?}");
        assert_eq!(statuses(&stage).await, [CallStatus::Succeeded], "{cut:?}");
        let told = replayed(&server.url_of(&database), &orders).await;
        assert_eq!((told, orders.count()), (("ordered milk".to_owned(), true), 1), "{cut:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_started_again_in_the_middle_of_a_call_loses_nothing() {
    let server = Arc::new(Server::start("fsync = on"));
    let (url, orders) = (server.url(), Counter::default());
    let other = Arc::clone(&server);
    let restart = move || {
        other.crash();
        other.restart();
    };
    let stage = process(&url, "dead", &orders, Arc::new(restart)).await;
    for text in ["milk", "tea"] {
        let envelope = stage.run.call(order(text)).await.unwrap();
        assert_eq!(envelope.text(), format!("ordered {text}"));
    }
    assert_eq!(statuses(&stage).await, [CallStatus::Succeeded; 2]);
    assert_eq!(replayed(&url, &orders).await, ("ordered milk".to_owned(), true));
    assert_eq!(orders.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_whose_server_is_gone_for_good_is_in_doubt() {
    let server = Arc::new(Server::start("fsync = on"));
    let (url, orders) = (server.url(), Counter::default());
    let other = Arc::clone(&server);
    let stage = process(&url, "dead", &orders, Arc::new(move || other.crash())).await;
    let err = stage.run.call(order("milk")).await.unwrap_err();
    let place = url.trim_start_matches("postgres://haft@");
    expect!["call r1/main/0/1/1 was begun and its end could not be recorded, so it is in doubt: cannot reach journal postgres://PLACE: error connecting to server: Connection refused (os error 111); check the URL, and that the server runs and lets you in"].assert_eq(&err.to_string().replace(place, "PLACE"));
    server.restart();
    assert_eq!(statuses(&stage).await, [CallStatus::Intended]);
    let (told, replayed) = replayed(&url, &orders).await;
    assert!(told.starts_with("in doubt: order was begun as call r1/main/0/1/1"), "{told}");
    assert_eq!((replayed, orders.count()), (false, 1));
}
