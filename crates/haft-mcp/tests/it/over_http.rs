//! MCP over HTTP without a socket: sessions, how many there may be and when they end, and questions that wait across
//! requests of the era without sessions.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use haft::{ConnectionOptions, ResumeMode, Runtime, TaskAttempt};
use haft_contract::limits::TIMEOUT_MS_MAX;
use haft_contract::{CallProgress, Cx, Effect, RunId, Tool, ToolError};
use haft_journal::{CallQuery, CallStatus, Journal, MemoryJournal};
use haft_mcp::limits::{
    HTTP_SESSION_IDLE_MS_MAX, HTTP_SESSION_SPARE_MS, HTTP_SESSIONS_MAX, HTTP_SWEEP_MS,
    KEEP_ALIVE_MS,
};
use haft_mcp::{HttpServer, McpServerParts, STATE_KEY_BYTES};
use haft_policy::{Rule, RuleAction};
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tower_service::Service;

use crate::Nothing;
use crate::client::{TimersClock, runtime};

/// A server and everything that it stands on.
struct Serving {
    server: HttpServer,
    journal: Arc<dyn Journal>,
    _place: TempDir,
}

/// The response so far.
type Unread = Response<BoxBody<Bytes, Infallible>>;

/// The complete response.
struct Answer {
    status: u16,
    session: Option<String>,
    body: String,
}

impl Serving {
    fn start(tools: impl IntoIterator<Item = Tool>, rules: Vec<Rule>) -> Self {
        let place = tempfile::tempdir().unwrap();
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        let runtime = runtime(&place, tools, rules, Arc::clone(&journal));
        let opened = AtomicUsize::new(0);
        let clock = Arc::new(TimersClock(Instant::now()));
        let open = move || {
            let number = opened.fetch_add(1, Ordering::Relaxed);
            Ok(connected(&runtime, number, Arc::clone(&clock)))
        };
        let server = HttpServer::new(open().unwrap(), Box::new(open));
        Self { server, journal, _place: place }
    }

    async fn send(&self, method: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let (parts, body) = self.begin(method, headers, body).await.into_parts();
        let session = parts.headers.get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
        let body = body.collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        Answer { status: parts.status.as_u16(), session, body }
    }

    /// Returns an answer that has not been read yet.
    async fn begin(&self, method: &str, headers: &[(&str, &str)], body: &Value) -> Unread {
        let request = Request::builder().method(method).uri("/mcp");
        let usual = [
            ("host", "localhost"),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        let request = usual
            .iter()
            .chain(headers)
            .fold(request, |request, (name, value)| request.header(*name, *value));
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = request.body(Bytes::from(body)).unwrap();
        self.server.service().call(request).await.unwrap()
    }

    async fn initialize(&self) -> Answer {
        self.initialize_as("2025-11-25").await
    }

    async fn initialize_as(&self, version: &str) -> Answer {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.send("POST", &[], &message).await
    }

    async fn begin_session(&self) -> String {
        let begun = self.initialize().await;
        assert_eq!(begun.status, 200, "{}", begun.body);
        let session = begun.session.unwrap();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.send("POST", &[("mcp-session-id", &session)], &ready).await.status, 202);
        session
    }

    async fn is_alive(&self, session: &str) -> bool {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let answer = self.send("POST", &[("mcp-session-id", session)], &ping).await;
        assert!([200, 404].contains(&answer.status), "{}", answer.body);
        answer.status == 200
    }
}

impl Answer {
    fn message(&self) -> Value {
        let data = self.body.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
        let mut messages = data.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.rfind(Value::is_object).unwrap_or_else(|| panic!("{}", self.body))
    }
}

