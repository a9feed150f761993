//! The output of a program beside its channel. haft always reads it, and keeps a bounded part in memory until a caller
//! asks for it.

use std::os::fd::OwnedFd;

use haft_contract::Excerpt;
use haft_contract::limits::OUTPUT_TAIL_BYTES;
use haft_sandbox::ProcessOutput;
use rustix::net::{Shutdown, shutdown};
use tokio::sync::{mpsc, oneshot};

use crate::shell::{READ_BYTES, text_of_head, text_of_tail};

/// The beginning of what a program printed that is kept, in bytes.
pub(crate) const PRINTED_HEAD_BYTES_MAX: usize = 64 * 1024;
/// Reads of what a program has printed by the time it is asked for; a pipe holds fewer, but while it is being read a
/// flood goes on.
pub(crate) const PRINTED_READS_MAX: usize = 16;

/// Where to ask for what was printed.
pub(super) type OutputRequests = mpsc::Sender<oneshot::Sender<Excerpt>>;

/// The output since the last request for it.
#[derive(Debug, Default)]
struct PrintedOutput {
    /// The first bytes, at most [`PRINTED_HEAD_BYTES_MAX`].
    head: Vec<u8>,
    /// The last bytes after the head, at most [`OUTPUT_TAIL_BYTES`].
    tail: Vec<u8>,
    /// The number of bytes that the program printed, including those that are not kept.
    total_bytes: u64,
}

/// Reads the output until no caller can ask for it any more. At the end of the output, closes the channel: no process
/// of the program is left, whichever process holds the channel's other end.
pub(super) fn collect_output(mut output: ProcessOutput, channel: OwnedFd) -> OutputRequests {
    let (requests, mut requested) = mpsc::channel::<oneshot::Sender<Excerpt>>(1);
    // The task ends when the sender is dropped. The owner of the program drops both together.
    tokio::spawn(async move {
        let mut printed = PrintedOutput::default();
        let mut buffer = vec![0; READ_BYTES];
        let mut is_open = true;
        loop {
            tokio::select! {
                biased;
                request = requested.recv() => {
                    let Some(request) = request else { return };
                    // Output may be available that the async runtime has not reported yet.
                    for _ in 0..PRINTED_READS_MAX {
                        let Ok(count @ 1..) = output.try_read(&mut buffer) else { break };
                        printed.add(buffer.get(..count).unwrap_or_default());
                    }
                    // The caller may have given up waiting. The next excerpt then begins at the end of this one.
                    let _ = request.send(printed.take());
                }
                read = output.read(&mut buffer), if is_open => match read {
                    Ok(count @ 1..) => printed.add(buffer.get(..count).unwrap_or_default()),
                    Ok(0) | Err(_) => {
                        is_open = false;
                        // An error means that it is closed already.
                        let _ = shutdown(&channel, Shutdown::Both);
                    }
                },
            }
            // A flood does not keep others from running.
            tokio::task::consume_budget().await;
        }
    });
    requests
}

impl PrintedOutput {
    /// Adds output. If the tail is full, its oldest bytes are dropped.
    fn add(&mut self, bytes: &[u8]) {
        let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.total_bytes = self.total_bytes.saturating_add(count);
        let room = PRINTED_HEAD_BYTES_MAX.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        let excess = self.tail.len().saturating_sub(OUTPUT_TAIL_BYTES);
        self.tail.drain(..excess);
    }

    /// Returns the output since the last call, and starts again with none.
    fn take(&mut self) -> Excerpt {
        let PrintedOutput { mut head, mut tail, total_bytes } = std::mem::take(self);
        let is_cut = u64::try_from(head.len() + tail.len()).is_ok_and(|kept| kept < total_bytes);
        if !is_cut {
            head.append(&mut tail);
        }
        Excerpt {
            head: text_of_head(&head, is_cut),
            tail: is_cut.then(|| text_of_tail(&tail)),
            total_bytes,
            sidecar: None,
            sidecar_error: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flood_head_and_tail_are_kept() {
        let check = |pieces: &[usize], kept: (usize, Option<usize>)| {
            let mut printed = PrintedOutput::default();
            pieces.iter().for_each(|bytes| printed.add(&vec![b'x'; *bytes]));
            let excerpt = printed.take();
            let total: usize = pieces.iter().sum();
            assert_eq!((excerpt.head.len(), excerpt.tail.map(|tail| tail.len())), kept);
            assert_eq!(excerpt.total_bytes, total as u64);
            assert_eq!(printed.take().total_bytes, 0, "it is taken once");
        };
        let (head, tail) = (PRINTED_HEAD_BYTES_MAX, OUTPUT_TAIL_BYTES);
        check(&[], (0, None));
        check(&[head], (head, None));
        check(&[head - 1, tail + 1], (head + tail, None));
        check(&[head, tail, 1], (head, Some(tail)));
        check(&[10 * head], (head, Some(tail)));
    }
}
