//! Reading a command's output. Both its outputs are one pipe, so that their order is kept. The end is reached when the
//! supervisor has ended, even if the pipe's other end went to a process outside the tree and stays open there. It
//! deliberately buffers nothing: how much is kept is the reader's to decide.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

/// The reading side of a command's output.
#[derive(Debug)]
pub struct Output {
    pipe: pipe::Receiver,
    /// The supervisor's process handle, which becomes readable when it ends.
    supervisor: AsyncFd<OwnedFd>,
    has_supervisor_ended: bool,
}

impl Output {
    pub(super) fn new(pipe: OwnedFd, supervisor: OwnedFd) -> io::Result<Output> {
        let pipe = pipe::Receiver::from_owned_fd(pipe)?;
        #[expect(unsafe_code, reason = "the runtime cannot tell that a handle stays what it is")]
        // SAFETY: an owned descriptor stays open, and the same, until it is dropped, and nothing takes it out.
        let supervisor =
            unsafe { AsyncFd::register_with_interest(supervisor, Interest::READABLE)? };
        Ok(Output { pipe, supervisor, has_supervisor_ended: false })
    }

    /// Reads what the command writes, standard output and error in the order of arrival; 0 is the end.
    ///
    /// Can be cancelled without loss.
    ///
    /// # Errors
    ///
    /// Only what reading a pipe can fail with.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.has_supervisor_ended {
            tokio::select! {
                biased;
                readable = self.pipe.readable() => {
                    readable?;
                    match self.pipe.try_read(buffer) {
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                        answer => return answer,
                    }
                }
                ended = self.supervisor.readable() => {
                    ended?.retain_ready();
                    self.has_supervisor_ended = true;
                }
            }
        }
        // Nothing more arrives, and nothing that has arrived may be missed.
        match self.try_read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            answer => answer,
        }
    }

    /// Reads what the command has written by now, without waiting; 0 is the end.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] if there is nothing, and what reading a pipe can fail with.
    pub fn try_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // The pipe itself is asked, not what the runtime last heard of it.
        loop {
            match rustix::io::read(&self.pipe, &mut *buffer) {
                Err(Errno::INTR) => {}
                answer => return Ok(answer?),
            }
        }
    }
}
