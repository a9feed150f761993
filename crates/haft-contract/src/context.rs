//! The context of one call: the data and the surfaces that a tool gets.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::{
    AttemptAddress, BackgroundProcesses, BoxFuture, CallAddress, CallKey, CallTime,
    ClientRequester, Effect, ErrorCode, Fs, NO_SUBAGENTS_TEXT, Net, Questions, Quotas, Shell,
    Skills, SubagentAnswer, SubagentTask, TodoStore, ToolError, ToolId, ToolIndex,
};

/// The context of one call: who it is, its keys, its limits, and the only ways to the outside.
///
/// Cloning is cheap; all clones are the same call.
#[derive(Clone)]
pub struct Cx {
    parts: Arc<CxParts>,
}

/// The parts of a context. The runtime fills them in, and so does code that calls a tool's implementation directly.
pub struct CxParts {
    /// The tool called.
    pub tool: ToolId,
    /// The tool's effect.
    pub effect: Effect,
    /// Which call it is.
    pub call_address: CallAddress,
    /// The key of the call, which does not depend on its order.
    pub call_key: CallKey,
    /// The session that the call is made in.
    pub session: String,
    /// The workspace root.
    pub root: PathBuf,
    /// Whether commands get the ordinary network.
    pub allow_network: bool,
    /// Output limit, and limit of files and contents, in bytes.
    pub max_output_bytes: usize,
    /// Time for the call, in milliseconds.
    pub timeout_ms: u64,
    /// The same time, for calls that are made for this one.
    pub time: Arc<dyn CallTime>,
    /// Cancelled when the caller gives up or time is up.
    pub cancellation: CancellationToken,
    /// Where progress goes.
    pub progress: Arc<dyn ProgressSink>,
    /// Files.
    pub fs: Arc<dyn Fs>,
    /// Commands.
    pub shell: Arc<dyn Shell>,
    /// Programs that outlive the call.
    pub background_processes: Arc<dyn BackgroundProcesses>,
    /// The network.
    pub net: Arc<dyn Net>,
    /// The person behind the front end.
    pub questions: Arc<dyn Questions>,
    /// The session's todo list.
    pub todos: Arc<dyn TodoStore>,
    /// The session's skills.
    pub skills: Arc<dyn Skills>,
    /// The tools that are found instead of listed.
    pub tool_index: Arc<dyn ToolIndex>,
    /// Counts of the session.
    pub quotas: Arc<dyn Quotas>,
    /// The program that made the call.
    pub client: Arc<dyn ClientRequester>,
    /// Those that take over tasks.
    pub subagents: Arc<dyn Subagents>,
    /// The attempt that the call belongs to.
    pub attempt: Arc<dyn CallAttempt>,
    /// How the session is narrowed; see [`Cx::restrictions`].
    pub restrictions: Arc<str>,
}

/// A step that a running call has reached.
#[derive(Clone, Debug, PartialEq)]
pub struct CallProgress {
    /// How far; grows with every report.
    pub done: f64,
    /// Where `done` ends, if known.
    pub total: Option<f64>,
    /// A description of the step.
    pub message: String,
}

/// A message of a running call, beside its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How much it matters.
    pub level: LogLevel,
    /// The text.
    pub message: String,
}

/// How much a line of a log matters, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the levels of syslog, by their names")]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// The attempt that a call belongs to, as the call sees it. `()` is a call outside of a runtime.
pub trait CallAttempt: Send + Sync {
    /// Returns the number that the next call would get now, if calls are numbered.
    fn next_seq(&self) -> Option<u32>;

    /// Runs the runtime's hook for snapshots in the middle of the call.
    fn durability_snapshot(&self) -> BoxFuture<'_, ()>;
}

impl CallAttempt for () {
    fn next_seq(&self) -> Option<u32> {
        None
    }

