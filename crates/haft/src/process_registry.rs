//! The running background processes, so that shutdown can end them in order. A process ends when its handle is dropped,
//! or with all others; haft can wait for its end. A process is gone only once its changes at protected paths are
//! reverted, which haft must do before it exits. The registry does not know the purpose of a process.

use std::sync::{Arc, Mutex, PoisonError};

use haft_sandbox::{ExceededLimit, ProcessControl, ProcessExit, RevertedChange, WaitError};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The background processes that were started and whose end was not awaited yet.
#[derive(Debug, Default)]
pub(crate) struct ProcessRegistry {
    /// Cancelled when all processes are to end.
    stop: CancellationToken,
    /// One task for each process, which waits for its end. Starting a process adds a task, and shutdown takes all tasks.
    /// Both hold the lock only for that.
    end_tasks: Mutex<JoinSet<()>>,
}

/// The owner's handle of one background process. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    /// Locked while waiting for the end: by the owner, and by the end task once the owner is gone.
    control: Arc<tokio::sync::Mutex<ProcessControl>>,
    /// Cancelled when this process is to end.
    stop: CancellationToken,
    /// The resource limit that ended the process, once it is known.
    exceeded: Option<ExceededLimit>,
    /// The reverted changes of the process at protected paths.
    protected_changes: Vec<RevertedChange>,
}

impl ProcessRegistry {
    /// Registers a process that was started. During shutdown, the process is ended at once.
    pub(crate) fn register_process(&self, control: ProcessControl) -> ProcessHandle {
        let control = Arc::new(tokio::sync::Mutex::new(control));
        let stop = self.stop.child_token();
        let (ending, stopped) = (Arc::clone(&control), stop.clone());
        let mut ends = self.end_tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while ends.try_join_next().is_some() {}
        ends.spawn(async move {
            stopped.cancelled().await;
            let mut control = ending.lock().await;
            control.kill();
            if let Err(err) = control.wait().await {
                tracing::warn!(error = %err, "the end of a program could not be seen");
            }
        });
        ProcessHandle { control, stop, exceeded: None, protected_changes: Vec::new() }
    }

    /// Ends all programs and waits until all their processes are gone.
    pub(crate) async fn end_all(&self) {
        self.stop.cancel();
        let mut ends =
            std::mem::take(&mut *self.end_tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while ends.join_next().await.is_some() {}
    }
}

impl ProcessHandle {
    /// Asks for the end.
    pub(crate) fn request_end(&self) {
        self.stop.cancel();
    }

    /// Waits for the end. The future can be dropped and called again, also after it returned.
    pub(crate) async fn wait_for_end(&mut self) -> Result<ProcessExit, WaitError> {
        let mut control = self.control.lock().await;
        let exit = tokio::select! {
            biased;
            exit = control.wait() => exit,
            () = self.stop.cancelled() => {
                control.kill();
                control.wait().await
            }
        };
        self.exceeded = control.exceeded_limit();
        self.protected_changes = control.reverted_changes().to_vec();
        exit
    }

    /// Returns the resource limit that ended the program; known after [`wait_for_end`](Self::wait_for_end).
    pub(crate) fn exceeded(&self) -> Option<ExceededLimit> {
        self.exceeded
    }

    /// Returns the reverted changes at protected paths; known after [`wait_for_end`](Self::wait_for_end).
    pub(crate) fn protected_changes(&self) -> &[RevertedChange] {
        &self.protected_changes
    }
}

impl Drop for ProcessHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
