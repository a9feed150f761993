//! Receives replies as whole frames together with their descriptors, in whatever pieces they
//! arrive.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::UnixStream;

use crate::wire::{self, FRAME_HEADER_BYTES, HelperReply};

/// A socket that receives replies.
#[derive(Debug)]
pub(super) struct HelperSocket {
    socket: UnixStream,
    /// The part of a frame that has arrived. It is kept here so that waiting can be cancelled.
    received: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl HelperSocket {
    pub(super) fn new(socket: OwnedFd) -> io::Result<HelperSocket> {
        let socket = StdUnixStream::from(socket);
        socket.set_nonblocking(true)?;
        Ok(HelperSocket {
            socket: UnixStream::from_std(socket)?,
            received: Vec::with_capacity(FRAME_HEADER_BYTES),
            descriptors: Vec::new(),
        })
    }

    /// Sends bytes to the other side.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.write_all(bytes).await
    }

    /// Closes the sending direction. Replies can still be received.
    pub(super) fn finish_sending(&self) {
        // An error means that the other side is closed, which the next receive reports.
        let _ = shutdown(&self.socket, Shutdown::Write);
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Receives one reply and its descriptors, or `None` if the other side has closed. Can be
    /// cancelled.
    pub(super) async fn next(&mut self) -> io::Result<Option<(HelperReply, Vec<OwnedFd>)>> {
        loop {
            // How many bytes of this frame are known to be missing.
            let frame_bytes = match self.received.first_chunk() {
                None => FRAME_HEADER_BYTES,
                Some(header) => FRAME_HEADER_BYTES + HelperReply::text_bytes(*header),
            };
            let missing = frame_bytes.saturating_sub(self.received.len());
            if missing == 0 {
                let reply = HelperReply::decode(&self.received)?;
                self.received.clear();
                return Ok(Some((reply, std::mem::take(&mut self.descriptors))));
            }
            self.socket.readable().await?;
            // Never reads beyond this frame: descriptors of the next frame belong to the next
            // frame.
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
}
