//! The programs that live, for whoever ends this process in order: each is ended when it is dropped, or with all others,
//! and its end can be waited for. A program is gone only once what it left at protected places is put right, and nobody
//! would do that any more after this process. What the programs are for is not known here.

use std::sync::{Arc, Mutex, PoisonError};

use haft_sandbox::{ExceededLimit, ProcessControl, ProcessExit, RevertedChange, WaitError};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The programs that were started and not seen to their end.
#[derive(Debug, Default)]
pub(crate) struct ProcessRegistry {
    stop: CancellationToken,
    // One task for each program, which waits for its end from when it is to end. Whoever starts a program adds to them, and
    // whoever shuts down takes them all: locked only for that.
    end_tasks: Mutex<JoinSet<()>>,
}

/// One program, in the hands of whoever started it. Dropping it ends the program.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    /// Held by whoever waits for the end: the owner of this, and the task that does so when there is none any more.
    control: Arc<tokio::sync::Mutex<ProcessControl>>,
    stop: CancellationToken,
    exceeded: Option<ExceededLimit>,
    protected_changes: Vec<RevertedChange>,
}

impl ProcessRegistry {
    /// Takes in a program that was started. One that comes when all are to end is ended at once.
    pub(crate) fn register_process(&self, control: ProcessControl) -> ProcessHandle {
        let control = Arc::new(tokio::sync::Mutex::new(control));
        let stop = self.stop.child_token();
        let end = end_process(Arc::clone(&control), stop.clone());
        let mut ends = self.end_tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while ends.try_join_next().is_some() {}
        ends.spawn(end);
        ProcessHandle { control, stop, exceeded: None, protected_changes: Vec::new() }
    }

    /// Ends all programs and waits until nothing of them is left.
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

    /// Waits for the end. Can be given up and called again, also after it has answered.
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

    /// Returns the bound that the program met; known once its end was waited for.
    pub(crate) fn exceeded(&self) -> Option<ExceededLimit> {
        self.exceeded
    }

    /// Returns what it left at protected places; known once its end was waited for.
    pub(crate) fn protected_changes(&self) -> &[RevertedChange] {
        &self.protected_changes
    }
}

impl Drop for ProcessHandle {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn end_process(control: Arc<tokio::sync::Mutex<ProcessControl>>, stop: CancellationToken) {
    stop.cancelled().await;
    let mut control = control.lock().await;
    control.kill();
    if let Err(err) = control.wait().await {
        tracing::warn!(error = %err, "the end of a program could not be seen");
    }
}