fn connected(runtime: &Runtime, number: usize, clock: Arc<TimersClock>) -> McpServerParts {
    let session = ConnectionOptions::headless(format!("session{number}"), "mcp");
    McpServerParts {
        runtime: runtime.clone(),
        connection: runtime.open_connection(session).unwrap(),
        run: RunId::parse(&format!("run{number}")).unwrap(),
        address: TaskAttempt::default(),
        resume: ResumeMode::Continue,
        clock,
        advise: haft_mcp::plain_advice,
        explain: |err| err.to_string(),
        state_key: [7; STATE_KEY_BYTES],
        resource_provider: None,
        ask_pages: None,
        task_host: None,
    }
}

fn allow() -> Vec<Rule> {
    vec![Rule::new("*", "*", RuleAction::Allow)]
}

fn call(tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
           "params": {"name": tool, "arguments": {}}})
}

/// Returns the data of the events of a session's answers: of its beginning, and of a call.
async fn event_data(serving: &Serving, version: &str) -> Vec<String> {
    let begun = serving.initialize_as(version).await;
    let session = begun.session.unwrap();
    let header = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", version)];
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(serving.send("POST", &header, &ready).await.status, 202);
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let listed = serving.send("POST", &header, &list).await;
    let bodies = [begun.body, listed.body];
    let lines = bodies.iter().flat_map(|body| body.lines());
    lines.filter_map(|line| line.strip_prefix("data:")).map(|data| data.trim().to_owned()).collect()
}

#[tokio::test]
async fn only_clients_that_know_it_get_an_empty_first_event() {
    let serving = Serving::start([], allow());
    for version in ["2025-03-26", "2025-06-18"] {
        let data = event_data(&serving, version).await;
        assert!(data.iter().all(|data| data.starts_with('{')), "{version}: {data:?}");
    }
    let newest = event_data(&serving, "2025-11-25").await;
    assert!(newest.iter().any(String::is_empty), "{newest:?}");
}

#[tokio::test(start_paused = true)]
async fn sessions_are_bounded_and_idle_ones_make_room() {
    let serving = Serving::start([], allow());
    let mut sessions = Vec::new();
    for _ in 0..HTTP_SESSIONS_MAX {
        sessions.push(serving.begin_session().await);
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    let refused = serving.initialize().await;
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("64 sessions"), "{}", refused.body);
    tokio::time::advance(Duration::from_millis(HTTP_SESSION_SPARE_MS)).await;
    // All but one have been silent for long enough, the second for longest.
    let (first, second) = (sessions[0].clone(), sessions[1].clone());
    assert!(serving.is_alive(&first).await);
    assert_eq!(serving.initialize().await.status, 200);
    assert!(!serving.is_alive(&second).await);
    assert!(serving.is_alive(&first).await);
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_when_nobody_is_there_and_not_while_a_call_runs() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let open = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&open);
    let hours = Tool::new("hours").timeout_ms(|_: &Nothing| Some(TIMEOUT_MS_MAX)).execute_with(
        move |_: Nothing, _: Cx| {
            let (began, opened) = (began.clone(), Arc::clone(&opened));
            async move {
                let _ = began.send(());
                opened.acquire().await?.forget();
                Ok::<_, ToolError>("passed")
            }
        },
    );
    let serving = Arc::new(Serving::start([hours], allow()));
    let (idle, busy) = (serving.begin_session().await, serving.begin_session().await);
    let (calling, session) = (Arc::clone(&serving), busy.clone());
    let running = tokio::spawn(async move {
        calling.send("POST", &[("mcp-session-id", &session)], &call("hours")).await.message()
    });
    begins.recv().await.unwrap();
    // The client goes away; its call goes on, since it may come back for the answer.
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    tokio::time::sleep(Duration::from_millis(HTTP_SESSION_IDLE_MS_MAX / 2)).await;
    assert!(serving.is_alive(&idle).await);
    tokio::time::sleep(Duration::from_millis(HTTP_SESSION_IDLE_MS_MAX + 2 * HTTP_SWEEP_MS)).await;
    assert!(!serving.is_alive(&idle).await);
    assert!(serving.is_alive(&busy).await);
    open.add_permits(1);
}

