//! Runs the tool with its grant, a time limit and a way to stop it. A panic stays inside the call.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft_contract::limits::TIMEOUT_MS_MAX;
use haft_contract::{
    Cx, CxParts, Effect, ErrorCode, FailedAt, Tool, ToolError, ToolOutput, sha256_hex,
};
use haft_journal::{CallStatus, Intent};
use haft_policy::ResolvedAccess;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::call_state::CallState;
use super::intend::Intended;
use super::permit::named_host;
use super::snapshot::RunningAttempt;
use super::watch::Granted;
use crate::background::CallBackgroundProcesses;
use crate::call::Call;
use crate::connection_state::{ConnectionState, ConnectionTools};
use crate::effects::change_tag;
use crate::files::{GrantedFs, OpenIntent};
use crate::net::{CallConnectionLog, GrantedNet};
use crate::panic::{PanicCatchingFuture, catch_panic};
use crate::questions::{CallClient, CallQuestions};
use crate::recorded_ask::AskingCall;
use crate::restrictions::CallSubagents;
use crate::sandbox::DeniedPaths;
use crate::shared::CallLimits;
use crate::shell::{CallLabel, CallShell, CommandContext};
use crate::stopwatch::CallStopwatch;

/// Time for a tool to end after it was stopped, in milliseconds.
///
/// Limit (calls): the tool is abandoned.
pub(crate) const STOP_MS: u64 = 2_000;

/// Evidence that the call was executed, with its result.
pub(super) struct Executed {
    /// The open intent, which the recording stage settles.
    pub(super) intent: Intent,
    /// The output of the tool, or the error that the call gets.
    pub(super) result: Result<ToolOutput, ToolError>,
    /// The status that the journal records.
    pub(super) status: CallStatus,
    /// The connections that the tool made by itself.
    pub(super) connections: Arc<CallConnectionLog>,
    /// The time limit of the call, if the call ended because of it.
    pub(super) timeout_ms: Option<u64>,
    /// The warning about earlier calls like this one, for the answer.
    pub(super) retry_warning: Option<String>,
    /// The time that persons took to answer the tool.
    pub(super) asked_for: Duration,
}

/// Runs the tool, and tells it to stop when the call is cancelled or its time is over. A call that was cancelled before
/// does not run.
pub(super) async fn execute(
    state: &CallState,
    granted: &Granted,
    intended: Intended,
    connection: &Arc<ConnectionState>,
) -> Executed {
    let Intended { intent, retry_warning } = intended;
    let call = state.call();
    let timing = CallTiming::for_call(state, granted, &connection.shared.parts.limits);
    let CallTiming { timeout_ms, time, stop } = timing.clone();
    let open = Arc::new(OpenIntent::new(intent, granted.contract().only_changes_files));
    let network = Arc::<CallConnectionLog>::default();
    let cx = ToolContext { state, granted, connection, timing, network: &network }
        .build(ExecutionRight::Intent(Arc::clone(&open)));
    let (ended, stop_reason) = if call.cancellation.is_cancelled() {
        (ExecutionResult::NotStarted, Some(ErrorCode::ProcessAborted))
    } else {
        let work = granted.tool().call_unguarded(call.input.clone(), cx);
        let mut work = PanicCatchingFuture(Box::pin(work));
        // The work starts even if it is told to stop at once, because the call was not cancelled just before.
        tokio::select! {
            biased;
            () = call.cancellation.cancelled() => {
                (stop_work(work, &stop).await, Some(ErrorCode::ProcessAborted))
            }
            ended = &mut work => {
                // The tool may have seen the cancellation before this stage did, and ended because of it.
                let is_cancelled = call.cancellation.is_cancelled();
                (ended.into(), is_cancelled.then_some(ErrorCode::ProcessAborted))
            }
            () = time.wait_until_over() => {
                (stop_work(work, &stop).await, Some(ErrorCode::ToolTimeout))
            }
        }
    };
    let ended = match ended {
        ExecutionResult::Returned(Err(err)) => {
            ExecutionResult::Returned(Err(with_confinement_hint(err, granted, connection)))
        }
        ended => ended,
    };
    let ExecutionReport { result, status, is_out_of_time } =
        report_execution(ended, stop_reason, state.effect(), timeout_ms);
    let intent = open.take().expect("only this stage takes the intent, and it does so once");
    let timeout_ms = is_out_of_time.then_some(timeout_ms);
    let asked_for = time.paused();
    Executed { intent, result, status, connections: network, timeout_ms, retry_warning, asked_for }
}

/// Permission to run the code of a tool.
pub(super) enum ExecutionRight {
    /// The journal has the intent of the call.
    Intent(Arc<OpenIntent>),
    /// The tool's probe asks about a recorded call, whose intent the journal has; it can change nothing.
    Probe,
}

