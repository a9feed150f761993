//! One server and its connection. The connection begins with the first call, outlives calls, and is begun again after it broke
//! off: not at once, and never while a call waits. The conversion of a server's tools is done elsewhere.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use haft_contract::{
    BackgroundProcessRequest, BackgroundProcesses, Cx, ErrorCode, FailureBackoff, RefusalSource,
    Remedy, RequirementSet, ToolError, ToolOutput, sha256_hex,
};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::call_output::{output, refusal};
use super::connection::{McpCallAnswer, McpClientConnection, McpOpenError};
use super::forms::FormFiller;
use super::http::{McpHttpClient, RemoteMcpServer};
use super::limits::SERVER_RELIST_MS_MIN;
use super::remote_link::connect_remote;
use super::stdio_link::link_process;
use super::tool_list::{McpToolList, ProtocolEra};

/// A server as it is configured.
pub struct McpServerSpec {
    /// Its name, which its tools' ids begin with.
    pub name: String,
    /// How it is reached.
    pub transport: McpTransport,
    /// Its grant, as its tools publish it.
    pub requires: RequirementSet,
    /// The directories of roots that it was granted, which it is told when it asks.
    pub directories: Vec<PathBuf>,
    /// The directories that it can change, as they are spelled from the workspace.
    pub writable_directories: Vec<String>,
    /// Whether what it says of its tools' effects is believed.
    pub trusts_annotations: bool,
    /// Who fills in its forms, if anybody does.
    pub form_filler: Option<Arc<dyn FormFiller>>,
    /// Says what a failure may be for the want of, judging by the server's words.
    pub failure_remedy: Option<Arc<ServerFailureRemedy>>,
    /// Time for one call, in milliseconds, if not that of every call.
    pub timeout_ms: Option<u64>,
    /// The key of its cached list of tools. Servers with different lists have different keys.
    pub cache_key: String,
}

/// Returns advice for a failure that a server reports in these words.
pub type ServerFailureRemedy = dyn Fn(&str) -> Option<String> + Send + Sync;

/// How a server is reached.
#[non_exhaustive]
pub enum McpTransport {
    /// It is a program of this machine, spoken to over its standard input and output.
    Local {
        /// Starts it, with its own grant.
        processes: Arc<dyn BackgroundProcesses>,
        /// The program to start.
        request: Box<BackgroundProcessRequest>,
    },
    /// It runs elsewhere, and is spoken to over HTTP.
    Remote(Box<RemoteMcpServer>),
    /// It cannot be reached, and why.
    Unavailable(String),
}

/// Stores the tools that servers listed, so that a start need not wait for them. A list that cannot be stored is requested
/// again.
pub trait ToolListCache: Send + Sync {
    /// Returns what was kept under a key.
    fn get(&self, key: &str) -> Option<String>;

    /// Keeps a text under a key.
    fn put(&self, key: &str, text: &str);
}

/// The function that is called when the tools of a server have changed.
pub(super) type ToolsChangedCallback = OnceLock<Box<dyn Fn() + Send + Sync>>;

pub(super) struct McpServer {
    pub(super) spec: McpServerSpec,
    cache: Arc<dyn ToolListCache>,
    tools_changed: Arc<ToolsChangedCallback>,
    // Held while a connection is begun, so that there is one at a time; other calls wait for it.
    state: tokio::sync::Mutex<McpServerState>,
    // Replaced when the server lists other tools, and read when tools are put together and by every call.
    tool_list: Mutex<Option<Arc<McpToolList>>>,
    // Why it did not come up in this process or an earlier one, until it lists its tools. Read when tools are put together.
    remembered_failure: Mutex<Option<String>>,
}

enum McpServerState {
    Idle,
    Connected(LiveMcpConnection),
    Down { backoff: FailureBackoff, failure: McpServerFailure },
}

/// A connection, and the task that hears of its end and of other tools.
struct LiveMcpConnection {
    connection: Arc<McpClientConnection>,
    /// Failures in a row before it was begun, until a call is answered.
    failures: Arc<AtomicUsize>,
    watcher: JoinHandle<()>,
}

