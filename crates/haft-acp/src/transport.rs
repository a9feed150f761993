//! Messages as lines, bounded both ways: a line that is too long ends the connection, and so does an editor that does not
//! read what it is told.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_client_protocol::Lines;
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _, future};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec, LinesCodecError};
use tokio_util::sync::CancellationToken;

use crate::limits::{MESSAGE_BYTES_MAX, MESSAGES_WAITING_MAX};

/// Counts the updates that were handed over and not yet written.
#[derive(Default)]
pub(crate) struct Outgoing {
    waiting: AtomicUsize,
    /// Cancelled when the editor does not read any more.
    unread: CancellationToken,
}

impl Outgoing {
    /// Notes one more message.
    pub(crate) fn add(&self) {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MESSAGES_WAITING_MAX {
            self.unread.cancel();
        }
    }

    fn written(&self) {
        // Answers are written, too, and were not counted.
        let fewer = |waiting: usize| Some(waiting.saturating_sub(1));
        let _ = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer);
    }

    /// Waits until too many messages wait to be read.
    pub(crate) async fn unread(&self) {
        self.unread.cancelled().await;
    }
}

/// Returns the lines that a connection is made of.
pub(crate) fn lines(
    input: impl AsyncRead + Send + 'static,
    output: impl AsyncWrite + Send + 'static,
    outgoing: Arc<Outgoing>,
) -> Lines<
    impl Sink<String, Error = io::Error> + Send + 'static,
    impl Stream<Item = io::Result<String>> + Send + 'static,
> {
    let read = FramedRead::new(Box::pin(input), LinesCodec::new_with_max_length(MESSAGE_BYTES_MAX));
    let write = FramedWrite::new(Box::pin(output), LinesCodec::new()).with(move |line: String| {
        outgoing.written();
        future::ready(Ok::<_, LinesCodecError>(line))
    });
    Lines::new(write.sink_map_err(failed), read.map(|line| line.map_err(failed)))
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
        let outgoing = Outgoing::default();
        outgoing.written();
        for _ in 0..MESSAGES_WAITING_MAX {
            outgoing.add();
        }
        assert!(!outgoing.unread.is_cancelled());
        outgoing.written();
        outgoing.add();
        assert!(!outgoing.unread.is_cancelled());
        outgoing.add();
        assert!(outgoing.unread.is_cancelled());
    }
}
