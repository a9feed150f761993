//! The workers of one file: as many as may run at once, warm ones first, a new one where there is none. Who waits, waits in
//! line; who is stopped has its worker killed; who is not called for a while is ended. A worker that may change files serves
//! one call, and its end is part of the call: nothing of it goes on changing them, and what it left at protected places is
//! put right before there is an answer.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use haft_contract::{Cx, ErrorCode, IntoOutput, Output, ToolError, Writable, sha256_hex};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::directory::read_bounded;
use crate::host::WorkerOptions;
use crate::limits::{TRACEBACK_BYTES_MAX, WORKERS_MAX};
use crate::worker::{
    Answer, Failure, FailureKind, Home, Lost, Request, Spec, Worker, without_middle,
};

/// The workers of one file.
pub(crate) struct Pool {
    spec: Spec,
    takes_context: bool,
    options: WorkerOptions,
    /// One permit for each worker that may run.
    places: Semaphore,
    // Every call takes a worker out and puts one back, and the reaper takes out those that nobody did: locked only for that.
    idle: Mutex<Idle>,
}

#[derive(Default)]
struct Idle {
    workers: Vec<(Warm, Instant)>,
    reaper: Option<Reaper>,
}

/// A worker that has loaded the file, and what the file was then.
struct Warm {
    worker: Worker,
    stamp: Stamp,
}

/// Tells whether a file has been touched.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// The task that ends idle workers, as long as there are any.
struct Reaper(JoinHandle<()>);

impl Drop for Reaper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Pool {
    pub(crate) fn new(spec: Spec, takes_context: bool, options: WorkerOptions) -> Self {
        let places = Semaphore::new(options.workers_per_file.clamp(1, WORKERS_MAX));
        Self { spec, takes_context, options, places, idle: Mutex::default() }
    }

    /// Makes one call.
    pub(crate) async fn call(self: Arc<Self>, input: Value, cx: Cx) -> Result<Output, ToolError> {
        let cancellation = cx.cancellation().clone();
        let place = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Err(stopped_waiting(&self.spec)),
            place = self.places.acquire() => place,
        };
        let _place = place.expect("nobody closes the semaphore");
        // The function is called by a worker that has loaded the file, so until there is one nothing was begun.
        let mut warm = self.warm(&cx).await.map_err(ToolError::not_begun)?;
        let request = Request { arguments: &input, context: self.context(&cx) };
        let answer = tokio::select! {
            biased;
            () = cancellation.cancelled() => None,
            answer = warm.worker.call(&request) => Some(answer),
        };
        let (can_go_on, result) = match answer {
            None => (false, Err(stopped(&self.spec, &cx))),
            Some(Answer::Result(value)) => (true, Ok(value)),
            Some(Answer::Failure(failure)) => (true, Err(self.failed(&failure))),
            Some(Answer::Unasked(how)) => (false, Err(self.not_asked(&how))),
            Some(Answer::Lost(lost)) => (false, Err(self.lost(&lost))),
        };
        let may_go_on = can_go_on
            && self.spec.writable == Writable::Nothing
            && warm.worker.resident_bytes <= self.options.warm_bytes;
        let around = if may_go_on {
            let around = warm.worker.surroundings().await;
            self.put_back(warm);
            around
        } else {
            warm.worker.end().await
        };
        match result {
            Ok(value) => {
                Ok(Output { log: around.log, confined: around.confined, ..value.into_output()? })
            }
            Err(err) => Err(err.with_output(around)),
        }
    }

    /// Returns a worker that has loaded the file as it was checked: one that waits for a call, or else a new one.
    async fn warm(&self, cx: &Cx) -> Result<Warm, ToolError> {
        let run = self.spec.is_granted_more.then(|| cx.scope().run.clone());
        let narrowing = cx.narrowing().to_owned();
        let home = Home { root: cx.root().to_path_buf(), run, narrowing };
        while let Some(mut warm) = self.take_idle() {
            let is_sound = warm.worker.home == home && warm.worker.is_silent().await;
            if is_sound && Stamp::of(&self.spec).is_ok_and(|stamp| stamp == warm.stamp) {
                return Ok(warm);
            }
        }
        let spec = self.spec.clone();
        let checked = tokio::task::spawn_blocking(move || check_unchanged(&spec)).await;
        let stamp = checked.map_err(|err| ToolError::from(io::Error::other(err)))??;
        let starting = Worker::start(&self.spec, home, cx.residents());
        let mut worker = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => return Err(stopped_loading(&self.spec)),
            worker = starting => worker?,
        };
        // The file's own code runs from here on, and what it leaves behind is put right at its end, whoever stops it.
        let loaded = tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => None,
            loaded = worker.load(&self.spec) => Some(loaded),
        };
        let err = match loaded {
            None => stopped_loading(&self.spec),
            Some(Answer::Result(_)) => return Ok(Warm { worker, stamp }),
            Some(Answer::Failure(failure)) => self.failed(&failure),
            Some(Answer::Unasked(how)) => self.not_loaded(&Lost::Ended(how)),
            Some(Answer::Lost(lost)) => self.not_loaded(&lost),
        };
        Err(err.with_output(worker.end().await))
    }

    fn take_idle(&self) -> Option<Warm> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.workers.pop().map(|(warm, _)| warm)
    }

    fn put_back(self: &Arc<Self>, warm: Warm) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.workers.push((warm, Instant::now()));
        if idle.reaper.is_none() {
            let after = Duration::from_millis(self.options.idle_ms);
            idle.reaper = Some(Reaper(tokio::spawn(reap(Arc::downgrade(self), after))));
        }
    }

    /// Ends the workers that nobody called for long, and returns when to look again; nothing if there is none left.
    fn reap(&self, after: Duration) -> Option<Instant> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        // Dropping one only asks for its end, so the lock is not held for long.
        idle.workers.retain(|(_, since)| now < *since + after);
        let next = idle.workers.iter().map(|(_, since)| *since + after).min();
        if next.is_none() {
            idle.reaper = None;
        }
        next
    }

    fn context(&self, cx: &Cx) -> Option<Value> {
        let scope = cx.scope();
        self.takes_context.then(|| {
            json!({
                "idempotency_key": cx.idempotency_key(),
                "task_key": cx.task_key(),
                "run": scope.run,
                "node": scope.node,
                "iteration": scope.iteration,
                "attempt": scope.attempt,
                "tool": cx.tool(),
            })
        })
    }

    fn failed(&self, failure: &Failure) -> ToolError {
        let file = &self.spec.source.name;
        let Failure { kind, exception, message, traceback } = failure;
        let said = match (exception.is_empty(), message.is_empty()) {
            (true, _) => message.clone(),
            (false, true) => exception.clone(),
            (false, false) => format!("{exception}: {message}"),
        };
        let trace = match traceback.as_slice() {
            [] => String::new(),
            lines => format!("\n{}", without_middle(&lines.join("\n"), TRACEBACK_BYTES_MAX)),
        };
        let function = &self.spec.function;
        match kind {
            FailureKind::Load => {
                let message = format!("{file} cannot be loaded: {said}{trace}");
                ToolError::new(ErrorCode::Unavailable, message)
            }
            FailureKind::Exception => {
                ToolError::new(ErrorCode::ToolFailed, format!("{function} raised {said}{trace}"))
            }
            FailureKind::Result => {
                let message = format!("{function} answered with what is not JSON: {message}");
                ToolError::new(ErrorCode::ToolBadOutput, message)
            }
        }
    }

    /// Says how the call was interrupted. Whether its effect may have happened is said by whoever knows the effect.
    fn lost(&self, lost: &Lost) -> ToolError {
        let file = &self.spec.source.name;
        let err = match lost {
            Lost::Ended(how) => {
                let message = format!("the process of {file} {how} in the middle of the call");
                ToolError::new(ErrorCode::ToolFailed, message)
            }
            Lost::Garbled(why) => {
                let message = format!("the answer of {file} could not be understood: {why}");
                ToolError::new(ErrorCode::ToolBadOutput, message)
            }
        };
        err.interrupted()
    }

    fn not_asked(&self, how: &str) -> ToolError {
        let file = &self.spec.source.name;
        let message = format!("the process of {file} {how} before it was called: call it again");
        ToolError::new(ErrorCode::Unavailable, message).not_begun()
    }

    fn not_loaded(&self, lost: &Lost) -> ToolError {
        let file = &self.spec.source.name;
        let interpreter = self.spec.directory.interpreter.display();
        let why = match lost {
            Lost::Ended(how) => format!("its process {how}"),
            Lost::Garbled(why) => format!("its answer could not be understood: {why}"),
        };
        let message = format!("{file} could not be loaded by {interpreter}: {why}");
        ToolError::new(ErrorCode::Unavailable, message)
    }
}

