//! Commands as a call runs them: in a process tree of their own that ends with the call, their output read as it
//! comes and kept in bounded memory.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::limits::{OUTPUT_BYTES_MAX, OUTPUT_TAIL_BYTES};
use haft_contract::{
    BoxFuture, CallKey, Ending, Enforced, ErrorCode, Excerpt, FileKind, Level, Progress,
    ProgressSink, Scope, Shell, ShellOutcome, ShellRequest, ToolError,
};
use haft_sandbox::{Command, Exit, Launcher, Process, SpawnError};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::files::Territory;
use crate::runtime::Shared;
use crate::sidecar::Sidecars;

/// Between two reports of progress, in milliseconds.
pub(crate) const PROGRESS_MS: u64 = 1_000;
/// One read of a command's output, in bytes.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// Runs the commands of one call.
pub(crate) struct CallShell {
    pub(crate) launcher: Launcher,
    pub(crate) territory: Territory,
    pub(crate) sidecars: Arc<Sidecars>,
    pub(crate) progress: Arc<dyn ProgressSink>,
    pub(crate) cancellation: CancellationToken,
    pub(crate) deadline: Instant,
    pub(crate) output_bytes_max: usize,
    pub(crate) environment: CallEnvironment,
    pub(crate) label: CallLabel,
}

/// What the environment of the call's commands is made of; most calls run none.
pub(crate) struct CallEnvironment {
    pub(crate) shared: Arc<Shared>,
    pub(crate) call_key: CallKey,
    pub(crate) scope: Scope,
}

impl CallEnvironment {
    /// Returns the configured environment and the call's own keys.
    fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables = self.shared.parts.environment.clone();
        let task_key = CallKey::task_key(&self.scope);
        variables.push(("HAFT_IDEMPOTENCY_KEY".into(), self.call_key.idempotency_key().into()));
        variables.push(("HAFT_TASK_KEY".into(), task_key.into()));
        variables
    }
}

/// Names the call in the names of its files.
#[derive(Clone, Debug)]
pub(crate) struct CallLabel {
    pub(crate) tool: String,
    pub(crate) seq: u32,
}

impl Shell for CallShell {
    fn run(&self, request: ShellRequest) -> BoxFuture<'_, Result<ShellOutcome, ToolError>> {
        Box::pin(self.run_to_end(request))
    }
}

impl CallShell {
    async fn run_to_end(&self, request: ShellRequest) -> Result<ShellOutcome, ToolError> {
        let mut process = self.spawn(&request).await?;
        let mut collector = Collector::new(self.output_bytes_max, &self.sidecars, &self.label);
        let stopped = match self.follow(&mut process, &mut collector).await {
            None => self.await_exit(&mut process).await,
            stopped => stopped,
        };
        if stopped.is_some() {
            process.kill();
            drain(&mut process, &mut collector).await;
        }
        let exit = process.wait().await;
        let ending = match (stopped, exit) {
            (Some(ending), _) => ending,
            (None, Ok(Exit::Code(code))) => Ending::Exited(code),
            (None, Ok(Exit::Signal(signal))) => Ending::Signalled(signal),
            (None, Err(err)) => {
                return Err(ToolError::new(ErrorCode::ProcessSpawnFailed, err.to_string()));
            }
        };
        Ok(ShellOutcome {
            ending,
            output: collector.finish(),
            enforced: enforced(&process.enforced()),
        })
    }

    async fn spawn(&self, request: &ShellRequest) -> Result<Process, ToolError> {
        let cwd = request.cwd.as_deref().unwrap_or(".");
        let (place, kind) = self.territory.resolve(cwd)?;
        match kind {
            Some(FileKind::Directory) => {}
            Some(other) => {
                let message = format!("cwd {cwd:?} is {}, not a directory", other.with_article());
                return Err(ToolError::new(ErrorCode::PathInvalid, message));
            }
            None => {
                return Err(ToolError::new(
                    ErrorCode::PathInvalid,
                    format!("cwd {cwd:?} does not exist"),
                ));
            }
        }
        if self.territory.subject(&place).is_none() {
            let message =
                format!("cwd {cwd:?} is outside the workspace: use a directory within the root");
            return Err(ToolError::new(ErrorCode::PathEscape, message));
        }
        let root = self.territory.root(&place)?;
        let directory =
            root.open_dir(place.relative()).map_err(|err| crate::roots::path_error(cwd, &err))?;
        let mut command = Command::new(&request.program, directory).args(&request.args);
        command.env = self.environment.variables();
        self.launcher.spawn(command).await.map_err(|err| spawn_error(&err))
    }

