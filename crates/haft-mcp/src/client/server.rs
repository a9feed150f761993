//! One server and its connection, which begins with the first call, outlives calls, and is begun again after it broke off:
//! not at once, and never while a call waits. What a server's tools are in haft is not decided here.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use haft_contract::{
    Backoff, Cx, ErrorCode, Output, RequirementSet, ResidentRequest, Residents, ToolError,
};
use serde_json::Value;
use tokio::task::JoinHandle;

use super::answer::{output, refusal};
use super::connection::{Answer, Connection, OpenError};
use super::forms::Forms;
use super::http::{HttpWay, Remote, remote};
use super::limits::SERVER_RELIST_MS_MIN;
use super::link::link;
use super::listing::{Era, Listing};
use super::way::Way;

/// A server as it is configured.
pub struct ServerSpec {
    /// Its name, which its tools' ids begin with.
    pub name: String,
    /// How it is reached.
    pub connect: Connect,
    /// What it was granted, as its tools publish it.
    pub requires: RequirementSet,
    /// The directories of roots that it was granted, which it is told when it asks.
    pub directories: Vec<PathBuf>,
    /// The directories that it can change, as they are spelled from the workspace.
    pub changes: Vec<String>,
    /// Whether what it says of its tools' effects is believed.
    pub trusts_annotations: bool,
    /// Who fills in its forms, if anybody does.
    pub forms: Option<Arc<dyn Forms>>,
    /// Says what a failure may be for the want of, judging by the server's words.
    pub advice: Option<Arc<Advice>>,
    /// Time for one call, in milliseconds, if not that of every call.
    pub timeout_ms: Option<u64>,
    /// What its list of tools is kept under: the same only for what would list the same.
    pub cache_key: String,
}

/// Returns what is to be added to a failure that a server tells of in these words.
pub type Advice = dyn Fn(&str) -> Option<String> + Send + Sync;

/// How a server is reached.
#[non_exhaustive]
pub enum Connect {
    /// It is a program of this machine, spoken to over its standard input and output.
    Local {
        /// Starts it, with the grant of its own.
        residents: Arc<dyn Residents>,
        /// What is started.
        request: Box<ResidentRequest>,
    },
    /// It runs elsewhere, and is spoken to over HTTP.
    Remote(Box<Remote>),
    /// It cannot be reached, and why.
    Not(String),
}

/// Keeps what servers listed, so that a start need not wait for them. What cannot be kept is asked for again.
pub trait ListingCache: Send + Sync {
    /// Returns what was kept under a key.
    fn get(&self, key: &str) -> Option<String>;

    /// Keeps a text under a key.
    fn put(&self, key: &str, text: &str);
}

/// What is called when the tools of a server have changed.
pub(super) type OnChange = OnceLock<Box<dyn Fn() + Send + Sync>>;

/// One server.
pub(super) struct Server {
    pub(super) spec: ServerSpec,
    cache: Arc<dyn ListingCache>,
    changed: Arc<OnChange>,
    // Held while a connection is begun, so that there is one at a time: whoever calls meanwhile waits for it.
    state: tokio::sync::Mutex<State>,
    // Replaced when the server lists other tools, and read when tools are put together and by every call.
    known: Mutex<Option<Arc<Listing>>>,
}

enum State {
    Idle,
    Live(Live),
    Down { backoff: Backoff, failure: Failure },
}

/// A connection, and the task that hears of its end and of other tools.
struct Live {
    connection: Arc<Connection>,
    /// Failures in a row before it was begun, until a call is answered.
    failures: Arc<AtomicUsize>,
    watcher: JoinHandle<()>,
}

/// Why a server cannot be used.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    code: ErrorCode,
    why: String,
}

impl Drop for Live {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

impl Server {
    pub(super) fn new(
        spec: ServerSpec,
        cache: Arc<dyn ListingCache>,
        changed: Arc<OnChange>,
    ) -> Arc<Self> {
        let kept = cache.get(&spec.cache_key);
        // What another version kept otherwise is asked for again.
        let known = kept.and_then(|text| serde_json::from_str(&text).ok()).map(Arc::new);
        Arc::new(Self {
            spec,
            cache,
            changed,
            state: tokio::sync::Mutex::new(State::Idle),
            known: Mutex::new(known),
        })
    }