#[tokio::test]
async fn an_ended_session_stops_its_calls_and_reaches_no_other() {
    let (tool, mut told) = waits_until_stopped();
    let serving = Arc::new(Serving::start([tool], allow()));
    let (first, second) = (serving.begin_session().await, serving.begin_session().await);
    let (calling, session) = (Arc::clone(&serving), first.clone());
    let running = tokio::spawn(async move {
        calling.send("POST", &[("mcp-session-id", &session)], &call("waits")).await
    });
    assert_eq!(told.recv().await, Some("began"));
    let ended = serving.send("DELETE", &[("mcp-session-id", &first)], &Value::Null).await;
    assert_eq!(ended.status, 204);
    assert_eq!(told.recv().await, Some("stopped"));
    assert!(running.await.unwrap().body.contains("PROCESS_ABORTED"));
    assert!(!serving.is_alive(&first).await);
    assert!(serving.is_alive(&second).await);
    assert_eq!(
        serving.send("DELETE", &[("mcp-session-id", &first)], &Value::Null).await.status,
        404
    );
    assert_eq!(
        serving.send("DELETE", &[("mcp-session-id", "guess")], &Value::Null).await.status,
        404
    );
}

/// A tool that waits until it is told to stop, and tells when it began and when it was.
fn waits_until_stopped() -> (Tool, mpsc::UnboundedReceiver<&'static str>) {
    let (tell, told) = mpsc::unbounded_channel();
    let tool = Tool::new("waits").effect(Effect::Once).execute_with(move |_: Nothing, cx: Cx| {
        let tell = tell.clone();
        async move {
            cx.report(CallProgress { done: 1.0, total: None, message: "waiting".to_owned() });
            let _ = tell.send("began");
            cx.cancellation().cancelled().await;
            let _ = tell.send("stopped");
            Err::<&str, _>(ToolError::new(haft_contract::ErrorCode::ProcessAborted, "stopped"))
        }
    });
    (tool, told)
}

#[tokio::test]
async fn the_end_of_the_server_stops_the_calls_of_both_eras() {
    let (tool, mut told) = waits_until_stopped();
    let serving = Arc::new(Serving::start([tool], allow()));
    let session = serving.begin_session().await;
    let calling = Arc::clone(&serving);
    let older = tokio::spawn(async move {
        calling.send("POST", &[("mcp-session-id", &session)], &call("waits")).await
    });
    assert_eq!(told.recv().await, Some("began"));
    let calling = Arc::clone(&serving);
    let newer = tokio::spawn(async move { modern(&calling, "waits", json!({}), json!({})).await });
    assert_eq!(told.recv().await, Some("began"));
    serving.server.shut_down().await;
    assert_eq!(told.recv().await, Some("stopped"));
    assert_eq!(told.recv().await, Some("stopped"));
    assert!(older.await.unwrap().body.contains("PROCESS_ABORTED"));
    assert!(newer.await.unwrap().body.contains("PROCESS_ABORTED"));
    assert_eq!(serving.initialize().await.status, 503);
}

#[tokio::test]
async fn no_session_begins_while_the_server_ends() {
    let (tool, mut told) = waits_until_stopped();
    let serving = Arc::new(Serving::start([tool], allow()));
    let session = serving.begin_session().await;
    let calling = Arc::clone(&serving);
    let running = tokio::spawn(async move {
        calling.send("POST", &[("mcp-session-id", &session)], &call("waits")).await
    });
    assert_eq!(told.recv().await, Some("began"));
    let server = Arc::clone(&serving);
    let ending = tokio::spawn(async move { server.server.shut_down().await });
    assert_eq!(told.recv().await, Some("stopped"));
    let refused = serving.initialize().await;
    assert_eq!((refused.status, &*refused.body), (503, "the server is about to end\n"));
    ending.await.unwrap();
    assert!(running.await.unwrap().body.contains("PROCESS_ABORTED"));
}

/// Makes a call as newer clients do; `more` are parameters beside its name, `client` what the client can.
async fn modern(serving: &Serving, tool: &'static str, more: Value, client: Value) -> Answer {
    let (message, headers) = modern_request(tool, json!({}), more, client);
    serving.send("POST", &headers, &message).await
}

