//! Messages as lines with bounds in both directions. A line that is too long ends the connection, and so does an editor that does
//! not read its messages.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agent_client_protocol::Lines;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _, future, stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;

use crate::limits::{LAST_WORDS_MS, MESSAGE_BYTES_MAX, MESSAGES_WAITING_MAX};

/// Counts the updates that are queued and not yet written.
#[derive(Default)]
pub(crate) struct OutgoingMessages {
    waiting: AtomicUsize,
    /// Cancelled when too many messages wait.
    overfull: CancellationToken,
    /// Cancelled when the editor sends nothing more.
    hung_up: CancellationToken,
    /// Whether the editor closed its end.
    is_closed: AtomicBool,
}

impl OutgoingMessages {
    /// Counts one more message.
    pub(crate) fn count_message(&self) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MESSAGES_WAITING_MAX {
            self.overfull.cancel();
        }
    }

    fn mark_written(&self) {
        // Responses are written as well, but were not counted.
        let fewer = |waiting: usize| Some(waiting.saturating_sub(1));
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }

    /// Waits until too many messages wait to be read.
    pub(crate) async fn wait_until_overfull(&self) {
        self.overfull.cancelled().await;
    }

    /// Returns whether the editor closed its end, as most editors do when they exit.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Waits until the editor sends nothing more and had its time to read the last messages.
    pub(crate) async fn wait_until_hung_up(&self) {
        self.hung_up.cancelled().await;
        tokio::time::sleep(Duration::from_millis(LAST_WORDS_MS)).await;
    }
}

/// Returns the lines of a connection.
pub(crate) fn lines(
    input: impl AsyncRead + Send + 'static,
    output: impl AsyncWrite + Send + 'static,
    outgoing: Arc<OutgoingMessages>,
) -> Lines<
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
> {
    let read = FramedRead::new(Box::pin(input), LinesCodec::new_with_max_length(MESSAGE_BYTES_MAX));
    let hung_up = outgoing.hung_up.clone();
    let end = stream::once(async move { hung_up.cancel() }).filter_map(|()| future::ready(None));
    let read = read.map(|line| line.map_err(failed)).chain(end);
    let writing = Arc::clone(&outgoing);
    let write = FramedWrite::new(Box::pin(output), LinesCodec::new()).with(move |line: String| {
        writing.mark_written();
        future::ready(Ok::<_, LinesCodecError>(line))
    });
    let write = write.sink_map_err(move |err| {
        let err = failed(err);
        if err.kind() == io::ErrorKind::BrokenPipe {
            outgoing.is_closed.store(true, Ordering::Relaxed);
        }
        err
    });
    Lines::new(write, read)
}

fn failed(err: LinesCodecError) -> io::Error {
    match err {
        LinesCodecError::Io(err) => err,
        LinesCodecError::MaxLineLengthExceeded => io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a message is longer than {MESSAGE_BYTES_MAX} bytes"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_that_does_not_read_is_taken_for_gone() {
        let outgoing = OutgoingMessages::default();
        outgoing.mark_written();
        for _ in 0..MESSAGES_WAITING_MAX {
            outgoing.count_message();
        }
        assert!(!outgoing.overfull.is_cancelled());
        outgoing.mark_written();
        outgoing.count_message();
        assert!(!outgoing.overfull.is_cancelled());
        outgoing.count_message();
        assert!(outgoing.overfull.is_cancelled());
    }
}
