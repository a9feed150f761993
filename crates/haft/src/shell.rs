//! The commands of a call. Each runs in a separate process tree that ends with the call. haft reads the output while the
//! command runs, and keeps a bounded part in memory.

mod collector;
mod confined;
mod failure_hint;
mod live_output;

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    AttemptAddress, BoxFuture, CallKey, CallProgress, ErrorCode, FsEntryKind, ProcessEnding,
    ProgressSink, Shell, ShellOutcome, ShellRequest, ToolError, ToolId,
};
use haft_policy::{DirectoryTrees, HostScope};
use haft_sandbox::{ProcessExit, SandboxCommand, SandboxProcess};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::collector::OutputCollector;
pub(crate) use self::collector::{text_of_head, text_of_tail};
pub(crate) use self::confined::{
    GrantedHosts, ProcessBounds, StartedProcess, confined_report, protected_change_text,
    start_process,
};
pub(crate) use self::failure_hint::CommandContext;
use self::failure_hint::refused_hosts_hint;
use self::live_output::{LIVE_OUTPUT_MS, LiveOutput};
use crate::connection_state::{ConnectionState, check_start_directory};
use crate::files::PathResolver;
use crate::sandbox::DeniedPaths;
use crate::stopwatch::CallStopwatch;
use crate::wait_log::{CallWaitKind, CallWaitLog};

/// Between two reports of progress, in milliseconds.
pub(crate) const PROGRESS_MS: u64 = 1_000;
/// One read of a command's output, in bytes.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// Runs the commands of one call.
pub(crate) struct CallShell {
    /// The connection of the call. Its restrictions also limit the commands.
    pub(crate) connection: Arc<ConnectionState>,
    /// The tool that runs the commands.
    pub(crate) tool: ToolId,
    /// Receives reports while a command runs.
    pub(crate) progress: Arc<dyn ProgressSink>,
    /// Cancelled when the call is to stop.
    pub(crate) cancellation: CancellationToken,
    /// The time that is left for the call.
    pub(crate) time: Arc<CallStopwatch>,
    /// The largest output in bytes that is not cut.
    pub(crate) output_bytes_max: usize,
    /// The key of the call, which gives commands their idempotency key.
    pub(crate) call_key: CallKey,
    /// The attempt of the call, which gives commands their task key.
    pub(crate) scope: AttemptAddress,
    /// Names the call in the names of sidecars.
    pub(crate) label: CallLabel,
    /// The hosts that the call's commands may reach.
    pub(crate) hosts: Arc<HostScope>,
    /// The paths that rules keep from the commands.
    pub(crate) denied: Option<Arc<DeniedPaths>>,
    /// Whether the tool reads files at all, and so may read the session's sidecars.
    pub(crate) reads_sidecars: bool,
    /// The places outside the roots that the commands can read, or change as well.
    pub(crate) outside: DirectoryTrees,
    /// Whether the tool changes files: the commands of one that does not can only read the roots.
    pub(crate) changes_files: bool,
    /// Measures how long the call waits for the start of its commands.
    pub(crate) waits: Arc<CallWaitLog>,
}

/// Names the call in the names of its files.
#[derive(Clone, Debug)]
pub(crate) struct CallLabel {
    /// The id of the tool.
    pub(crate) tool: String,
    /// The number of the call in its attempt.
    pub(crate) seq: u32,
}

impl Shell for CallShell {
    fn run(&self, request: ShellRequest) -> BoxFuture<'_, Result<ShellOutcome, ToolError>> {
        Box::pin(async move {
            let trees = self.connection.process_trees(&self.tool);
            let WorkingDirectory { handle, path: directory } =
                working_directory(&self.connection.paths, request.cwd.as_deref())?;
            check_start_directory(&directory, &trees)?;
            self.connection.check_enforceable(&trees, &self.hosts)?;
            let words = std::iter::once(&request.program).chain(&request.args);
            let command_words = words.map(String::as_str).collect::<Vec<_>>().join(" ");
            let mut command = SandboxCommand::new(&request.program, handle).args(&request.args);
            command.env = self.connection.shared.parts.environment.clone();
            let idempotency_key = self.call_key.idempotency_key().into();
            command.env.push(("HAFT_IDEMPOTENCY_KEY".into(), idempotency_key));
            command.env.push(("HAFT_TASK_KEY".into(), CallKey::task_key(&self.scope).into()));
            let starting = self.start(command, &trees);
            let mut started = self.waits.measure(CallWaitKind::Sandbox, starting).await?;
            let process = &mut started.process;
            let mut collector =
                OutputCollector::new(self.output_bytes_max, &self.connection.sidecars, &self.label);
            let stopped = match self.read_output(process, &mut collector).await {
                // A command can close its output before it ends.
                None => tokio::select! {
                    biased;
                    () = self.time.wait_until_over() => Some(ProcessEnding::TimedOut),
                    () = self.cancellation.cancelled() => Some(self.ending_of_cancel()),
                    _ = process.control.wait() => None,
                },
                stopped => stopped,
            };
            if stopped.is_some() {
                process.control.kill();
                let mut buffer = vec![0; READ_BYTES];
                while let Ok(count @ 1..) = process.output.read(&mut buffer).await {
                    collector.take(buffer.get(..count).unwrap_or_default());
                }
            }
            let exit = process.control.wait().await;
            let confined = started.finish().await;
            let ending = match (stopped, exit) {
                (Some(ending), _) => ending,
                (None, Ok(ProcessExit::Code(code))) => ProcessEnding::Exited(code),
                (None, Ok(ProcessExit::Signal(signal))) => ProcessEnding::Signalled(signal),
                (None, Err(err)) => {
                    return Err(ToolError::new(ErrorCode::ProcessSpawnFailed, err.to_string()));
                }
            };
            let output = collector.finish();
            let confinement_hint = failure_hint::failed_status(ending).and_then(|status| {
                let context = CommandContext {
                    withheld: &confined.withheld,
                    sandbox: &self.connection.shared.parts.sandbox,
                    writable: &self.writable(&trees),
                    directory: &directory,
                    denied: self.denied.as_deref(),
                    enforced: confined.enforced,
                    command: &command_words,
                    has_hosts: !self.hosts.is_empty(),
                };
                refused_hosts_hint(&confined).or_else(|| context.failure_hint(status, &output))
            });
            Ok(ShellOutcome { ending, output, confined, confinement_hint })
        })
    }
}

