//! Runs the tool with its grant, a time limit and a way to stop it. A panic stays inside the call.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use haft_contract::limits::TIMEOUT_MS_MAX;
use haft_contract::{Cx, CxParts, Effect, ErrorCode, Output, ToolError};
use haft_journal::{Intent, Status};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::intend::Intended;
use super::watch::Watched;
use crate::files::GrantedFs;
use crate::run::RunState;
use crate::shell::{CallLabel, CallShell};

/// Time that a tool gets to stop by itself after it was told to, in milliseconds.
pub(crate) const STOP_MS: u64 = 2_000;

/// A call that was executed, and how that ended.
pub(super) struct Executed {
    watched: Watched,
    intent: Intent,
    result: Result<Output, ToolError>,
    status: Status,
}

pub(super) async fn execute(intended: Intended, run: &RunState) -> Executed {
    let (watched, intent) = intended.into_parts();
    let valid = watched.capable().valid();
    let call = valid.call();
    let timeout_ms = timeout_ms(&watched, run);
    let deadline = Instant::now() + Duration::from_millis(timeout_ms);
    let stop = call.cancellation.child_token();
    let cx = context(&watched, run, Timing { timeout_ms, deadline, stop: stop.clone() });
    let work = valid.tool().call_unguarded(call.input.clone(), cx);
    let ended = run_bounded(CatchPanic(Box::pin(work)), &call.cancellation, &stop, deadline).await;
    let effect = valid.entry().effect();
    let (result, status) = conclude(ended, effect, timeout_ms);
    Executed { watched, intent, result, status }
}

/// How the tool's code came to its end.
enum Ended {
    Returned(Result<Output, ToolError>),
    Panicked(String),
    // It was told to stop and did not: its code is dropped, or goes on by itself on a thread that nobody waits for.
    Abandoned(ErrorCode),
}

async fn run_bounded(
    mut work: CatchPanic<'_>,
    cancellation: &CancellationToken,
    stop: &CancellationToken,
    deadline: Instant,
) -> Ended {
    let code = tokio::select! {
        biased;
        ended = &mut work => return ended,
        () = tokio::time::sleep_until(deadline) => ErrorCode::ToolTimeout,
        () = cancellation.cancelled() => ErrorCode::ProcessAborted,
    };
    stop.cancel();
    let grace = Duration::from_millis(STOP_MS);
    tokio::time::timeout(grace, work).await.unwrap_or(Ended::Abandoned(code))
}

/// Decides what is said and recorded. An effect that was interrupted may have happened, so it is unknown, not failed.
fn conclude(ended: Ended, effect: Effect, timeout_ms: u64) -> (Result<Output, ToolError>, Status) {
    let interrupted = |code, what: String| {
        let (doubt, status) = match effect {
            Effect::Once => (
                "; its effect may or may not have happened: check before repeating",
                Status::Unknown,
            ),
            Effect::Read | Effect::Idempotent => ("", Status::Failed),
        };
        (Err(ToolError::new(code, format!("{what}{doubt}"))), status)
    };
    match ended {
        Ended::Returned(Ok(output)) => (Ok(output), Status::Succeeded),
        Ended::Returned(Err(err)) => (Err(err), Status::Failed),
        Ended::Panicked(message) => {
            interrupted(ErrorCode::ToolPanicked, format!("the tool panicked: {message}"))
        }
        Ended::Abandoned(ErrorCode::ToolTimeout) => {
            let what = format!("the tool did not end within {timeout_ms} ms and was stopped");
            interrupted(ErrorCode::ToolTimeout, what)
        }
        Ended::Abandoned(code) => {
            interrupted(code, "the call was cancelled and the tool was stopped".to_owned())
        }
    }
}

struct Timing {
    timeout_ms: u64,
    deadline: Instant,
    stop: CancellationToken,
}

/// Returns the time for the call: what its input asks for, else what is configured.
fn timeout_ms(watched: &Watched, run: &RunState) -> u64 {
    let valid = watched.capable().valid();
    let asked = valid.tool().timeout_ms(&valid.call().input);
    asked.unwrap_or(run.session.shared.parts.limits.timeout_ms).clamp(1, TIMEOUT_MS_MAX)
}

fn context(watched: &Watched, run: &RunState, timing: Timing) -> Cx {
    let parts = &run.session.shared.parts;
    let valid = watched.capable().valid();
    let (call, entry) = (valid.call(), valid.entry());
    let contract = valid.contract();
    let territory = &run.session.territory;
    let shell = CallShell {
        launcher: parts.launcher.clone(),
        territory: territory.clone(),
        sidecars: Arc::clone(&run.session.sidecars),
        progress: Arc::clone(&call.progress),
        cancellation: timing.stop.clone(),
        deadline: timing.deadline,
        output_bytes_max: super::truncate::bytes_max(contract, &parts.limits),
        environment: environment(watched, run),
        label: CallLabel { tool: entry.tool().to_owned(), seq: entry.id().seq },
    };
    Cx::new(CxParts {
        tool: contract.id.clone(),
        effect: contract.effect,
        call_id: entry.id().clone(),
        call_key: entry.call_key(),
        root: parts.roots.workspace().to_path_buf(),
        allow_network: parts.allow_network,
        max_output_bytes: parts.limits.output_bytes,
        timeout_ms: timing.timeout_ms,
        cancellation: timing.stop,
        progress: Arc::clone(&call.progress),
        fs: Arc::new(GrantedFs::new(territory.clone(), Arc::clone(watched.grant()))),
        shell: Arc::new(shell),
        todos: Arc::clone(&run.session.todos) as Arc<_>,
    })
}

/// Returns the environment of the call's commands: the configured one, and the call's own keys.
fn environment(watched: &Watched, run: &RunState) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let entry = watched.capable().valid().entry();
    let mut environment = run.session.shared.parts.environment.clone();
    let task_key = haft_contract::CallKey::task_key(&entry.id().scope);
    environment.push(("HAFT_IDEMPOTENCY_KEY".into(), entry.call_key().idempotency_key().into()));
    environment.push(("HAFT_TASK_KEY".into(), task_key.into()));
    environment
}

/// A tool's future whose panic is a value.
struct CatchPanic<'a>(Pin<Box<dyn Future<Output = Result<Output, ToolError>> + Send + 'a>>);

impl Future for CatchPanic<'_> {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        // A future that panicked is not polled again, so no broken invariant of it can be seen.
        match std::panic::catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => Poll::Ready(Ended::Returned(result)),
            Err(panic) => Poll::Ready(Ended::Panicked(panic_message(&*panic))),
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}

impl Executed {
    pub(super) fn into_parts(self) -> (Watched, Intent, Result<Output, ToolError>, Status) {
        (self.watched, self.intent, self.result, self.status)
    }
}