    /// Returns the server's tools as far as they are known.
    pub(super) fn known(&self) -> Option<Arc<Listing>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes one call.
    pub(super) async fn call(
        self: Arc<Self>,
        tool: Arc<str>,
        input: Value,
        cx: Cx,
    ) -> Result<Output, ToolError> {
        let (connection, failures) = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => return Err(self.stopped_before()),
            connected = self.connected() => connected?,
        };
        let is_listed = |listing: Arc<Listing>| listing.tools.iter().any(|one| one.name == *tool);
        if !self.known().is_some_and(is_listed) {
            let message = format!(
                "mcp server {} has no tool {tool:?} any more: list the tools again",
                self.spec.name
            );
            return Err(ToolError::new(ErrorCode::Unavailable, message).not_begun());
        }
        let arguments = match input {
            Value::Object(arguments) => arguments,
            // Its schema says that it is an object.
            _ => serde_json::Map::new(),
        };
        let answer = connection.call(&tool, arguments, &cx).await;
        if matches!(answer, Answer::Result(_) | Answer::Refused(_)) {
            failures.store(0, Ordering::Relaxed);
        }
        let confined = connection.confined().await;
        match self.answered(answer, &cx) {
            Ok(output) => Ok(Output { confined, ..output }),
            Err(err) => Err(err.with_output(Output { confined, ..Output::text("") })),
        }
    }

    fn answered(&self, answer: Answer, cx: &Cx) -> Result<Output, ToolError> {
        let name = &self.spec.name;
        match answer {
            Answer::Result(result) => output(name, &result).map_err(|err| self.advised(err)),
            Answer::Refused(why) => Err(refusal(name, &why)),
            Answer::Wanting(what) => Err(refusal(name, &format!("it {what}"))),
            Answer::Stopped => {
                let message = format!(
                    "the call was stopped, and mcp server {name} was told so (time for the call: {} ms)",
                    cx.timeout_ms()
                );
                Err(ToolError::new(ErrorCode::ProcessAborted, message))
            }
            Answer::Unsent(why) => {
                Err(Failure { code: ErrorCode::Unavailable, why }.into_error(name).not_begun())
            }
            Answer::Lost(why) => {
                let why = format!("in the middle of the call, {why}");
                Err(Failure { code: ErrorCode::Unavailable, why }.into_error(name).interrupted())
            }
        }
    }

    /// Returns a failure with what it may be for the want of.
    fn advised(&self, mut err: ToolError) -> ToolError {
        if let Some(advice) = self.spec.advice.as_ref().and_then(|advice| advice(&err.message)) {
            err.message.push_str(&format!(" ({advice})"));
        }
        err
    }

    fn stopped_before(&self) -> ToolError {
        let message = format!(
            "the call was stopped before mcp server {} was ready: nothing was executed",
            self.spec.name
        );
        ToolError::new(ErrorCode::ProcessAborted, message).not_begun()
    }

    /// Returns the connection, begun if there is none, unless it failed so lately that it is left alone.
    pub(super) async fn connected(
        self: &Arc<Self>,
    ) -> Result<(Arc<Connection>, Arc<AtomicUsize>), ToolError> {
        let mut state = self.state.lock().await;
        let failures = match &*state {
            State::Idle => 0,
            State::Live(live) if !live.connection.is_over() => {
                return Ok((Arc::clone(&live.connection), Arc::clone(&live.failures)));
            }
            State::Live(live) => {
                let failures = live.failures.load(Ordering::Relaxed);
                let why = live.connection.end().await;
                let failure = Failure { code: ErrorCode::Unavailable, why };
                let err = failure.clone().into_error(&self.spec.name).not_begun();
                *state = State::Down { backoff: Backoff::after(failures, now()), failure };
                return Err(err);
            }
            State::Down { backoff, failure } => {
                if let Some(seconds) = backoff.seconds_left(now()) {
                    return Err(failure.clone().left_alone(&self.spec.name, seconds));
                }
                backoff.failures()
            }
        };
        match self.open().await {
            Ok(connection) => {
                let connection = Arc::new(connection);
                let failures = Arc::new(AtomicUsize::new(failures));
                let watching = watch(Arc::downgrade(self), Arc::clone(&connection));
                *state = State::Live(Live {
                    connection: Arc::clone(&connection),
                    failures: Arc::clone(&failures),
                    watcher: tokio::spawn(watching),
                });
                Ok((connection, failures))
            }
            Err(failure) => {
                let err = failure.clone().into_error(&self.spec.name).not_begun();
                *state = State::Down { backoff: Backoff::after(failures, now()), failure };
                Err(err)
            }
        }
    }