    fn durability_snapshot(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// Takes reports of progress; a front end that cannot show them drops them.
pub trait ProgressSink: Send + Sync {
    /// Reports a step. Must not block.
    fn report(&self, progress: CallProgress);

    /// Takes a log line. Most front ends drop it. Must not block.
    fn log(&self, _: LogLine) {}

    /// Takes the end of the output of a command that runs, when more of it has come. Most front ends drop it. Must not block.
    fn output(&self, _: &str) {}
}

/// Drops all progress.
impl ProgressSink for () {
    fn report(&self, _: CallProgress) {}
}

impl Cx {
    /// Returns the context of these parts.
    pub fn new(parts: CxParts) -> Self {
        Self { parts: Arc::new(parts) }
    }

    /// Returns the key to hand to services that deduplicate: the same across retries and resumes of this
    /// call, different for every other call.
    pub fn idempotency_key(&self) -> String {
        self.parts.call_key.idempotency_key()
    }

    /// Returns the key that all calls of this node and iteration share.
    pub fn task_key(&self) -> String {
        CallKey::task_key(self.attempt_address())
    }

    /// Returns the tool's id.
    pub fn tool(&self) -> &ToolId {
        &self.parts.tool
    }

    /// Returns the tool's effect.
    pub fn effect(&self) -> Effect {
        self.parts.effect
    }

    /// Returns which call this is.
    pub fn call_address(&self) -> &CallAddress {
        &self.parts.call_address
    }

    /// Returns run, node, iteration and attempt.
    pub fn attempt_address(&self) -> &AttemptAddress {
        &self.parts.call_address.scope
    }

    /// Returns the call's number inside the attempt, from 1.
    pub fn seq(&self) -> u32 {
        self.parts.call_address.seq
    }

    /// Returns the number that the next call of the attempt would get now. It is not reserved.
    pub fn next_seq(&self) -> u32 {
        self.parts.attempt.next_seq().unwrap_or(self.seq().saturating_add(1))
    }

    /// Runs the runtime's hook for snapshots in the middle of the call, if there is one. A failure of the hook does not concern
    /// the call.
    pub async fn durability_snapshot(&self) {
        self.parts.attempt.durability_snapshot().await;
    }

    /// Returns the id of the session that the call is made in.
    pub fn session(&self) -> &str {
        &self.parts.session
    }

    /// Returns the workspace root.
    pub fn root(&self) -> &Path {
        &self.parts.root
    }

    /// Returns whether commands get the ordinary network.
    pub fn allow_network(&self) -> bool {
        self.parts.allow_network
    }

    /// Returns the output limit, which also bounds files, contents and patches, in bytes.
    pub fn max_output_bytes(&self) -> usize {
        self.parts.max_output_bytes
    }

    /// Returns the time for the call, in milliseconds.
    pub fn timeout_ms(&self) -> u64 {
        self.parts.timeout_ms
    }

    /// Returns the time for the call, to hand it to calls that are made for this one: it stands while a person is asked about
    /// these.
    pub fn time(&self) -> &Arc<dyn CallTime> {
        &self.parts.time
    }

    /// Returns the token that is cancelled when the call should stop.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.parts.cancellation
    }

    /// Returns whether the call should stop. Long loops ask this often.
    pub fn is_cancelled(&self) -> bool {
        self.parts.cancellation.is_cancelled()
    }

    /// Reports a step to the caller.
    pub fn report(&self, progress: CallProgress) {
        self.parts.progress.report(progress);
    }

    /// Logs a line for the front end. It is neither part of the answer nor recorded.
    pub fn log(&self, level: LogLevel, message: impl Into<String>) {
        self.parts.progress.log(LogLine { level, message: message.into() });
    }

    /// Returns the files that the grant reaches.
    pub fn fs(&self) -> &dyn Fs {
        &*self.parts.fs
    }

    /// Returns the means to run commands.
    pub fn shell(&self) -> &dyn Shell {
        &*self.parts.shell
    }

    /// Returns the means to start programs that outlive the call.
    pub fn background_processes(&self) -> &dyn BackgroundProcesses {
        &*self.parts.background_processes
    }

    /// Returns the session's todo list.
    pub fn todos(&self) -> &dyn TodoStore {
        &*self.parts.todos
    }

    /// Returns the hosts that the grant reaches.
    pub fn net(&self) -> &dyn Net {
        &*self.parts.net
    }

    /// Returns the person behind the front end.
    pub fn questions(&self) -> &dyn Questions {
        &*self.parts.questions
    }

    /// Returns the session's skills.
    pub fn skills(&self) -> &dyn Skills {
        &*self.parts.skills
    }

    /// Returns the tools that are found instead of listed.
    pub fn tool_index(&self) -> &dyn ToolIndex {
        &*self.parts.tool_index
    }

    /// Returns the counts of the session.
    pub fn quotas(&self) -> &dyn Quotas {
        &*self.parts.quotas
    }

    /// Returns the program that made the call.
    pub fn client(&self) -> &dyn ClientRequester {
        &*self.parts.client
    }

    /// Returns those that take over tasks.
    pub fn subagents(&self) -> &dyn Subagents {
        &*self.parts.subagents
    }

    /// Returns a text that says how the session of the call is narrowed, empty where it is not. A program that outlives the
    /// call it was started for sees what that call could see, so it serves no call for which this is another text.
    pub fn restrictions(&self) -> &str {
        &self.parts.restrictions
    }
}

/// The agent loop behind a front end, which runs subagents for the tool `task`. It decides which subagents exist and what
/// they may do. `()` is a host without an agent loop.
pub trait Subagents: Send + Sync {
    /// Starts a subagent on a task. Waits for its end unless the task runs in the background. The caller has checked that
    /// the task names a subagent to which it may delegate. Stops with the call's cancellation.
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>>;

    /// Continues the subagent of this very call. Returns `None` if none was started; then nothing has happened.
    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>>;
}

impl Subagents for () {
    fn delegate<'a>(
        &'a self,
        _: SubagentTask,
        _: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async {
            Err(ToolError::new(ErrorCode::Unavailable, NO_SUBAGENTS_TEXT).not_begun())
        })
    }

    fn resume<'a>(
        &'a self,
        _: SubagentTask,
        _: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async {
            Err(ToolError::new(ErrorCode::Unavailable, NO_SUBAGENTS_TEXT).not_begun())
        })
    }
}
