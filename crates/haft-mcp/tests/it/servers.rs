//! Servers of other people at the bounds of what they may do: what is just within one passes, and one more does not. Time is
//! that of the timers and passes by itself.

mod elsewhere;
mod program;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft::{Call, ConnectionOptions};
use haft_contract::{BoxFuture, CallProgress, Envelope, ProgressSink, RunId};
use haft_journal::MemoryJournal;
use haft_mcp::client_limits::{
    REMOTE_REFUSAL_BYTES_MAX, REMOTE_REQUESTS_MAX, SERVER_END_MS_MAX, SERVER_FIND_MS_MAX,
    SERVER_LIST_MS_MAX, SERVER_PAGES_MAX, SERVER_PROGRESS_CHARS_MAX, SERVER_RELIST_MS_MIN,
    SERVER_ROUNDS_MAX, SERVER_SEND_MS_MAX, SERVER_START_MS_MAX,
};
use haft_mcp::{FormFiller, McpServers};
use haft_policy::{Rule, RuleAction};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::program::{Programs, Said, Script, answer, ordinary};
use crate::client::runtime;

/// Returns a server that says this where it says anything unusual.
fn script(says: impl Fn(&Value) -> Option<Said> + Send + Sync + 'static) -> Script {
    Script { says: Box::new(says), reads_ms: 0, ends_ms: 0 }
}

/// Returns a server that answers one request so much later.
fn late(method: &'static str, after_ms: u64) -> Script {
    script(move |request| {
        (request["method"] == method).then(|| vec![(after_ms, ordinary(request).unwrap())])
    })
}

/// Starts a server, and returns how many tools it has and why others are left out.
async fn tried(script: Script) -> Result<(usize, Vec<String>), String> {
    let servers = Programs::new(script).servers(None);
    let tried = servers.test_server("odd", &|_| None).await.unwrap();
    tried.map(|trial| (trial.tools.len(), trial.left_out)).map_err(|err| err.message)
}