#[derive(Clone, Debug)]
pub(super) struct McpServerFailure {
    code: ErrorCode,
    why: String,
}

impl Drop for LiveMcpConnection {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

impl McpServer {
    pub(super) fn new(
        spec: McpServerSpec,
        cache: Arc<dyn ToolListCache>,
        changed: Arc<ToolsChangedCallback>,
    ) -> Arc<Self> {
        let kept = cache.get(&spec.cache_key);
        // A list in the format of another version is requested again.
        let known = kept.and_then(|text| serde_json::from_str(&text).ok()).map(Arc::new);
        let failure = cache.get(&failure_key(&spec)).filter(|text| !text.is_empty());
        Arc::new(Self {
            spec,
            cache,
            tools_changed: changed,
            state: tokio::sync::Mutex::new(McpServerState::Idle),
            tool_list: Mutex::new(known),
            remembered_failure: Mutex::new(failure),
        })
    }

    /// Returns why the server did not come up the last time, if it never listed its tools since.
    pub(super) fn remembered_failure(&self) -> Option<String> {
        self.remembered_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Remembers why the server did not come up, so that no later process waits for it before one of its tools is called.
    pub(super) fn remember_failure(&self, why: &str) {
        self.replace_failure(Some(why.to_owned()));
    }

    fn replace_failure(&self, failure: Option<String>) {
        let text = failure.clone().unwrap_or_default();
        let mut known = self.remembered_failure.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != failure {
            *known = failure;
            self.cache.put(&failure_key(&self.spec), &text);
        }
    }

    pub(super) fn tool_list(&self) -> Option<Arc<McpToolList>> {
        self.tool_list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn call(
        self: Arc<Self>,
        tool: Arc<str>,
        input: Value,
        cx: Cx,
    ) -> Result<ToolOutput, ToolError> {
        let name = &self.spec.name;
        let (connection, failures) = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => {
                let message = format!(
                    "the call was stopped before mcp server {name} was ready: nothing was executed"
                );
                return Err(ToolError::new(ErrorCode::ProcessAborted, message).not_begun());
            }
            connected = self.connection() => connected?,
        };
        let is_listed =
            |listing: Arc<McpToolList>| listing.tools.iter().any(|one| one.name == *tool);
        if !self.tool_list().is_some_and(is_listed) {
            let message =
                format!("mcp server {name} has no tool {tool:?} any more: list the tools again");
            return Err(ToolError::new(ErrorCode::Unavailable, message).not_begun());
        }
        let arguments = match input {
            Value::Object(arguments) => arguments,
            // Its schema says that it is an object.
            _ => serde_json::Map::new(),
        };
        let answer = connection.call(&tool, arguments, &cx).await;
        if matches!(answer, McpCallAnswer::Result(_) | McpCallAnswer::Refused(_)) {
            failures.store(0, Ordering::Relaxed);
        }
        let confined = connection.link.take_confinement().await;
        let result = match answer {
            McpCallAnswer::Result(result) => output(name, &result).map_err(|mut err| {
                let remedy = self.spec.failure_remedy.as_ref();
                if let Some(advice) = remedy.and_then(|remedy| remedy(&err.message)) {
                    // On its own line: the words of the server are searched for paths that the sandbox protects.
                    err.message.push_str(&format!("\n{advice}"));
                }
                err
            }),
            McpCallAnswer::Refused(why) => Err(refusal(name, &why)),
            McpCallAnswer::NeedsInput(what) => Err(refusal(name, &format!("it {what}"))),
            McpCallAnswer::Stopped => {
                // It ends by itself within the bound, and does nothing once the server is gone.
                tokio::spawn(Arc::clone(&self).end_if_stuck(Arc::clone(&connection)));
                let message = format!(
                    "mcp server {name} had not answered when the call was stopped (time for a call: {} ms): ask for less at \
                     once, or go on without it",
                    cx.timeout_ms()
                );
                Err(ToolError::new(ErrorCode::ProcessAborted, message))
            }
            McpCallAnswer::NotSent(why) => {
                Err(self.failure_error(McpServerFailure::of(why)).not_begun())
            }
            McpCallAnswer::Lost(why) => {
                let failure = McpServerFailure::of(format!("in the middle of the call, {why}"));
                Err(failure.into_error(name).interrupted())
            }
        };
        match result {
            Ok(output) => Ok(ToolOutput { confined, ..output }),
            Err(err) => Err(err.with_output(ToolOutput { confined, ..ToolOutput::text("") })),
        }
    }

    /// Ends a server that answers nothing after it was told to stop a call. The next call starts it again.
    async fn end_if_stuck(self: Arc<Self>, connection: Arc<McpClientConnection>) {
        // New calls wait, so none of them goes to a server that is about to end.
        let mut state = self.state.lock().await;
        if let McpServerState::Connected(live) = &*state
            && Arc::ptr_eq(&live.connection, &connection)
            && connection.is_stuck().await
        {
            tracing::debug!(server = self.spec.name, "an MCP server is stuck and is restarted");
            connection.link.close.cancel();
            *state = McpServerState::Idle;
        }
    }

    /// Returns the error of a server that is not reached, with the login that may be missing.
    fn failure_error(&self, failure: McpServerFailure) -> ToolError {
        let err = failure.into_error(&self.spec.name);
        match &self.spec.transport {
            McpTransport::Remote(server)
                if server.authorization.as_ref().is_some_and(|known| known.is_login_needed()) =>
            {
                err.decided_by(RefusalSource::Server)
                    .with_remedy(Remedy::Login(self.spec.name.clone()))
            }
            McpTransport::Local { .. } | McpTransport::Remote(_) | McpTransport::Unavailable(_) => {
                err
            }
        }
    }

    /// Returns the connection, begun if there is none, unless it failed so lately that it is left alone.
    pub(super) async fn connection(
        self: &Arc<Self>,
    ) -> Result<(Arc<McpClientConnection>, Arc<AtomicUsize>), ToolError> {
        let mut state = self.state.lock().await;
        let failures = match &*state {
            McpServerState::Idle => 0,
            McpServerState::Connected(live) if !live.connection.is_over() => {
                return Ok((Arc::clone(&live.connection), Arc::clone(&live.failures)));
            }
            McpServerState::Connected(live) => {
                let failures = live.failures.load(Ordering::Relaxed);
                let why = live.connection.link.end_reason().await;
                let failure = McpServerFailure::of(why);
                let err = self.failure_error(failure.clone()).not_begun();
                *state = McpServerState::Down {
                    backoff: FailureBackoff::after(failures, now()),
                    failure,
                };
                return Err(err);
            }
            McpServerState::Down { backoff, failure } => {
                if let Some(seconds) = backoff.seconds_left(now()) {
                    let mut err = self.failure_error(failure.clone());
                    err.message
                        .push_str(&format!("; it is tried again in {seconds} s at the earliest"));
                    return Err(err.not_begun());
                }
                backoff.failures()
            }
        };
        match self.open().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let failures = Arc::new(AtomicUsize::new(failures));
                let watching = watch(Arc::downgrade(self), Arc::clone(&connection));
                *state = McpServerState::Connected(LiveMcpConnection {
                    connection: Arc::clone(&connection),
                    failures: Arc::clone(&failures),
                    watcher: tokio::spawn(watching),
                });
                Ok((connection, failures))
            }
            Err(failure) => {
                let err = self.failure_error(failure.clone()).not_begun();
                *state = McpServerState::Down {
                    backoff: FailureBackoff::after(failures, now()),
                    failure,
                };
                Err(err)
            }
        }
    }

