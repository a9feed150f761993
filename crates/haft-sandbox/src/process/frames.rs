//! Receiving replies, whole frames with the descriptors that belong to them, however they arrive.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::UnixStream;

use crate::wire::{self, FRAME_HEADER_BYTES, Reply};

/// A socket that replies come from.
#[derive(Debug)]
pub(super) struct Frames {
    socket: UnixStream,
    /// The part of a frame that has arrived, kept here so that waiting can be cancelled.
    received: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Frames {
    pub(super) fn new(socket: UnixStream) -> Frames {
        Frames { socket, received: Vec::with_capacity(FRAME_HEADER_BYTES), descriptors: Vec::new() }
    }

    /// Sends bytes the other way.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes).await
    }

    /// Ends the other way; what still arrives can be received.
    pub(super) fn finish_sending(&self) {
        // An error means that the other side is gone, which receiving finds out.
        let _ = shutdown(&self.socket, Shutdown::Write);
    }

    /// The socket itself.
    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Receives one reply and what came with it, or nothing if the other side has closed. Can be cancelled.
    pub(super) async fn next(&mut self) -> io::Result<Option<(Reply, Vec<OwnedFd>)>> {
        loop {
            let missing = self.missing();
            if missing == 0 {
                let reply = Reply::decode(&self.received)?;
                self.received.clear();
                return Ok(Some((reply, std::mem::take(&mut self.descriptors))));
            }
            self.socket.readable().await?;
            // Never more than belongs to this frame: what comes with the next one is the next one's.
            let mut bytes = vec![0; missing];
            let descriptors = &mut self.descriptors;
            let receive = || wire::receive(&self.socket, &mut bytes, descriptors);
            match self.socket.try_io(Interest::READABLE, receive) {
                Ok(0) => return Ok(None),
                Ok(count) => self.received.extend(bytes.iter().take(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// How many bytes are certainly still to come in this frame.
    fn missing(&self) -> usize {
        match self.received.first_chunk::<FRAME_HEADER_BYTES>() {
            None => FRAME_HEADER_BYTES.saturating_sub(self.received.len()),
            Some(header) => (FRAME_HEADER_BYTES + Reply::text_bytes(*header))
                .saturating_sub(self.received.len()),
        }
    }
}