    /// Reads the output to its end; says why when it stopped before.
    async fn follow(&self, process: &mut Process, collector: &mut Collector<'_>) -> Option<Ending> {
        let started = Instant::now();
        let mut ticks = tokio::time::interval_at(
            started + Duration::from_millis(PROGRESS_MS),
            Duration::from_millis(PROGRESS_MS),
        );
        let mut buffer = vec![0; READ_BYTES];
        loop {
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(self.deadline) => return Some(Ending::TimedOut),
                () = self.cancellation.cancelled() => return Some(self.ending_of_cancel()),
                read = process.read(&mut buffer) => match read {
                    Ok(0) | Err(_) => return None,
                    Ok(count) => collector.take(buffer.get(..count).unwrap_or_default()),
                },
                _ = ticks.tick() => self.report(started, collector.total_bytes),
            }
        }
    }

    /// Waits for a command that has closed its output; says why when it had to be stopped.
    async fn await_exit(&self, process: &mut Process) -> Option<Ending> {
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(self.deadline) => Some(Ending::TimedOut),
            () = self.cancellation.cancelled() => Some(self.ending_of_cancel()),
            _ = process.wait() => None,
        }
    }

    /// The pipeline cancels a call whose time is up; whoever else cancels does so before.
    fn ending_of_cancel(&self) -> Ending {
        if Instant::now() >= self.deadline { Ending::TimedOut } else { Ending::Aborted }
    }

    fn report(&self, started: Instant, total_bytes: u64) {
        let seconds = started.elapsed().as_secs();
        let message = format!("running for {seconds} s, {total_bytes} bytes of output");
        #[expect(clippy::cast_precision_loss, reason = "seconds of a call fit a float exactly")]
        let done = seconds as f64;
        self.progress.report(Progress { done, total: None, message });
    }
}

/// Takes what a killed process tree had still written.
async fn drain(process: &mut Process, collector: &mut Collector<'_>) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(count @ 1..) = process.read(&mut buffer).await {
        collector.take(buffer.get(..count).unwrap_or_default());
    }
}

fn spawn_error(err: &SpawnError) -> ToolError {
    ToolError::new(ErrorCode::ProcessSpawnFailed, err.to_string())
}

fn enforced(from: &haft_sandbox::Enforced) -> Enforced {
    let level = |level: haft_sandbox::Level| match level {
        haft_sandbox::Level::Kernel => Level::Kernel,
        haft_sandbox::Level::Cooperative => Level::Cooperative,
        haft_sandbox::Level::None => Level::None,
    };
    Enforced {
        filesystem: level(from.filesystem),
        network: level(from.network),
        processes: level(from.processes),
        system_calls: level(from.system_calls),
        resources: level(from.resources),
    }
}

/// Keeps the head and the tail of an output in memory and streams all of it to a sidecar once it is too long.
struct Collector<'a> {
    bytes_max: usize,
    tail_bytes_max: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    total_bytes: u64,
    sidecar: Option<OpenSidecar>,
    sidecar_error: Option<String>,
    sidecars: &'a Sidecars,
    label: &'a CallLabel,
}

struct OpenSidecar {
    file: File,
    path: String,
    written_bytes: usize,
}

impl<'a> Collector<'a> {
    fn new(bytes_max: usize, sidecars: &'a Sidecars, label: &'a CallLabel) -> Self {
        Self {
            bytes_max,
            // Small limits keep most of their room for the head.
            tail_bytes_max: OUTPUT_TAIL_BYTES.min(bytes_max / 4),
            head: Vec::new(),
            tail: Vec::new(),
            total_bytes: 0,
            sidecar: None,
            sidecar_error: None,
            sidecars,
            label,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        self.total_bytes =
            self.total_bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = self.bytes_max.saturating_sub(self.head.len());
        if !self.is_cut() && bytes.len() <= room {
            self.head.extend_from_slice(bytes);
            return;
        }
        if !self.is_cut() {
            self.open_sidecar();
            self.tail = self.head.clone();
            let head_bytes = self.bytes_max.saturating_sub(self.tail_bytes_max);
            // Part of the head may come only now.
            self.head.extend_from_slice(bytes.get(..room).unwrap_or_default());
            self.head.truncate(head_bytes);
        }
        self.append_to_sidecar(bytes);
        self.tail.extend_from_slice(bytes);
        let excess = self.tail.len().saturating_sub(self.tail_bytes_max);
        self.tail.drain(..excess);
    }

    fn is_cut(&self) -> bool {
        self.sidecar.is_some() || self.sidecar_error.is_some()
    }

    fn open_sidecar(&mut self) {
        match self.sidecars.create(&self.label.tool, self.label.seq) {
            Ok((file, path)) => {
                let path = path.to_string_lossy().into_owned();
                self.sidecar = Some(OpenSidecar { file, path, written_bytes: 0 });
                let head = self.head.clone();
                self.append_to_sidecar(&head);
            }
            Err(err) => self.sidecar_error = Some(format!("the rest could not be kept: {err}")),
        }
    }

    fn append_to_sidecar(&mut self, bytes: &[u8]) {
        let Some(sidecar) = &mut self.sidecar else { return };
        let room = OUTPUT_BYTES_MAX.saturating_sub(sidecar.written_bytes);
        let part = bytes.get(..room.min(bytes.len())).unwrap_or_default();
        if part.is_empty() {
            return;
        }
        match sidecar.file.write_all(part) {
            Ok(()) => sidecar.written_bytes += part.len(),
            Err(err) => {
                self.sidecar_error = Some(format!("the rest could not be kept: {err}"));
                self.sidecar = None;
            }
        }
    }

    fn finish(self) -> Excerpt {
        let cut = self.is_cut();
        let kept_bytes = self.sidecar.as_ref().map_or(0, |sidecar| sidecar.written_bytes);
        let is_short = self.sidecar.is_some()
            && u64::try_from(kept_bytes).is_ok_and(|kept| kept < self.total_bytes);
        let sidecar_error = self.sidecar_error.or_else(|| {
            is_short.then(|| {
                format!("only the first {kept_bytes} of {} bytes were kept", self.total_bytes)
            })
        });
        Excerpt {
            head: text_of_head(&self.head, cut),
            tail: cut.then(|| text_of_tail(&self.tail)),
            total_bytes: self.total_bytes,
            sidecar: self.sidecar.map(|sidecar| sidecar.path),
            sidecar_error,
        }
    }
}

/// Drops the bytes of a character that the cut went through.
fn text_of_head(bytes: &[u8], cut: bool) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Err(err) if cut && err.error_len().is_none() => {
            bytes.get(..err.valid_up_to()).unwrap_or(bytes)
        }
        Ok(_) | Err(_) => bytes,
    };
    String::from_utf8_lossy(whole).into_owned()
}

