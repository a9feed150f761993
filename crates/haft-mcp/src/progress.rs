//! Progress of one call, and what its tool says meanwhile, on their way to the client that asked for them. Only the
//! newest report and a few lines are kept, and the tool never waits: a client that reads slowly sees fewer of them.
//! Nothing is sent after the answer.

use std::pin::pin;
use std::sync::Arc;

use haft_contract::{CallProgress, LogLevel, LogLine, ProgressSink};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::limits::LOG_LINES_MAX;
use crate::log_levels::log_notification;

/// Returns where a call reports, and where its reports come out.
pub(crate) fn channel() -> (Arc<dyn ProgressSink>, CallReports) {
    let (sender, receiver) = watch::channel(None);
    let (lines, log) = mpsc::channel(LOG_LINES_MAX);
    let sink = NewestProgressSink { progress: sender, lines };
    (Arc::new(sink), CallReports { receiver, log, sent_progress: f64::NEG_INFINITY })
}

struct NewestProgressSink {
    progress: watch::Sender<Option<CallProgress>>,
    lines: mpsc::Sender<LogLine>,
}

impl ProgressSink for NewestProgressSink {
    fn report(&self, progress: CallProgress) {
        self.progress.send_replace(Some(progress));
    }

    fn log(&self, line: LogLine) {
        // A line that has no place is dropped.
        let _ = self.lines.try_send(line);
    }
}

pub(crate) struct CallReports {
    receiver: watch::Receiver<Option<CallProgress>>,
    log: mpsc::Receiver<LogLine>,
    /// How far the newest report was that a client was told of.
    sent_progress: f64,
}

/// The client that wants to hear of them.
pub(crate) struct McpProgressListener {
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) token: Option<ProgressToken>,
    /// Set if it wants to hear what the tool says, from this level on.
    pub(crate) level: Option<LogLevel>,
    pub(crate) cancellation: CancellationToken,
}

impl CallReports {
    /// Waits for `call`, and tells `listener` of each report until then.
    pub(crate) async fn forward_until_done<T>(
        &mut self,
        call: impl Future<Output = T>,
        listener: &McpProgressListener,
    ) -> T {
        let mut call = pin!(call);
        loop {
            tokio::select! {
                biased;
                Some(line) = self.log.recv() => {
                    listener.notify_log(line).await;
                    continue;
                }
                answer = &mut call => {
                    while let Ok(line) = self.log.try_recv() {
                        listener.notify_log(line).await;
                    }
                    return answer;
                }
                Ok(()) = self.receiver.changed() => {}
            }
            let newest = self.receiver.borrow_and_update().clone();
            // The protocol wants it to grow with every notification.
            if let Some(progress) = newest.filter(|progress| progress.done > self.sent_progress) {
                self.sent_progress = progress.done;
                listener.notify_progress(progress).await;
            }
        }
    }
}

impl McpProgressListener {
    /// Returns when the line is written, so that the answer comes after it. The call goes on meanwhile in a separate task.
    async fn notify_progress(&self, progress: CallProgress) {
        let Some(token) = &self.token else { return };
        let mut line = ProgressNotificationParam::new(token.clone(), progress.done)
            .with_message(progress.message);
        line.total = progress.total;
        tokio::select! {
            // The reader of the connection notices that a client is gone.
            _ = self.peer.notify_progress(line) => {}
            // After the end of input the client does not take the line.
            () = self.cancellation.cancelled() => {}
        }
    }

    /// Returns when the line is written, as with progress.
    async fn notify_log(&self, line: LogLine) {
        if self.level.is_none_or(|level| line.level < level) {
            return;
        }
        #[expect(deprecated, reason = "older clients are told so, and newer ones that ask for it")]
        let sent = self.peer.notify_logging_message(log_notification(line));
        tokio::select! {
            _ = sent => {}
            () = self.cancellation.cancelled() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_a_log_that_nobody_takes_the_first_lines_are_kept() {
        let (sink, mut reports) = channel();
        let line = |number: usize| LogLine { level: LogLevel::Info, message: number.to_string() };
        (0..=LOG_LINES_MAX).for_each(|number| sink.log(line(number)));
        for number in 0..LOG_LINES_MAX {
            let kept = reports.log.try_recv().map(|line| line.message);
            assert_eq!(kept, Ok(number.to_string()));
        }
        assert!(reports.log.try_recv().is_err(), "the line over the bound was kept");
        // Who has been heard may go on.
        sink.log(line(LOG_LINES_MAX + 1));
        assert!(reports.log.try_recv().is_ok());
    }
}