async fn reap(pool: Weak<Pool>, after: Duration) {
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

impl Stamp {
    fn of(spec: &Spec) -> io::Result<Self> {
        let metadata = std::fs::metadata(&spec.source.path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// Says what the file is now, or that it is no longer the one that was checked. Its text is not needed: the worker gets the
/// one that was checked.
fn check_unchanged(spec: &Spec) -> Result<Stamp, ToolError> {
    let file = &spec.source.name;
    let unavailable = |message: String| ToolError::new(ErrorCode::Unavailable, message);
    // Taken before the file is read, so that a change in between is noticed by the next call.
    let found = Stamp::of(spec).and_then(|stamp| Ok((stamp, read_bounded(&spec.source.path)?)));
    let (stamp, bytes) =
        found.map_err(|err| unavailable(format!("{file} cannot be read any more: {err}")))?;
    if bytes.is_some_and(|bytes| sha256_hex(&bytes) == spec.source.sha256) {
        return Ok(stamp);
    }
    Err(unavailable(format!(
        "{file} has changed since it was checked: look it over with haft registry check, and start haft again"
    )))
}

fn stopped_waiting(spec: &Spec) -> ToolError {
    let file = &spec.source.name;
    let message = format!(
        "the call was stopped while it waited for another call of {file} to end: nothing was executed"
    );
    ToolError::new(ErrorCode::ProcessAborted, message).not_begun()
}

fn stopped_loading(spec: &Spec) -> ToolError {
    let file = &spec.source.name;
    let message =
        format!("the call was stopped while {file} was being loaded: its function was not called");
    ToolError::new(ErrorCode::ProcessAborted, message)
}

/// The pipeline knows whether it was the time or the caller that stopped the call, and says so with its code.
fn stopped(spec: &Spec, cx: &Cx) -> ToolError {
    let function = &spec.function;
    let message = format!(
        "{function} was stopped, and its process killed with everything it started (time for the call: {} ms)",
        cx.timeout_ms()
    );
    ToolError::new(ErrorCode::ProcessAborted, message)
}
