//! Adds up how long a call waits for something else than its tool: for other questions, a person, a snapshot, a sandbox.
//! The log limits nothing; the stopwatch does.

use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::CallWaits;
use tokio::time::Instant;

/// Something that a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallWaitKind {
    /// The questions of other calls.
    Queue,
    /// The answer of a person.
    Answer,
    /// The snapshot before the effect.
    Snapshot,
    /// The start of a confined process.
    Sandbox,
}

/// The waits of one call so far, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct CallWaitLog([AtomicU64; 4]);

/// A wait that goes on. Its end, or giving it up, adds the time.
struct WaitTimer<'a> {
    log: &'a CallWaitLog,
    kind: CallWaitKind,
    begun: Instant,
}

impl Drop for WaitTimer<'_> {
    fn drop(&mut self) {
        let took = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.log.of(self.kind).fetch_add(took, Ordering::Relaxed);
    }
}

impl CallWaitLog {
    /// Waits for a future, and adds the time that it took.
    pub(crate) async fn measure<T>(&self, kind: CallWaitKind, wait: impl Future<Output = T>) -> T {
        let _timer = WaitTimer { log: self, kind, begun: Instant::now() };
        wait.await
    }

    /// Returns the waits that lasted a millisecond or longer; `None` if there are none.
    pub(crate) fn waits(&self) -> Option<CallWaits> {
        let whole_ms = |kind| self.of(kind).load(Ordering::Relaxed) / 1_000;
        let waits = CallWaits {
            queued_ms: whole_ms(CallWaitKind::Queue),
            asked_ms: whole_ms(CallWaitKind::Answer),
            snapshot_ms: whole_ms(CallWaitKind::Snapshot),
            sandbox_ms: whole_ms(CallWaitKind::Sandbox),
        };
        (waits != CallWaits::default()).then_some(waits)
    }

    fn of(&self, kind: CallWaitKind) -> &AtomicU64 {
        let [queue, answer, snapshot, sandbox] = &self.0;
        match kind {
            CallWaitKind::Queue => queue,
            CallWaitKind::Answer => answer,
            CallWaitKind::Snapshot => snapshot,
            CallWaitKind::Sandbox => sandbox,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_of_a_kind_add_up() {
        let log = CallWaitLog::default();
        assert_eq!(log.waits(), None);
        for _ in 0..2 {
            let wait = tokio::time::sleep(Duration::from_millis(30));
            log.measure(CallWaitKind::Answer, wait).await;
        }
        let queue = log.measure(CallWaitKind::Queue, std::future::pending::<()>());
        assert!(tokio::time::timeout(Duration::from_millis(5), queue).await.is_err());
        let expect = CallWaits { queued_ms: 5, asked_ms: 60, ..CallWaits::default() };
        assert_eq!(log.waits(), Some(expect));
    }
}