/// How the code of a tool ended.
#[expect(clippy::large_enum_variant, reason = "a call has one, and takes it apart at once")]
enum ExecutionResult {
    /// The call was cancelled before the tool began.
    NotStarted,
    /// The tool returned this result, perhaps after it was told to stop.
    Returned(Result<ToolOutput, ToolError>),
    /// The tool panicked with this message.
    Panicked(String),
    /// The tool did not stop when haft told it to. haft drops its future, or lets its thread run on and does not wait
    /// for it.
    Abandoned,
}

impl From<Result<Result<ToolOutput, ToolError>, String>> for ExecutionResult {
    fn from(ended: Result<Result<ToolOutput, ToolError>, String>) -> Self {
        match ended {
            Ok(result) => Self::Returned(result),
            Err(panic) => Self::Panicked(panic),
        }
    }
}

/// Tells a tool to stop, and waits for its end for a short time.
async fn stop_work(
    work: PanicCatchingFuture<'_, Result<ToolOutput, ToolError>>,
    stop: &CancellationToken,
) -> ExecutionResult {
    stop.cancel();
    let ended = tokio::time::timeout(Duration::from_millis(STOP_MS), work).await;
    ended.map_or(ExecutionResult::Abandoned, ExecutionResult::from)
}

/// The result and the recorded status of a call that ended.
struct ExecutionReport {
    /// The output of the tool, or the error that the call gets.
    result: Result<ToolOutput, ToolError>,
    /// The status that the journal records.
    status: CallStatus,
    /// Whether the call ended because its time was over.
    is_out_of_time: bool,
}

/// Returns the result and the status to record. An interrupted `once` effect may have happened in part, so its status
/// is unknown, not failed. A tool that was told to stop counts as interrupted, unless it reports that it had not begun.
///
/// `stopped` says why the tool was stopped before it ended.
fn report_execution(
    ended: ExecutionResult,
    stopped: Option<ErrorCode>,
    effect: Effect,
    timeout_ms: u64,
) -> ExecutionReport {
    let (mut err, interrupted) = match (ended, stopped) {
        (ExecutionResult::NotStarted, _) => {
            let message = "the call was cancelled before it began: nothing was executed";
            (ToolError::new(ErrorCode::ProcessAborted, message), false)
        }
        (ExecutionResult::Returned(Ok(output)), _) => {
            let (result, status) = (Ok(output), CallStatus::Succeeded);
            return ExecutionReport { result, status, is_out_of_time: false };
        }
        (ExecutionResult::Returned(Err(err)), stopped) => {
            let interrupted = match err.failed_at {
                Some(FailedAt::Beginning) => false,
                Some(FailedAt::Middle) => true,
                // The sandbox kills a process at the time limit of the call, and may report that first.
                None => stopped.is_some() || err.code == ErrorCode::ProcessTimeout,
            };
            // The tool cannot know why it was stopped; haft does.
            let was_stopped =
                matches!(err.code, ErrorCode::ToolTimeout | ErrorCode::ProcessAborted);
            let code = stopped.filter(|_| was_stopped).unwrap_or(err.code);
            (ToolError { code, ..err }, interrupted)
        }
        (ExecutionResult::Panicked(panic), _) => {
            (ToolError::new(ErrorCode::ToolPanicked, format!("the tool panicked: {panic}")), true)
        }
        (ExecutionResult::Abandoned, stopped) => {
            let code = stopped.unwrap_or(ErrorCode::ToolTimeout);
            let why = match code {
                ErrorCode::ToolTimeout => format!("the tool did not end within {timeout_ms} ms"),
                _ => "the call was cancelled".to_owned(),
            };
            let message =
                format!("{why}; the tool was told to stop and is not waited for any longer");
            (ToolError::new(code, message), true)
        }
    };
    // Tools can have separate time limits, and report them without being stopped.
    let is_out_of_time = err.code == ErrorCode::ProcessTimeout
        || (err.code == ErrorCode::ToolTimeout && stopped == Some(ErrorCode::ToolTimeout));
    if !interrupted || effect != Effect::Once {
        return ExecutionReport { result: Err(err), status: CallStatus::Failed, is_out_of_time };
    }
    err.message.push_str("; its effect may or may not have happened: check before repeating");
    ExecutionReport { result: Err(err), status: CallStatus::Unknown, is_out_of_time }
}

