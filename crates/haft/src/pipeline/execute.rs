//! Runs the tool with its grant, a time limit and a way to stop it. A panic stays inside the call.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::limits::TIMEOUT_MS_MAX;
use haft_contract::{Cx, CxParts, Effect, ErrorCode, FailedAt, Output, ToolError};
use haft_journal::{Intent, Status};
use haft_policy::Canonical;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::intend::Intended;
use super::panic::{Contained, contained};
use super::watch::Watched;
use crate::effects::tag_of;
use crate::files::{GrantedFs, OpenIntent};
use crate::narrowing::CallSubagents;
use crate::net::{GrantedNet, NetRecord};
use crate::questions::{CallClient, CallQuestions};
use crate::resident::CallResidents;
use crate::run::RunState;
use crate::session::SessionTools;
use crate::shell::{CallEnvironment, CallLabel, CallShell};
use crate::stopwatch::Stopwatch;

/// Time that a tool gets to stop by itself after it was told to, in milliseconds.
pub(crate) const STOP_MS: u64 = 2_000;

/// A call that was executed, and how that ended.
pub(super) struct Executed {
    watched: Watched,
    intent: Intent,
    result: Result<Output, ToolError>,
    status: Status,
    network: Arc<NetRecord>,
    timeout_ms: Option<u64>,
}

pub(super) async fn execute(intended: Intended, run: &RunState) -> Executed {
    let (watched, intent) = intended.into_parts();
    let valid = watched.capable().valid();
    let call = valid.call();
    let timing = Timing::of(&watched, run);
    let Timing { timeout_ms, time, stop } = timing.clone();
    let open = Arc::new(OpenIntent::new(intent, valid.contract().only_changes_files));
    let network = Arc::<NetRecord>::default();
    let cx = context(&watched, run, timing, Some(Arc::clone(&open)), &network);
    let ended = if call.cancellation.is_cancelled() {
        Ended { how: How::NotBegun, stopped: Some(ErrorCode::ProcessAborted) }
    } else {
        let work = valid.tool().call_unguarded(call.input.clone(), cx);
        run_bounded(Contained(Box::pin(work)), &call.cancellation, &stop, &time).await
    };
    let effect = valid.entry().effect();
    let Concluded { result, status, is_out_of_time } = conclude(ended, effect, timeout_ms);
    let intent = open.take().expect("only this stage takes the intent, and it does so once");
    let timeout_ms = is_out_of_time.then_some(timeout_ms);
    Executed { watched, intent, result, status, network, timeout_ms }
}

/// How the tool's code came to its end.
struct Ended {
    how: How,
    // Set when it was told to stop before it ended.
    stopped: Option<ErrorCode>,
}

enum How {
    NotBegun,
    Returned(Result<Output, ToolError>),
    Panicked(String),
    // It was told to stop and did not: its code is dropped, or goes on by itself on a thread that nobody waits for.
    Abandoned,
}

async fn run_bounded(
    mut work: Contained<'_, Result<Output, ToolError>>,
    cancellation: &CancellationToken,
    stop: &CancellationToken,
    time: &Stopwatch,
) -> Ended {
    // It was not cancelled a moment ago, so the work is begun, if only to be told to stop.
    let code = tokio::select! {
        biased;
        () = cancellation.cancelled() => ErrorCode::ProcessAborted,
        ended = &mut work => {
            // It may have heard that it is cancelled before this did, and ended because of that.
            let stopped = cancellation.is_cancelled().then_some(ErrorCode::ProcessAborted);
            return Ended { how: how(ended), stopped };
        }
        () = time.over() => ErrorCode::ToolTimeout,
    };
    stop.cancel();
    let grace = Duration::from_millis(STOP_MS);
    let how = tokio::time::timeout(grace, work).await.map_or(How::Abandoned, how);
    Ended { how, stopped: Some(code) }
}

fn how(ended: Result<Result<Output, ToolError>, String>) -> How {
    match ended {
        Ok(result) => How::Returned(result),
        Err(panic) => How::Panicked(panic),
    }
}

/// What is said and recorded of a call that came to its end.
struct Concluded {
    result: Result<Output, ToolError>,
    status: Status,
    /// Whether it ended because its time was over, and not of itself.
    is_out_of_time: bool,
}