impl CallShell {
    /// Reads the output to its end; says why when it stopped before.
    async fn read_output(
        &self,
        process: &mut SandboxProcess,
        collector: &mut OutputCollector<'_>,
    ) -> Option<ProcessEnding> {
        let started = Instant::now();
        let mut ticks = tokio::time::interval_at(
            started + Duration::from_millis(PROGRESS_MS),
            Duration::from_millis(PROGRESS_MS),
        );
        let mut live_ticks = tokio::time::interval_at(
            started + Duration::from_millis(LIVE_OUTPUT_MS),
            Duration::from_millis(LIVE_OUTPUT_MS),
        );
        let mut live = LiveOutput::begin(started);
        let mut buffer = vec![0; READ_BYTES];
        loop {
            tokio::select! {
                biased;
                () = self.time.wait_until_over() => return Some(ProcessEnding::TimedOut),
                () = self.cancellation.cancelled() => return Some(self.ending_of_cancel()),
                read = process.output.read(&mut buffer) => match read {
                    Ok(0) | Err(_) => return None,
                    Ok(count) => {
                        let bytes = buffer.get(..count).unwrap_or_default();
                        collector.take(bytes);
                        live.take(bytes);
                        // A command that prints without a pause leaves no room for the ticks.
                        live.report(Instant::now(), &*self.progress);
                    }
                },
                _ = live_ticks.tick() => live.report(Instant::now(), &*self.progress),
                _ = ticks.tick() => self.report(started, collector.total_bytes),
            }
        }
    }

    /// Returns why the process ends. The pipeline cancels a call once its time is over; any other cancellation comes
    /// before that.
    fn ending_of_cancel(&self) -> ProcessEnding {
        if self.time.is_over() { ProcessEnding::TimedOut } else { ProcessEnding::Aborted }
    }

    /// Reports the running time of the command and the size of its output.
    fn report(&self, started: Instant, total_bytes: u64) {
        let seconds = started.elapsed().as_secs();
        let message = format!("running for {seconds} s, {total_bytes} bytes of output");
        #[expect(clippy::cast_precision_loss, reason = "seconds of a call fit a float exactly")]
        let done = seconds as f64;
        self.progress.report(CallProgress { done, total: None, message });
    }
}

/// The directory that a process is started in.
pub(crate) struct WorkingDirectory {
    /// The open directory.
    pub(crate) handle: OwnedFd,
    /// The absolute path of the directory.
    pub(crate) path: PathBuf,
}

/// Opens the directory within a root that was asked for, or the first root.
pub(crate) fn working_directory(
    territory: &PathResolver,
    cwd: Option<&str>,
) -> Result<WorkingDirectory, ToolError> {
    let cwd = cwd.unwrap_or(".");
    let (place, kind) = territory.resolve(cwd)?;
    match kind {
        Some(FsEntryKind::Directory) => {}
        Some(other) => {
            let message = format!(
                "cwd {cwd:?} is {}, not a directory: name a directory",
                other.with_article()
            );
            return Err(ToolError::new(ErrorCode::PathInvalid, message));
        }
        None => {
            let message = format!(
                "cwd {cwd:?} does not exist: name a directory of the workspace, or leave cwd out"
            );
            return Err(ToolError::new(ErrorCode::PathInvalid, message));
        }
    }
    let Some(subject) = territory.subject(&place) else {
        let message =
            format!("cwd {cwd:?} is outside the workspace: use a directory within the workspace");
        return Err(ToolError::new(ErrorCode::PathEscape, message));
    };
    let handle = territory.root_of(&place)?.open_dir(place.relative());
    let handle = handle.map_err(|err| crate::roots::path_error(cwd, &err))?;
    Ok(WorkingDirectory { handle, path: subject.absolute })
}