    async fn open(&self) -> Result<McpClientConnection, McpServerFailure> {
        let era = self.tool_list().map(|listing| listing.era);
        let connection = match self.start(era).await? {
            // Some servers end when they are asked what they do not know.
            Err(McpOpenError::Ended(_)) if era != Some(ProtocolEra::Handshake) => {
                self.start(Some(ProtocolEra::Handshake)).await?
            }
            started => started,
        };
        let connection =
            connection.map_err(|(McpOpenError::Ended(why) | McpOpenError::Refused(why))| {
                McpServerFailure::of(why)
            })?;
        let listing = connection.list().await.map_err(McpServerFailure::of)?;
        self.store_tool_list(listing);
        Ok(connection)
    }

    async fn start(
        &self,
        era: Option<ProtocolEra>,
    ) -> Result<Result<McpClientConnection, McpOpenError>, McpServerFailure> {
        let forms = self.spec.form_filler.clone();
        Ok(match &self.spec.transport {
            McpTransport::Local { processes, request } => {
                let process = processes.start((**request).clone()).await;
                let process =
                    process.map_err(|err| McpServerFailure { code: err.code, why: err.message })?;
                let roots = self.spec.directories.clone();
                McpClientConnection::open(link_process(process), (roots, forms), era).await
            }
            McpTransport::Remote(server) => {
                let client = McpHttpClient::new(server).map_err(McpServerFailure::of)?;
                // A remote server gets no directories of this machine.
                McpClientConnection::open(connect_remote(client), (Vec::new(), forms), era).await
            }
            McpTransport::Unavailable(why) => return Err(McpServerFailure::of(why.clone())),
        })
    }