/// Adds to the error of a tool in another process what the sandbox kept from it: a host, or a path.
fn with_confinement_hint(
    mut err: ToolError,
    granted: &Granted,
    connection: &ConnectionState,
) -> ToolError {
    let confined = err.output.as_ref().and_then(|output| output.confined.as_ref());
    let Some(confined) = confined.filter(|_| err.code == ErrorCode::ToolFailed) else {
        return err;
    };
    let parts = &connection.shared.parts;
    let denied = DeniedPaths::new(granted.grant().path_denials(), parts.roots.paths());
    let context = CommandContext {
        withheld: &confined.withheld,
        denied: denied.as_deref(),
        sandbox: &parts.sandbox,
        writable: &parts.roots.paths(),
        directory: parts.roots.workspace(),
        enforced: confined.enforced,
        command: "",
        has_hosts: false,
    };
    if let Some(hint) = context.tool_hint(&err.message) {
        err.message.push_str(&format!("\n{hint}"));
    }
    err
}

/// The time limit and the stop signal of a call.
#[derive(Clone)]
pub(super) struct CallTiming {
    /// The time limit in milliseconds.
    timeout_ms: u64,
    /// Shared with the tool's context. It pauses while the tool asks a person, and the tool's commands end with it.
    pub(super) time: Arc<CallStopwatch>,
    /// Cancelled when the call is cancelled or its time is over.
    stop: CancellationToken,
}

impl CallTiming {
    /// Starts the time of a call. It stands still while the calls that led to this one are paused.
    pub(super) fn for_call(state: &CallState, granted: &Granted, limits: &CallLimits) -> Self {
        let call = state.call();
        let timeout_ms = timeout_ms(call, granted.tool(), limits);
        let stop = call.cancellation.child_token();
        let above = Arc::clone(&call.parent_time);
        let time = Arc::new(CallStopwatch::new(Duration::from_millis(timeout_ms), above));
        Self { timeout_ms, time, stop }
    }
}

/// Returns the time limit of the call: the shorter of the input's and the driver's, or else the configured one.
fn timeout_ms(call: &Call, tool: &Tool, limits: &CallLimits) -> u64 {
    let asked = catch_panic(|| tool.timeout_ms(&call.input)).ok().flatten();
    let bounds = call.timeout_ms.into_iter().chain(asked);
    bounds.min().unwrap_or(limits.timeout_ms).clamp(1, TIMEOUT_MS_MAX)
}

/// The parts from which haft builds the context of a tool.
pub(super) struct ToolContext<'a> {
    /// The call.
    pub(super) state: &'a CallState,
    /// The tool, with the accesses that the call may have.
    pub(super) granted: &'a Granted,
    /// The connection of the call.
    pub(super) connection: &'a Arc<ConnectionState>,
    /// The time limit and the stop signal.
    pub(super) timing: CallTiming,
    /// Lists the connections that the tool makes by itself.
    pub(super) network: &'a Arc<CallConnectionLog>,
}

