//! A server in memory that does what a test says and counts what it is asked. Its time is that of tokio's timers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, BoxFuture, ChannelRead,
    ConfinementReport, EnforcedConfinement, Excerpt, ProcessEnding, RequirementSet, ToolError,
};
use haft_mcp::{FormFiller, McpServerSpec, McpServers, McpTransport, ToolListCache};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Messages of a server, and how many milliseconds after the request each comes.
pub(crate) type Said = Vec<(u64, Value)>;
/// A server's answer to a message; `None` for the ordinary answer.
pub(crate) type Says = dyn Fn(&Value) -> Option<Said> + Send + Sync;

/// The behaviour of a server.
pub(crate) struct Script {
    pub(crate) says: Box<Says>,
    /// How long it takes to read a message, in milliseconds.
    pub(crate) reads_ms: u64,
    /// How long it takes to end, in milliseconds.
    pub(crate) ends_ms: u64,
}

/// Starts the server, and keeps what it was asked and when.
#[derive(Clone)]
pub(crate) struct Programs {
    script: Arc<Script>,
    asked: Arc<watch::Sender<Vec<(Instant, String)>>>,
    says: Arc<Mutex<Option<mpsc::UnboundedSender<Value>>>>,
}

impl Programs {
    pub(crate) fn new(script: Script) -> Self {
        let (asked, _) = watch::channel(Vec::new());
        Self { script: Arc::new(script), asked: Arc::new(asked), says: Arc::default() }
    }

    /// Returns the servers of a configuration with this one, which is called `odd`.
    pub(crate) fn servers(&self, forms: Option<Arc<dyn FormFiller>>) -> McpServers {
        let request = Box::new(BackgroundProcessRequest::new("odd"));
        let spec = McpServerSpec {
            name: "odd".to_owned(),
            transport: McpTransport::Local { processes: Arc::new(self.clone()), request },
            requires: RequirementSet::default(),
            directories: Vec::new(),
            writable_directories: Vec::new(),
            trusts_annotations: false,
            form_filler: forms,
            failure_remedy: None,
            timeout_ms: None,
            cache_key: "odd".to_owned(),
        };
        let cache: Arc<dyn ToolListCache> = Arc::new(KeepsNothing);
        McpServers::new([spec], &cache)
    }

    /// Makes the server send an unsolicited message.
    pub(crate) fn say(&self, message: Value) {
        self.says.lock().unwrap().as_ref().unwrap().send(message).unwrap();
    }

    /// Waits until the server was asked so often, and returns when that was each time.
    pub(crate) async fn asked(&self, method: &str, times: usize) -> Vec<Instant> {
        let of = |asked: &Vec<(Instant, String)>| -> Vec<Instant> {
            let named = asked.iter().filter(|(_, name)| name == method);
            named.map(|(when, _)| *when).collect()
        };
        let mut watching = self.asked.subscribe();
        let asked = watching.wait_for(|asked| of(asked).len() >= times).await.unwrap();
        of(&asked)
    }
}

impl BackgroundProcesses for Programs {
    fn start(
        &self,
        _: BackgroundProcessRequest,
    ) -> BoxFuture<'_, Result<Box<dyn BackgroundProcess>, ToolError>> {
        let (says, said) = mpsc::unbounded_channel();
        *self.says.lock().unwrap() = Some(says.clone());
        let killed = CancellationToken::new();
        let program = Program { programs: self.clone(), says, said, killed };
        Box::pin(async move { Ok(Box::new(program) as Box<dyn BackgroundProcess>) })
    }
}

struct Program {
    programs: Programs,
    says: mpsc::UnboundedSender<Value>,
    said: mpsc::UnboundedReceiver<Value>,
    killed: CancellationToken,
}

impl BackgroundProcess for Program {
    fn send<'a>(&'a mut self, message: &'a [u8]) -> BoxFuture<'a, std::io::Result<()>> {
        let message: Value = serde_json::from_slice(message).unwrap();
        let script = Arc::clone(&self.programs.script);
        Box::pin(async move {
            sleep(Duration::from_millis(script.reads_ms)).await;
            let method = message["method"].as_str().unwrap_or_default().to_owned();
            self.programs.asked.send_modify(|asked| asked.push((Instant::now(), method)));
            let said =
                (script.says)(&message).or_else(|| ordinary(&message).map(|it| vec![(0, it)]));
            for (after_ms, said) in said.unwrap_or_default() {
                let says = self.says.clone();
                tokio::spawn(async move {
                    sleep(Duration::from_millis(after_ms)).await;
                    // The program may have ended.
                    let _ = says.send(said);
                });
            }
            Ok(())
        })
    }

    fn receive<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        _: usize,
    ) -> BoxFuture<'a, std::io::Result<ChannelRead>> {
        Box::pin(async move {
            let said = self.said.recv().await.unwrap();
            into.extend(said.to_string().bytes());
            Ok(ChannelRead::Line)
        })
    }

    fn receive_exact<'a>(
        &'a mut self,
        _: &'a mut Vec<u8>,
        _: usize,
    ) -> BoxFuture<'a, std::io::Result<()>> {
        unreachable!("a server is heard line by line")
    }

    fn take_output(&mut self) -> BoxFuture<'_, Excerpt> {
        Box::pin(async { Excerpt::default() })
    }

    fn kill(&mut self) {
        self.killed.cancel();
    }

    fn wait_for_exit(&mut self) -> BoxFuture<'_, Result<ProcessEnding, ToolError>> {
        Box::pin(async {
            self.killed.cancelled().await;
            sleep(Duration::from_millis(self.programs.script.ends_ms)).await;
            Ok(ProcessEnding::Aborted)
        })
    }

    fn exceeded_limit(&self) -> Option<String> {
        None
    }

    fn take_confinement(&mut self) -> ConfinementReport {
        ConfinementReport::new(EnforcedConfinement::NOTHING)
    }
}

/// Returns the answer to a request.
pub(crate) fn answer(request: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

/// Returns the answer of a server of the era with a handshake; nothing for what is no request.
pub(crate) fn ordinary(request: &Value) -> Option<Value> {
    let result = match request["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "odd", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "done"}]}),
        _ if request.get("id").is_none() => return None,
        _ => {
            let error = json!({"code": -32601, "message": "Method not found"});
            return Some(json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
        }
    };
    Some(answer(request, result))
}

pub(crate) struct KeepsNothing;

impl ToolListCache for KeepsNothing {
    fn get(&self, _: &str) -> Option<String> {
        None
    }

    fn put(&self, _: &str, _: &str) {}
}