    /// Takes note of what the server lists, and tells of it if it is something else than before.
    fn store_tool_list(&self, listing: McpToolList) {
        self.replace_failure(None);
        {
            let mut known = self.tool_list.lock().unwrap_or_else(PoisonError::into_inner);
            if known.as_deref() == Some(&listing) {
                return;
            }
            *known = Some(Arc::new(listing.clone()));
        }
        if let Ok(text) = serde_json::to_string(&listing) {
            self.cache.put(&self.spec.cache_key, &text);
        }
        if let Some(changed) = self.tools_changed.get() {
            changed();
        }
    }

    pub(super) async fn close(&self) {
        let state = std::mem::replace(&mut *self.state.lock().await, McpServerState::Idle);
        if let McpServerState::Connected(live) = state {
            live.connection.link.close().await;
        }
    }
}

/// Returns the key under which it is kept why a server did not come up.
fn failure_key(spec: &McpServerSpec) -> String {
    sha256_hex(format!("failure of {}", spec.cache_key).as_bytes())
}

/// Returns the time as backoffs take it, which is that of the timers.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Hears when the server has other tools, and when it ends.
async fn watch(server: Weak<McpServer>, connection: Arc<McpClientConnection>) {
    loop {
        tokio::select! {
            () = connection.link.wait_until_ended() => break,
            () = connection.wait_for_tools_change() => {}
        }
        match connection.list().await {
            Ok(listing) => {
                let Some(server) = server.upgrade() else { return };
                server.store_tool_list(listing);
            }
            Err(why) => tracing::debug!(why, "the changed tools of an MCP server were not listed"),
        }
        tokio::time::sleep(Duration::from_millis(SERVER_RELIST_MS_MIN)).await;
    }
    let Some(server) = server.upgrade() else { return };
    let why = connection.link.end_reason().await;
    let mut state = server.state.lock().await;
    if let McpServerState::Connected(live) = &*state
        && Arc::ptr_eq(&live.connection, &connection)
    {
        let failures = live.failures.load(Ordering::Relaxed);
        let backoff = FailureBackoff::after(failures, now());
        // This aborts the running task, which has nothing left to do.
        *state = McpServerState::Down { backoff, failure: McpServerFailure::of(why) };
    }
}

impl McpServerFailure {
    fn of(why: String) -> Self {
        Self { code: ErrorCode::Unavailable, why }
    }

    fn into_error(self, server: &str) -> ToolError {
        let message = format!("mcp server {server} is unavailable: {}", self.why);
        ToolError::new(self.code, message)
    }
}
