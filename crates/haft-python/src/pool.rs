//! The workers of one file. A call uses a warm worker, or starts a new one up to the maximum;
//! further calls wait in line. A stopped call's worker is killed, and idle workers are stopped
//! after a while. A worker that may change files serves one call, and its end is part of the call.
//! None of its processes continue to change files, and its changes at protected paths are reverted
//! before the answer.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use haft_contract::{
    Cx, ErrorCode, IntoOutput, ProcessWriteAccess, ToolError, ToolOutput, sha256_hex,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::directory::read_bounded;
use crate::limits::{TRACEBACK_BYTES_MAX, WORKERS_MAX};
use crate::worker::{
    PythonAnswer, PythonFailure, PythonFailureKind, PythonWorker, WorkerLoss, WorkerScope,
    WorkerSpec, cut_middle,
};
use crate::worker_options::WorkerOptions;

/// The workers of one file.
pub(crate) struct PythonWorkerPool {
    spec: WorkerSpec,
    convention: CallConvention,
    options: WorkerOptions,
    /// One permit for each worker that may run.
    permits: Semaphore,
    // Every call takes a worker out and puts it back, and the reaper removes idle ones. The lock is
    // held only for that.
    idle: Mutex<IdleWorkers>,
}

/// The words of METADATA about how the function is called and how it reports failures.
pub(crate) struct CallConvention {
    /// Whether the function takes the argument `context`.
    pub(crate) takes_context: bool,
    /// Whether a result with `"status": "error"` means that the call failed.
    pub(crate) status_errors: bool,
    /// The hosts that the tool may reach.
    pub(crate) hosts: Vec<String>,
}

#[derive(Default)]
struct IdleWorkers {
    workers: Vec<(WarmWorker, Instant)>,
    reaper: Option<Reaper>,
}

/// A worker that has loaded the file, and the file's stamp at that time.
struct WarmWorker {
    worker: PythonWorker,
    stamp: ToolFileStamp,
}

/// Whether a file has been changed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ToolFileStamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// The task that stops idle workers, as long as there are any.
struct Reaper(JoinHandle<()>);

impl Drop for Reaper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl PythonWorkerPool {
    pub(crate) fn new(
        spec: WorkerSpec,
        convention: CallConvention,
        options: WorkerOptions,
    ) -> Self {
        let places = Semaphore::new(options.workers_per_file.clamp(1, WORKERS_MAX));
        Self { spec, convention, options, permits: places, idle: Mutex::default() }
    }

    /// Runs one call.
    pub(crate) async fn call(
        self: Arc<Self>,
        input: Value,
        cx: Cx,
    ) -> Result<ToolOutput, ToolError> {
        let (file, function) = (&self.spec.source.name, &self.spec.function);
        let cancellation = cx.cancellation().clone();
        let place = tokio::select! {
            biased;
            () = cancellation.cancelled() => {
                let message = format!(
                    "the call was stopped while it waited for another call of {file} to end: nothing was executed"
                );
                return Err(ToolError::new(ErrorCode::ProcessAborted, message).not_begun());
            }
            place = self.permits.acquire() => place,
        };
        let _place = place.expect("the semaphore is never closed");
        // Only a worker that has loaded the file calls the function, so nothing has begun before.
        let mut warm = self.take_or_start(&cx).await.map_err(ToolError::not_begun)?;
        let context = self.context(&cx);
        let answer = tokio::select! {
            biased;
            () = cancellation.cancelled() => None,
            answer = warm.worker.call(&input, context) => Some(answer),
        };
        let (can_go_on, result) = match answer {
            // The pipeline knows whether the timeout or the caller stopped the call, and sets the code.
            None => {
                let message = format!(
                    "{function} was stopped, and its process killed with everything it started (time for the call: {} ms): ask for less at once, or go on without it",
                    cx.timeout_ms()
                );
                (false, Err(ToolError::new(ErrorCode::ProcessAborted, message)))
            }
            Some(PythonAnswer::Result(value)) if self.convention.status_errors => {
                (true, self.without_status_error(value))
            }
            Some(PythonAnswer::Result(value)) => (true, Ok(value)),
            Some(PythonAnswer::Failure(failure)) => (true, Err(self.failure_error(&failure))),
            Some(PythonAnswer::NotSent(how)) => {
                let message =
                    format!("the process of {file} {how} before it was called: call it again");
                (false, Err(ToolError::new(ErrorCode::Unavailable, message).not_begun()))
            }
            // The caller knows the effect, and says whether it may have happened.
            Some(PythonAnswer::Lost(WorkerLoss::Ended(how))) => {
                let message = format!(
                    "the process of {file} {how} in the middle of the call: change the arguments, or tell the user"
                );
                (false, Err(ToolError::new(ErrorCode::ToolFailed, message).interrupted()))
            }
            Some(PythonAnswer::Lost(WorkerLoss::InvalidReply(why))) => {
                let message = format!("the answer of {file} could not be understood: {why}");
                (false, Err(ToolError::new(ErrorCode::ToolBadOutput, message).interrupted()))
            }
        };
        let may_go_on = can_go_on
            && !warm.worker.is_spent
            && self.spec.writable == ProcessWriteAccess::Nothing
            && warm.worker.resident_bytes <= self.options.warm_bytes;
        let around = if may_go_on {
            let around = warm.worker.take_process_report().await;
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.workers.push((warm, Instant::now()));
            if idle.reaper.is_none() {
                let after = Duration::from_millis(self.options.idle_ms);
                idle.reaper = Some(Reaper(tokio::spawn(reap(Arc::downgrade(&self), after))));
            }
            around
        } else {
            warm.worker.end().await
        };
        match result {
            Ok(value) => Ok(ToolOutput {
                log: around.log,
                confined: around.confined,
                ..value.into_output()?
            }),
            Err(err) => Err(err.with_output(around)),
        }
    }