    async fn open(&self) -> Result<Connection, Failure> {
        let era = self.known().map(|listing| listing.era);
        let connection = match self.start(era).await? {
            // Some servers end when they are asked what they do not know.
            Err(OpenError::Ended(_)) if era != Some(Era::Handshake) => {
                self.start(Some(Era::Handshake)).await?
            }
            started => started,
        };
        let connection = connection.map_err(|err| Failure::of(err.into_words()))?;
        let listing = connection.list().await.map_err(Failure::of)?;
        self.learn(listing);
        Ok(connection)
    }

    async fn start(&self, era: Option<Era>) -> Result<Result<Connection, OpenError>, Failure> {
        let forms = self.spec.forms.clone();
        match &self.spec.connect {
            Connect::Local { residents, request } => {
                let resident = residents.start((**request).clone()).await;
                let resident =
                    resident.map_err(|err| Failure { code: err.code, why: err.message })?;
                let directories = self.spec.directories.clone();
                let (transport, link) = link(resident);
                Ok(Connection::open((transport, Way::Local(link)), (directories, forms), era).await)
            }
            Connect::Remote(server) => {
                let (transport, link) = remote(HttpWay::new(server).map_err(Failure::of)?);
                // It has no business with directories of this machine.
                Ok(Connection::open((transport, Way::Remote(link)), (Vec::new(), forms), era).await)
            }
            Connect::Not(why) => Err(Failure::of(why.clone())),
        }
    }

    /// Takes note of what the server lists, and tells of it if it is something else than before.
    fn learn(&self, listing: Listing) {
        {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.as_deref() == Some(&listing) {
                return;
            }
            *known = Some(Arc::new(listing.clone()));
        }
        if let Ok(text) = serde_json::to_string(&listing) {
            self.cache.put(&self.spec.cache_key, &text);
        }
        if let Some(changed) = self.changed.get() {
            changed();
        }
    }

    /// Takes note of the end of a connection.
    async fn ended(&self, connection: &Arc<Connection>) {
        let why = connection.end().await;
        let mut state = self.state.lock().await;
        if let State::Live(live) = &*state
            && Arc::ptr_eq(&live.connection, connection)
        {
            let failures = live.failures.load(Ordering::Relaxed);
            let backoff = Backoff::after(failures, now());
            // The task that calls this is aborted with it, and has nothing left to do.
            *state = State::Down { backoff, failure: Failure::of(why) };
        }
    }

    /// Ends the server, and waits for that.
    pub(super) async fn close(&self) {
        let state = std::mem::replace(&mut *self.state.lock().await, State::Idle);
        if let State::Live(live) = state {
            live.connection.close().await;
        }
    }
}

/// Returns the time as backoffs take it, which is that of the timers.
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Hears when the server has other tools, and when it ends.
async fn watch(server: Weak<Server>, connection: Arc<Connection>) {
    loop {
        tokio::select! {
            () = connection.ended() => break,
            () = connection.tools_changed() => {}
        }
        match connection.list().await {
            Ok(listing) => {
                let Some(server) = server.upgrade() else { return };
                server.learn(listing);
            }
            Err(why) => tracing::debug!(why, "the changed tools of an MCP server were not listed"),
        }
        tokio::time::sleep(Duration::from_millis(SERVER_RELIST_MS_MIN)).await;
    }
    if let Some(server) = server.upgrade() {
        server.ended(&connection).await;
    }
}

impl Failure {
    fn of(why: String) -> Self {
        Self { code: ErrorCode::Unavailable, why }
    }

    fn into_error(self, server: &str) -> ToolError {
        let message = format!("mcp server {server} is unavailable: {}", self.why);
        ToolError::new(self.code, message)
    }

    fn left_alone(self, server: &str, seconds: u64) -> ToolError {
        let mut err = self.into_error(server);
        err.message.push_str(&format!("; it is tried again in {seconds} s at the earliest"));
        err.not_begun()
    }
}
