//! Stopping a plan by signals. After the first signal, running calls end and no new ones begin. The second signal cancels
//! the running calls. The record stays, so the run can be resumed.

use std::sync::Arc;

use haft_contract::RunId;
use tokio_util::sync::CancellationToken;

use super::PlanAsker;
use crate::error::CommandError;
use crate::signals::{StopSignals, exit_in_doubt};
use crate::views::plan::PlanScreen;

/// The stop requests to the driver of a plan.
pub(super) struct PlanStopTokens {
    /// Cancelled by the first signal.
    pub(super) stop: CancellationToken,
    /// Cancelled by the second.
    pub(super) abort: CancellationToken,
    /// Cancelled when the driver is done: a signal then changes nothing and prints nothing.
    finished: CancellationToken,
}

impl Drop for PlanStopTokens {
    fn drop(&mut self) {
        self.finished.cancel();
    }
}

impl PlanStopTokens {
    /// Listens for signals from now on, and prints the effect of each one. The third one ends the process at once.
    pub(super) fn listen(
        run: &RunId,
        screen: PlanScreen,
        asker: Option<Arc<PlanAsker>>,
    ) -> Result<Self, CommandError> {
        let [stop, abort, over] = std::array::from_fn(|_| CancellationToken::new());
        let stops = Self { stop: stop.clone(), abort: abort.clone(), finished: over.clone() };
        let run = run.clone();
        let mut signals = StopSignals::listen()?;
        tokio::spawn(async move {
            signals.next_signal().await;
            if !over.is_cancelled() {
                // The open question ends in the middle of a line.
                let (begun, waits) = match asker.as_ref().is_some_and(|asker| asker.is_asking()) {
                    true => ("\n", "the question still waits for its answer"),
                    false => ("", "what runs may end"),
                };
                screen.show_note(format!(
                    "{begun}stopping {run}: nothing more begins, {waits}; interrupt again to cancel it"
                ));
                stop.cancel();
            }
            signals.next_signal().await;
            if !over.is_cancelled() {
                screen.show_note(format!("cancelling what runs of {run}"));
                abort.cancel();
            }
            signals.next_signal().await;
            let message = "stopped before the calls ended: it is not known what they did";
            exit_in_doubt(message, "haft log");
        });
        Ok(stops)
    }
}