/// Decides what is said and recorded. A `once` effect that was interrupted may have happened, at least in part, so it is
/// unknown, not failed; what was told to stop is taken to be interrupted, unless the tool knows that nothing was begun.
fn conclude(ended: Ended, effect: Effect, timeout_ms: u64) -> Concluded {
    let Ended { how, stopped } = ended;
    let (mut err, interrupted) = match (how, stopped) {
        (How::NotBegun, _) => {
            let message = "the call was cancelled before it began: nothing was executed";
            (ToolError::new(ErrorCode::ProcessAborted, message), false)
        }
        (How::Returned(Ok(output)), _) => {
            let (result, status) = (Ok(output), Status::Succeeded);
            return Concluded { result, status, is_out_of_time: false };
        }
        (How::Returned(Err(err)), stopped) => {
            let interrupted = match err.failed_at {
                Some(FailedAt::Beginning) => false,
                Some(FailedAt::Middle) => true,
                // A process is killed at the very time at which the call is told to stop, and may be reported first.
                None => stopped.is_some() || err.code == ErrorCode::ProcessTimeout,
            };
            (stopped_error(err, stopped), interrupted)
        }
        (How::Panicked(panic), _) => {
            (ToolError::new(ErrorCode::ToolPanicked, format!("the tool panicked: {panic}")), true)
        }
        (How::Abandoned, stopped) => {
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
    // Tools have times of their own, too, and say so without having been told to stop.
    let is_out_of_time = err.code == ErrorCode::ProcessTimeout
        || (err.code == ErrorCode::ToolTimeout && stopped == Some(ErrorCode::ToolTimeout));
    if !interrupted || effect != Effect::Once {
        return Concluded { result: Err(err), status: Status::Failed, is_out_of_time };
    }
    err.message.push_str("; its effect may or may not have happened: check before repeating");
    Concluded { result: Err(err), status: Status::Unknown, is_out_of_time }
}

/// A tool that stops when it is told to cannot know why it was; whoever told it does.
fn stopped_error(mut err: ToolError, stopped: Option<ErrorCode>) -> ToolError {
    let was_stopped = matches!(err.code, ErrorCode::ToolTimeout | ErrorCode::ProcessAborted);
    if let (Some(code), true) = (stopped, was_stopped) {
        err.code = code;
    }
    err
}

/// When a call has to end.
#[derive(Clone)]
pub(super) struct Timing {
    timeout_ms: u64,
    // Shared with what the tool is given: it stands while the tool asks, and its commands end with it.
    pub(super) time: Arc<Stopwatch>,
    stop: CancellationToken,
}

impl Timing {
    pub(super) fn of(watched: &Watched, run: &RunState) -> Self {
        let timeout_ms = timeout_ms(watched, run);
        let call = watched.capable().valid().call();
        let stop = call.cancellation.child_token();
        let above = Arc::clone(&call.above);
        let time = Arc::new(Stopwatch::new(Duration::from_millis(timeout_ms), above));
        Self { timeout_ms, time, stop }
    }
}

/// Returns the time for the call: what its input asks for, but no more than its driver gives it; else what is configured.
fn timeout_ms(watched: &Watched, run: &RunState) -> u64 {
    let valid = watched.capable().valid();
    let call = valid.call();
    let asked = contained(|| valid.tool().timeout_ms(&call.input)).ok().flatten();
    let bounds = call.timeout_ms.into_iter().chain(asked);
    bounds.min().unwrap_or(run.session.shared.parts.limits.timeout_ms).clamp(1, TIMEOUT_MS_MAX)
}

/// Returns what the tool is given. Without an intent it can change nothing.
pub(super) fn context(
    watched: &Watched,
    run: &RunState,
    timing: Timing,
    intent: Option<Arc<OpenIntent>>,
    network: &Arc<NetRecord>,
) -> Cx {
    let parts = &run.session.shared.parts;
    let valid = watched.capable().valid();
    let (call, entry) = (valid.call(), valid.entry());
    let contract = valid.contract();
    let shell = call_shell(watched, run, &timing);
    let residents = CallResidents {
        session: Arc::clone(&run.session),
        tool: contract.id.clone(),
        grant: Arc::clone(watched.grant()),
        hosts: Arc::clone(watched.hosts()),
        changes_beneath: if intent.is_some() { declared_changes(watched) } else { Vec::new() },
        stop: timing.stop.clone(),
    };
    let fs = granted_fs(watched, run, &timing.stop, intent);
    let net = GrantedNet {
        session: Arc::clone(&run.session),
        tool: contract.id.clone(),
        hosts: Arc::clone(watched.hosts()),
        judged: judged_hosts(watched),
        input: led_input(watched, run),
        record: Arc::clone(network),
        stop: timing.stop.clone(),
        timeout_ms: timing.timeout_ms,
    };
    let questions = CallQuestions {
        asker: Arc::clone(call.asker.as_ref().unwrap_or(&run.session.asker)),
        session: Arc::clone(&run.session),
        call_id: entry.id().to_string(),
        driver_call_id: call.driver_call_id.clone(),
        tool: contract.id.clone(),
        time: Arc::clone(&timing.time),
    };
    let client = CallClient { client: Arc::clone(&call.client), time: Arc::clone(&timing.time) };
    let tools = SessionTools {
        session: Arc::clone(&run.session),
        registry: Arc::clone(&valid.offer().registry),
    };
    let subagents = CallSubagents {
        all: Arc::clone(&call.subagents),
        listed: Arc::clone(&run.session.subagents),
    };
    Cx::new(CxParts {
        tool: contract.id.clone(),
        effect: contract.effect,
        call_id: entry.id().clone(),
        call_key: entry.call_key(),
        session: run.session.id.clone(),
        root: parts.roots.workspace().to_path_buf(),
        allow_network: parts.allow_network && watched.hosts().is_unbounded(),
        max_output_bytes: parts.limits.output_bytes,
        timeout_ms: timing.timeout_ms,
        time: timing.time,
        cancellation: timing.stop,
        progress: Arc::clone(&call.progress),
        fs: Arc::new(fs),
        shell: Arc::new(shell),
        residents: Arc::new(residents),
        net: Arc::new(net),
        questions: Arc::new(questions),
        todos: Arc::clone(&run.session.todos) as Arc<_>,
        skills: Arc::clone(&run.session.skills) as Arc<_>,
        tool_index: Arc::new(tools),
        quotas: Arc::clone(&run.session.quotas) as Arc<_>,
        client: Arc::new(client),
        subagents: Arc::new(subagents),
        narrowing: Arc::clone(run.session.narrowed.key()),
    })
}

/// Returns the means to run the commands of the call.
fn call_shell(watched: &Watched, run: &RunState, timing: &Timing) -> CallShell {
    let valid = watched.capable().valid();
    let (call, entry, contract) = (valid.call(), valid.entry(), valid.contract());
    CallShell {
        session: Arc::clone(&run.session),
        tool: contract.id.clone(),
        hosts: Arc::clone(watched.hosts()),
        changes_files: !contract.requires.fs.write.is_empty(),
        territory: run.session.territory.clone(),
        sidecars: Arc::clone(&run.session.sidecars),
        progress: Arc::clone(&call.progress),
        cancellation: timing.stop.clone(),
        time: Arc::clone(&timing.time),
        output_bytes_max: super::truncate::bytes_max(contract, &run.session.shared.parts.limits),
        environment: CallEnvironment {
            shared: Arc::clone(&run.session.shared),
            call_key: entry.call_key(),
            scope: entry.id().scope.clone(),
        },
        label: CallLabel { tool: entry.tool().to_owned(), seq: entry.id().seq },
    }
}

/// Returns the files that the call may reach: what its grant holds, and of that only those places for changes that were
/// declared and judged.
fn granted_fs(
    watched: &Watched,
    run: &RunState,
    stop: &CancellationToken,
    intent: Option<Arc<OpenIntent>>,
) -> GrantedFs {
    let capable = watched.capable();
    GrantedFs {
        territory: run.session.territory.clone(),
        grant: Arc::clone(watched.grant()),
        changes_beneath: declared_changes(watched),
        intent,
        tag: tag_of(capable.valid().entry().call_key()),
        reads_sidecars: !capable.valid().contract().requires.fs.read.is_empty(),
        stop: stop.clone(),
        shared: Arc::clone(&run.session.shared),
    }
}

/// Returns the hosts that the call declared, and that were judged with it.
fn judged_hosts(watched: &Watched) -> Vec<String> {
    let judged = watched.capable().accesses().iter().filter_map(|access| match access {
        Canonical::Net { host } => Some(host.clone()),
        Canonical::Read { .. }
        | Canonical::Write { .. }
        | Canonical::Shell { .. }
        | Canonical::Named { .. } => None,
    });
    judged.collect()
}

/// Returns the input as watchdogs are told it again when the call is led to another host, which no other call is.
fn led_input(watched: &Watched, run: &RunState) -> Value {
    let is_watched = !run.session.shared.parts.watchdogs.is_empty();
    let can_be_led = is_watched && !watched.hosts().is_empty();
    if can_be_led { watched.capable().valid().call().input.clone() } else { Value::Null }
}

/// Returns the places that the call declared it would change, and that were judged.
fn declared_changes(watched: &Watched) -> Vec<PathBuf> {
    let changed = watched.capable().accesses().iter().filter_map(|access| match access {
        Canonical::Write { path } => Some(path.absolute.clone()),
        Canonical::Read { .. }
        | Canonical::Net { .. }
        | Canonical::Shell { .. }
        | Canonical::Named { .. } => None,
    });
    changed.collect()
}

impl Executed {
    /// Returns what the tool connected to by itself.
    pub(super) fn network(&self) -> &Arc<NetRecord> {
        &self.network
    }

    /// Returns how long the call was allowed to take, where it ended because that time was over.
    pub(super) fn timeout_ms(&self) -> Option<u64> {
        self.timeout_ms
    }

    pub(super) fn into_parts(self) -> (Watched, Intent, Result<Output, ToolError>, Status) {
        (self.watched, self.intent, self.result, self.status)
    }
}