#[tokio::test(start_paused = true)]
async fn a_server_has_its_time_to_start_to_list_and_to_read() {
    for (method, bound_ms, refused) in [
        ("initialize", SERVER_START_MS_MAX, "it did not answer within 30000 ms after its start"),
        ("tools/list", SERVER_LIST_MS_MAX, "it did not list its tools within 15000 ms"),
    ] {
        assert_eq!(tried(late(method, bound_ms - 1)).await, Ok((1, Vec::new())), "{method}");
        let expect = format!("mcp server odd is unavailable: {refused}");
        assert_eq!(tried(late(method, bound_ms + 1)).await, Err(expect), "{method}");
    }
    let reads = |reads_ms: u64| Script { reads_ms, ..script(|_| None) };
    // Each message of the understanding takes so long, and all of them less than a start may take.
    assert_eq!(tried(reads(SERVER_SEND_MS_MAX - 1)).await, Ok((1, Vec::new())));
    let refused = tried(reads(SERVER_SEND_MS_MAX + 1)).await.unwrap_err();
    assert!(refused.contains("it did not read what it was sent within 10000 ms"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn servers_are_waited_for_when_tools_are_put_together() {
    let in_time = Programs::new(late("initialize", SERVER_FIND_MS_MAX - 1)).servers(None);
    assert!(in_time.discover_tools().await.is_empty());
    let programs = Programs::new(late("initialize", SERVER_FIND_MS_MAX + 1));
    let servers = programs.servers(None);
    let failed = servers.discover_tools().await;
    assert_eq!(
        failed["odd"].message,
        "mcp server odd is unavailable: it is not ready after 15000 ms"
    );
    // It goes on starting, and has its tools afterwards.
    let (tells, told) = tokio::sync::oneshot::channel();
    let tells = Mutex::new(Some(tells));
    servers.on_tools_changed(move || {
        if let Some(tells) = tells.lock().unwrap().take() {
            tells.send(()).unwrap();
        }
    });
    told.await.unwrap();
    assert_eq!(servers.statuses()[0].tools, Some(1));
}

#[tokio::test]
async fn pages_of_a_list_are_taken_up_to_the_bound() {
    let pages = |pages: usize| {
        script(move |request| {
            (request["method"] == "tools/list").then(|| {
                let page: usize = match &request["params"]["cursor"] {
                    Value::String(cursor) => cursor.parse().unwrap(),
                    _ => 1,
                };
                let mut result = json!({"tools": [{"name": format!("t{page}")}]});
                if page < pages {
                    result["nextCursor"] = (page + 1).to_string().into();
                }
                vec![(0, answer(request, result))]
            })
        })
    };
    assert_eq!(tried(pages(SERVER_PAGES_MAX)).await, Ok((SERVER_PAGES_MAX, Vec::new())));
    let (tools, left_out) = tried(pages(SERVER_PAGES_MAX + 1)).await.unwrap();
    assert_eq!((tools, left_out.len()), (SERVER_PAGES_MAX, 1), "{left_out:?}");
}

#[tokio::test(start_paused = true)]
async fn changes_of_a_list_are_looked_at_now_and_then() {
    let programs = Programs::new(script(|_| None));
    let servers = programs.servers(None);
    servers.test_server("odd", &|_| None).await.unwrap().map_err(|err| err.message).unwrap();
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    programs.say(changed.clone());
    programs.asked("tools/list", 2).await;
    programs.say(changed);
    let asked = programs.asked("tools/list", 3).await;
    let between = asked[2].duration_since(asked[1]);
    let least = Duration::from_millis(SERVER_RELIST_MS_MIN);
    assert!((least..2 * least).contains(&between), "{between:?}");
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_server_is_waited_for() {
    for (ends_ms, waited_ms) in
        [(SERVER_END_MS_MAX - 1, SERVER_END_MS_MAX - 1), (SERVER_END_MS_MAX + 1, SERVER_END_MS_MAX)]
    {
        let servers = Programs::new(Script { ends_ms, ..script(|_| None) }).servers(None);
        servers.test_server("odd", &|_| None).await.unwrap().map_err(|err| err.message).unwrap();
        let began = Instant::now();
        servers.close().await;
        let waited = began.elapsed();
        // The timers of tokio are a millisecond wide.
        let expect = Duration::from_millis(waited_ms);
        assert!((expect..=expect + Duration::from_millis(1)).contains(&waited), "{waited:?}");
    }
}

/// Calls the server's tool, and returns what it answers and the messages of its steps.
async fn called(script: Script, forms: Option<Arc<dyn FormFiller>>) -> (Envelope, Vec<String>) {
    let servers = Programs::new(script).servers(forms);
    let steps = Arc::new(Steps::default());
    let envelopes = called_at_once(&servers, 1, &steps).await;
    let steps = steps.0.lock().unwrap().clone();
    (envelopes.into_iter().next().unwrap(), steps)
}

/// Calls the server's tool so often at the same time, and returns what it answers.
async fn called_at_once(servers: &McpServers, calls: usize, steps: &Arc<Steps>) -> Vec<Envelope> {
    assert!(servers.discover_tools().await.is_empty());
    let tools = servers.tools(&|_| None).tools;
    let place = tempfile::tempdir().unwrap();
    let rules = vec![Rule::new("*", "*", RuleAction::Allow)];
    let runtime = runtime(&place, tools, rules, Arc::new(MemoryJournal::new()));
    let session = runtime.open_connection(ConnectionOptions::headless("session", "test")).unwrap();
    let run = session.run(RunId::parse("run").unwrap());
    let call = |number: usize| {
        let progress = Arc::clone(steps) as Arc<dyn ProgressSink>;
        run.call(Call { progress, ..Call::new("odd_echo", json!({"number": number})) })
    };
    let answered = futures_util::future::join_all((0..calls).map(call)).await;
    answered.into_iter().map(Result::unwrap).collect()
}

/// Returns the data of an answer, or why there is none.
fn said(envelope: &Envelope) -> String {
    match envelope {
        Envelope::Output { data, .. } => data.to_string(),
        Envelope::Error { error_text, .. } => error_text.clone(),
    }
}

#[derive(Default)]
struct Steps(Mutex<Vec<String>>);

impl ProgressSink for Steps {
    fn report(&self, progress: CallProgress) {
        self.0.lock().unwrap().push(progress.message);
    }
}

#[tokio::test]
async fn a_step_is_reported_in_so_many_characters() {
    let steps = |chars: usize| {
        script(move |request| {
            (request["method"] == "tools/call").then(|| {
                let token = &request["params"]["_meta"]["progressToken"];
                let params =
                    json!({"progressToken": token, "progress": 1, "message": "ä".repeat(chars)});
                let step =
                    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
                vec![(0, step), (1, ordinary(request).unwrap())]
            })
        })
    };
    let (_, reported) = called(steps(SERVER_PROGRESS_CHARS_MAX), None).await;
    assert_eq!(reported, ["ä".repeat(SERVER_PROGRESS_CHARS_MAX)]);
    let (_, reported) = called(steps(SERVER_PROGRESS_CHARS_MAX + 1), None).await;
    assert_eq!(reported, [format!("{}…", "ä".repeat(SERVER_PROGRESS_CHARS_MAX))]);
}

/// Fills in every form in the same way.
struct Fills;

impl FormFiller for Fills {
    fn fill<'a>(&'a self, _: &'a str, _: &'a Value) -> BoxFuture<'a, Option<Map<String, Value>>> {
        Box::pin(async { Some(Map::new()) })
    }
}

#[tokio::test]
async fn a_call_has_so_many_rounds() {
    // The current protocol: no handshake, and forms are answers.
    let rounds = |rounds: usize| {
        let made = Mutex::new(0);
        script(move |request| {
            let result = match request["method"].as_str()? {
                "server/discover" => json!({
                    "resultType": "complete",
                    "supportedVersions": ["2026-07-28"],
                    "capabilities": {"tools": {}},
                    "ttlMs": 0,
                    "cacheScope": "private",
                }),
                "tools/list" => json!({
                    "resultType": "complete",
                    "tools": [{"name": "echo", "inputSchema": {"type": "object"}}],
                    "ttlMs": 0,
                    "cacheScope": "private",
                }),
                "tools/call" => {
                    let mut made = made.lock().unwrap();
                    *made += 1;
                    let schema = json!({"type": "object", "properties": {}});
                    let params = json!({"mode": "form", "message": "?", "requestedSchema": schema});
                    let form = json!({"method": "elicitation/create", "params": params});
                    match *made < rounds {
                        true => {
                            json!({"resultType": "input_required", "inputRequests": {"a": form}})
                        }
                        false => {
                            json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]})
                        }
                    }
                }
                _ => return None,
            };
            Some(vec![(0, answer(request, result))])
        })
    };
    let (last, _) = called(rounds(SERVER_ROUNDS_MAX), Some(Arc::new(Fills))).await;
    assert_eq!(said(&last), r#""done""#);
    let (more, _) = called(rounds(SERVER_ROUNDS_MAX + 1), Some(Arc::new(Fills))).await;
    assert_eq!(said(&more), "mcp server odd: it asks for input again and again");
}

