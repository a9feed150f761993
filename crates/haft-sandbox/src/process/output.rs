//! Reads a command's output. Both outputs share one pipe, so their order is kept. The output ends
//! when the supervisor has ended, even if a process outside the tree keeps the pipe open. Nothing
//! is buffered here: the reader decides how much to keep.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

/// The reading side of a command's output.
#[derive(Debug)]
pub struct ProcessOutput {
    pipe: pipe::Receiver,
    /// The supervisor's process handle; it becomes readable when the supervisor ends.
    supervisor: AsyncFd<OwnedFd>,
    has_supervisor_ended: bool,
}

impl ProcessOutput {
    pub(super) fn new(pipe: OwnedFd, supervisor: OwnedFd) -> io::Result<ProcessOutput> {
        let pipe = pipe::Receiver::from_owned_fd(pipe)?;
        #[expect(unsafe_code, reason = "the runtime cannot tell that the handle does not change")]
        // SAFETY: an owned descriptor stays open and unchanged until it is dropped, and no code
        // takes it out.
        let supervisor =
            unsafe { AsyncFd::register_with_interest(supervisor, Interest::READABLE)? };
        Ok(ProcessOutput { pipe, supervisor, has_supervisor_ended: false })
    }

    /// Reads the command's output, standard output and error in the order of arrival. Returns 0 at
    /// the end.
    ///
    /// Unread output fills a pipe of limited size, and then the command blocks. Can be cancelled
    /// without loss.
    ///
    /// # Errors
    ///
    /// The errors of reading a pipe.
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
        // No more output arrives, but output that has arrived must be read.
        match self.try_read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
            answer => answer,
        }
    }

    /// Reads the output that the command has written so far, without waiting. Returns 0 at the end.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] if there is no output, and the errors of reading a pipe.
    pub fn try_read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Asks the pipe itself, because the runtime's readiness may be out of date.
        loop {
            match rustix::io::read(&self.pipe, &mut *buffer) {
                Err(Errno::INTR) => {}
                answer => return Ok(answer?),
            }
        }
    }
}
