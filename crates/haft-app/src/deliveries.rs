//! Deliveries of notifications, which happen beside everything else. They have a thread, so a call never waits for one and a
//! slow one never holds up a call. The end of the program waits for them for a short time.

use std::sync::mpsc as std_mpsc;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use haft_contract::BoxFuture;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Notifications that are being delivered, and again as many that wait.
///
/// Limit (settings): further notifications are dropped, and the log says so.
pub(crate) const DELIVERIES_PENDING_MAX: usize = 64;
/// Time for the last notifications to be delivered when haft ends, in milliseconds.
///
/// Limit (settings): haft ends without delivering them.
pub(crate) const DELIVERIES_FINISH_MS_MAX: u64 = 3_000;

/// The deliveries of a process.
#[derive(Default)]
pub struct Deliveries {
    /// The thread, once there is a delivery. The first delivery and the end write it, and the lock is held for a moment.
    worker: Mutex<Option<DeliveryWorker>>,
}

/// The thread of the deliveries.
struct DeliveryWorker {
    queue: mpsc::Sender<BoxFuture<'static, ()>>,
    /// Its other end is dropped when all deliveries have ended.
    ended: std_mpsc::Receiver<()>,
}

impl Deliveries {
    /// Begins a delivery. Returns false if there are too many, or if the system starts no thread.
    pub(crate) fn begin(&self, delivery: BoxFuture<'static, ()>) -> bool {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            *worker = DeliveryWorker::start();
        }
        worker.as_ref().is_some_and(|worker| worker.queue.try_send(delivery).is_ok())
    }

    /// Waits for the deliveries, for at most 3 seconds. Blocks the thread. A program calls this at its end.
    pub fn finish(&self) {
        let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(DeliveryWorker { queue, ended }) = worker else { return };
        drop(queue);
        if ended.recv_timeout(Duration::from_millis(DELIVERIES_FINISH_MS_MAX))
            == Err(std_mpsc::RecvTimeoutError::Timeout)
        {
            tracing::warn!("haft ends before all notifications were delivered");
        }
    }
}

impl DeliveryWorker {
    fn start() -> Option<Self> {
        let (queue, mut waiting) = mpsc::channel::<BoxFuture<'static, ()>>(DELIVERIES_PENDING_MAX);
        let (end, ended) = std_mpsc::channel();
        let deliver = move || {
            let _end = end;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async move {
                let mut under_way = JoinSet::new();
                loop {
                    tokio::select! {
                        Some(delivery) = waiting.recv(), if under_way.len() < DELIVERIES_PENDING_MAX => {
                            under_way.spawn(delivery);
                        }
                        Some(_) = under_way.join_next() => {}
                        else => break,
                    }
                }
            });
        };
        thread::Builder::new().name("haft-notify".to_owned()).spawn(deliver).ok()?;
        Some(Self { queue, ended })
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn all_deliveries_happen_before_the_end() {
        let deliveries = Deliveries::default();
        let done = Arc::new(AtomicUsize::new(0));
        for _ in 0..DELIVERIES_PENDING_MAX {
            let done = Arc::clone(&done);
            let delivery = async move {
                tokio::time::sleep(Duration::from_millis(5)).await;
                done.fetch_add(1, Ordering::Relaxed);
            };
            assert!(deliveries.begin(Box::pin(delivery)));
        }
        deliveries.finish();
        assert_eq!(done.load(Ordering::Relaxed), DELIVERIES_PENDING_MAX);
    }

    #[test]
    fn deliveries_that_never_end_are_bounded() {
        let deliveries = Deliveries::default();
        let begun =
            (0..4 * DELIVERIES_PENDING_MAX).filter(|_| deliveries.begin(Box::pin(pending())));
        // The thread takes some out of the queue while the loop fills it.
        let begun = begun.count();
        assert!((DELIVERIES_PENDING_MAX..=2 * DELIVERIES_PENDING_MAX).contains(&begun), "{begun}");
        let before = std::time::Instant::now();
        deliveries.finish();
        assert!(before.elapsed() >= Duration::from_millis(DELIVERIES_FINISH_MS_MAX));
        assert!(before.elapsed() < Duration::from_millis(DELIVERIES_FINISH_MS_MAX + 5_000));
    }

    #[test]
    fn the_end_without_deliveries_is_immediate() {
        Deliveries::default().finish();
    }
}