    /// Returns a worker that has loaded the checked version of the file: an idle one, or else a new
    /// one.
    async fn take_or_start(&self, cx: &Cx) -> Result<WarmWorker, ToolError> {
        let run = self.spec.is_granted_more.then(|| cx.attempt_address().run.clone());
        let restrictions = cx.restrictions().to_owned();
        let home = WorkerScope { root: cx.root().to_path_buf(), run, restrictions };
        loop {
            let last = self.idle.lock().unwrap_or_else(PoisonError::into_inner).workers.pop();
            let Some((mut warm, _)) = last else { break };
            let is_sound = warm.worker.scope == home && warm.worker.is_ready().await;
            if is_sound && ToolFileStamp::of(&self.spec).is_ok_and(|stamp| stamp == warm.stamp) {
                return Ok(warm);
            }
        }
        let spec = self.spec.clone();
        let checked = tokio::task::spawn_blocking(move || {
            let file = &spec.source.name;
            let unavailable = |message: String| ToolError::new(ErrorCode::Unavailable, message);
            // Taken before the file is read, so that the next call notices a change in between.
            let found = ToolFileStamp::of(&spec)
                .and_then(|stamp| Ok((stamp, read_bounded(&spec.source.path)?)));
            let (stamp, bytes) = found
                .map_err(|err| unavailable(format!("{file} cannot be read any more: {err}")))?;
            // The text is not needed, because the worker gets the checked one.
            if bytes.is_some_and(|bytes| sha256_hex(&bytes) == spec.source.sha256) {
                return Ok(stamp);
            }
            Err(unavailable(format!(
                "{file} has changed since it was checked: check it with haft registry check, and start haft again"
            )))
        })
        .await;
        let stamp = checked.map_err(|err| ToolError::from(io::Error::other(err)))??;
        let starting = PythonWorker::start(&self.spec, home, cx.background_processes());
        let mut worker = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => return Err(cancelled_loading_error(&self.spec)),
            worker = starting => worker?,
        };
        // The file's own code runs from here on. Its changes are reverted at its end, however it is
        // stopped.
        let loaded = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => None,
            loaded = worker.load(&self.spec) => Some(loaded),
        };
        let err = match loaded {
            None => cancelled_loading_error(&self.spec),
            Some(PythonAnswer::Result(_)) => return Ok(WarmWorker { worker, stamp }),
            Some(PythonAnswer::Failure(failure)) => self.failure_error(&failure),
            Some(PythonAnswer::NotSent(how)) => self.not_loaded_error(&WorkerLoss::Ended(how)),
            Some(PythonAnswer::Lost(lost)) => self.not_loaded_error(&lost),
        };
        Err(err.with_output(worker.end().await))
    }

    /// Stops workers that were idle for long, and returns when to check again; `None` if no worker
    /// is left.
    fn reap(&self, after: Duration) -> Option<Instant> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        // Dropping a worker only requests its end, so the lock is not held for long.
        idle.workers.retain(|(_, since)| now < *since + after);
        let next = idle.workers.iter().map(|(_, since)| *since + after).min();
        if next.is_none() {
            idle.reaper = None;
        }
        next
    }

    fn context(&self, cx: &Cx) -> Option<Value> {
        let scope = cx.attempt_address();
        self.convention.takes_context.then(|| {
            let effect = cx.effect();
            json!({
                "idempotency_key": cx.idempotency_key(),
                "task_key": cx.task_key(),
                "run": scope.run,
                "node": scope.node,
                "iteration": scope.iteration,
                "attempt": scope.attempt,
                "seq": cx.seq(),
                "tool": cx.tool(),
                "effect": effect,
                "side_effect": effect.side_effect(),
                "idempotent": effect.idempotent(),
                "root": cx.root().to_string_lossy(),
                "allow_network": cx.allow_network(),
                "hosts": self.convention.hosts,
                "max_output_bytes": cx.max_output_bytes(),
                "timeout_ms": cx.timeout_ms(),
            })
        })
    }

    /// Returns a result, unless it reports a failure in the way of Smith's tools.
    fn without_status_error(&self, result: Value) -> Result<Value, ToolError> {
        if result.get("status").and_then(Value::as_str) != Some("error") {
            return Ok(result);
        }
        let reason = ["error", "message"].iter().find_map(|key| result.get(*key)?.as_str());
        let has_more = result.as_object().is_some_and(|fields| fields.len() > 2);
        let reason = match reason {
            Some(reason) if has_more => format!("{reason}\n{result}"),
            Some(reason) => reason.to_owned(),
            None => result.to_string(),
        };
        let reason = cut_middle(&reason, TRACEBACK_BYTES_MAX);
        let message = format!("{} answered that it failed: {reason}", self.spec.function);
        Err(ToolError::new(ErrorCode::ToolFailed, message))
    }

    fn failure_error(&self, failure: &PythonFailure) -> ToolError {
        let file = &self.spec.source.name;
        let PythonFailure { kind, exception, message, traceback } = failure;
        let exception_text = match (exception.is_empty(), message.is_empty()) {
            (true, _) => message.clone(),
            (false, true) => exception.clone(),
            (false, false) => format!("{exception}: {message}"),
        };
        let trace = match traceback.as_slice() {
            [] => String::new(),
            lines => format!("\n{}", cut_middle(&lines.join("\n"), TRACEBACK_BYTES_MAX)),
        };
        let function = &self.spec.function;
        match kind {
            PythonFailureKind::Load => {
                let message = format!("{file} cannot be loaded: {exception_text}{trace}");
                ToolError::new(ErrorCode::Unavailable, message)
            }
            PythonFailureKind::Exception => {
                // Other arguments do not help there.
                let next = match exception.as_str() {
                    "ModuleNotFoundError" => "\nTell the user that the tool lacks this module.",
                    _ => "",
                };
                let message = format!("{function} raised {exception_text}{trace}{next}");
                ToolError::new(ErrorCode::ToolFailed, message)
            }
            PythonFailureKind::Result => {
                let message = format!("{function} returned a value that is not JSON: {message}");
                ToolError::new(ErrorCode::ToolBadOutput, message)
            }
        }
    }

    fn not_loaded_error(&self, lost: &WorkerLoss) -> ToolError {
        let file = &self.spec.source.name;
        let interpreter = self.spec.directory.interpreter.display();
        let why = match lost {
            WorkerLoss::Ended(how) => format!("its process {how}"),
            WorkerLoss::InvalidReply(why) => format!("its answer could not be understood: {why}"),
        };
        let message = format!("{file} could not be loaded by {interpreter}: {why}");
        ToolError::new(ErrorCode::Unavailable, message)
    }
}

async fn reap(pool: Weak<PythonWorkerPool>, after: Duration) {
    let mut next = Instant::now() + after;
    loop {
        tokio::time::sleep_until(next).await;
        let Some(pool) = pool.upgrade() else { return };
        match pool.reap(after) {
            Some(later) => next = later,
            None => return,
        }
    }
}

impl ToolFileStamp {
    fn of(spec: &WorkerSpec) -> io::Result<Self> {
        let metadata = std::fs::metadata(&spec.source.path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

fn cancelled_loading_error(spec: &WorkerSpec) -> ToolError {
    let file = &spec.source.name;
    let message =
        format!("the call was stopped while {file} was being loaded: its function was not called");
    ToolError::new(ErrorCode::ProcessAborted, message)
}
