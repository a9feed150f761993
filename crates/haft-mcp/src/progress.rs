//! Progress of one call on its way to the client that asked for it. Only the newest report is kept, and the tool never
//! waits: a client that reads slowly sees fewer reports. Nothing is sent after the answer.

use std::pin::pin;
use std::sync::Arc;

use haft_contract::{Progress, ProgressSink};
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Returns where a call reports, and where its reports come out.
pub(crate) fn channel() -> (Arc<dyn ProgressSink>, Reports) {
    let (sender, receiver) = watch::channel(None);
    (Arc::new(Newest(sender)), Reports { receiver, sent: f64::NEG_INFINITY })
}

struct Newest(watch::Sender<Option<Progress>>);

impl ProgressSink for Newest {
    fn report(&self, progress: Progress) {
        self.0.send_replace(Some(progress));
    }
}

/// The reports of a call.
pub(crate) struct Reports {
    receiver: watch::Receiver<Option<Progress>>,
    /// How far the newest report was that a client was told of.
    sent: f64,
}

/// The client that wants to hear of them.
pub(crate) struct Listener {
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) token: ProgressToken,
    pub(crate) cancellation: CancellationToken,
}

impl Reports {
    /// Waits for `call`, and tells `listener` of each report until then.
    pub(crate) async fn follow<T>(
        &mut self,
        call: impl Future<Output = T>,
        listener: &Listener,
    ) -> T {
        let mut call = pin!(call);
        loop {
            tokio::select! {
                biased;
                answer = &mut call => return answer,
                Ok(()) = self.receiver.changed() => {}
            }
            let newest = self.receiver.borrow_and_update().clone();
            // The protocol wants it to grow with every notification.
            if let Some(progress) = newest.filter(|progress| progress.done > self.sent) {
                self.sent = progress.done;
                listener.tell(progress).await;
            }
        }
    }
}

impl Listener {
    /// Returns when the line is written, so that the answer comes after it. The call goes on meanwhile, in a task of
    /// its own.
    async fn tell(&self, progress: Progress) {
        let mut line = ProgressNotificationParam::new(self.token.clone(), progress.done)
            .with_message(progress.message);
        line.total = progress.total;
        tokio::select! {
            // A client that is gone is noticed by whoever reads from it.
            _ = self.peer.notify_progress(line) => {}
            // After the end of input nobody takes the line.
            () = self.cancellation.cancelled() => {}
        }
    }
}