#[tokio::test]
async fn a_refusal_is_shown_up_to_the_bound() {
    for (bytes, shown) in [
        (REMOTE_REFUSAL_BYTES_MAX, "it answered with HTTP 429 Too Many Requests: later"),
        (REMOTE_REFUSAL_BYTES_MAX + 1, "it answered with HTTP 429 Too Many Requests"),
    ] {
        let said_later = format!("later{}", " ".repeat(bytes - "later".len()));
        let servers = elsewhere::servers(Arc::new(move |_| {
            let said_later = said_later.clone();
            Box::pin(async move { ("429 Too Many Requests", said_later) })
        }));
        let answered = called_at_once(&servers.await, 1, &Arc::default()).await;
        assert_eq!(said(&answered[0]), format!("mcp server odd is unavailable: {shown}"));
    }
}

#[tokio::test]
async fn requests_to_a_server_elsewhere_are_bounded() {
    // The first answer comes when as many are asked as may be; each one that is answered lets the next one go.
    let (open, asked) = (Arc::new(Semaphore::new(0)), Arc::new(Mutex::new((0, 0))));
    let seen = Arc::clone(&asked);
    let servers = elsewhere::servers(Arc::new(move |request| {
        let (open, asked) = (Arc::clone(&open), Arc::clone(&asked));
        Box::pin(async move {
            {
                let (now, most) = &mut *asked.lock().unwrap();
                *now += 1;
                *most = (*most).max(*now);
                if *now == REMOTE_REQUESTS_MAX {
                    open.add_permits(1);
                }
            }
            open.acquire().await.unwrap().forget();
            asked.lock().unwrap().0 -= 1;
            open.add_permits(1);
            ("200 OK", ordinary(&request).unwrap().to_string())
        })
    }))
    .await;
    let answered = called_at_once(&servers, REMOTE_REQUESTS_MAX + 1, &Arc::default()).await;
    assert!(answered.iter().all(|answer| said(answer) == r#""done""#), "{answered:?}");
    assert_eq!(seen.lock().unwrap().1, REMOTE_REQUESTS_MAX);
}