/// Returns a call as newer clients make it, and its headers; `meta` is beside what they say of themselves.
fn modern_request(
    tool: &'static str,
    meta: Value,
    more: Value,
    client: Value,
) -> (Value, [(&'static str, &'static str); 3]) {
    let mut message = call(tool);
    let mut all = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": client,
    });
    all.as_object_mut().unwrap().extend(meta.as_object().unwrap().clone());
    message["params"]["_meta"] = all;
    message["params"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)];
    (message, headers)
}

#[tokio::test]
async fn a_newer_client_that_goes_away_cancels_its_call() {
    // Before anything is answered, and in the middle of the stream that a report of progress begins.
    for more in [json!({}), json!({"progressToken": 7})] {
        let (tool, mut told) = waits_until_stopped();
        let serving = Arc::new(Serving::start([tool], allow()));
        let calling = Arc::clone(&serving);
        let of_request = more.clone();
        let running = tokio::spawn(async move {
            let (message, headers) = modern_request("waits", of_request, json!({}), json!({}));
            let mut unread = calling.begin("POST", &headers, &message).await;
            unread.frame().await;
            std::future::pending::<()>().await;
        });
        assert_eq!(told.recv().await, Some("began"));
        running.abort();
        assert!(running.await.unwrap_err().is_cancelled());
        assert_eq!(told.recv().await, Some("stopped"), "{more}");
        serving.server.shut_down().await;
        let calls = serving.journal.calls(CallQuery::of_run(RunId::parse("run0").unwrap()));
        let calls = calls.await.unwrap();
        let [call] = calls.as_slice() else { panic!("one call: {calls:?}") };
        assert_eq!(call.status, CallStatus::Unknown, "{more}");
        assert!(call.envelope.as_ref().unwrap().contains("PROCESS_ABORTED"), "{call:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_says_that_it_lives() {
    let serving = Serving::start([], allow());
    let session = serving.begin_session().await;
    let headers = [("mcp-session-id", session.as_str())];
    let begun = Instant::now();
    let mut stream = serving.begin("GET", &headers, &Value::Null).await;
    assert_eq!(stream.status().as_u16(), 200);
    // How to come back is said at once; a comment is the first thing that is said for its own sake.
    while !stream.frame().await.unwrap().unwrap().into_data().unwrap().starts_with(b":") {}
    let silent = begun.elapsed();
    let bound = Duration::from_millis(KEEP_ALIVE_MS);
    assert!((bound..2 * bound).contains(&silent), "{silent:?}");
}

#[tokio::test]
async fn a_question_waits_for_a_later_request_and_is_answered_once() {
    let order = Tool::new("order")
        .effect(Effect::Once)
        .execute_with(|_: Nothing, _: Cx| async { Ok::<_, ToolError>("ordered") });
    let serving = Serving::start([order], vec![Rule::new("*", "*", RuleAction::Ask)]);
    let client = json!({"elicitation": {}});
    let asked = modern(&serving, "order", json!({}), client.clone()).await.message();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let state = asked["result"]["requestState"].clone();
    let decision = json!({"decision": {"action": "accept", "content": {"decision": "once"}}});
    let answer = json!({"requestState": state, "inputResponses": decision});
    let done = modern(&serving, "order", answer.clone(), client.clone()).await.message();
    assert_eq!(done["result"]["content"][0]["text"], "ordered", "{done}");
    let again = modern(&serving, "order", answer, client.clone()).await.message();
    assert_eq!(again["error"]["code"], -32602, "{again}");
    // An answer that comes before the question allows nothing.
    let early = json!({"inputResponses": decision});
    let asked = modern(&serving, "order", early, client).await.message();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let query = CallQuery::of_run(RunId::parse("run0").unwrap());
    assert_eq!(serving.journal.calls(query).await.unwrap().len(), 1);
}