impl ToolContext<'_> {
    /// Returns what asks the person behind the call for the tool.
    fn call_questions(&self) -> CallQuestions {
        let Self { state, granted, connection, .. } = self;
        let call = state.call();
        let asking = AskingCall {
            shared: Arc::clone(&connection.shared),
            address: state.id().clone(),
            fencing_token: state.fencing_token(),
            front_end: connection.front_end.clone(),
            asker: Arc::clone(call.asker.as_ref().unwrap_or(&connection.asker)),
            cancellation: self.timing.stop.clone(),
            progress: Arc::clone(&call.progress),
        };
        CallQuestions {
            asking,
            connection: Arc::clone(connection),
            driver_call_id: call.driver_call_id.clone(),
            tool: granted.contract().id.clone(),
            time: Arc::clone(&self.timing.time),
            waits: Arc::clone(state.waits()),
        }
    }

    /// Builds the context that the tool gets.
    pub(super) fn build(self, right: ExecutionRight) -> Cx {
        let Self { state, granted, connection, .. } = self;
        let intent = match right {
            ExecutionRight::Intent(intent) => Some(intent),
            ExecutionRight::Probe => None,
        };
        let parts = &connection.shared.parts;
        let (call, contract) = (state.call(), granted.contract());
        let denials = granted.grant().path_denials();
        let denied = DeniedPaths::new(denials, parts.roots.paths());
        let shell = self.call_shell(denied.clone());
        let background_processes = CallBackgroundProcesses {
            connection: Arc::clone(connection),
            tool: contract.id.clone(),
            grant: Arc::clone(granted.grant()),
            hosts: Arc::clone(granted.hosts()),
            denied: denied.clone(),
            declared_changes: if intent.is_some() { declared_changes(granted) } else { Vec::new() },
            stop: self.timing.stop.clone(),
            waits: Arc::clone(state.waits()),
        };
        let fs = GrantedFs {
            paths: connection.paths.clone(),
            grant: Arc::clone(granted.grant()),
            declared_changes: declared_changes(granted),
            intent,
            tag: change_tag(state.call_key()),
            reads_sidecars: !contract.requires.fs.read.is_empty(),
            stop: self.timing.stop.clone(),
            shared: Arc::clone(&connection.shared),
            denied: denied.clone(),
            denied_names: OnceLock::new(),
            unlisted: AtomicUsize::new(0),
        };
        let net = GrantedNet {
            connection: Arc::clone(connection),
            tool: contract.id.clone(),
            hosts: Arc::clone(granted.hosts()),
            declared_hosts: granted.accesses().iter().filter_map(named_host).cloned().collect(),
            redirect_input: if parts.watchdogs.is_empty() || granted.hosts().is_empty() {
                Value::Null
            } else {
                call.input.clone()
            },
            connection_log: Arc::clone(self.network),
            stop: self.timing.stop.clone(),
            timeout_ms: self.timing.timeout_ms,
        };
        let questions = self.call_questions();
        let client = CallClient {
            client: Arc::clone(&call.client),
            time: Arc::clone(&self.timing.time),
            waits: Arc::clone(state.waits()),
        };
        let tools = ConnectionTools {
            connection: Arc::clone(connection),
            registry: Arc::clone(&state.catalog().registry),
        };
        let subagents = CallSubagents {
            delegate: Arc::clone(&call.subagents),
            listed: Arc::clone(&connection.subagents),
        };
        let attempt = RunningAttempt {
            attempt: Arc::clone(state.attempt()),
            hook: parts.snapshots.clone(),
            tool: contract.id.to_string(),
            call: state.id().clone(),
        };
        Cx::new(CxParts {
            tool: contract.id.clone(),
            effect: contract.effect,
            call_address: state.id().clone(),
            call_key: state.call_key(),
            session: connection.id.clone(),
            root: parts.roots.workspace().to_path_buf(),
            allow_network: parts.allow_network && granted.hosts().is_unrestricted(),
            max_output_bytes: parts.limits.output_bytes,
            timeout_ms: self.timing.timeout_ms,
            time: self.timing.time,
            cancellation: self.timing.stop,
            progress: Arc::clone(&call.progress),
            fs: Arc::new(fs),
            shell: Arc::new(shell),
            background_processes: Arc::new(background_processes),
            net: Arc::new(net),
            questions: Arc::new(questions),
            todos: Arc::clone(&connection.todos) as Arc<_>,
            skills: Arc::clone(&connection.skills) as Arc<_>,
            tool_index: Arc::new(tools),
            quotas: Arc::clone(&connection.quotas) as Arc<_>,
            client: Arc::new(client),
            subagents: Arc::new(subagents),
            attempt: Arc::new(attempt),
            restrictions: process_key(connection, denied.as_deref()),
        })
    }

    /// Returns the means to run the commands of the call.
    fn call_shell(&self, denied: Option<Arc<DeniedPaths>>) -> CallShell {
        let Self { state, granted, connection, timing, .. } = self;
        let contract = granted.contract();
        CallShell {
            connection: Arc::clone(connection),
            tool: contract.id.clone(),
            hosts: Arc::clone(granted.hosts()),
            denied,
            reads_sidecars: !contract.requires.fs.read.is_empty(),
            outside: connection.outside_trees(
                &contract.id,
                granted.capabilities(),
                granted.accesses(),
            ),
            changes_files: !contract.requires.fs.write.is_empty(),
            progress: Arc::clone(&state.call().progress),
            cancellation: timing.stop.clone(),
            time: Arc::clone(&timing.time),
            output_bytes_max: connection.shared.parts.limits.output_bytes_of(contract),
            call_key: state.call_key(),
            scope: state.id().scope.clone(),
            label: CallLabel { tool: state.tool().to_owned(), seq: state.id().seq },
            waits: Arc::clone(state.waits()),
        }
    }
}

/// Returns a text that is equal for calls whose processes may reach the same files and hosts. It is empty if nothing
/// limits them beyond the roots.
fn process_key(connection: &ConnectionState, denied: Option<&DeniedPaths>) -> Arc<str> {
    let restrictions = connection.restrictions.access_key();
    let Some(denied) = denied else { return Arc::clone(restrictions) };
    Arc::from(sha256_hex(format!("{restrictions}\n{}", denied.fingerprint()).as_bytes()))
}

/// Returns the paths that the call declared as changes and that the pipeline judged.
fn declared_changes(granted: &Granted) -> Vec<PathBuf> {
    let changed = granted.accesses().iter().filter_map(|access| match access {
        ResolvedAccess::Write { path } => Some(path.absolute.clone()),
        ResolvedAccess::Read { .. }
        | ResolvedAccess::Net { .. }
        | ResolvedAccess::Shell { .. }
        | ResolvedAccess::Named { .. } => None,
    });
    changed.collect()
}