fn text_of_tail(bytes: &[u8]) -> String {
    let is_continuation = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    let skip = bytes.iter().take(3).take_while(|byte| is_continuation(byte)).count();
    String::from_utf8_lossy(bytes.get(skip..).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(bytes_max: usize, chunks: &[&[u8]], directory: &std::path::Path) -> Excerpt {
        let sidecars = Sidecars::new(directory.join("sidecars"));
        let label = CallLabel { tool: "bash".to_owned(), seq: 7 };
        let mut collector = Collector::new(bytes_max, &sidecars, &label);
        chunks.iter().for_each(|chunk| collector.take(chunk));
        let excerpt = collector.finish();
        if let Some(path) = &excerpt.sidecar {
            let kept = std::fs::read(path).unwrap();
            assert_eq!(kept, chunks.concat(), "the sidecar holds all of the output");
        }
        excerpt
    }

    #[test]
    fn an_output_at_the_limit_is_whole_and_one_byte_more_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        for limit in [100, OUTPUT_TAIL_BYTES * 5] {
            let tail_bytes = OUTPUT_TAIL_BYTES.min(limit / 4);
            let exact = vec![b'a'; limit];
            let whole = collect(limit, &[&exact], directory.path());
            assert_eq!((whole.head.len(), whole.tail, whole.sidecar), (limit, None, None));
            let cut = collect(limit, &[&exact, b"b"], directory.path());
            assert_eq!(cut.head.len(), limit - tail_bytes);
            assert_eq!(cut.total_bytes, u64::try_from(limit + 1).unwrap());
            assert!(cut.tail.is_some_and(|tail| tail.len() == tail_bytes && tail.ends_with("ab")));
        }
    }

    #[test]
    fn a_sidecar_holds_what_fits_and_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let sidecars = Sidecars::new(directory.path().join("sidecars"));
        let label = CallLabel { tool: "bash".to_owned(), seq: 1 };
        let mut collector = Collector::new(1_000, &sidecars, &label);
        let chunk = vec![b'a'; OUTPUT_BYTES_MAX / 2 + 1];
        collector.take(&chunk);
        collector.take(&chunk);
        let excerpt = collector.finish();
        let kept = std::fs::metadata(excerpt.sidecar.unwrap()).unwrap().len();
        assert_eq!(kept, u64::try_from(OUTPUT_BYTES_MAX).unwrap());
        let whole = OUTPUT_BYTES_MAX + 2;
        let lost = format!("only the first {OUTPUT_BYTES_MAX} of {whole} bytes were kept");
        assert_eq!(excerpt.sidecar_error, Some(lost));
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let directory = tempfile::tempdir().unwrap();
        let limit = OUTPUT_TAIL_BYTES + 10;
        let text = "ä".repeat(limit);
        let cut = collect(limit, &[b"x", text.as_bytes()], directory.path());
        assert!(!cut.head.contains('\u{fffd}'), "{}", cut.head);
        assert!(cut.tail.is_some_and(|tail| !tail.contains('\u{fffd}')));
    }

    #[test]
    fn one_large_chunk_fills_the_head() {
        let directory = tempfile::tempdir().unwrap();
        let cut = collect(100, &[&vec![b'a'; 300]], directory.path());
        assert_eq!(cut.head.len(), 75);
    }

    #[test]
    fn a_sidecar_that_cannot_be_made_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("sidecars"), "in the way").unwrap();
        let cut =
            collect(OUTPUT_TAIL_BYTES, &[&vec![b'a'; OUTPUT_TAIL_BYTES + 1]], directory.path());
        assert!(cut.sidecar.is_none() && cut.sidecar_error.is_some() && cut.truncated());
    }
}
