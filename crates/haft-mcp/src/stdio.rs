//! Standard input and output as a client hands them over, without a thread between: Node's clients give sockets, most
//! others pipes. Going through blocking threads costs several times what a call itself costs. Flags that are set
//! on a shared descriptor are restored.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rmcp::transport::stdio_pipes;
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::net::{AddressFamily, getsockname};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

pub(crate) struct Stdio {
    pub(crate) input: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) output: Box<dyn AsyncWrite + Send + Unpin>,
    /// To be kept as long as the halves are in use.
    pub(crate) flags: Vec<SavedFlags>,
}

/// Returns standard input and output in the fastest form that they allow.
pub(crate) fn open() -> io::Result<Stdio> {
    let (stdin, stdout) = (std::io::stdin(), std::io::stdout());
    if is_unix_socket(&stdin) && is_unix_socket(&stdout) {
        let flags = vec![SavedFlags::of(&stdin)?, SavedFlags::of(&stdout)?];
        let (input, output) = (Box::new(socket(stdin)?), Box::new(socket(stdout)?));
        return Ok(Stdio { input, output, flags });
    }
    // Pipes without waiting; anything else, such as a file or a terminal, with threads.
    let (input, output) = stdio_pipes();
    Ok(Stdio { input: Box::new(input), output: Box::new(output), flags: Vec::new() })
}

fn is_unix_socket(stream: impl AsFd) -> bool {
    let is_socket = |mode| FileType::from_raw_mode(mode) == FileType::Socket;
    fstat(&stream).is_ok_and(|stat| is_socket(stat.st_mode))
        && getsockname(&stream).is_ok_and(|name| name.address_family() == AddressFamily::UNIX)
}

fn socket(stream: impl AsFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(stream.as_fd().try_clone_to_owned()?);
    // A socket cannot be opened a second time, as a pipe can, so this holds for everybody who has it.
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

/// The flags of a stream, set again when this is dropped.
pub(crate) struct SavedFlags {
    stream: OwnedFd,
    flags: OFlags,
}

impl SavedFlags {
    fn of(stream: impl AsFd) -> io::Result<Self> {
        let stream = stream.as_fd().try_clone_to_owned()?;
        let flags = fcntl_getfl(&stream)?;
        Ok(Self { stream, flags })
    }
}

impl Drop for SavedFlags {
    fn drop(&mut self) {
        // An error would leave the stream non-blocking, which only those notice who use it after us.
        let _ = fcntl_setfl(&self.stream, self.flags);
    }
}

#[cfg(test)]
mod tests;
