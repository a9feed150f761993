//! A client in memory: lines of JSON into one end of a stream, lines of JSON out of the other.

use std::sync::Arc;
use std::time::Duration;

use haft::{
    Clock, ConnectionOptions, Registry, ResumeMode, Runtime, RuntimeParts, SystemClock,
    TaskAttempt, WorkspaceRoots,
};
use haft_contract::{RunId, Tool};
use haft_journal::{Journal, LeaseOwner, MemoryJournal};
use haft_mcp::{McpResourceProvider, McpServeError, McpServerParts, STATE_KEY_BYTES, serve};
use haft_policy::{Rule, RuleAction, RuleScope};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a test waits for a message, in milliseconds. It only ends tests that hang.
const WAIT_MS: u64 = 30_000;
/// Capacity of the stream before a writer waits for the reader, in bytes.
const STREAM_BYTES: usize = 64 * 1024;

pub(crate) struct Client {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    served: JoinHandle<Result<(), McpServeError>>,
    shutdown: CancellationToken,
    journal: Arc<dyn Journal>,
    last_id: u64,
    _place: TempDir,
}

impl Client {
    /// Returns a client that has shaken hands with a server of these tools.
    pub(crate) async fn connect(tools: impl IntoIterator<Item = Tool>) -> Self {
        let mut client = Self::open(tools, vec![Rule::new("*", "*", RuleAction::Allow)]);
        client.initialize("2025-11-25", json!({})).await;
        client
    }

    /// Returns a client of a server with these tools and rules, which has not heard of it yet.
    pub(crate) fn open(tools: impl IntoIterator<Item = Tool>, rules: Vec<Rule>) -> Self {
        Self::offered(tools, rules, None)
    }

    /// Returns a client of a server that offers more than tools, which has not heard of it yet.
    pub(crate) fn offered(
        tools: impl IntoIterator<Item = Tool>,
        rules: Vec<Rule>,
        offerings: Option<Arc<dyn McpResourceProvider>>,
    ) -> Self {
        let place = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(TimersClock(Instant::now()));
        let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
        let runtime = runtime(&place, tools, rules, Arc::clone(&journal));
        let session =
            runtime.open_connection(ConnectionOptions::headless("session", "mcp")).unwrap();
        let run = RunId::parse("own").unwrap();
        let (input, server_input) = tokio::io::duplex(STREAM_BYTES);
        let (server_output, output) = tokio::io::duplex(STREAM_BYTES);
        let shutdown = CancellationToken::new();
        let server = McpServerParts {
            runtime,
            connection: session,
            run,
            address: TaskAttempt::default(),
            resume: ResumeMode::Continue,
            clock,
            resource_provider: offerings,
            advise: haft_mcp::plain_advice,
            ask_pages: None,
            task_host: None,
            explain: |err| err.to_string(),
            state_key: [7; STATE_KEY_BYTES],
        };
        let served = tokio::spawn(serve(server, server_input, server_output, shutdown.clone()));
        let output = BufReader::new(output).lines();
        let input = Some(input);
        Self { input, output, served, shutdown, journal, last_id: 0, _place: place }
    }

    /// Shakes hands as older clients do.
    pub(crate) async fn initialize(&mut self, version: &str, capabilities: Value) {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "0"},
        });
        let answer = self.request("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
    }

    /// Returns where the calls are recorded.
    pub(crate) fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.journal)
    }

    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// Sends a call and does not wait for its answer.
    pub(crate) async fn begin(&mut self, tool: &str, arguments: Value, meta: Value) {
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        self.send("tools/call", params).await;
    }

    /// Sends a request and returns the next message, which must be its answer.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        self.send(method, params).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], self.last_id, "{answer}");
        answer
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let next = tokio::time::timeout(Duration::from_millis(WAIT_MS), self.output.next_line());
        let line = next.await.expect("a message should come").unwrap();
        serde_json::from_str(&line.expect("the output should be open")).unwrap()
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Ends the input and waits for the server's end, without reading what it still says.
    pub(crate) async fn end(mut self) -> Result<(), McpServeError> {
        self.close_input();
        self.served.await.unwrap()
    }

    /// Tells the server to end while the input is open.
    pub(crate) async fn shut_down(self) -> Result<(), McpServeError> {
        self.shutdown.cancel();
        self.served.await.unwrap()
    }

    /// Sends a request and does not wait for its answer.
    pub(crate) async fn send(&mut self, method: &str, params: Value) {
        self.last_id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params});
        self.send_text(&format!("{request}\n")).await;
    }

    /// Sends a text as it is.
    pub(crate) async fn send_text(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).await.unwrap();
    }
}

/// Puts a word in place of the time that a call took.
pub(crate) fn redacted(mut answer: Value) -> Value {
    if let Some(duration) = answer.pointer_mut("/result/_meta/haft~1durationMs") {
        *duration = json!("[ms]");
    }
    answer
}

/// The time of tokio's timers, so that a test that moves one moves both.
pub(crate) struct TimersClock(pub(crate) Instant);

impl Clock for TimersClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap()
    }
}

pub(crate) fn runtime(
    place: &TempDir,
    tools: impl IntoIterator<Item = Tool>,
    rules: Vec<Rule>,
    journal: Arc<dyn Journal>,
) -> Runtime {
    Runtime::new(RuntimeParts {
        registry: Registry::new(tools).unwrap(),
        rules: rules.into_iter().map(|rule| (RuleScope::Preset, rule)).collect(),
        ..RuntimeParts::new(
            journal,
            WorkspaceRoots::open(place.path(), &[]).unwrap(),
            place.path().join("sidecars"),
            Arc::new(SystemClock),
            LeaseOwner { id: "test".to_owned(), location: "a test".to_owned() },
        )
    })
    .unwrap()
}
