//! A thread that owns something which blocks, and the bounded queue that leads to it. It does not restart: a thread that
//! ended is reported to the next caller.

use std::io;
use std::thread::JoinHandle;

use tokio::sync::mpsc;

/// A thread and the queue of what it is to do. Dropping it lets the thread finish its queue and waits for it.
pub(crate) struct Worker<T> {
    /// `None` only while the worker is being dropped.
    queue: Option<mpsc::Sender<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a thread that takes from a queue of at most `queue_max` items.
    pub(crate) fn spawn(
        name: &str,
        queue_max: usize,
        run: impl FnOnce(mpsc::Receiver<T>) + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, items) = mpsc::channel(queue_max);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || run(items))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Queues an item, waiting while the queue is full; `None` if the thread has ended.
    pub(crate) async fn send(&self, item: T) -> Option<()> {
        self.queue.as_ref()?.send(item).await.ok()
    }

    /// Queues an item like [`Worker::send`], from a thread that may block.
    pub(crate) fn send_blocking(&self, item: T) -> Option<()> {
        self.queue.as_ref()?.blocking_send(item).ok()
    }
}

impl<T> Worker<T> {
    /// Queues an item unless the queue is full or the thread has ended; then it comes back.
    pub(crate) fn offer(&self, item: T) -> Result<(), T> {
        let Some(queue) = self.queue.as_ref() else { return Err(item) };
        queue.try_send(item).map_err(mpsc::error::TrySendError::into_inner)
    }

    /// Ends a pause that the thread makes by [parking](std::thread::park_timeout).
    pub(crate) fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened, and its callers were told that it stopped.
            let _ = thread.join();
        }
    }
}
